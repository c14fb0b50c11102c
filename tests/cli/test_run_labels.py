"""`judge run --qrels`: labels are grades of the run, and the assessor judges the other pairs."""

import json
from pathlib import Path
from typing import Any

import pytest

import judge
from judge.dataset.labels import draw_sample
from tests.support.command_line import make_words, run_judge
from tests.support.factories import make_rows, read_judgments, read_summary, reply_with_grade, write_rows
from tests.support.fake_server import LoopbackServer

QUERIES, ENGINES, RESULTS = 3, 2, 4
PAIRS = QUERIES * ENGINES * RESULTS


def make_label_line(snippet_id: str, query_id: str, grade: int) -> str:
    return f"{query_id} 0 {snippet_id} {grade}\n"


def judge_with_labels(data: Path, server: LoopbackServer, out: Path, *words: object) -> list[dict[str, Any]]:
    """Run judge and return the lines of judgments.jsonl."""
    result = run_judge(*make_words(data, server), "--out", out, *words)
    assert result.returncode == 0, result.stderr
    return read_judgments(out)


def write_labels(path: Path, judgments: list[dict[str, Any]], grade: int | None = None) -> Path:
    path.write_text(
        "".join(
            make_label_line(line["snippet_id"], line["query_id"], line["grade"] if grade is None else grade)
            for line in judgments
        )
    )
    return path


def test_labelled_pairs_are_not_asked_and_keep_the_grade_of_people(tmp_path: Path) -> None:
    data = write_rows(tmp_path / "data.jsonl", make_rows(QUERIES, ENGINES, RESULTS))
    with LoopbackServer(reply_with_grade) as server:
        every = judge_with_labels(data, server, tmp_path / "plain", "--store", tmp_path / "one.sqlite")
        labels = write_labels(tmp_path / "labels.txt", every[:10], grade=3)
        before = len(server.requests)
        judgments = judge_with_labels(
            data, server, tmp_path / "out", "--qrels", labels, "--store", tmp_path / "two.sqlite"
        )
        assert len(server.requests) - before == PAIRS - 10
    labelled = {(line["query_id"], line["snippet_id"]) for line in every[:10]}
    for line, plain in zip(judgments, every, strict=True):
        key = line["query_id"], line["snippet_id"]
        assert key == (plain["query_id"], plain["snippet_id"])
        assert line["flags"] == (["label"] if key in labelled else plain["flags"])
        assert line["assessor"] == ("people" if key in labelled else plain["assessor"])
        assert line["grade"] == (3 if key in labelled else plain["grade"])
    summary = read_summary(tmp_path / "out")
    assert summary["labels"] == {"source": "labels.txt", "pairs": 10, "unmatched": 0, "check": None}
    assert (summary["judged"], summary["coverage"]) == (PAIRS, 1.0)
    assert "labels" not in read_summary(tmp_path / "plain")


def test_with_a_label_for_every_pair_no_call_is_made_and_scores_equal_pytrec_eval(tmp_path: Path) -> None:
    import pytrec_eval

    data = write_rows(tmp_path / "data.jsonl", make_rows(QUERIES, ENGINES, RESULTS))
    with LoopbackServer(reply_with_grade) as server:
        plain = judge_with_labels(data, server, tmp_path / "plain")
        labels = write_labels(
            tmp_path / "labels.txt",
            [{**line, "grade": number % 4} for number, line in enumerate(plain)],
        )
        before = len(server.requests)
        judge_with_labels(data, server, tmp_path / "out", "--qrels", labels, "--repeats", "2")
        assert len(server.requests) == before
    results = json.loads((tmp_path / "out" / "results.json").read_text())
    qrels: dict[str, dict[str, int]] = {}
    for line in labels.read_text().splitlines():
        query_id, _, snippet_id, grade = line.split()
        qrels.setdefault(query_id, {})[snippet_id] = int(grade)
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut.10", "map_cut.10"}, relevance_level=2)
    for engine in ("engine0", "engine1"):
        lists = {
            query["query_id"]: {
                snippet["snippet_id"]: 100.0 - snippet["rank"]
                for snippet in query["engines"][engine]["snippets"]
            }
            for query in results["queries"]
        }
        for query_id, values in evaluator.evaluate(lists).items():
            (entry,) = (query for query in results["queries"] if query["query_id"] == query_id)
            scores = entry["engines"][engine]["scores"]
            assert scores["nDCG@10"] == pytest.approx(values["ndcg_cut_10"], abs=1e-12)
            assert scores["AP@10"] == pytest.approx(values["map_cut_10"], abs=1e-12)
    assert read_summary(tmp_path / "out")["cost"]["calls"] == 0
    # No grade comes from the model, so it needs no self-test.
    assert "There is no self-test of" not in run_judge("score", tmp_path / "out").stdout
    assert "There is no self-test of" in run_judge("score", tmp_path / "plain").stdout


