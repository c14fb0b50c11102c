"""Combined runs: one pool, each engine with the grades of its own run, and remarks."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import permutations
from typing import Any, Literal

import pytest

from judge.analysis.combine_runs import CombinedRuns, GradeShift, combine_runs
from judge.analysis.judged_run import JudgedRun, RunSpec
from judge.analysis.summary import LabelUse
from judge.dataset.pool import pool_dataset
from judge.errors import InputError
from judge.flags import LABEL
from judge.measure.engine_summary import average_engines
from judge.measure.measures import parse_measures
from judge.measure.score import score_rankings
from judge.messages import CHINESE
from judge.pricing.costs import RunCost
from judge.records import BINARY, GRADED, Judgment, Scale
from tests.support.datasets import read_dataset

Row = Mapping[str, Any]


def make_row(query: str, engine: str, rank: int, grade: int | None, page: str = "", **more: str) -> Row:
    """A result that says its grade (`grade=-` will fail), of a page of its own unless one is named."""
    output = "-" if grade is None else grade
    page = page or f"{query}.{engine}.{rank}"
    text = f"text {page} grade={output}"
    url = f"https://x.example/{page}"
    base = {"query_id": query, "query": f"question {query}", "engine": engine, "rank": rank}
    return {**base, "url": url, "snippet": text, **more}


def run(
    rows: Iterable[Row],
    *,
    assessor: str = "someone/graded",
    repeats: int = 1,
    scale: Scale = GRADED,
    depth: int = 10,
    measures: str = "nDCG@5 AP@5 P@5 sDCG@5",
    prompt: str = "graded 1",
    dates: bool = False,
) -> JudgedRun:
    """A run whose assessor believes what snippets say of themselves."""
    data = read_dataset(rows, lang="en", max_chars=1000, dates=dates)
    data, pooled = pool_dataset(data, depth)
    judgments = tuple(
        _make_judgment(pair.query.id, pair.snippet.id, pair.snippet.text, repeat, assessor, prompt)
        for repeat in range(1, repeats + 1)
        for pair in pooled.pairs
    )
    cost = RunCost(len(judgments), 0, 0, 0, None, 0, 0, None)
    return JudgedRun(
        data, pooled, judgments, RunSpec(assessor, scale, repeats, parse_measures(measures), cost)
    )


def _make_judgment(query: str, snippet: str, text: str, repeat: int, assessor: str, prompt: str) -> Judgment:
    grade = int(text[-1]) if text[-1].isdigit() else None
    error = "timeout" if grade is None else None
    return Judgment(query, snippet, repeat, grade, "", error, assessor, prompt, {}, "", None)


def list_means(content: JudgedRun, measure: str) -> dict[str, float | None]:
    """Each engine's mean."""
    scores = score_rankings(
        content.dataset.rankings,
        content.judgments,
        content.spec.measures,
        content.spec.scale,
        depth=content.pool.depth,
    )
    return {engine: row[measure].mean for engine, row in average_engines(scores).items()}


def make_list(engine: str, grades: Sequence[int | None], query: str = "q1") -> list[Row]:
    """One engine's list for one query."""
    return [make_row(query, engine, rank, grade) for rank, grade in enumerate(grades, start=1)]


def get_refusal(**runs: JudgedRun) -> str:
    with pytest.raises(InputError) as error:
        combine_runs(runs)
    return str(error.value)


# --- engines and pool


def test_an_engine_that_two_runs_have_carries_the_runs_name_and_others_do_not() -> None:
    result = combine_runs(
        {
            "night1": run(make_list("E", [3]) + make_list("F", [1])),
            "night2": run(make_list("E", [2]) + make_list("G", [0])),
        }
    )
    assert result.run.dataset.engines == ("E (night1)", "E (night2)", "F", "G")
    assert list_means(result.run, "P@5") == {"E (night1)": 0.2, "E (night2)": 0.2, "F": 0, "G": 0}
    separate = combine_runs({"night1": run(make_list("E", [3])), "night2": run(make_list("G", [0]))})
    assert separate.run.dataset.engines == ("E", "G")


