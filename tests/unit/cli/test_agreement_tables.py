"""What `judge agree` prints: an answer in plain words, numbers as in agreement.json, nothing obeyed."""

import io
import json
import random
import re
from collections.abc import Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from judge.analysis.label_agreement import LabelAgreement, compare_with_labels
from judge.analysis.planned_order import PlannedComparison, PlannedDifference
from judge.cli.render.agreement_tables import iter_agreement_parts
from judge.cli.render.order_tables import iter_decision_parts
from judge.cli.render.tables import print_parts
from judge.cli.terminal import use_locale_language
from judge.errors import InputError
from judge.messages import CHINESE, ENGLISH, Translator
from judge.records import BINARY
from judge.runs.record_json import from_json
from tests.unit.analysis.labelled import (
    GradesByText,
    Shown,
    label_first,
    make_favouring_run,
    make_people,
    make_run,
    measure_agreement,
)


def render_tables(
    agreement: LabelAgreement | Mapping[str, Any],
    measure: str | None = None,
    width: int = 200,
    t: Translator = ENGLISH,
) -> str:
    file = io.StringIO()
    if not isinstance(agreement, LabelAgreement):
        agreement = from_json(LabelAgreement, agreement, "agreement.json")
    with use_locale_language({"LANG": t.language}):
        parts = iter_agreement_parts(agreement, Path("runs/a b"), measure)
        print_parts(parts, Console(file=file, width=width, highlight=False))
    return file.getvalue()


def find_cells(text: str, row: str) -> list[str]:
    """What stands beside `row` in each table that has it, single blanks between."""
    beside = (line.removeprefix(row) for line in text.splitlines() if line.startswith(row + "  "))
    return [" ".join(cells.split()) for cells in beside]


@pytest.fixture(scope="module")
def unfair_agreement() -> dict[str, Any]:
    """An assessor that favours B, 60 of 120 queries labelled."""
    shown, truth, assessor = make_favouring_run(120)
    run = make_run(shown, assessor, measures="nDCG@3 P@1")
    return measure_agreement(run, make_people(run, label_first(60, truth), unmatched=3))


def test_the_answer_comes_in_sentences(unfair_agreement: dict[str, Any]) -> None:
    text = render_tables(unfair_agreement)
    kappa, same = unfair_agreement["kappa_relevant"], unfair_agreement["same_verdict"]["value"]
    low, high = kappa["ci95"]
    table = unfair_agreement["confusion"]
    relevant = sum(map(sum, table[2:])) / 360, sum(sum(row[2:]) for row in table) / 360
    for sentence in (
        "360 pairs of 60 queries have a grade from people (0 to 3) and one from someone/graded;"
        " of 60 queries people graded every pair",
        "Labels that match no pair of this run are ignored: 3.",
        f"Agreement on relevant or not: substantial; the same on {same:.1%} of the pairs, kappa"
        f" {kappa['value']:.3f} (95%: {low:.3f} to {high:.3f}), where 0 is chance and 1 is perfect.",
        "The assessor is more generous than people:"
        f" it grades {relevant[1]:.1%} of the pairs as relevant, people {relevant[0]:.1%}.",
        "The assessor favours B over A by 1.000 grades per result",
        "means of nDCG@3 on 60 queries, highest first: A > B by people's grades, B > A by the assessor's",
        "people's order, which the assessor reverses: A > B",
        "nDCG@3 by people's grades on all 120 queries, estimated from the 60 queries",
        "This holds if the labelled queries were drawn at random (judge agree 'runs/a b' --plan N).",
        "People's labels reverse the assessor's order. By their labels: A > B",
    ):
        assert sentence in text, sentence


