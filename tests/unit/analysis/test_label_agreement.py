"""What agreement.json says of a run and people's labels, by hand and where little can be said."""

import json
import random
from dataclasses import replace
from typing import Any

import pytest

from judge.analysis.judged_run import JudgedRun
from judge.files.json_text import dump_json
from judge.records import BINARY, GRADED, Query, Ranking, Scale
from tests.unit.analysis.labelled import (
    GradesByText,
    PartlyShown,
    Shown,
    label_first,
    make_favouring_run,
    make_people,
    make_run,
    measure_agreement,
)

#: Both engines show "u"; the third query was labelled in part, the fourth not at all.
SHOWN: Shown = {
    "A": {"p": ["u", "v"], "q": ["x"], "r": ["s", "t"], "z": ["z"]},
    "B": {"p": ["w", "u"], "q": ["y"], "r": ["t"], "z": ["z"]},
}
ASSESSOR: GradesByText = {
    ("p", "u"): 3, ("p", "v"): 1, ("p", "w"): 2, ("q", "x"): 0, ("q", "y"): 2, ("r", "s"): None,
    ("r", "t"): 1, ("z", "z"): 3,
}  # fmt: skip
PEOPLE: GradesByText = {
    ("p", "u"): 2, ("p", "v"): 1, ("p", "w"): 0, ("q", "x"): 0, ("q", "y"): 3, ("r", "s"): 2,
}  # fmt: skip
STATISTICS = (
    "same_grade", "kappa", "kappa_quadratic", "alpha", "bias", "same_verdict", "kappa_relevant",
    "bias_relevant", "precision", "recall",
)  # fmt: skip


def find(people_say: GradesByText = PEOPLE, scale: Scale = GRADED) -> dict[str, Any]:
    run = make_run(SHOWN, ASSESSOR)
    output = measure_agreement(run, make_people(run, people_say, scale, unmatched=4))
    read_back: dict[str, Any] = json.loads(dump_json(output))
    assert read_back == output
    return output


def test_what_was_labelled_is_counted() -> None:
    text = find()
    counts = {
        "labels": "labels.csv", "assessor": "someone/graded", "people_scale": "graded",
        "people_relevant_from": 2, "relevant_from": 2, "highest_label": 3, "labelled_pairs": 6,
        "unmatched_labels": 4, "unlabelled_pairs": 2, "empty_pairs": 0, "labelled_queries": 3,
        "wholly_labelled_queries": 2, "queries_to_label": 4, "queries_without_text": 0, "pairs": 5,
        "queries": 2,
    }  # fmt: skip
    assert {name: text[name] for name in counts} == counts


def test_a_table_of_grades_by_hand() -> None:
    from sklearn.metrics import cohen_kappa_score

    text = find()
    # Rows people, columns assessor; the pair whose judging failed is in no cell.
    assert text["confusion"] == [[1, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]]
    assert text["same_grade"]["value"] == 2 / 5
    assert text["bias"]["value"] == pytest.approx((1 + 0 + 2 + 0 - 1) / 5)
    human, assessor = [2, 1, 0, 0, 3], [3, 1, 2, 0, 2]
    assert text["kappa"]["value"] == pytest.approx(cohen_kappa_score(human, assessor))
    # Relevant by the assessor: u, w, y; by people: u, y.
    assert text["same_verdict"]["value"] == 4 / 5
    assert text["precision"]["value"] == pytest.approx(2 / 3)
    assert text["recall"]["value"] == 1
    assert text["bias_relevant"]["value"] == pytest.approx(1 / 5)
    assert list(text["kappa_at"]) == ["1", "2", "3"]
    assert text["kappa_at"]["2"] == text["kappa_relevant"]


def test_each_engine_s_bias_is_over_what_it_showed() -> None:
    text = find()
    # A: u +1, v 0, x 0. B: w +2, u +1, y -1.
    a, b = text["engines"]["A"], text["engines"]["B"]
    assert (a["results"], a["queries"], a["bias"]["value"]) == (3, 2, pytest.approx(1 / 3))
    assert (b["results"], b["queries"], b["bias"]["value"]) == (3, 2, pytest.approx(2 / 3))
    gap = text["widest_gap"]
    assert (gap["favoured"], gap["other"]) == ("B", "A")
    assert gap["difference"]["value"] == pytest.approx(1 / 3)


