"""`judge run --controls`: snippets of other queries are judged with the pool, and change no score."""

import json
from pathlib import Path
from typing import Any

import pytest

import judge
from judge.dataset.pool import build_pool
from judge.pair_selection import draw_mismatched_pairs
from tests.support.command_line import make_words, run_judge
from tests.support.datasets import read_dataset
from tests.support.factories import extract_fenced, read_summary, reply_with_grade, write_rows
from tests.support.fake_server import ChatRequest, LoopbackServer, Reply

TOPICS = ("apple", "bridge", "copper", "desert", "engine", "forest", "garden", "harbour")


def make_control_rows(good: int) -> list[dict[str, Any]]:
    """Return rows of two engines; each snippet states its grade, 3 at the first `good` of 4 ranks."""
    return [
        {
            "query_id": topic,
            "query": topic,
            "engine": engine,
            "rank": rank,
            "snippet": f"{topic} {engine} {rank} grade={3 if rank <= good else 0}",
        }
        for topic in TOPICS
        for engine in "ab"
        for rank in range(1, 5)
    ]


def judge_rows(folder: Path, server: LoopbackServer, good: int, *words: object) -> dict[str, Any]:
    """Run judge over these rows and return the summary, with the output."""
    data = write_rows(folder / "d.jsonl", make_control_rows(good))
    result = run_judge(*make_words(data, server), "--out", folder / "run", *words)
    assert result.returncode == 0, result.stderr
    summary: dict[str, Any] = read_summary(folder / "run")
    return {**summary, "printed": result.stdout}


def test_controls_are_judged_beside_the_pool_and_change_no_score(tmp_path: Path) -> None:
    from statsmodels.stats.proportion import proportion_confint

    with LoopbackServer(reply_with_grade) as server:
        words = make_words(write_rows(tmp_path / "d.jsonl", make_control_rows(2)), server)
        plain = judge_rows(tmp_path, server, 2)
        calls = len(server.requests)
        assert calls == 64
        estimate = run_judge(
            "estimate", *words[1:], "--controls", "--control-pairs", 30, "--out", tmp_path / "run"
        )
        assert "30 of the pairs are controls" in estimate.stdout
        assert "94 judgments: 64 without a call, 30 calls to pay" in estimate.stdout
        result = judge_rows(tmp_path, server, 2, "--controls", "--control-pairs", 30)
        requests = server.requests[calls:]
        assert len(requests) == 30
        again = judge_rows(tmp_path, server, 2, "--controls", "--control-pairs", 30)
        assert len(server.requests) == calls + 30
        assert again["controls"] == result["controls"]
    # Half of all snippets state a relevant grade for any query.
    relevant = sum("grade=3" in each.prompt for each in requests)
    share = result["controls"]["false_positives"]
    assert (share["count"], share["of"]) == (relevant, 30)
    assert 0 < relevant < 30
    assert share["ci95"] == pytest.approx(proportion_confint(relevant, 30, method="wilson"))
    for name in ("engines", "comparisons", "pairs", "judgments", "grades", "coverage"):
        assert result[name] == plain[name], name
    assert len((tmp_path / "run" / "judgments.jsonl").read_text().splitlines()) == 64
    # 4 relevant pairs a query: P@5 is 4 of 5 at best.
    means = {name: row["mean"] for name, row in result["controls"]["ideal"].items()}
    assert means["P@5"] == pytest.approx(0.8)
    assert (means["nDCG@10"], means["AP@10"], means["RR@10"]) == (1.0, 1.0, 1.0)
    assert "control:ideal (the best order of the pool): nDCG@10 1.0000, MAP@10 1.0000" in result["printed"]
    assert f"grades {relevant} of 30 snippets of other queries as relevant" in result["printed"]
    warning = (
        f"The assessor grades {relevant / 30:.0%} of the snippets of other queries as relevant, more than"
        " the 5%"
    )
    assert warning in result["printed"]
    page = (tmp_path / "run" / "report.html").read_text()
    assert warning in page
    assert "control:ideal: nDCG@10 1.000" in page
    score = judge.score(tmp_path / "run", ["P@1"], save=True)
    assert score.summary.controls is not None
    assert score.summary.controls.ideal["P@1"].mean == 1.0
    assert "controls" not in plain


def test_a_panel_with_repeats_and_labels_keeps_controls_out_of_its_judgments(tmp_path: Path) -> None:
    qrels = tmp_path / "people.qrels"
    with LoopbackServer(reply_with_grade) as server:
        judge_rows(tmp_path, server, 0)
        lines = (tmp_path / "run" / "judgments.jsonl").read_text().splitlines()
        first = json.loads(lines[0])
        qrels.write_text(f"{first['query_id']} 0 {first['snippet_id']} 2\n")
        words = ("-m", "openai:other", "--repeats", 2, "--qrels", qrels, "--controls", "--control-pairs", 10)
        folder = tmp_path / "panel"
        folder.mkdir()
        result = judge_rows(folder, server, 0, *words)
    assert result["controls"]["false_positives"]["of"] == 10
    assert result["controls"]["false_positives"]["count"] == 0
    assert result["judged"] == result["judgments"] == 128
    assert [member["judged"] for member in result["panel"]["members"]] == [126, 126]
    assert "more than the 5%" not in result["printed"]


