"""`judge run -m rerank:…`: thresholds turn scores into grades, and the scores are stored."""

import subprocess
from pathlib import Path

import pytest

from judge.assess.rerank_assessor import fit_thresholds
from tests.support.command_line import run_judge
from tests.support.factories import make_rows, read_judgments, read_results, read_summary, write_rows
from tests.support.fake_server import LoopbackServer, Reply
from tests.support.rerank_server import compute_score, rerank

QUERIES, ENGINES, RESULTS = 3, 2, 4
#: Between the scores of the grades.
THRESHOLDS = "0.2,0.5,0.8"


def run_reranker(
    data: Path, server: LoopbackServer, out: Path, *words: object
) -> subprocess.CompletedProcess[str]:
    return run_judge("run", data, "-m", "rerank:server:m", "--base-url", server.url, "--out", out, *words)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_rows(tmp_path / "data.jsonl", make_rows(QUERIES, ENGINES, RESULTS))


def test_other_thresholds_and_another_scale_cost_no_call(data: Path, tmp_path: Path) -> None:
    with LoopbackServer(rerank) as server:
        result = run_reranker(data, server, tmp_path / "runs" / "a", "--rerank-thresholds", THRESHOLDS)
        assert result.returncode == 0, result.stderr
        calls = len(server.requests)
        high = run_reranker(data, server, tmp_path / "runs" / "b", "--rerank-thresholds", "0.3,0.7,0.9")
        words = ("--scale", "binary", "--rerank-thresholds", "0.5")
        binary = run_reranker(data, server, tmp_path / "runs" / "c", *words)
        assert (high.returncode, binary.returncode, len(server.requests)) == (0, 0, calls)
    assert "returns scores without reasons; its grades begin at the scores 0.2, 0.5, 0.8" in result.stdout
    assert "There is no self-test of" not in result.stdout
    by_pair = {}
    for name, grade_of in (
        ("a", lambda score: round((score - 0.1) * 4)),
        ("b", lambda score: (score >= 0.3) + (score >= 0.7)),
        ("c", lambda score: int(score >= 0.5)),
    ):
        for query in read_results(tmp_path / "runs" / name)["queries"]:
            for engine in query["engines"].values():
                for snippet in engine["snippets"]:
                    (entry,) = snippet["judgments"]
                    by_pair[snippet["snippet_id"]] = compute_score(snippet["snippet"])
                    assert entry["score"] == compute_score(snippet["snippet"])
                    assert entry["grade"] == grade_of(entry["score"])
    line = read_judgments(tmp_path / "runs" / "b")[0]
    assert float(line["reply"]) == by_pair[line["snippet_id"]]
    assert line["params"] == {"thresholds": [0.3, 0.7, 0.9]}
    assert "a reranker gives no reason" in line["reason"]


def test_the_scores_of_lists_are_columns_beside_the_measures(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "runs" / "a"
    with LoopbackServer(rerank) as server:
        result = run_reranker(data, server, out, "--rerank-thresholds", THRESHOLDS)
    summary = read_summary(out)
    # Query q at engine e has the grades (q + 2 r + e) % 4 at the ranks 1 to 4: two values, twice each.
    for e in range(ENGINES):
        lists = [[(q + 2 * r + e) % 4 / 4 + 0.1 for r in range(1, RESULTS + 1)] for q in range(QUERIES)]
        relevancy = summary["engines"][f"engine{e}"]["rerank_relevancy"]
        assert relevancy["mean"] == pytest.approx(sum(map(sum, lists)) / (QUERIES * RESULTS))
        assert relevancy["max"] == pytest.approx(sum(map(max, lists)) / QUERIES)
        assert relevancy["n"] == QUERIES
    assert "score mean" in result.stdout
    assert "score max" in (out / "report.html").read_text()
    assert run_judge("score", out, "--save").returncode == 0
    assert read_summary(out) == summary


def test_thresholds_are_fitted_on_labels(data: Path, tmp_path: Path) -> None:
    labels = tmp_path / "labels.txt"
    with LoopbackServer(rerank) as server:
        assert (
            run_reranker(data, server, tmp_path / "r" / "a", "--rerank-thresholds", THRESHOLDS).returncode
            == 0
        )
        graded = read_judgments(tmp_path / "r" / "a")
        # All pairs of one query have labels: the grades that the snippets state.
        labels.write_text(
            "".join(f"q0 0 {x['snippet_id']} {x['grade']}\n" for x in graded if x["query_id"] == "q0")
        )
        fitted = run_reranker(data, server, tmp_path / "r" / "b", "--qrels", labels, "--repeats", "2")
        assert fitted.returncode == 0, fitted.stderr
        assert "fitted on 8 labelled pairs" in fitted.stdout
        again = {(x["query_id"], x["snippet_id"]): x["grade"] for x in read_judgments(tmp_path / "r" / "b")}
        assert again == {(x["query_id"], x["snippet_id"]): x["grade"] for x in graded}


def test_without_thresholds_or_labels_nothing_is_asked(data: Path, tmp_path: Path) -> None:
    with LoopbackServer(rerank) as server:
        for words, message in (
            ((), "a reranker returns scores, not grades: add --rerank-thresholds"),
            (("--rerank-thresholds", "0.5"), "one score for each grade above 0 (3), in ascending order"),
            (
                ("--rerank-thresholds", "0.5,0.4,0.9"),
                "one score for each grade above 0 (3), in ascending order",
            ),
            (("--rerank-thresholds", "high"), "--rerank-thresholds is 'high'"),
        ):
            result = run_reranker(data, server, tmp_path / "out", *words)
            assert (result.returncode, server.requests) == (2, [])
            assert message in result.stderr
    result = run_judge("run", data, "-m", "rerank:nope:m")
    assert (result.returncode, "there is no model 'rerank:nope:m'" in result.stderr) == (2, True)
    toml = tmp_path / "judge.toml"
    toml.write_text('model = "rerank:cohere:m"\n', encoding="utf-8")
    for option, value in (("-m", "rerank:cohere:m"), ("--config", str(toml))):
        result = run_judge("selftest", option, value)
        assert "a self-test is for models that give reasons" in result.stderr


def test_an_address_without_a_reranker_is_answered_with_where_it_ends(data: Path, tmp_path: Path) -> None:
    with LoopbackServer(lambda request: Reply(status=404, body="{}")) as server:
        result = run_reranker(data, server, tmp_path / "run", "--rerank-thresholds", THRESHOLDS)
    assert result.returncode == 3
    assert "check the model's name, and --base-url: it ends before" in result.stderr
    assert "/rerank" in result.stderr


def test_fitted_thresholds_give_each_grade_as_often_as_people_do() -> None:
    # Four scores and people's grades 3, 1, 1, 0: one score from grade 2 on, three from grade 1 on.
    assert fit_thresholds([(0.9, 1), (0.7, 3), (0.4, 1), (0.1, 0)], 3) == pytest.approx((0.25, 0.8, 0.8))
    # A grade that no person gave is above every score; one that every person gave begins at the lowest.
    low, high = fit_thresholds([(0.9, 1), (0.7, 1)], 2)
    assert low == 0.7
    assert high > 0.9
