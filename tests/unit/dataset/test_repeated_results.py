"""Results that a list repeats: the first one counts, and a long list is read once."""

from __future__ import annotations

from judge.dataset.pool import list_firsts, mark_repeated
from judge.records import Pool, Ranking, Snippet
from tests.support.counted_text import CountedText, count_comparisons


def test_a_document_counts_where_it_is_shown_first() -> None:
    snippets = tuple(Snippet(id_, id_, "", "", "", id_, "") for id_ in "abcd")
    ranking = Ranking("engine", "q", snippets)
    # The last result is below the depth of the pool.
    pool = Pool(3, 3, (), {("engine", "q"): ("one", "two", "one")})
    assert list_firsts(ranking, pool) == ["a", "b", ""]
    assert list_firsts(Ranking("other", "q", ()), pool) == []
    assert mark_repeated(["x", "x", "y", "x"]) == [False, True, False, True]


def test_the_results_of_a_long_list_are_not_compared_with_all_others() -> None:
    names = [CountedText(f"document {number // 2}") for number in range(400)]
    count_comparisons()
    assert sum(mark_repeated(names)) == 200
    assert count_comparisons() <= 2 * len(names)