def test_all_are_measured_on_what_they_found_together() -> None:
    """Alone each finds all there is: 1.0. Together two of three relevant pages are missing to one."""
    first, second = run(make_list("A", [3])), run(make_list("B", [3, 3]))
    assert list_means(first, "AP@5") == {"A": 1.0}
    assert list_means(second, "AP@5") == {"B": 1.0}
    result = combine_runs({"one": first, "two": second})
    assert list_means(result.run, "AP@5") == pytest.approx({"A": 1 / 3, "B": 2 / 3})
    assert not result.remarks
    (remark,) = result.terms
    assert "one pool" in remark
    assert "the 3 results of all" in remark


def test_a_page_that_both_runs_show_is_one_document() -> None:
    """Once by its address under another text, once by its text under another address."""
    first = run([make_row("q1", "A", 1, 3, "page"), make_row("q1", "A", 2, 2, "other")])
    by_address = run([{**make_row("q1", "B", 1, 1, "page"), "snippet": "another text grade=1"}])
    by_text = run([{**make_row("q1", "B", 1, 3, "page"), "url": "https://elsewhere.example/"}])
    for second in (by_address, by_text):
        combined = combine_runs({"one": first, "two": second}).run
        documents = {ranking.key: ranking.documents for ranking in combined.dataset.rankings}
        (page,) = documents["B", "q1"]
        assert documents["A", "q1"][0] == page
        assert list_means(combined, "AP@5")["A"] == 1.0  # what B shows adds nothing to be found
    # B's own text has grade 1; the ideal is A's 3 and 2 for the two documents.
    by_gain = list_means(combine_runs({"one": first, "two": by_address}).run, "nDCG@5")
    assert by_gain == pytest.approx({"A": 1.0, "B": 1 / (3 + 2 / 1.584962500721156)})


def test_what_was_judged_is_counted_in_every_run_that_judged_it() -> None:
    rows = make_list("A", [3, None])
    combined = combine_runs({"one": run(rows, repeats=2), "two": run(rows, repeats=2)}).run
    # The pair that failed in both runs is one.
    assert len(combined.pool.pairs) == 3
    assert len(combined.judgments) == 6
    assert sum(judgment.grade is not None for judgment in combined.judgments) == 4
    assert combined.pool.results == 4
    names = {(pair.query.id, pair.snippet.id) for pair in combined.pool.pairs}
    assert {(judgment.query_id, judgment.snippet_id) for judgment in combined.judgments} == names


def test_a_pair_that_no_run_could_judge_has_one_estimate() -> None:
    """The same lists with the same failures differ in nothing, whatever the missing grades are."""
    rows = [row for number in range(8) for row in make_list("E", [3, None, number % 3], f"q{number}")]
    nights = combine_runs({"night1": run(rows), "night2": run(rows)})
    assert len({judgment.snippet_id for judgment in nights.run.judgments if judgment.error}) == 8
    one, two = list_means(nights.run, "nDCG@5").values()
    assert one == two is not None
    # A pair that one of the runs judged keeps its grade there, and has an estimate in the other.
    judged = [{**row, "snippet": row["snippet"].replace("grade=-", "grade=1")} for row in rows]
    result = combine_runs({"night1": run(judged), "night2": run(rows)})
    assert sum(judgment.grade is None for judgment in result.run.judgments) == 8


def test_the_order_of_the_runs_changes_no_number() -> None:
    runs = {
        "one": run(make_list("A", [3, 0]) + make_list("B", [1, 2]) + make_list("A", [0], "q2")),
        "two": run(make_list("A", [2, None, 3]) + make_list("C", [0], "q2")),
        "three": run(make_list("D", [2]) + make_list("A", [1, 1], "q2")),
    }
    every = [
        [
            list_means(combine_runs({name: runs[name] for name in order}).run, measure)
            for measure in ("nDCG@5", "P@5")
        ]
        for order in permutations(runs)
    ]
    assert all(each == every[0] for each in every)


# --- grades that don't mean the same


def is_pool_free(result: CombinedRuns) -> bool:
    """Whether only measures that do not depend on the pool are left, and a remark says so."""
    left = [str(measure) for measure in result.run.spec.measures]
    text = any("only measures that do not depend on the pool" in remark for remark in result.remarks)
    assert left == (["P@5", "sDCG@5"] if text else ["nDCG@5", "AP@5", "P@5", "sDCG@5"])
    return text


