"""`judge run --site-grades`: grades of sites, and classes of those that the table does not name."""

import json
from pathlib import Path

import pytest

from tests.support.command_line import make_words, run_judge
from tests.support.factories import read_summary, write_rows
from tests.support.fake_server import ChatRequest, LoopbackServer, Reply

GRADES: dict[str, tuple[str, list[int | None], bool]] = {
    "cdc.gov": ("forum", [5, 4, 4, 5], False),
    "good.example": ("official", [3, None, 2, None], False),
    "bad.example": ("content farm", [1, 1, None, 1], True),
}
COLUMNS = ("authority", "freshness", "clarity", "objectivity")


def reply_with_site_grade(request: ChatRequest) -> Reply:
    """Grade the sites of the table above; give no JSON for others."""
    if "Grade a web site" not in request.prompt:
        return Reply(text='{"reason": "r", "grade": 2}')
    site = next(line for line in request.prompt.split("\n") if line.startswith("Site: "))[6:]
    if site not in GRADES:
        return Reply(text="no idea")
    name, grades, made = GRADES[site]
    answer = {"site_class": name, **dict(zip(COLUMNS, grades, strict=True)), "may_be_ai_made": made}
    return Reply(text=json.dumps(answer))


def make_site_rows(lists: dict[str, list[str]], text: str) -> list[dict[str, object]]:
    return [
        {
            "query_id": query,
            "query": f"words {query}",
            "engine": "e",
            "rank": rank,
            "url": f"https://www.{site}/{rank}",
            "snippet": f"{text} {query} {rank}",
        }
        for query, sites in lists.items()
        for rank, site in enumerate(sites, start=1)
    ]


def test_grades_are_averaged_by_list_and_paid_for_once(tmp_path: Path) -> None:
    lists = {
        "q1": ["good.example", "cdc.gov", "bad.example"],
        "q2": ["bad.example"],
        "q3": ["strange.example"],
    }
    data, out = write_rows(tmp_path / "data.jsonl", make_site_rows(lists, "a text")), tmp_path / "out"
    store = ("--store", tmp_path / "verdicts.sqlite", "--site-grades", "--min-coverage", 0.5)
    with LoopbackServer(reply_with_site_grade) as server:
        words = (*make_words(data, server), *store)
        assert "site_grades: at most 4 questions" in run_judge("estimate", *words[1:]).stdout
        run = run_judge(*words, "--out", out)
        assert run.returncode == 0, run.stderr
        assert len(server.requests) == 5 + 3 + 2  # 5 pairs; 3 sites once, the strange one twice
        other = write_rows(
            tmp_path / "other.jsonl", make_site_rows({"q1": ["cdc.gov", "bad.example"]}, "other")
        )
        assert run_judge(*make_words(other, server), *store, "--out", tmp_path / "second").returncode == 0
        assert len(server.requests) == 10 + 2  # the pairs: other results of a site are not another question
    means = read_summary(out)["dimensions"]["site_grades"]["engines"]["e"]
    # The quality of the sites is 2.5, 4.5 and 1; q3 has no answer.
    assert means["quality@1"]["mean"] == pytest.approx((2.5 + 1) / 2)
    assert means["quality@3"]["mean"] == pytest.approx(((2.5 + 4.5 + 1) / 3 + 1) / 2)
    assert means["authority@10"]["mean"] == pytest.approx((3 + 1) / 2)
    assert (means["clarity@10"]["mean"], means["clarity@10"]["queries"]) == (3, 1)
    # The class of cdc.gov is that of the table.
    assert means["government@10"]["mean"] == pytest.approx(1 / 6)
    assert means["low quality@10"]["mean"] == pytest.approx((1 / 3 + 1) / 2)
    assert means["official@10"]["queries"] == means["quality@1"]["queries"] == 2
    assert (
        "lowest quality of 3 graded sites: bad.example (1.0), good.example (2.5), cdc.gov (4.5)" in run.stdout
    )
    assert "content of 1 sites may be made by AI, such as bad.example" in run.stdout
    assert "1 of 4 questions have no answer" in run.stdout


def test_a_result_without_a_url_keeps_its_rank_and_a_site_has_one_question_in_both_languages(
    tmp_path: Path,
) -> None:
    english = make_site_rows({"q1": ["", "good.example", "bad.example"]}, "a text")
    english[0]["url"] = ""
    chinese = [{**row, "query": "小狗贫血", "snippet": f"狗狗牙龈发白 {row['rank']}"} for row in english]
    store = ("--store", tmp_path / "verdicts.sqlite", "--site-grades", "--depth", 2)
    with LoopbackServer(reply_with_site_grade) as server:
        for name, of_run in (("en", english), ("zh", chinese)):
            data = write_rows(tmp_path / f"{name}.jsonl", of_run)
            run = run_judge(*make_words(data, server), *store, "--out", tmp_path / name)
            assert run.returncode == 0, run.stderr
        assert sum("Grade a web site" in request.prompt for request in server.requests) == 1
        assert len(server.requests) == 2 + 1 + 2  # the pairs of each run, and the one site
    means = read_summary(tmp_path / "zh")["dimensions"]["site_grades"]["engines"]
    assert means["e"]["quality@1"]["mean"] is None
    assert means["e"]["quality@2"]["mean"] == 2.5
    assert "quality@3" not in means["e"]