def test_every_number_is_that_of_the_file(unfair_agreement: dict[str, Any]) -> None:
    text = render_tables(unfair_agreement)
    names = {
        "same grade": "same_grade",
        "kappa": "kappa",
        "relevant or not: same": "same_verdict",
        "of people's relevant, found by the assessor": "recall",
    }
    for name, key in names.items():
        value, (low, high) = unfair_agreement[key]["value"], unfair_agreement[key]["ci95"]
        assert find_cells(text, name) == [f"{value:.3f} {low:.3f} to {high:.3f}"]
    for grade, row in enumerate(unfair_agreement["confusion"]):
        assert find_cells(text, str(grade)) == [" ".join(map(str, row))]
    calibration = unfair_agreement["calibration"]["nDCG@3"]
    for engine, bias in (("A", "+0.000 +0.000 to +0.000 180"), ("B", "+1.000 +1.000 to +1.000 180")):
        row = calibration["engines"][engine]
        low, high = row["ci95"]
        assert find_cells(text, engine) == [
            bias, f"{row['assessor']:.3f} {row['corrected']:.3f} {low:.3f} to {high:.3f}"
        ]  # fmt: skip
    (pair,) = calibration["comparisons"]
    low, high = pair["ci95"]
    means = f"{pair['assessor']:+.3f} {pair['corrected']:+.3f} {low:+.3f} to {high:+.3f}"
    assert find_cells(text, "B - A") == [f"{means} {pair['p_adjusted']:.4f} reversed"]
    (row,) = unfair_agreement["calibration"]["nDCG@3"]["comparisons"]
    tiny = {**unfair_agreement["calibration"]["nDCG@3"], "comparisons": [{**row, "p_adjusted": 1e-9}]}
    output = render_tables({**unfair_agreement, "calibration": {"nDCG@3": tiny}})
    assert find_cells(output, "B - A") == [f"{means} < 0.0001 reversed"]


def test_another_measure_can_be_shown(unfair_agreement: dict[str, Any]) -> None:
    text = render_tables(unfair_agreement, "P@1")
    assert "P@1 on 60 queries" in text
    assert "nDCG@3" not in text


@pytest.mark.parametrize(
    ("measure", "says"),
    [
        (
            "nDCG@2",
            "nDCG@2 compares no engines here; the measures that do: nDCG@3, P@1;"
            " judge score 'runs/a b' --save --measures",
        ),
        ("foo", "no measure 'foo'"),
    ],
)
def test_a_measure_that_was_not_scored_is_refused(
    unfair_agreement: dict[str, Any], measure: str, says: str
) -> None:
    with pytest.raises(InputError, match=says):
        render_tables({**unfair_agreement, "grades": "those of a run"}, measure)


@pytest.mark.parametrize(
    ("measure", "says"),
    [
        ("Judged@10", "Judged@10 compares no engines; name nDCG@k, AP@k, P@k, RR@k or sDCG@k"),
        ("nDCG@10", "--measure is for the engines of --run; add --run FILE, or omit it"),
    ],
)
def test_a_measure_for_two_files_of_grades_is_refused_without_advice_to_score(
    unfair_agreement: dict[str, Any], measure: str, says: str
) -> None:
    with pytest.raises(InputError, match=f"^{re.escape(says)}$"):
        render_tables({**unfair_agreement, "grades": None, "orders": {}, "calibration": {}}, measure)


def test_agreement_that_is_no_more_than_chance_is_called_so() -> None:
    shown: Shown = {"A": {"p": ["u", "v"], "q": ["x", "y"]}}
    run = make_run(shown, {("p", "u"): 3, ("p", "v"): 0, ("q", "x"): 0, ("q", "y"): 3})
    people_say: GradesByText = {("p", "u"): 3, ("p", "v"): 3, ("q", "x"): 0, ("q", "y"): 0}
    assert "Agreement on relevant or not: no better than chance; the same on 50.0%" in render_tables(
        measure_agreement(run, make_people(run, people_say))
    )
    people_say = {("p", "u"): 3, ("p", "v"): 0, ("q", "x"): 0, ("q", "y"): 3}
    text = render_tables(measure_agreement(run, make_people(run, people_say)))
    assert "Agreement on relevant or not: almost perfect; the same on 100.0%" in text
    assert "generous" not in text
    assert "strict" not in text


