"""How tonight's queries differ from the baseline's."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from judge.nightly.dataset_changes import (
    count_same_texts,
    describe_coverage,
    describe_query_drift,
    find_query_changes,
    find_shared_query_ids,
    measure_coverage,
    measure_text_distance,
)
from judge.nightly.record import NoRelevantShares, QueryDrift
from judge.records import Query

COOKING = [
    f"how long to {verb} {food}" for verb in ("boil", "roast", "freeze") for food in ("eggs", "rice", "fish")
]
TRAINS = [
    f"train from {a} to {b} timetable" for a in ("Rome", "Oslo", "Bern") for b in ("Lyon", "Gent", "Cork")
]


def make_query(id_: str, text: str) -> Query:
    return Query(id_, text, text, "en")


def test_a_query_is_shared_when_both_ask_the_same_under_one_id() -> None:
    tonight = {"a": make_query("a", "one"), "b": make_query("b", "two"), "c": make_query("c", "three")}
    baseline = {"a": make_query("a", "one"), "b": make_query("b", "other"), "d": make_query("d", "three")}
    assert find_shared_query_ids(tonight, baseline) == {"a"}


def test_queries_whose_ids_changed_are_named_as_the_reason() -> None:
    baseline = {id_: make_query(id_, text) for id_, text in zip("abcde", COOKING, strict=False)}
    # The first has its id, the next three have those of others, and the last has a new text.
    texts = [COOKING[0], *COOKING[2:4], COOKING[1], "how long to fry eggs"]
    tonight = {id_: make_query(id_, text) for id_, text in zip("abcde", texts, strict=True)}
    assert count_same_texts(tonight, baseline) == 3
    drift = make_drift(5, 5, 1, 0.5, 1.0)
    (reason,) = find_query_changes(drift, 3, 0.8, "judge baseline set x")
    assert "give each query the same query_id every night (3 of the others have the text" in reason
    (reason,) = find_query_changes(drift, 0, 0.8, "judge baseline set x")
    assert "cannot be compared; use the same queries, or make a night" in reason


def test_the_same_texts_are_at_no_distance() -> None:
    seen, by_chance, p = measure_text_distance(COOKING, COOKING[::-1])
    assert (seen, p) == (0.0, 1.0)
    assert by_chance is not None
    assert by_chance > 0


def test_texts_without_a_common_character_are_one_bit_apart() -> None:
    assert measure_text_distance(["abab"], ["小狗贫血"])[0] == pytest.approx(1.0)


def test_nothing_is_at_no_distance_that_could_be_told() -> None:
    assert measure_text_distance([], COOKING) == (None, None, None)
    assert measure_text_distance(COOKING, []) == (None, None, None)


def test_texts_of_another_kind_are_further_apart_than_chance_puts_them() -> None:
    seen, by_chance, p = measure_text_distance(COOKING, TRAINS)
    assert seen is not None
    assert by_chance is not None
    assert seen > 2 * by_chance
    assert p == pytest.approx(1 / 201)


def test_two_draws_of_one_kind_are_as_far_apart_as_chance_puts_them() -> None:
    rng = np.random.default_rng(5)
    small = 0
    for _ in range(10):
        drawn = rng.permutation([*COOKING, *TRAINS]).tolist()
        p = measure_text_distance(drawn[:9], drawn[9:])[2]
        small += p is not None and p < 0.05
    assert small <= 2


@pytest.mark.parametrize(
    ("one", "two"), [(COOKING, TRAINS), (COOKING[:3], COOKING[3:]), (["小狗 贫血"], ["小猫贫血"])]
)
def test_the_distance_is_that_of_independent_libraries(one: Sequence[str], two: Sequence[str]) -> None:
    from scipy.spatial.distance import jensenshannon
    from sklearn.feature_extraction.text import CountVectorizer

    count = CountVectorizer(analyzer="char", ngram_range=(2, 3), lowercase=True)
    table = count.fit_transform([f" {text} " for text in (*one, *two)]).toarray()
    divergence = jensenshannon(table[: len(one)].sum(0), table[len(one) :].sum(0), base=2) ** 2
    assert measure_text_distance(one, two)[0] == pytest.approx(divergence, abs=1e-9)


def test_a_similar_query_covers_another() -> None:
    # " tea " has the grams " t", "te", "ea", "a ", " te", "tea", "ea "; " teapot " has 13, with 5 of them.
    # 5 / sqrt(7 * 13) is 0.52; " teapots " has 15: 5 / sqrt(7 * 15) is 0.49.
    assert measure_coverage(["teapot"], ["tea"]) == (1.0, ())
    assert measure_coverage(["teapot", "teapots"], ["tea"]) == (0.5, ("teapots",))
    assert measure_coverage(["tea", "tea", "coffee", "狗"], ["tea"]) == (0.5, ("coffee", "狗"))
    assert measure_coverage([], ["tea"]) == (None, ())
    assert measure_coverage(["tea"], []) == (None, ())


def test_many_new_queries_are_estimated_from_a_sample() -> None:
    new = [f"{word} {number}" for number in range(2_000) for word in ("jasmine tea", "xxxxx yyyyy zzzzz")]
    share, uncovered = measure_coverage([*new, "jasmine tea"], ["jasmine tea"])
    assert share == pytest.approx(0.5, abs=0.03)
    assert len(uncovered) == pytest.approx(1_000, abs=60)


def make_drift(tonight: int, baseline: int, shared: int, distance: float, p: float) -> QueryDrift:
    return QueryDrift(
        tonight=tonight,
        baseline=baseline,
        shared=shared,
        new=tonight - shared,
        gone=baseline - shared,
        shared_share=shared / baseline,
        no_relevant=NoRelevantShares(tonight=0.1, baseline=0.1),
        distance=distance,
        distance_by_chance=0.1,
        p=p,
    )


def test_what_is_worth_saying() -> None:
    alike = make_drift(9, 9, 9, 0.0, 1.0)
    assert list(describe_query_drift(alike)) == []
    other = make_drift(10, 9, 8, 0.5, 0.005)
    first, second = describe_query_drift(other)
    assert "8 of the baseline's 9 queries are asked tonight (2 new, 1 gone)" in first
    assert "characters is 0.500, 0.100 by chance" in second


def test_a_low_coverage_is_a_remark_with_examples() -> None:
    same = make_drift(10, 10, 9, 0.0, 1.0)
    assert len(list(describe_query_drift(replace(same, coverage=1.0)))) == 1
    _, text = describe_query_drift(replace(same, coverage=0.9, uncovered=("x",)))
    assert text == "90.0% of the night's queries are in the baseline or similar to one in it"
    _, text = describe_query_drift(replace(same, coverage=0.7, uncovered=("x", "y")))
    assert text.startswith("70.0% of the night's queries")
    assert "says little about the others, such as 'x', 'y': make a night" in text
    # The reason of a night that is not compared says what to do.
    drift = replace(same, coverage=0.7, uncovered=("x", "y"))
    [text] = describe_coverage(drift, is_compared=False)
    assert text.endswith("in the baseline or similar to one in it; others, such as 'x', 'y', are not")