def test_orders_are_over_the_queries_that_are_wholly_labelled() -> None:
    """Nobody labelled z, nor what B shows for r."""
    order = find()["orders"]["P@1"]
    assert (order["queries"], order["partly_labelled"], order["left_out"]) == (2, False, [])
    assert order["people"] == pytest.approx({"A": (1 + 0) / 2, "B": (0 + 1) / 2})
    assert order["assessor"] == pytest.approx({"A": (1 + 0) / 2, "B": (1 + 1) / 2})
    assert order["swapped"] == []
    assert order["tau"]["value"] is None
    assert "one side ranks all engines equal" in order["tau"]["why"]


def test_too_few_labels_correct_nothing_and_say_how_many_are_needed() -> None:
    calibration = find()["calibration"]
    assert set(calibration) == {"nDCG@3", "P@1"}
    for each in calibration.values():
        assert set(each) == {"why"}
        assert "needs 20" in each["why"]


@pytest.mark.parametrize("repeats", [1, 3])
def test_people_who_say_what_the_assessor_says(repeats: int) -> None:
    shown, truth, _ = make_favouring_run(25)
    run = make_run(shown, *[truth] * repeats)
    output = measure_agreement(run, make_people(run, truth))
    for name in ("same_grade", "kappa", "kappa_quadratic", "alpha", "same_verdict", "kappa_relevant"):
        assert output[name]["value"] == 1, name
        low, high = output[name]["ci95"]
        assert high == 1
        # A share of all is as sure as there are queries; a kappa of 1 has no such bound.
        assert low == pytest.approx(0.025 ** (1 / 25) if name.startswith("same") else 1), name
    for order in output["orders"].values():
        assert order["people"] == order["assessor"]
        assert order["swapped"] == []
        assert order["tau"]["value"] == 1
    assert output["engines"]["A"]["bias"]["value"] == output["engines"]["B"]["bias"]["value"] == 0
    gap = output["widest_gap"]["difference"]
    assert (gap["value"], gap["ci95"]) == (0, None)
    assert "differ on fewer than 6 queries" in gap["why"]


def test_repeats_meet_people_by_their_median() -> None:
    shown: Shown = {"A": {"p": ["u"], "q": ["x"]}}
    grades: list[GradesByText] = [{("p", "u"): g, ("q", "x"): h} for g, h in ((0, 1), (3, 2), (3, None))]
    run = make_run(shown, *grades, measures="P@1")
    output = measure_agreement(run, make_people(run, {("p", "u"): 3, ("q", "x"): 2}))
    assert output["confusion"] == [[0] * 4, [0] * 4, [0, 0, 1, 0], [0, 0, 0, 1]]


def test_people_s_yes_or_no_meets_grades_at_relevant_or_not() -> None:
    yes: GradesByText = {key: None if grade is None else int(grade >= 2) for key, grade in PEOPLE.items()}
    text = find(yes, BINARY)
    assert text["confusion"] == [[1, 1, 1, 0], [0, 0, 1, 1]]
    graded = find()
    for name in ("same_verdict", "kappa_relevant", "bias_relevant", "precision", "recall"):
        assert text[name] == graded[name]
    for name in ("same_grade", "kappa_quadratic", "alpha", "bias"):
        assert text[name]["value"] is None
        assert "different scales" in text[name]["why"]
    # Engines' biases are in shares of relevant results: A none, B w.
    assert text["engines"]["A"]["bias"]["value"] == 0
    assert text["engines"]["B"]["bias"]["value"] == pytest.approx(1 / 3)
    assert list(text["kappa_at"]) == ["1"]


def test_people_s_grades_meet_a_yes_or_no_assessor() -> None:
    shown, truth, _ = make_favouring_run(25)
    run = make_run(shown, {key: int(grade >= 2) for key, grade in truth.items()}, scale=BINARY)
    output = measure_agreement(run, make_people(run, truth))
    assert (output["kappa_relevant"]["value"], output["same_verdict"]["value"]) == (1, 1)
    assert "different scales" in output["bias"]["why"]
    assert [len(row) for row in output["confusion"]] == [2] * 4
    assert output["orders"]["P@1"]["people"] == output["orders"]["P@1"]["assessor"]