def test_a_strict_assessor_is_called_so() -> None:
    shown, truth, assessor = make_favouring_run(30)
    run = make_run(shown, truth)
    text = render_tables(measure_agreement(run, make_people(run, assessor)))
    assert "The assessor is more strict than people" in text
    assert "favours A over B by 1.000" in text


def test_one_and_the_same_answer_is_explained_instead_of_counted() -> None:
    shown, truth, _ = make_favouring_run(25)
    run = make_run(shown, dict.fromkeys(truth, 3))
    text = render_tables(measure_agreement(run, make_people(run, dict.fromkeys(truth, 3))))
    assert "Agreement on relevant or not: both sides gave the same answer to every pair" in text
    assert "they agree on 100%" in text
    assert "nDCG@3: the orders of the engines can't be compared" in text
    assert find_cells(text, "kappa") == ["- -"]
    assert "On these pairs the assessor's bias is the same for all engines." in text


def test_few_labels_say_what_is_missing() -> None:
    shown, truth, assessor = make_favouring_run(40)
    run = make_run(shown, assessor)
    ten = render_tables(compare_with_labels(run, make_people(run, label_first(10, truth))), width=400)
    assert "No correction of nDCG@3: " in ten
    assert (
        "needs 20 wholly labelled queries and has 10; label 10 more: judge agree 'runs/a b' --plan 20" in ten
    )
    assert " draws 20 queries; with the same --seed, those drawn before are among them" in ten
    chinese = render_tables(
        compare_with_labels(run, make_people(run, label_first(10, truth))), width=400, t=CHINESE
    )
    assert "judge agree 'runs/a b' --plan 20 抽取 20 条查询" in chinese
    assert "With fewer than 20 queries, the 95% intervals are too narrow." in ten
    thirty = render_tables(compare_with_labels(run, make_people(run, label_first(30, truth))), width=400)
    assert "with fewer than 50, intervals can be slightly too narrow" in thirty
    assert "judge agree 'runs/a b' --plan 40 draws 40 queries" in thirty
    assert "fewer than 20 queries" not in thirty


def test_results_that_several_engines_share_and_queries_without_a_value_are_explained() -> None:
    """Both engines return the text of q0; people find nothing relevant on q2."""
    shown: Shown = {
        engine: {f"q{query}": [f"t{query}" if query == 0 else f"t{query}{engine}"] for query in range(3)}
        for engine in "AB"
    }
    truth = {
        (query, text): 0 if query == "q2" else 2 if text == "t1B" else 3
        for queries in shown.values()
        for query, texts in queries.items()
        for text in texts
    }
    run = make_run(shown, {**truth, ("q2", "t2A"): 3})
    text = render_tables(measure_agreement(run, make_people(run, truth)), width=400)
    assert "5 pairs of 3 queries have a grade from people" in text
    assert "By engine, each result counts: a pair that several engines returned counts once for each" in text
    assert (
        "means of nDCG@3 on 2 queries (left out: 1 of 3 labelled queries, on which an engine has no value,"
        " because nothing is relevant by one side's grades, or the engine failed or has no row), highest"
        " first: A > B"
    ) in text


def test_why_a_number_is_missing_is_said_once() -> None:
    shown, truth, assessor = make_favouring_run(25)
    run = make_run(shown, truth)
    yes: GradesByText = {key: int(grade >= 2) for key, grade in truth.items()}
    text = render_tables(measure_agreement(run, make_people(run, yes, BINARY)))
    assert text.count("different scales") == 1
    assert "- (same grade; 3 more): people and the assessor used different scales" in text
    assert find_cells(text, "same grade") == ["- -"]
    # The rows have the words of the labels, the columns the grades of the assessor.
    counts = [
        [sum(yes[key] == label and truth[key] == grade for key in yes) for grade in range(4)]
        for label in (0, 1)
    ]
    assert find_cells(text, "no") + find_cells(text, "yes") == [" ".join(map(str, row)) for row in counts]
    # People's 0 and 1 beside 0 to 3 are not grades to agree on.
    assert find_cells(text, "kappa") == []
    assert len(find_cells(text, "kappa of bare numbers (scales differ)")) == 1
    assert "--labels-scale" not in text
    lenient = make_run(shown, assessor)
    text = render_tables(measure_agreement(lenient, make_people(lenient, yes, BINARY)))
    assert "in the share of results called relevant" in text