def test_different_assessors_leave_the_measures_that_no_pool_divides() -> None:
    result = combine_runs(
        {"one": run(make_list("A", [3])), "two": run(make_list("A", [3]), assessor="other/graded")}
    )
    assert is_pool_free(result)
    assert "different assessors (other/graded and someone/graded)" in result.remarks[0]
    assert result.remarks[0].endswith(
        "only measures that do not depend on the pool are compared,"
        " and a difference may come from the grades instead of the engines"
    )
    assert result.run.spec.assessor == "other/graded and someone/graded"


def test_different_grades_for_a_pair_that_both_have_are_noise_and_said() -> None:
    first = run(make_list("A", [3, 1, 0]))
    second = run(make_list("A", [3, 1, 0]))
    assert not is_pool_free(combine_runs({"one": first, "two": second}))
    harder = replace(second, judgments=tuple(replace(each, grade=0) for each in second.judgments))
    result = combine_runs({"one": first, "two": harder})
    assert not is_pool_free(result)
    assert "2 of 3 judgments that two runs have in common differ: the assessor's noise" in result.remarks[0]
    assert list_means(result.run, "P@5") == {"A (one)": 0.2, "A (two)": 0}


def test_different_labels_are_no_noise_of_the_assessor() -> None:
    first = run(make_list("A", [3, 1, 0]))
    people = tuple(replace(each, grade=0, flags=(LABEL,)) for each in first.judgments)
    for runs in (
        {"one": first, "two": replace(first, judgments=people)},
        {"one": replace(first, judgments=people), "two": first},
    ):
        (remark,) = combine_runs(runs).remarks
        assert remark.startswith(
            "2 of 3 judgments that two runs have in common differ: a change of people's labels"
        )
    zeros = [replace(each, grade=0) for each in first.judgments]
    one_label = tuple(
        p if f.grade == 3 else z for f, p, z in zip(first.judgments, people, zeros, strict=True)
    )
    remarks = combine_runs({"one": first, "two": replace(first, judgments=one_label)}).remarks
    assert [remark.partition(" judgments")[0] for remark in remarks] == ["1 of 3", "1 of 3"]


def test_of_many_runs_one_whose_grades_moved_by_chance_is_no_change_of_the_assessor() -> None:
    """Six queries that all move one way have p = 2 / 64; one of eight runs does so by chance."""
    same = run([each for query in "abcdef" for each in make_list("E", [1, 1], query)])
    moved = replace(same, judgments=tuple(replace(each, grade=2) for each in same.judgments))
    by_assessor = frozenset[Literal["assessor", "people"]](("assessor",))
    assert combine_runs({"1": same, "2": moved}).shift == GradeShift("2", 1.0, 2 / 64, by_assessor)
    result = combine_runs({**{str(night): same for night in range(1, 8)}, "8": moved})
    assert result.shift == GradeShift("8", 1.0, 7 * 2 / 64, by_assessor)
    assert "nDCG@5" in map(str, result.run.spec.measures)


def test_the_assessor_did_not_become_stricter_where_people_changed_their_labels() -> None:
    first = run([each for query in "abcdef" for each in make_list("E", [2, 2], query)])
    for labelled, words in (
        (0, "judged by an assessor that has become stricter (by 1.00 grades, 2)"),
        (6, "graded lower by the assessor and by people (by 1.00 grades, 2)"),
        (12, "graded by people whose labels are lower now (by 1.00 grades, 2)"),
    ):
        judgments = tuple(
            replace(each, grade=1, flags=(LABEL,) if number < labelled else ())
            for number, each in enumerate(first.judgments)
        )
        combined = combine_runs({"1": first, "2": replace(first, judgments=judgments)})
        assert combined.remarks[-1].startswith(f"the runs were {words}: only measures")
        assert not re.search("[a-z]{3}", CHINESE(combined.remarks[-1]))


def test_a_pair_that_failed_in_one_run_contradicts_nothing() -> None:
    first, second = run(make_list("A", [3, 1])), run(make_list("A", [3, 1]))
    failed = replace(second.judgments[0], grade=None, error="timeout")
    second = replace(second, judgments=(failed, *second.judgments[1:]))
    assert not is_pool_free(combine_runs({"one": first, "two": second}))


