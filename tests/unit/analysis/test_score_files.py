"""Two files of grades and TREC runs are scored as trec_eval scores them, without a run's folder."""

import random
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from statistics import mean
from typing import Any

import pytest

from judge.analysis.label_agreement import run_from_labels
from judge.api import agree_label_files
from judge.dataset.labels import LabelSet
from judge.dataset.trec import read_trec_rankings
from judge.errors import InputError
from judge.measure.measures import parse_measures
from judge.records import GRADED
from judge.runs.record_json import to_json
from tests.support.cases import check_each

Qrels = Mapping[str, Mapping[str, int]]
#: trec_eval's name of a measure, and the lowest relevant grade.
THEIRS = {
    "nDCG@10": ("ndcg_cut.10", 1),
    "AP@10": ("map_cut.10", 2),
    "P@5": ("P.5", 2),
    "RR": ("recip_rank", 2),
    "R@5": ("recall.5", 2),
}


def run_file(folder: Path, name: str, *lines: str) -> Path:
    """A TREC run of lines `topic docno rank score`."""
    path = folder / f"{name}.run"
    rows = (line.split() for line in lines)
    path.write_text("".join(f"{t} Q0 {docno} {rank} {score} {name}\n" for t, docno, rank, score in rows))
    return path


def write_qrels(folder: Path, name: str, qrels: Qrels) -> Path:
    path = folder / name
    path.write_text(
        "".join(f"{t} 0 {d} {grade}\n" for t, given in qrels.items() for d, grade in given.items())
    )
    return path


def read_order(path: Path) -> dict[str, list[str]]:
    return {
        each.query_id: [snippet.docno for snippet in each.snippets]
        for each in read_trec_rankings([path], print)
    }


def test_equal_scores_stand_by_document_from_z_to_a_and_ranks_mean_nothing(tmp_path: Path) -> None:
    path = run_file(
        tmp_path, "e", "q a 1 2.0", "q c 2 2.0", "q b 3 2", "q z 4 1", "q top 9 2.5", "q low 0 -1e300"
    )
    assert read_order(path) == {"q": ["top", "c", "b", "a", "z", "low"]}


def test_scores_are_compared_as_32_bit_numbers(tmp_path: Path) -> None:
    path = run_file(tmp_path, "e", "q a 1 1.00000001", "q b 2 1.0", "q d 3 inf", "q e 4 1e300", "q c 5 1.001")
    assert read_order(path) == {"q": ["e", "d", "c", "b", "a"]}


def write_random_files(folder: Path, seed: int) -> tuple[list[Qrels], list[Path]]:
    """Two sides' qrels of the same documents, and three runs that tie often and go beyond them."""
    chance = random.Random(seed)
    topics = [f"q{number}" for number in range(8)]
    graded = {topic: chance.sample(range(20), chance.randrange(1, 14)) for topic in topics}
    sides: list[Qrels] = [
        {topic: {f"D{docno}": chance.choice((0, 0, 1, 2, 3)) for docno in graded[topic]} for topic in topics}
        for _ in range(2)
    ]
    # One topic without anything relevant for people, one that only the runs have.
    sides[1] = {**sides[1], "q7": dict.fromkeys(sides[1]["q7"], 0)}
    paths = []
    for name in ("one", "two", "three"):
        lines = [
            f"{topic} D{docno} {chance.randrange(99)} {chance.choice((1, 2, 2.00000001, 2.5))}"
            for topic in [*topics, "q99"]
            for docno in chance.sample(range(25), chance.randrange(1, 16))
        ]
        paths.append(run_file(folder, name, *chance.sample(lines, len(lines))))
    return sides, paths