def test_what_is_confirmed_and_what_stays_open() -> None:
    """C's results are all good, those of A and B the same: only C's place is sure."""
    engines = {"A": 1, "B": 1, "C": 3}
    shown = {engine: {f"q{q}": [f"{engine}{q}"] for q in range(60)} for engine in engines}
    output = {(f"q{q}", f"{engine}{q}"): top - q % 2 for engine, top in engines.items() for q in range(60)}
    truth = {
        key: min(grade + (int(key[0][1:]) % 7 == int(key[1][1:]) % 3), 3) for key, grade in output.items()
    }
    run = make_run(shown, output, measures="nDCG@1", depth=1)
    text = render_tables(measure_agreement(run, make_people(run, label_first(55, truth))))
    assert "People's labels confirm the assessor's order: C > A; C > B" in text
    assert "Undecided, because there are too few labels or the engines are too close: A and B" in text
    assert "reverse" not in text.replace("-1 the reverse", "")


def test_where_the_assessor_sees_a_tie_people_s_labels_decide() -> None:
    shown, truth, _ = make_favouring_run(120)
    run = make_run(shown, dict.fromkeys(truth, 2), measures="P@3")
    text = render_tables(measure_agreement(run, make_people(run, label_first(60, truth))))
    assert "The assessor gives no order, and people's labels decide: A > B" in text
    assert "confirm" not in text


def test_what_the_orders_are_over_is_said(unfair_agreement: dict[str, Any]) -> None:
    order = unfair_agreement["orders"]["nDCG@3"]

    def render_with_order(**changes: Any) -> str:
        return render_tables({**unfair_agreement, "orders": {"nDCG@3": {**order, **changes}}}, "nDCG@3")

    assert "partly labelled" not in render_tables(unfair_agreement)
    assert "means of nDCG@3 on 60 queries, partly labelled, highest first: " in render_with_order(
        partly_labelled=True
    )
    text = render_with_order(left_out=["x\x07", *"cdefgh"])
    assert (
        "without an order, because too few queries have a value by both: x\\x07, c, d, e, f, g; 1 more"
        in text
    )
    assert "without an order" not in render_tables(unfair_agreement)


def test_what_has_nothing_to_label_is_said(unfair_agreement: dict[str, Any]) -> None:
    without = {"empty_pairs": 7, "unknown_texts": 3, "queries_without_text": 1200}
    text = render_tables({**unfair_agreement, **without})
    assert "Pairs without text count as grade 0 on both sides: 7." in text
    assert "Pairs whose text is unknown have imputed grades in the scores of both sides: 3." in text
    assert "on all 120 queries that have something to label (1,200 have nothing), estimated from" in text
    assert "no text" not in render_tables(unfair_agreement)


@pytest.mark.parametrize(("engines", "is_long"), [(9, False), (10, True)])
def test_rbo_is_for_long_orders(engines: int, is_long: bool) -> None:
    names = [f"e{number:02}" for number in range(engines)]
    shown = {engine: {f"q{q}": [f"{engine} {q}"] for q in range(2)} for engine in names}
    truth = {(f"q{q}", f"{name} {q}"): 2 * (at % 2) for at, name in enumerate(names) for q in range(2)}
    run = make_run(shown, truth, measures="P@1")
    text = render_tables(measure_agreement(run, make_people(run, truth)))
    assert "tau 1.0000, where 1 is the same" in text
    assert ("RBO 1.0000" in text) == is_long


