"""Results that a list repeats: the first one counts, and a long list is read once."""

from __future__ import annotations

from pathlib import Path

import judge
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


def test_the_name_of_a_repeated_document_is_no_other_document_s(tmp_path: Path) -> None:
    names = {"a": ("d1", "d1", "d1#repeat2"), "b": ("d1#repeat3", "d2", "d2")}
    rows = [
        {"query": "tea", "engine": engine, "rank": rank, "docno": name, "snippet": f"tea {name}"}
        for engine in names
        for rank, name in enumerate(names[engine], start=1)
    ]
    judge.run(rows, "lexical", out=str(tmp_path))
    texts = {engine: (tmp_path / f"run.{engine}.trec").read_text(encoding="utf-8") for engine in names}
    lists = {engine: [line.split()[2] for line in text.splitlines()] for engine, text in texts.items()}
    assert lists == {"a": ["d1", "d1#repeat4", "d1#repeat2"], "b": ["d1#repeat3", "d2", "d2#repeat2"]}
