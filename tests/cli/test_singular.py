"""A message about one thing has its singular."""

import re
from pathlib import Path

from tests.support.command_line import make_words, run_judge
from tests.support.factories import read_judgments, write_rows
from tests.support.fake_server import ChatRequest, LoopbackServer, Reply

_NOUNS = "queries|pairs|results|judgments|calls|repeats|questions|engines|labels"
_WRONG = re.compile(
    rf"(?:\b1 (?:(?!of )\w+ )?(?:{_NOUNS})\b|\b(?:other 1|1 of \d+ \w+) (?:are|have)\b).{{0,40}}"
)


def test_one_is_not_many(tmp_path: Path) -> None:
    def answer(request: ChatRequest) -> Reply:
        unreadable = "unreadable" in request.prompt
        return Reply(text="no idea" if unreadable else '{"reason": "It says so.", "grade": 2}')

    lines = [
        {"query_id": "q", "query": "old ships", "engine": engine, "docno": engine, "snippet": text}
        for engine, text in (
            ("a", "old ships are in the harbour of the town every summer"),
            ("b", "old ships are in the harbour of the town every summer …"),
        )
    ]
    one, two = write_rows(tmp_path / "one.jsonl", lines[:1]), write_rows(tmp_path / "two.jsonl", lines)
    three = write_rows(tmp_path / "three.jsonl", [*lines[:1], {**lines[1], "snippet": "unreadable ships"}])
    labels, feedback = tmp_path / "labels.csv", tmp_path / "feedback.csv"
    labels.write_text("query_id,document,grade\nq,a,2\n", encoding="utf-8")
    feedback.write_text("query_id,document,feedback\nq,a,up\nq,elsewhere,up\n", encoding="utf-8")
    runs = tmp_path / "runs"
    with LoopbackServer(answer) as server:
        outputs = [
            run_judge(*words)
            for words in (
                ("estimate", *make_words(one, server)[1:], "--out", runs / "estimated"),
                (*make_words(one, server), "--out", runs / "one"),
                (*make_words(two, server), "--out", runs / "two"),
                (*make_words(three, server), "--out", runs / "three", "--min-coverage", 0),
                (*make_words(two, server), "--out", runs / "near", "--near-duplicates"),
                (*make_words(two, server), "--out", runs / "labelled", "--qrels", labels, "--check", 1),
                ("compare", runs / "two"),
                ("score", runs / "two", "--feedback", feedback),
                ("agree", runs / "two", "--qrels", labels),
                ("baseline", "set", runs / "two", "--folder", tmp_path / "nights"),
                ("baseline", "show", "--folder", tmp_path / "nights"),
            )
        ]
    assert [output.returncode for output in outputs] == [0] * len(outputs)
    assert {line["error"] for line in read_judgments(runs / "three")} == {None, "not_a_grade"}
    texts = [output.stdout + output.stderr for output in outputs]
    texts += [path.read_text(encoding="utf-8") for path in sorted(runs.glob("*/report.html"))]
    matches = sorted({match for text in texts for match in _WRONG.findall(text)})
    assert "\n".join(matches) == ""