def test_a_measure_of_grades_that_people_did_not_use_is_left_out() -> None:
    run = make_run(SHOWN, ASSESSOR, measures="P(rel=3)@1 nDCG@3 AP(own)@3")
    yes = make_people(run, {("p", "u"): 1, ("p", "v"): 0}, BINARY)
    assert set(measure_agreement(run, yes)["orders"]) == {"nDCG@3"}
    graded = make_people(run, {("p", "u"): 3, ("p", "v"): 0})
    output = measure_agreement(run, graded)
    assert set(output["orders"]) == set(output["calibration"]) == {"P(rel=3)@1", "nDCG@3"}


@pytest.mark.parametrize("grade", [0, 1, 2, 3])
def test_one_and_the_same_grade_on_both_sides_is_explained(grade: int) -> None:
    shown, truth, _ = make_favouring_run(25)
    all_the_same = dict.fromkeys(truth, grade)
    run = make_run(shown, all_the_same)
    output = measure_agreement(run, make_people(run, all_the_same))
    for name in ("kappa", "kappa_quadratic", "alpha", "kappa_relevant"):
        assert output[name]["value"] is None
        assert "agreement by chance is complete" in output[name]["why"]
    assert (output["same_grade"]["value"], output["same_verdict"]["value"]) == (1, 1)
    assert "equal" in output["orders"]["P@1"]["tau"]["why"]
    assert dump_json(output)


def test_labels_on_what_could_not_be_judged_meet_nothing() -> None:
    shown: Shown = {"A": {"p": ["u"], "q": ["x"]}}
    run = make_run(shown, {("p", "u"): None, ("q", "x"): 2})
    output = measure_agreement(run, make_people(run, {("p", "u"): 3}))
    assert (output["pairs"], output["queries"], output["labelled_pairs"]) == (0, 0, 1)
    for name in STATISTICS:
        assert output[name]["value"] is None
        assert "no pair" in output[name]["why"]
    assert output["widest_gap"] is None
    assert output["engines"]["A"] == {"results": 0, "queries": 0, "bias": {"value": None, "ci95": None, "why":
                                    "none of its results has both grades"}}  # fmt: skip


def test_an_assessor_that_favours_an_engine_is_corrected() -> None:
    shown, truth, assessor = make_favouring_run(120)
    run = make_run(shown, assessor, measures="nDCG@3")
    output = measure_agreement(run, make_people(run, label_first(60, truth)))
    assert output["engines"]["A"]["bias"] == {"value": 0, "ci95": [0, 0]}
    assert output["engines"]["B"]["bias"] == {"value": 1, "ci95": [1, 1]}
    assert (output["widest_gap"]["favoured"], output["widest_gap"]["other"]) == ("B", "A")
    assert output["widest_gap"]["difference"] == {"value": 1, "ci95": [1, 1]}
    calibration = output["calibration"]["nDCG@3"]
    (pair,) = calibration["comparisons"]
    assert (pair["a"], pair["b"], pair["outcome"]) == ("B", "A", "reversed")
    assert pair["conclusion"] == "judge-only order reversed"
    assert pair["corrected"] < 0 < pair["assessor"]
    assert pair["ci95"][1] < 0
    assert pair["p_adjusted"] < 0.05
    assert pair["different"] > 6
    engines = calibration["engines"]
    assert engines["A"]["corrected"] > engines["B"]["corrected"]
    for each in (pair, *engines.values()):
        assert each["labelled"] + each["undefined"] == 60
        assert each["rest"] == 60
        assert each["se"] > 0
        assert each["filled"] >= 0
        assert 0 <= each["weight"] <= 1
    # All people's labels: what is to be estimated.
    everything = measure_agreement(run, make_people(run, truth))["calibration"]["nDCG@3"]["comparisons"][0]
    assert pair["ci95"][0] < everything["corrected"] < pair["ci95"][1]


@pytest.mark.parametrize(("queries", "says"), [(19, "needs 20"), (30, "30 labelled"), (60, "")])
def test_how_many_labels_a_correction_takes(queries: int, says: str) -> None:
    shown, truth, assessor = make_favouring_run(120)
    run = make_run(shown, assessor, measures="P@3")
    calibration = measure_agreement(run, make_people(run, label_first(queries, truth)))["calibration"]["P@3"]
    text = calibration.get("why") or " ".join(calibration["warnings"])
    assert says in text
    assert bool(text) == bool(says)