@pytest.mark.parametrize(("ends", "favours"), [([0.001, 1.999], True), ([0, 2], False), (None, False)])
def test_an_engine_is_favoured_when_the_range_leaves_out_0(
    unfair_agreement: dict[str, Any], ends: list[float] | None, favours: bool
) -> None:
    cell = {"value": 1.0, "ci95": ends, "why": "few queries"}
    text = render_tables(
        {**unfair_agreement, "widest_gap": {**unfair_agreement["widest_gap"], "difference": cell}}
    )
    size = (
        f"1.000 (95%: {ends[0]:.3f} to {ends[1]:.3f}) grades per result"
        if ends
        else "1.000 grades per result"
    )
    assert (f"The assessor favours B over A by {size}, which is statistically significant" in text) == favours
    none = "The assessor favours no engine significantly over another."
    none += f" The largest gap of all pairs is B over A, {size}"
    assert (f"{none}." in text) == (ends is not None and not favours)
    assert (f"{none} (few queries)." in text) == (ends is None)


def test_the_chinese_sentence_says_which_engine_is_favoured(unfair_agreement: dict[str, Any]) -> None:
    cell = {"value": 1.0, "ci95": [0, 2], "why": None}
    gap = {**unfair_agreement["widest_gap"], "difference": cell}
    text = render_tables({**unfair_agreement, "widest_gap": gap}, t=CHINESE)
    assert "差距最大的一对引擎中，评测员更偏向 B，按每条结果的等级计，与 A 相差 1.000" in text


def test_two_that_people_hardly_tell_apart_get_no_range_and_a_reason(
    unfair_agreement: dict[str, Any],
) -> None:
    (row,) = unfair_agreement["calibration"]["nDCG@3"]["comparisons"]
    few = {**row, "ci95": None, "p_adjusted": None, "different": 5, "outcome": "open"}
    text = render_tables(
        {
            **unfair_agreement,
            "calibration": {"nDCG@3": {**unfair_agreement["calibration"]["nDCG@3"], "comparisons": [few]}},
        }
    )
    assert "No interval, because people's grades differ on fewer than 6 labelled queries: B and A" in text
    assert find_cells(text, "B - A") == [f"{row['assessor']:+.3f} {row['corrected']:+.3f} - - undecided"]
    assert "all pairs together" not in text


def test_many_engines_are_not_all_named() -> None:
    engines = [f"engine{number}" for number in range(9)]
    shown = {engine: {f"q{q}": [f"{engine} {q}"] for q in range(2)} for engine in engines}
    chosen = {engine: int(number > 4) for number, engine in enumerate(engines)}
    truth = {(f"q{q}", f"{engine} {q}"): 3 * good for engine, good in chosen.items() for q in range(2)}
    run = make_run(shown, {key: 3 - grade for key, grade in truth.items()}, measures="P@1")
    text = render_tables(measure_agreement(run, make_people(run, truth)))
    assert "engine5 = engine6 = engine7 = engine8 > engine0 = engine1 > 3 more by people's grades, " in text
    assert "the assessor reverses: engine5 > engine0; engine5 > engine1; engine5 > engine2" in text
    assert "; 14 more" in text


def test_the_pairs_of_the_best_engines_come_first_and_the_others_are_counted() -> None:
    """Of 8 engines, e7 is the best one by far and e0 the worst; both sides say so on 40 queries."""
    chance = random.Random(3)
    shown = {
        f"e{at}": {f"q{q}": [f"{at} {q} {rank}" for rank in range(3)] for q in range(40)} for at in range(8)
    }
    truth = {
        (query_id, text): 2 if chance.random() < 0.1 + at / 10 else 0
        for at, queries in enumerate(shown.values())
        for query_id, texts in queries.items()
        for text in texts
    }
    run = make_run(shown, truth, measures="P@3")
    text = render_tables(measure_agreement(run, make_people(run, truth)))
    pairs = re.findall("^(e[0-9]) - (e[0-9])  ", text, re.MULTILINE)
    engines = re.findall(r"^(e[0-9])  +0\.", text, re.MULTILINE)
    assert len(engines) == 8
    assert [set(pair) for pair in pairs] == [set(two) for two in combinations(engines, 2)][:21]
    assert "… and 7 more pairs of engines: agreement.json has all" in text
    assert "confirm the assessor's order: e7 > " in text