def test_prompts_that_differ_on_a_query_do_too() -> None:
    first = run(make_list("A", [3]) + make_list("A", [3], "q2"))
    result = combine_runs(
        {"one": first, "two": run(make_list("B", [3]) + make_list("B", [1], "q2"), prompt="graded 2")}
    )
    assert is_pool_free(result)
    assert "judged with different prompts" in result.remarks[0]
    elsewhere = combine_runs({"one": first, "two": run(make_list("B", [3]), prompt="graded 1")})
    assert not is_pool_free(elsewhere)


def test_dates_in_the_prompts_of_one_run_do_too() -> None:
    rows = [{**row, "date": "2026-01-01"} for row in make_list("A", [3, 1])]
    result = combine_runs({"one": run(rows), "two": run(rows, dates=True)})
    assert is_pool_free(result)
    assert "judged with and without dates in the prompts" in result.remarks[0]
    # Without a date, the prompts are the same.
    undated = make_list("A", [3, 1])
    assert not is_pool_free(combine_runs({"one": run(undated), "two": run(undated, dates=True)}))


def test_without_a_measure_that_no_pool_divides_it_says_how_to_get_one() -> None:
    options: dict[str, Any] = {"measures": "nDCG@5 AP@5"}
    output = get_refusal(
        one=run(make_list("A", [3]), **options), two=run(make_list("A", [3]), assessor="other", **options)
    )
    assert "different assessors" in output
    assert "; choose from these: --measures 'P@5 RR@10 sDCG@10'" in output


# --- what must be alike


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"scale": BINARY}, "scale is graded (relevant from 2) in one and binary (relevant from 1) in the"),
        ({"scale": Scale("graded", 3, 1)}, "in one and graded (relevant from 1) in the other"),
        ({"depth": 5}, "depth is 10 in one and 5 in the other"),
    ],
)
def test_runs_must_be_judged_alike(changed: dict[str, Any], expected: str) -> None:
    message = get_refusal(night1=run(make_list("A", [1])), night2=run(make_list("A", [1]), **changed))
    assert message.startswith("night1 and night2 can't be compared: ")
    assert expected in message


def test_runs_must_share_a_query() -> None:
    assert get_refusal(one=run(make_list("A", [3])), two=run(make_list("A", [3], "q2"))).startswith(
        "one and two share no query_id"
    )


def test_one_query_id_must_name_one_query() -> None:
    other = run([{**make_row("q1", "A", 1, 3), "query": "another question"}])
    output = get_refusal(one=run(make_list("A", [3])), two=other)
    assert "query_id 'q1' is 'question q1' in one and 'another question' in two" in output


def test_runs_must_share_a_measure() -> None:
    output = get_refusal(
        one=run(make_list("A", [3]), measures="P@5"), two=run(make_list("A", [3]), measures="RR@5")
    )
    assert output == (
        "one and two have no measure in common that compares engines; choose from these: --measures"
        " 'P@5 RR@5 nDCG@10 AP@10 RR@10 sDCG@10'"
    )


def test_runs_must_share_a_measure_that_compares_engines() -> None:
    output = get_refusal(
        one=run(make_list("A", [3]), measures="P@5 Judged@5"),
        two=run(make_list("A", [3]), measures="RR@5 Judged@5"),
    )
    assert output == (
        "one and two have no measure in common that compares engines; choose from these: --measures"
        " 'P@5 RR@5 nDCG@10 AP@10 RR@10 sDCG@10'"
    )


def test_measures_that_not_all_runs_have_are_computed_after_the_common_ones() -> None:
    runs = {
        "one": run(make_list("A", [0, 3]), measures="P@5"),
        "two": run(make_list("B", [3, 0]), measures="RR@5"),
    }
    result = combine_runs(runs, parse_measures("RR@5 nDCG@5"))
    assert list(map(str, result.run.spec.measures)) == ["RR@5", "nDCG@5"]
    assert list_means(result.run, "RR@5") == {"A": 0.5, "B": 1.0}
    runs["one"] = run(make_list("A", [0, 3]), measures="AP@5 P@5 RR@5")
    assert list(map(str, combine_runs(runs, parse_measures("P@5")).run.spec.measures)) == ["RR@5", "P@5"]
    runs["one"] = run(make_list("A", [0, 3]), measures="RR@5", assessor="other")
    with pytest.raises(
        InputError, match="so only measures that do not depend on the pool can be compared; choose"
    ):
        combine_runs(runs, parse_measures("P@5 nDCG@5"))