def evaluate_by_trec_eval(measure: str, qrels: Qrels, path: Path) -> dict[str, float]:
    """The values of a run on the topics where ours has one: where something is relevant, if it must be."""
    import pytrec_eval

    name, least = THEIRS[measure]
    listed: dict[str, dict[str, float]] = defaultdict(dict)
    for line in path.read_text().splitlines():
        topic, _, docno, _, score, _ = line.split()
        listed[topic][docno] = float(score)
    plain = {topic: dict(given) for topic, given in qrels.items()}
    result = pytrec_eval.RelevanceEvaluator(plain, {name}, relevance_level=least).evaluate(dict(listed))
    return {
        topic: values[name.replace(".", "_")]
        for topic, values in result.items()
        if measure in ("P@5", "RR") or max(qrels[topic].values()) >= least
    }


@check_each("seed", range(5))
def test_means_are_trec_eval_s(tmp_path: Path, seed: int) -> None:
    sides, paths = write_random_files(tmp_path, seed)
    files = [write_qrels(tmp_path, name, side) for name, side in zip(("gpt", "human"), sides, strict=True)]
    result = to_json(agree_label_files(files[0], files[1], paths, 20, list(THEIRS)))
    assert result["assessor"] == "gpt"
    for measure in THEIRS:
        orders = result["orders"][measure]
        assert set(orders["people"]) == {"one", "two", "three"}
        for path in paths:
            assessor, people = (evaluate_by_trec_eval(measure, side, path) for side in sides)
            both = assessor.keys() & people.keys()
            assert orders["assessor"][path.stem] == pytest.approx(mean(assessor[t] for t in both), abs=1e-12)
            assert orders["people"][path.stem] == pytest.approx(mean(people[t] for t in both), abs=1e-12)


def compare_two(folder: Path, assessor: Qrels, people: Qrels, *runs: Path, depth: int = 10) -> dict[str, Any]:
    files = [write_qrels(folder, "gpt", assessor), write_qrels(folder, "human", people)]
    return to_json(agree_label_files(files[0], files[1], runs, depth, ["P@1", "nDCG"]))


def test_without_runs_there_is_agreement_and_no_engine(tmp_path: Path) -> None:
    result = compare_two(
        tmp_path, {"q": {"a": 3, "b": 0}, "r": {"a": 2}}, {"q": {"a": 3, "b": 0}, "r": {"a": 2}}
    )
    assert (result["pairs"], result["kappa"]["value"]) == (3, 1)
    assert (result["engines"], result["widest_gap"]) == ({}, None)
    assert (result["orders"], result["calibration"]) == ({}, {})


def test_what_one_side_alone_has_is_counted(tmp_path: Path) -> None:
    assessor = {"q": {"a": 3, "b": 0, "c": 1}, "r": {"a": 2}, "mine": {"a": 1}}
    people = {"q": {"a": 3, "b": 0}, "r": {"a": 2, "d": 2}, "theirs": {"a": 1, "b": 2}}
    result = compare_two(tmp_path, assessor, people)
    counts = {
        "pairs": 3, "labelled_pairs": 4, "unlabelled_pairs": 1, "unmatched_labels": 2,
        "labelled_queries": 2, "wholly_labelled_queries": 1,
    }  # fmt: skip
    assert {name: result[name] for name in counts} == counts


def test_a_document_that_nobody_graded_has_grade_0_for_both(tmp_path: Path) -> None:
    grades_of_both = {"q": {"a": 3, "b": 0}, "r": {"a": 2}}
    run = run_file(tmp_path, "e", "q x 1 9", "q a 2 8", "r a 1 9", "r y 2 8")
    result = compare_two(tmp_path, grades_of_both, grades_of_both, run)
    assert result["orders"]["P@1"]["people"] == result["orders"]["P@1"]["assessor"] == {"e": 0.5}
    # It is not evidence of agreement, though: nobody said so.
    assert (result["pairs"], result["engines"]["e"]["results"]) == (3, 2)


def test_results_below_the_depth_don_t_count(tmp_path: Path) -> None:
    both = {"q": {"a": 3, "b": 0}}
    run = run_file(tmp_path, "e", "q b 1 9", "q a 2 8")
    shallow, deep = (compare_two(tmp_path, both, both, run, depth=depth) for depth in (1, 2))
    assert (shallow["engines"]["e"]["results"], deep["engines"]["e"]["results"]) == (1, 2)
    assert shallow["orders"]["nDCG"]["people"]["e"] == 0 < deep["orders"]["nDCG"]["people"]["e"]