def test_different_labels_of_documents_with_one_text_are_a_warning(tmp_path: Path) -> None:
    texts = {"d1": "same", "d2": "same", "d3": "other"}
    rows = [{"query_id": "1", "query": "q", "docno": name, "snippet": text} for name, text in texts.items()]
    labels = tmp_path / "labels.txt"
    labels.write_text("1 0 d1 3\n1 0 d2 0\n1 0 d3 1\n")
    result = judge.run(rows, "lexical", out=str(tmp_path / "run"), qrels=str(labels))
    assert result.warnings == (
        "pairs whose documents have different labels: 1, the first is of query '1'; the highest label counts,"
        " because equal texts are one pair",
    )


def test_a_sample_of_labelled_pairs_is_judged_and_measures_agreement(tmp_path: Path) -> None:
    data = write_rows(tmp_path / "data.jsonl", make_rows(QUERIES, ENGINES, RESULTS))
    with LoopbackServer(reply_with_grade) as server:
        every = judge_with_labels(data, server, tmp_path / "plain")
        # The labels are 3 for every pair; the model gives the stated grade.
        labels = write_labels(tmp_path / "labels.txt", every, grade=3)
        before = len(server.requests)
        out = tmp_path / "out"
        judgments = judge_with_labels(
            data, server, out, "--qrels", labels, "--check", "8", "--store", tmp_path / "two.sqlite"
        )
        assert len(server.requests) - before == 8
    assert {line["grade"] for line in judgments} == {3}
    sample = draw_sample(((line["query_id"], line["snippet_id"]) for line in every), 8)
    grades = [line["grade"] for line in every if (line["query_id"], line["snippet_id"]) in sample]
    check = read_summary(out)["labels"]["check"]
    assert (check["pairs"], check["judged"]) == (8, 8)
    assert check["same_grade"]["value"] == pytest.approx(grades.count(3) / 8)
    assert check["bias"]["value"] == pytest.approx(sum(grades) / 8 - 3)
    refused = run_judge(*make_words(data, server), "--out", out, "--qrels", labels, "--check", "9")
    assert "the labels or the sample of --check changed" in refused.stderr
    printed = run_judge("score", out).stdout
    assert f"{PAIRS} results, {PAIRS} pairs\n" in printed
    assert "0 new calls; in all 8 calls, 960 tokens in (0 cached), 240 out; price unknown: add" in printed
    assert f"People graded {PAIRS} of {PAIRS} pairs (labels.txt)." in printed
    assert f"the assessor gives the same grade to {grades.count(3) / 8:.1%}" in printed
    assert f", kappa {check['kappa']['value']:.3f}; " in printed
    assert f"the mean of assessor - person is {sum(grades) / 8 - 3:+.2f}." in printed
    agreed = run_judge("agree", out, "--qrels", labels)
    assert agreed.returncode == 2
    assert "agreement with people cannot be measured on it" in agreed.stderr
    # Scoring again reads the labels from the folder.
    assert run_judge("score", out, "--save").returncode == 0
    assert read_summary(out)["labels"]["check"] == check