def test_measures_that_not_all_have_are_left_out() -> None:
    result = combine_runs(
        {"one": run(make_list("A", [3])), "two": run(make_list("B", [3]), measures="RR@5 P@5 nDCG@5")}
    )
    assert [str(measure) for measure in result.run.spec.measures] == ["nDCG@5", "P@5"]


# --- what is cut


def test_queries_that_not_all_have_are_left_out_and_counted() -> None:
    result = combine_runs({
        "night1": run(make_list("A", [3]) + make_list("A", [0], "q2") + make_list("A", [0], "q3")),
        "night2": run(make_list("A", [3]) + make_list("A", [0], "q4")),
    })  # fmt: skip
    assert list(result.run.dataset.queries) == ["q1"]
    assert {each.query_id for each in result.run.judgments} == {"q1"}
    assert {each.query_id for each in result.run.dataset.rankings} == {"q1"}
    assert result.remarks[0] == "compared on the 1 queries that all runs have (night1 3, night2 2)"


@pytest.mark.parametrize("repeats", [1, 2])
def test_repeats_that_not_all_have_are_left_out(repeats: int) -> None:
    result = combine_runs(
        {"one": run(make_list("A", [3]), repeats=3), "two": run(make_list("B", [3]), repeats=repeats)}
    )
    assert result.run.spec.repeats == repeats
    assert sorted(each.repeat for each in result.run.judgments) == sorted([*range(1, repeats + 1)] * 2)
    assert result.remarks[0] == (
        f"the runs have different numbers of repeats; repeats compared of each: {repeats}"
    )


def test_grades_that_differ_beyond_the_repeats_that_count_contradict_nothing() -> None:
    first, second = run(make_list("A", [3]), repeats=2), run(make_list("A", [3]))
    wavering = tuple(replace(each, grade=0) if each.repeat == 2 else each for each in first.judgments)
    assert not is_pool_free(combine_runs({"one": replace(first, judgments=wavering), "two": second}))


def test_what_runs_paid_is_not_added_up() -> None:
    assert (
        combine_runs({"one": run(make_list("A", [3])), "two": run(make_list("B", [3]))}).run.spec.cost is None
    )


def test_names_of_runs_stand_in_every_remark_as_they_were_given() -> None:
    result = combine_runs(
        {"a b": run(make_list("A", [3]) + make_list("A", [3], "q2")), "c": run(make_list("A", [3]))}
    )
    assert re.search(r"\(a b 2, c 1\)", result.remarks[0])
    assert result.run.dataset.engines == ("A (a b)", "A (c)")


def _label(combined: JudgedRun, query: str) -> JudgedRun:
    """The run with labels of people, equal to the assessor's grades, for the pairs of a query."""
    judgments = tuple(
        replace(each, assessor="people", prompt_version="", flags=(LABEL,))
        if each.query_id == query
        else each
        for each in combined.judgments
    )
    used = LabelUse("labels.csv", len(judgments), 0, None)
    return replace(combined, judgments=judgments, spec=replace(combined.spec, labels=used))


def test_labels_are_no_other_prompt_and_those_of_one_run_are_not_of_all() -> None:
    rows = [make_row(query, "a", rank, rank) for query in ("q1", "q2") for rank in (1, 2)]
    plain = run(rows)
    for labelled in (_label(plain, "q1"), _label(_label(plain, "q1"), "q2")):
        # Every order of the names: the first run must not speak for the others.
        for runs in ({"x": plain, "y": labelled}, {"x": labelled, "y": plain}):
            combined = combine_runs(runs)
            assert not any("different prompts" in remark for remark in combined.remarks)
            assert [str(measure) for measure in combined.run.spec.measures] == [
                "nDCG@5",
                "AP@5",
                "P@5",
                "sDCG@5",
            ]
            assert combined.run.spec.labels is None
    other = combine_runs({"x": plain, "y": _label(run(rows, prompt="graded 2"), "q1")})
    assert any("different prompts" in remark for remark in other.remarks)
