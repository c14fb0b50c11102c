"""Means over queries, and what stands beside them: counts, latency, tokens; the t quantile against scipy."""

from collections.abc import Iterable
from dataclasses import replace

import pytest

from judge.characters import estimate_tokens
from judge.measure.columns import tabulate_results
from judge.measure.engine_summary import EngineSummary, Latency, TokenCount, summarise_engines
from judge.measure.intervals import t_quantile
from judge.measure.measures import parse_measures
from judge.measure.score import score_rankings
from judge.records import BINARY, GRADED, Ranking, Snippet
from tests.support.intervals import get_high_end, get_low_end
from tests.unit.measure.judged_dataset import JudgedDataset


@pytest.fixture
def nightly_dataset() -> JudgedDataset:
    """Two engines, five queries: one breaks, one returns nothing, one finds nothing, one is unjudged."""
    return JudgedDataset(
        {
            "A": {"q1": ["a", "a", "b"], "q2": ["a"], "q3": ["x"], "q4": [], "q5": ["u"]},
            "B": {"q1": ["b"], "q2": None, "q3": ["y"], "q4": ["a"]},
        },
        [
            {
                ("q1", "a"): 1,
                ("q1", "b"): 0,
                ("q2", "a"): 1,
                ("q3", "x"): 0,
                ("q3", "y"): 0,
                ("q4", "a"): 1,
                ("q5", "u"): None,
            }
        ],
        BINARY,
        measures="nDCG@10 P@1",
    )


def test_what_came_back_is_counted(nightly_dataset: JudgedDataset) -> None:
    a, b = nightly_dataset.summarise().values()
    assert (a.queries, a.answered, a.empty, a.errors, a.absent) == (5, 4, 1, 0, 0)
    assert (b.queries, b.answered, b.empty, b.errors, b.absent) == (5, 3, 0, 1, 1)
    assert [a.judged, a.duplicates] == pytest.approx([5 / 6, 1 / 6])
    assert (b.judged, b.duplicates) == (1, 0)


def test_a_mean_says_over_how_many_queries_and_why_not_over_all(nightly_dataset: JudgedDataset) -> None:
    a, b = nightly_dataset.summarise().values()
    ndcg = a.measures["nDCG@10"]
    assert [ndcg.mean, ndcg.n, ndcg.undefined, ndcg.unknown] == pytest.approx([2 / 3, 3, 1, 1])
    assert (a.measures["P@1"].mean, a.measures["P@1"].n) == (0.5, 4)
    ndcg = b.measures["nDCG@10"]
    assert (ndcg.mean, ndcg.n, ndcg.undefined, ndcg.unknown) == (0.5, 2, 1, 0)
    for engine in (a, b):
        for mean in engine.measures.values():
            assert engine.queries == mean.n + mean.undefined + mean.unknown + engine.errors + engine.absent


def test_the_paired_mean_leaves_out_what_one_engine_lacks(nightly_dataset: JudgedDataset) -> None:
    a, b = (engine.measures["nDCG@10"] for engine in nightly_dataset.summarise().values())
    assert (a.paired, a.paired_n) == (0.5, 2)
    assert (b.paired, b.paired_n) == (0.5, 2)


def test_repeats_are_averaged_within_a_query_first() -> None:
    """q1 has a value in both repeats, q2 in the first alone; each query weighs the same."""
    dataset = JudgedDataset(
        {"A": {"q1": ["a"], "q2": ["b"]}},
        [{("q1", "a"): 1, ("q2", "b"): 1}, {("q1", "a"): 0, ("q2", "b"): None}],
        BINARY,
        measures="P@1",
    )
    (a,) = dataset.summarise().values()
    assert (a.measures["P@1"].mean, a.measures["P@1"].n) == (0.75, 2)
    assert a.judged == 0.75


def test_bounds_are_means_over_the_same_queries() -> None:
    dataset = JudgedDataset(
        {"A": {"q1": ["a", "u"], "q2": ["b"]}},
        [{("q1", "a"): 1, ("q1", "u"): None, ("q2", "b"): 1}],
        BINARY,
        measures="P@2",
    )
    mean = dataset.summarise()["A"].measures["P@2"]
    assert (get_low_end(mean.bounds), mean.mean, get_high_end(mean.bounds)) == (0.5, 0.75, 0.75)


def test_a_mean_over_nothing_is_unknown() -> None:
    (broke,) = JudgedDataset({"A": {"q": None}}, [], measures="P@1").summarise().values()
    mean = broke.measures["P@1"]
    assert (
        mean.mean,
        get_low_end(mean.bounds),
        get_high_end(mean.bounds),
        mean.n,
        mean.paired,
        mean.paired_n,
    ) == (None, None, None, 0, None, 0)
    assert (broke.judged, broke.duplicates, broke.errors) == (None, None, 1)