def test_mismatched_pairs_share_no_term_and_a_larger_draw_contains_a_smaller_one() -> None:
    mixed = [
        *make_control_rows(1),
        {"query": "苹果 手机", "engine": "a", "snippet": "苹果手机的价格"},
        {"query": "桥梁 设计", "engine": "a", "snippet": "桥梁设计规范"},
        {"query": "apple pie", "engine": "a", "snippet": "A pie with apples"},
    ]
    data = read_dataset(mixed, lang="auto", max_chars=4000)
    pool = build_pool(data, 10)
    drawn = draw_mismatched_pairs(data, pool, 60)
    assert len(drawn) == 60
    assert list(draw_mismatched_pairs(data, pool, 20)) == list(drawn)[:20]
    keys = {(pair.query.id, pair.snippet.id) for pair in pool.pairs}
    owners = {pair.snippet.id: pair.query for pair in pool.pairs}
    assert keys.isdisjoint(drawn)
    for (query_id, snippet_id), pair in drawn.items():
        owner = owners[snippet_id]
        assert (pair.query.id, pair.snippet.id) == (query_id, snippet_id)
        assert pair.query.lang == owner.lang
        assert not set(pair.query.text.split()) & set(owner.text.split())
    shuffled = read_dataset(mixed[::-1], lang="auto", max_chars=4000)
    assert draw_mismatched_pairs(shuffled, build_pool(shuffled, 10), 60).keys() == drawn.keys()


def test_the_interval_of_the_ideal_order_ends_at_the_largest_value(tmp_path: Path) -> None:
    some = [row for row in make_control_rows(4) if row["query_id"] != "apple" or row["rank"] == 1]
    data = write_rows(tmp_path / "d.jsonl", some)
    with LoopbackServer(reply_with_grade) as server:
        words = (*make_words(data, server), "--out", tmp_path / "run", "--controls", "--control-pairs", 10)
        # Judged and a measure of a list alone compare no engines, and have no ideal order.
        result = run_judge(*words, "--measures", "nDCG@10 Judged@5 AP(own)@10 P@5 DCG@2")
    assert result.returncode == 0, result.stderr
    ideal = read_summary(tmp_path / "run")["controls"]["ideal"]
    assert list(ideal) == ["nDCG@10", "P@5", "DCG@2"]
    # 2 of 5 on one query and 1.0 on seven: 0.925 ± 2.365 * 0.2121 / sqrt(8) is cut at 1.
    assert ideal["P@5"]["mean"] == pytest.approx(0.925)
    assert ideal["P@5"]["ci95"] == pytest.approx([0.7477, 1.0], abs=1e-4)
    assert ideal["DCG@2"]["mean"] > 1


def test_one_query_has_no_mismatched_pair(tmp_path: Path) -> None:
    result = run_judge(
        "run",
        write_rows(tmp_path / "d.jsonl", make_control_rows(1)[:8]),
        "-m",
        "lexical",
        "--controls",
        "--out",
        tmp_path / "x",
    )
    assert result.returncode == 0, result.stderr
    assert (
        "control:mismatched: no snippet of another query was judged. A snippet is of a query in the same"
        in result.stdout
    )


def test_a_run_whose_controls_are_not_all_judged_says_so(tmp_path: Path) -> None:
    with LoopbackServer(reply_with_grade) as server:
        words = make_words(write_rows(tmp_path / "d.jsonl", make_control_rows(2)), server)
        judge_rows(tmp_path, server, 2)
        more = ("--controls", "--control-pairs", 10, "--max-calls", 4, "--out", tmp_path / "run")
        result = run_judge(*words, *more)
    assert result.returncode == 3
    assert "stopped before all controls were judged: " in " ".join(result.stderr.split())


def test_controls_that_fail_are_no_failed_pairs_of_the_run(tmp_path: Path) -> None:
    def reject_controls(request: ChatRequest) -> Reply:
        topic = extract_fenced(request.prompt).split()[0]
        is_control = request.prompt.count(topic) == 1
        return (
            Reply(status=400, body='{"error": {"message": "odd"}}')
            if is_control
            else reply_with_grade(request)
        )

    with LoopbackServer(reject_controls) as server:
        result = judge_rows(tmp_path, server, 2, "--controls", "--control-pairs", 5)
    assert (result["coverage"], result["controls"]["false_positives"]["of"]) == (1.0, 0)
    assert "not every judgment has a grade" not in result["printed"]


def test_the_ideal_of_a_partly_graded_pool_is_no_ceiling(tmp_path: Path) -> None:
    """The snippets of one query get no grade."""

    def reply_without_one_query(request: ChatRequest) -> Reply:
        return (
            Reply(text="no grade")
            if "apple a" in request.prompt or "apple b" in request.prompt
            else reply_with_grade(request)
        )

    with LoopbackServer(reply_without_one_query) as server:
        data = write_rows(tmp_path / "d.jsonl", make_control_rows(2))
        result = run_judge(
            *make_words(data, server), "--controls", "--control-pairs", 5, "--out", tmp_path / "run"
        )
    assert "control:ideal is not a ceiling" in " ".join(result.stdout.split())
    # The controls count neither in the share nor in the failures: 8 pairs of 64 have no grade.
    assert "only 87.50% of the pairs were judged" in result.stderr
    assert "(8 of 64 failed: " in result.stderr
    ideal = read_summary(tmp_path / "run")["controls"]["ideal"]
    # 4 relevant pairs on each of the other seven queries.
    assert (ideal["P@5"]["mean"], ideal["P@5"]["queries"]) == (pytest.approx(0.8), 7)


def test_a_draw_of_pairs_that_hardly_exist_ends() -> None:
    """Two queries without a common term have 2 x 3 snippets, however many are wanted."""
    rows = [
        {"query": query, "engine": "a", "rank": rank, "snippet": f"{query} {rank}"}
        for query in ("green tea", "steam engine")
        for rank in (1, 2, 3)
    ]
    data = read_dataset(rows, lang="en", max_chars=400)
    assert len(draw_mismatched_pairs(data, build_pool(data, 10), 10**9)) == 6