def test_queries_that_are_labelled_in_part_correct_nothing() -> None:
    shown, truth, assessor = make_favouring_run(120)
    run = make_run(shown, assessor, measures="P@3")
    full = label_first(60, truth)
    partly = {
        key: grade for key, grade in label_first(80, truth).items() if key in full or key[1].endswith("0")
    }
    assert len(partly) > len(full)
    alone, more = (measure_agreement(run, make_people(run, labels)) for labels in (full, partly))
    assert (more["labelled_queries"], more["wholly_labelled_queries"]) == (80, 60)
    assert more["calibration"] == alone["calibration"]


def make_half_seen_run(queries: int = 40) -> tuple[JudgedRun, GradesByText, GradesByText]:
    """A is as good as B; people labelled what A shows last and B first, the assessor knows it all."""
    shown: Shown = {
        engine: {f"q{q}": [f"{engine}{q} {rank}" for rank in range(3)] for q in range(queries)}
        for engine in "AB"
    }
    truth: GradesByText = {
        (q, text): (3, 3, 0)[int(text[-1])]
        for lists in shown.values()
        for q, texts in lists.items()
        for text in texts
    }
    some = {key: grade for key, grade in truth.items() if key[1][0] + key[1][-1] in ("A2", "B0")}
    return make_run(shown, truth, measures="P@3 nDCG@3"), truth, some


def test_queries_that_are_partly_labelled_give_both_sides_the_same_to_go_by() -> None:
    """Otherwise a perfect assessor stands against people who seem to have the order reversed."""
    run, _, some = make_half_seen_run()
    output = measure_agreement(run, make_people(run, some))
    assert (output["labelled_queries"], output["wholly_labelled_queries"]) == (40, 0)
    for order in output["orders"].values():
        assert order["partly_labelled"]
        assert order["queries"] == 40
        assert order["people"] == order["assessor"]
        assert order["swapped"] == []
    assert "needs 20" in output["calibration"]["P@3"]["why"]


def test_repeats_of_partly_labelled_queries_are_all_kept() -> None:
    run, _, some = make_half_seen_run(10)
    again = replace(run, judgments=(*run.judgments, *(replace(each, repeat=2) for each in run.judgments)))
    once, twice = (measure_agreement(each, make_people(each, some))["orders"] for each in (run, again))
    for measure, order in once.items():
        assert twice[measure]["queries"] == order["queries"] == 10
        assert twice[measure]["people"] == order["people"]
        # Each repeat draws grades of its own for the pairs without one.
        assert twice[measure]["assessor"] == pytest.approx(order["assessor"], abs=0.001)


def test_wholly_labelled_queries_alone_order_the_engines_where_there_are_any() -> None:
    run, truth, some = make_half_seen_run()
    full = {key: grade for key, grade in truth.items() if int(key[0][1:]) < 25}
    output = measure_agreement(run, make_people(run, {**some, **full}))
    assert (output["labelled_queries"], output["wholly_labelled_queries"]) == (40, 25)
    for order in output["orders"].values():
        assert (order["queries"], order["partly_labelled"]) == (25, False)
    # Two files of grades are compared on all the queries that they share.
    bare = measure_agreement(run, make_people(run, {**some, **full}), assumed={})
    for order in bare["orders"].values():
        assert (order["queries"], order["partly_labelled"]) == (40, True)
    assert bare["calibration"] == {}


def test_snippets_without_text_are_nobody_s_judgment() -> None:
    """A shows nothing but a date on each query; people's plan did not ask, one old label says otherwise."""
    shown, truth, _ = make_favouring_run(30)
    blank = {f"q{q}": [*texts[:2], ""] for q, texts in enumerate(shown["A"].values())}
    grades: GradesByText = {**truth, **{(f"q{q}", ""): 0 for q in range(30)}}
    run = make_run({**shown, "A": blank}, grades, measures="P@3")
    labelled_texts = {text for texts in (*blank.values(), *shown["B"].values()) for text in texts if text}
    labels: GradesByText = {key: grade for key, grade in grades.items() if key[1] in labelled_texts}
    result = measure_agreement(run, make_people(run, labels))
    assert (result["empty_pairs"], result["pairs"], result["unlabelled_pairs"]) == (30, 150, 0)
    assert (result["wholly_labelled_queries"], result["engines"]["A"]["results"]) == (30, 60)
    order = result["orders"]["P@3"]
    assert order["queries"] == 30
    assert order["people"] == order["assessor"]
    good = sum(truth[f"q{q}", text] >= 2 for q in range(30) for text in blank[f"q{q}"][:2])
    assert order["people"]["A"] == pytest.approx(good / 90)
    assert measure_agreement(run, make_people(run, {**labels, ("q0", ""): 3})) == result