def test_one_engine_and_none_are_no_trouble() -> None:
    shown: Shown = {"A": {"p": ["u", "v"], "q": ["x"]}}
    grades: GradesByText = {("p", "u"): 3, ("p", "v"): 0, ("q", "x"): 1}
    run = make_run(shown, grades, measures="AP(own)@3")
    result = measure_agreement(run, make_people(run, grades))
    assert result["orders"] == {}
    assert "favour" not in render_tables(result)
    assert "favour" not in render_tables({**result, "engines": {}})


#: Names as run files may have them.
HOSTILE = ("[bold red]x[/]", "\x1b[31mred", "=cmd()", "a > b", "[/nonsense]", "\u202eevil", "必应", "\x07")


def test_hostile_names_are_shown_and_never_obeyed() -> None:
    shown = {f"e{at}": {"p": [f"u{at}"], "q": [f"v{at}"]} for at in range(len(HOSTILE))}
    output = {(q, f"{t}{at}"): at % 4 for q, t in (("p", "u"), ("q", "v")) for at in range(len(HOSTILE))}
    run = make_run(shown, output, measures="P@1")
    result = measure_agreement(run, make_people(run, {key: 3 - grade for key, grade in output.items()}))
    renamed = json.dumps({**result, "assessor": "openai:\x1b]0;title\x07[b]"})
    for at, name in enumerate(HOSTILE):
        renamed = renamed.replace(f'"e{at}"', json.dumps(name))
    text = render_tables(json.loads(renamed), width=2000)
    for obeyed in "\x1b\x07\u202e":
        assert obeyed not in text
    inert = "[bold red]x[/]", "\\x1b[31mred", "=cmd()", "[/nonsense]", "\\x202eevil", "必应", "title\\x07[b];"
    for name in inert:
        assert name in text, name


def test_a_narrow_terminal_keeps_every_number_whole(unfair_agreement: dict[str, Any]) -> None:
    narrow = render_tables(unfair_agreement, width=80)
    assert all(len(line) <= 80 for line in narrow.splitlines())
    for key in ("kappa", "precision", "recall"):
        assert f"{unfair_agreement[key]['value']:.3f}  {unfair_agreement[key]['ci95'][0]:.3f} to" in narrow
    assert "…" not in narrow


def test_labels_on_single_pairs_are_said_to_be_no_sample_of_queries() -> None:
    shown, truth, assessor = make_favouring_run(30)
    run = make_run(shown, assessor, measures="P@1")
    single = {key: grade for key, grade in truth.items() if key[1].endswith("0")}
    text = render_tables(measure_agreement(run, make_people(run, single)))
    assert "No query is wholly labelled" in text
    assert "add --plan with its file" in text


def test_the_order_by_drawn_pairs_fits_into_eighty_columns() -> None:
    ends = (0.08, 0.292)
    row = PlannedDifference(
        "first engine", "second", 0.1341, 0.1861, ends, ends, 0.001, 0.002, 1234, 0, "confirmed"
    )
    decision = PlannedComparison(2, "sDCG@10", 15, 60, (row,), ())
    file = io.StringIO()
    print_parts(iter_decision_parts(decision), Console(file=file, width=80, highlight=False))
    assert max(map(len, file.getvalue().splitlines())) <= 80
    assert "first          +0.134     +0.186  +0.080 to +0.292" in file.getvalue()