def test_a_panel_judges_the_pairs_without_a_label(tmp_path: Path) -> None:
    data = write_rows(tmp_path / "data.jsonl", make_rows(QUERIES, ENGINES, RESULTS))
    with LoopbackServer(reply_with_grade) as server:
        every = judge_with_labels(data, server, tmp_path / "plain")
        labels = write_labels(tmp_path / "labels.txt", every[:10])
        out = tmp_path / "out"
        judge_with_labels(data, server, out, "-m", "lexical", "--qrels", labels)
    members = [json.loads(line) for line in (out / "members.jsonl").read_text().splitlines()]
    assert len(members) == 2 * (PAIRS - 10)
    assert read_summary(out)["panel"]["judged"] == PAIRS - 10
    assert run_judge("score", out).returncode == 0


def test_other_labels_are_another_run(tmp_path: Path) -> None:
    data = write_rows(tmp_path / "data.jsonl", make_rows(QUERIES, ENGINES, RESULTS))
    with LoopbackServer(reply_with_grade) as server:
        every = judge_with_labels(data, server, tmp_path / "plain")
        out = tmp_path / "out"
        judge_with_labels(
            data, server, out, "--qrels", write_labels(tmp_path / "labels.txt", every[:10], grade=3)
        )
        # A file that moved is the same run.
        judge_with_labels(
            data, server, out, "--qrels", write_labels(tmp_path / "moved.txt", every[:10], grade=3)
        )
        result = run_judge(
            *make_words(data, server), "--out", out,
            "--qrels", write_labels(tmp_path / "labels.txt", every[:10], grade=2),
        )  # fmt: skip
    assert result.returncode == 2
    assert "holds another run: the labels or the sample of --check changed" in result.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--check", "5"), "check takes a sample of labelled pairs; name their file with --qrels"),
        (("--ray-address", "ray://there"), "--ray-address is that of a Ray cluster; add --on ray"),
        (("--batch", "--on", "ray"), "a batch runs at the provider, not on Ray; omit --batch or --on ray"),
        (("--qrels", "absent.txt"), "absent.txt"),
        (("--qrels", "{labels}"), "none of the rows (1) is about this run"),
    ],
)
def test_labels_that_cannot_be_used_end_the_run_before_a_call(
    words: tuple[str, ...], message: str, tmp_path: Path
) -> None:
    data = write_rows(tmp_path / "data.jsonl", make_rows(QUERIES, ENGINES, RESULTS))
    labels = tmp_path / "labels.txt"
    labels.write_text(make_label_line("other", "q0", 2))
    with LoopbackServer(reply_with_grade) as server:
        result = run_judge(*make_words(data, server), *(word.format(labels=labels) for word in words))
        assert not server.requests
    assert result.returncode == 2
    assert message in result.stderr


def test_a_guess_at_the_encoding_of_labels_is_a_warning(tmp_path: Path) -> None:
    data = write_rows(tmp_path / "data.jsonl", make_rows(QUERIES, ENGINES, RESULTS))
    with LoopbackServer(reply_with_grade) as server:
        every = judge_with_labels(data, server, tmp_path / "plain")
        labels = write_labels(tmp_path / "labels.txt", every)
        with labels.open("a", encoding="gb18030") as file:
            file.write(make_label_line("文档", "问题", 2))
        words = *make_words(data, server), "--qrels", labels
        texts = [
            run_judge("estimate", *words[1:]).stdout,
            run_judge(*words, "--out", tmp_path / "out").stdout,
        ]
    warning = f"{labels}: is not UTF-8 and was read as GB18030; save it as UTF-8 if that is wrong"
    assert [" ".join(text.split()).count(warning) for text in texts] == [1, 1]
    assert read_summary(tmp_path / "out")["remarks"] == [warning]