def test_unknown_texts_are_imputed_on_both_sides() -> None:
    """All known results are relevant, so the donors of A's unknown one are, too. An unknown text is no 0."""
    shown: PartlyShown = {
        "A": {"q0": ["a", "b", None], "q1": ["a", "b", None]},
        "B": {"q0": ["c", "d", "e"], "q1": ["c", "d", "e"]},
    }
    grades: GradesByText = {(query_id, text): 2 for query_id in ("q0", "q1") for text in "abcde"}
    run = make_run(shown, {**grades, ("q0", ""): None, ("q1", ""): None}, measures="P@3")
    result = measure_agreement(run, make_people(run, grades))
    assert (result["unknown_texts"], result["empty_pairs"], result["pairs"]) == (2, 0, 10)
    assert (result["wholly_labelled_queries"], result["engines"]["A"]["results"]) == (2, 4)
    order = result["orders"]["P@3"]
    assert order["people"] == order["assessor"] == {"A": 1.0, "B": 1.0}


def test_queries_that_nobody_answered_are_in_no_correction() -> None:
    """They can't be drawn, so labels say nothing of them: the mean is over the others."""
    shown, truth, assessor = make_favouring_run(60)
    run = make_run(shown, assessor, measures="P@3")
    unanswered = [f"z{number}" for number in range(60)]
    more = replace(
        run,
        dataset=replace(
            run.dataset,
            queries={**run.dataset.queries, **{z: Query(z, z, z, "en") for z in unanswered}},
            rankings=(*run.dataset.rankings, *(Ranking(e, z, ()) for e in "AB" for z in unanswered)),
        ),
    )
    labels = label_first(30, truth)
    alone, beside = (measure_agreement(each, make_people(each, labels)) for each in (run, more))
    assert (beside["queries_to_label"], beside["queries_without_text"]) == (60, 60)
    assert beside["calibration"] == alone["calibration"]
    engine = beside["calibration"]["P@3"]["engines"]["A"]
    assert engine["labelled"] + engine["undefined"] + engine["rest"] == 60


def test_an_engine_on_few_queries_is_left_out_of_the_orders() -> None:
    shown, truth, assessor = make_favouring_run(20)
    few = {"q0": ["c 0"], "q1": ["c 1"]}
    text = {**assessor, ("q0", "c 0"): 3, ("q1", "c 1"): 3}
    run = make_run({**shown, "C": few}, text, measures="P@3")
    order = measure_agreement(run, make_people(run, {**truth, ("q0", "c 0"): 3, ("q1", "c 1"): 3}))["orders"][
        "P@3"
    ]
    assert (order["queries"], order["left_out"], set(order["people"])) == (20, ["C"], {"A", "B"})


def test_a_tie_of_the_assessor_is_decided_by_people() -> None:
    shown, truth, _ = make_favouring_run(120)
    run = make_run(shown, dict.fromkeys(truth, 2), measures="P@3")
    (pair,) = measure_agreement(run, make_people(run, label_first(60, truth)))["calibration"]["P@3"][
        "comparisons"
    ]
    assert (pair["a"], pair["b"], pair["outcome"]) == ("A", "B", "decided")
    assert pair["conclusion"] == "judge-only tie decided"


def test_engines_without_names_to_compare_are_not_corrected() -> None:
    run = make_run(SHOWN, ASSESSOR)
    empty = replace(run, dataset=replace(run.dataset, engines=()))
    output = measure_agreement(empty, make_people(run, PEOPLE))
    assert (output["engines"], output["widest_gap"], output["orders"], output["calibration"]) == (
        {},
        None,
        {},
        {},
    )
    assert output["pairs"] == 5


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_anything_never_changes_a_digit(seed: int) -> None:
    chance = random.Random(seed)
    shown, truth, assessor = make_favouring_run(40)

    def shuffle_items(given: Any) -> dict[Any, Any]:
        return dict(chance.sample(list(given.items()), len(given)))

    run = make_run(shown, assessor)
    before = measure_agreement(run, make_people(run, label_first(25, truth)))
    turned = make_run(
        {engine: shuffle_items(queries) for engine, queries in shuffle_items(shown).items()}, assessor
    )
    turned = replace(turned, judgments=tuple(chance.sample(turned.judgments, len(turned.judgments))))
    assert measure_agreement(turned, make_people(turned, shuffle_items(label_first(25, truth)))) == before