def test_no_engine_has_no_summary() -> None:
    assert JudgedDataset({}, []).summarise() == {}


def test_engines_are_summed_up_in_one_order(nightly_dataset: JudgedDataset) -> None:
    turned = replace(
        nightly_dataset, returned={engine: nightly_dataset.returned[engine] for engine in ("B", "A")}
    )
    assert turned.summarise() == nightly_dataset.summarise()


def make_snippet(raw_text: str, raw_title: str = "") -> Snippet:
    """A snippet that shows less than the engine returned."""
    return Snippet("s", "shown", "shown", raw=(raw_title, raw_text))


def make_answer(milliseconds: float | None, *snippets: Snippet, error: str | None = None) -> Ranking:
    """An answer that took so long."""
    return Ranking("brave", "q", snippets, error, milliseconds)


def summarise_answers(answers: Iterable[Ranking], depth: int = 3) -> EngineSummary:
    """What is said of the engine that gave these answers, each to a query of its own."""
    rankings = [
        replace(answer, query_id=f"q{at}", documents=tuple(snippet.id for snippet in answer.snippets[:depth]))
        for at, answer in enumerate(answers)
    ]
    scores = score_rankings(rankings, [], parse_measures("P@1"), GRADED, depth=depth)
    return summarise_engines(scores, tabulate_results(rankings, depth))["brave"]


def measure_latency(answers: Iterable[Ranking]) -> Latency | None:
    return summarise_answers(answers).latency_ms


def measure_tokens(answers: Iterable[Ranking], depth: int) -> TokenCount | None:
    return summarise_answers(answers, depth).tokens


def compute_no_snippet_share(answers: Iterable[Ranking], depth: int) -> float | None:
    return summarise_answers(answers, depth).no_snippet_share


def test_latency_is_the_median_and_what_95_percent_stay_under() -> None:
    answers = [make_answer(float(value)) for value in (500, 100, 300, 200, 400)]
    # Positions 0..4 of the sorted values; 0.95 * 4 = 3.8: 400 + 0.8 * 100.
    assert measure_latency(answers) == Latency(median=300.0, p95=480.0, n=5)
    assert measure_latency(reversed(answers)) == measure_latency(answers)


def test_latency_nobody_measured_is_unknown_and_a_failure_takes_no_time() -> None:
    assert measure_latency([make_answer(None), make_answer(9.0, error="timeout")]) is None
    assert measure_latency(
        [make_answer(None), make_answer(9.0, error="timeout"), make_answer(7.0)]
    ) == Latency(7.0, 7.0, 1)


def test_tokens_are_those_of_what_was_returned_down_to_the_depth() -> None:
    answer = make_answer(
        1.0, make_snippet("<b>红茶</b>", "tea 红"), make_snippet("green tea"), make_snippet("too deep")
    )
    total = sum(map(estimate_tokens, ("<b>红茶</b>", "tea 红", "green tea")))
    for answers, mean, n in (
        ([answer], total, 1),
        ([answer, make_answer(1.0)], total / 2, 2),
        ([answer, make_answer(1.0, error="broke")], total, 1),
    ):
        result = measure_tokens(answers, depth=2)
        assert result is not None
        assert result.mean == pytest.approx(mean)
        assert result.n == n
    assert measure_tokens([make_answer(1.0, error="broke")], depth=2) is None


def test_results_without_a_text_of_their_own_are_a_share() -> None:
    with_text = Snippet("1", "text", "title")
    without = Snippet("2", title="title")
    rankings = [make_answer(None, with_text, without), make_answer(None, without, without, with_text)]
    assert compute_no_snippet_share(rankings, 2) == 0.75
    assert compute_no_snippet_share(rankings, 3) == 0.6
    unknown = Snippet("3", flags=("no_text",))
    assert compute_no_snippet_share([make_answer(None, with_text, unknown, without)], 3) == 0.5
    assert compute_no_snippet_share([make_answer(None, unknown)], 2) is None
    assert compute_no_snippet_share([make_answer(None, error="HTTP 503")], 2) is None


@pytest.mark.parametrize("freedom", [range(1, 1_100), [1_249, 2_000, 9_999, 10**5]])
def test_the_t_quantile_equals_that_of_scipy(freedom: range | list[int]) -> None:
    from scipy.special import stdtrit

    assert [t_quantile(df) for df in freedom] == pytest.approx(stdtrit([*freedom], 0.975), rel=1e-11, abs=0)