def test_labels_of_another_scale_name_the_option(tmp_path: Path) -> None:
    data = write_rows(tmp_path / "data.jsonl", make_rows(QUERIES, ENGINES, RESULTS))
    with LoopbackServer(reply_with_grade) as server:
        every = judge_with_labels(data, server, tmp_path / "plain")
        labels = tmp_path / "labels.csv"
        labels.write_text(f"query_id,snippet_id,grade\n{every[0]['query_id']},{every[0]['snippet_id']},yes\n")
        words = (*make_words(data, server), "--out", tmp_path / "out")
        result = run_judge(*words, "--qrels", labels)
        toml = tmp_path / "judge.toml"
        toml.write_text(f'qrels = "{labels}"\n')
        by_file = run_judge(*words, "--config", toml)
    assert result.returncode == by_file.returncode == 2
    assert "the labels are binary (0-1) and the run is graded (0-3); add --scale binary" in result.stderr
    assert 'add scale = "binary"' in by_file.stderr


def test_with_complete_a_topic_that_a_run_lacks_is_0_as_in_trec_eval(tmp_path: Path) -> None:
    import ir_measures

    texts = {f"d{number}": f"page {number}" for number in range(1, 5)}
    lists = {
        "A": {"1": ["d1", "d2"], "2": ["d3", "d4"], "3": ["d1"]},
        "B": {"1": ["d2", "d1"], "3": ["d4", "d1"]},
    }
    grades = {"1": {"d1": 3, "d2": 1}, "2": {"d3": 2, "d4": 0}, "3": {"d1": 1, "d4": 0}}
    (tmp_path / "topics.tsv").write_text("1\tone\n2\ttwo\n3\tthree\n")
    (tmp_path / "docs.tsv").write_text("".join(f"{name}\t{text}\n" for name, text in texts.items()))
    qrels = [
        make_label_line(name, topic, grade) for topic, of in grades.items() for name, grade in of.items()
    ]
    (tmp_path / "qrels.txt").write_text("".join(qrels))
    for name, of_topics in lists.items():
        lines = (
            f"{topic} Q0 {document} {rank} {10 - rank} {name}\n"
            for topic, documents in of_topics.items()
            for rank, document in enumerate(documents, start=1)
        )
        (tmp_path / f"{name}.run").write_text("".join(lines))
    words = (
        *("run", "--topics", tmp_path / "topics.tsv", "--docs", tmp_path / "docs.tsv", "-m", "lexical"),
        *("--run", tmp_path / "A.run", tmp_path / "B.run", "--qrels", tmp_path / "qrels.txt"),
        *("--measures", "nDCG@2 P@2", "--out", tmp_path / "complete"),
    )
    result = run_judge(*words, "--complete")
    assert result.returncode == 0, result.stderr
    engines = read_summary(tmp_path / "complete")["engines"]
    relevant = [
        ir_measures.Qrel(topic, name, grade) for topic, of in grades.items() for name, grade in of.items()
    ]
    measures = [ir_measures.nDCG @ 2, ir_measures.P(rel=2) @ 2]
    for name in lists:
        listed = [
            ir_measures.ScoredDoc(topic, document, -rank)
            for topic, documents in lists[name].items()
            for rank, document in enumerate(documents)
        ]
        # ir_measures counts a topic of the qrels that a run lacks as 0.
        means = ir_measures.calc_aggregate(measures, relevant, listed)
        expected = [pytest.approx(means[measure], abs=1e-12) for measure in measures]
        assert [engines[name]["measures"][key]["mean"] for key in ("nDCG@2", "P@2")] == expected
    assert (engines["B"]["answered"], engines["B"]["empty"], engines["B"]["absent"]) == (2, 1, 0)
    refused = run_judge(*words)
    assert refused.returncode == 2
    assert "the dataset, --columns or --complete changed. Name another --out" in refused.stderr