def test_topics_without_a_row_of_an_engine_are_left_out_or_empty_lists(tmp_path: Path) -> None:
    gpt, human = (write_qrels(tmp_path, name, {"q": {"a": 3}, "r": {"a": 2}}) for name in ("gpt", "human"))
    runs = [run_file(tmp_path, "one", "q a 1 9", "r a 1 9"), run_file(tmp_path, "two", "q a 1 9")]
    shared, complete = (
        agree_label_files(gpt, human, runs, 10, ["P@1"], is_complete=is_complete)
        for is_complete in (False, True)
    )
    # By trec_eval -c, topic r of the run two has P@1 = 0.
    assert shared.orders["P@1"].people == {"one": 1, "two": 1}
    assert complete.orders["P@1"].people == complete.orders["P@1"].assessor == {"one": 1, "two": 0.5}
    counts = "some of the 2 queries have no row of these engines (in brackets: how many): 'two' (1);"
    assert [text.startswith(counts) for text in (*shared.warnings, *complete.warnings)] == [True, True]


def test_topics_without_labels_are_left_out(tmp_path: Path) -> None:
    both = {"q": {"a": 3}, "r": {"a": 0}}
    lines = ("q a 1 9", "r b 1 9")
    alone = compare_two(tmp_path, both, both, run_file(tmp_path, "e", *lines))
    assert compare_two(tmp_path, both, both, run_file(tmp_path, "e", *lines, "s a 1 9", "t b 1 9")) == alone


def test_people_s_scale_can_be_said(tmp_path: Path) -> None:
    files = [
        write_qrels(tmp_path, "gpt", {"q": {"a": 3, "b": 0}}),
        write_qrels(tmp_path, "human", {"q": {"a": 1, "b": 0}}),
    ]
    assert agree_label_files(files[0], files[1], [], 10).people_scale == "binary"
    graded = agree_label_files(files[0], files[1], [], 10, labels_scale="graded")
    assert graded.people_scale == "graded"
    assert graded.bias.value == 1
    with pytest.raises(InputError, match="grade 3; the binary scale ends at 1"):
        agree_label_files(files[1], files[0], [], 10, labels_scale="binary")


@pytest.mark.parametrize(
    ("key", "says"),
    [
        (("r", "a"), "gpt and human have no query in common"),
        (("q", "0f3a"), "for query 'q', gpt has 'a' and human has '0f3a'; use the same names of documents"),
    ],
)
def test_files_without_a_pair_in_common_are_refused(key: tuple[str, str], says: str) -> None:
    side = LabelSet({("q", "a"): 1}, GRADED, "gpt")
    other = LabelSet({key: 1}, GRADED, "human")
    with pytest.raises(InputError, match=says):
        run_from_labels(side, other, (), 10, parse_measures("P@1"))


def test_grades_go_by_query_and_item(tmp_path: Path) -> None:
    both = {"q": {"a": 2, "b": 0}, "r": {"a": 1}}
    result = compare_two(tmp_path, both, both, run_file(tmp_path, "e", "q a 1 9"))
    assert [row[:3] for row in result["confusion"]][:3] == [[1, 0, 0], [0, 1, 0], [0, 0, 1]]


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_lines_and_files_never_changes_a_digit(tmp_path: Path, seed: int) -> None:
    sides, paths = write_random_files(tmp_path, seed)
    before = compare_two(tmp_path, sides[0], sides[1], *paths)
    chance = random.Random(seed)
    for path in (*paths, tmp_path / "gpt", tmp_path / "human"):
        lines = path.read_text().splitlines(keepends=True)
        path.write_text("".join(chance.sample(lines, len(lines))))
    files = tmp_path / "gpt", tmp_path / "human"
    after = agree_label_files(*files, chance.sample(paths, 3), 10, ["P@1", "nDCG"])
    assert to_json(after) == before
