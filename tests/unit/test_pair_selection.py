"""Which pairs a run judges, and the judgments of the others."""

from collections.abc import Sequence

from judge.config.run import Config
from judge.dataset.labels import LabelSet
from judge.dataset.stored_dataset import PooledDataset
from judge.files.stored_records import TemporaryLines
from judge.pair_selection import select_pairs
from judge.records import GRADED, Dataset, Judgment, Pair, Pool, Query, Snippet

TEXT = "Pale gums are a sign of anaemia in puppies, and so is a fast pulse at rest."


def make_dataset(*texts: str) -> PooledDataset:
    """Return a dataset of one query with a snippet for each text, with their numbers from 1 as ids."""
    query = Query("q", "signs of anaemia in a puppy", "", "en")
    snippets = [Snippet(str(number), text) for number, text in enumerate(texts, start=1)]
    pairs = tuple(Pair(query, snippet) for snippet in snippets)
    data = Dataset({"q": query}, (), ())
    return PooledDataset(data, Pool(10, len(pairs), pairs, cache_key="whole"), "", TemporaryLines(None))


def make_judgment(snippet_id: str, repeat: int = 1, grade: int | None = 3) -> Judgment:
    error = "server_error" if grade is None else None
    return Judgment("q", snippet_id, repeat, grade, "", error, "a", "", {}, "", None)


def list_ids(pool: Pool) -> list[str]:
    return [pair.snippet.id for pair in pool.pairs]


def test_a_near_duplicate_takes_the_judgment_in_every_repeat_and_fails_with_it() -> None:
    dataset = make_dataset(TEXT, "Something else.", "also " + TEXT)
    selection = select_pairs(Config(near_duplicates=True), dataset, None)
    assert list_ids(selection.to_judge) == ["1", "2"]
    assert len(selection.to_judge.pairs) == 2
    # Then the run stopped.
    judged = [make_judgment("1"), make_judgment("2", grade=0), make_judgment("1", 2, None)]
    assert [
        (each.snippet_id, each.repeat, each.grade, each.error, each.judged_snippet_id)
        for each in selection.add_near_duplicates(judged)
    ] == [
        ("1", 1, 3, None, None),
        ("2", 1, 0, None, None),
        ("3", 1, 3, None, "1"),
        ("1", 2, None, "server_error", None),
        ("3", 2, None, "server_error", "1"),
    ]


def list_grades(judgments: Sequence[Judgment]) -> list[tuple[str, int, int | None, tuple[str, ...]]]:
    return [(each.snippet_id, each.repeat, each.grade, each.flags) for each in judgments]


def test_a_label_takes_the_place_of_a_judgment_in_every_repeat() -> None:
    labels = LabelSet({("q", "1"): 0, ("q", "3"): 1}, GRADED, "labels.txt", sample=frozenset([("q", "3")]))
    selection = select_pairs(Config(repeats=2), make_dataset("a", "b", "c"), labels)
    assert list_ids(selection.to_judge) == ["2", "3"]
    judged = [make_judgment("2"), make_judgment("3"), make_judgment("3", 2)]  # then the run stopped
    assert list_grades(selection.add_labels(judged, repeats=2)) == [
        ("1", 1, 0, ("label",)),
        ("2", 1, 3, ()),
        ("3", 1, 1, ("label",)),
        ("1", 2, 0, ("label",)),
        ("3", 2, 1, ("label",)),
    ]


def test_the_keys_of_the_whole_pool_are_not_taken_for_those_of_the_rest() -> None:
    dataset = make_dataset("a", "b")
    assert select_pairs(Config(), dataset, None).to_judge.cache_key == "whole"
    rest = select_pairs(Config(), dataset, LabelSet({("q", "1"): 1}, GRADED, "labels.txt")).to_judge
    assert list_ids(rest) == ["2"]
    assert rest.cache_key == ""
