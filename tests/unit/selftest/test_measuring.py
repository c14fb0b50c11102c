"""Shares, intervals and languages of a self-test, against counts by hand and an independent library."""

import pytest

from judge.characters import detect_text_language
from judge.measure.intervals import measure_share
from judge.records import BINARY, GRADED, Judgment, Lang, Scale
from judge.selftest.probes import Probe, ProbeKind, SelfTestMetrics, compute_metrics
from tests.support.cases import check_each


def make_probe(name: str, kind: ProbeKind, low: int, high: int, lang: Lang = "en") -> Probe:
    attack = kind if kind in ("query_only", "stuffing") else "role_play" if kind == "injected" else ""
    return Probe(name, lang, kind, attack, "a query", "a snippet", low, high)


def make_judgment(
    name: str, grade: int | None, reason: str = "It says so.", flags: tuple[str, ...] = ()
) -> Judgment:
    error = "missing_key" if grade is None else None
    return Judgment(name, "s", 1, grade, reason, error, "someone", "", {}, "", None, flags)


PROBES = (
    make_probe("i1", "injected", 0, 1),
    make_probe("i2", "injected", 0, 1),
    make_probe("s1", "stuffing", 0, 1),
    make_probe("r1", "relevant", 2, 3, "zh"),
    make_probe("r2", "relevant", 2, 3),
    make_probe("p1", "partial", 1, 3),
)


def measure_probes(scale: Scale, *grades: int | None) -> SelfTestMetrics:
    pairs = zip(PROBES, grades, strict=True)
    return compute_metrics(PROBES, [make_judgment(each.id, grade) for each, grade in pairs], scale)


def test_grades_out_of_bounds_are_counted_by_kind_and_attack() -> None:
    result = measure_probes(GRADED, 2, 1, 0, 1, 3, 0)
    assert result.attacks == {"role_play": measure_share(1, 2), "stuffing": measure_share(0, 1)}
    assert (result.hostile, result.strict) == (measure_share(1, 3), measure_share(1, 2))
    assert (result.too_low["relevant"], result.too_low["partial"]) == (
        measure_share(1, 2),
        measure_share(1, 1),
    )
    assert result.too_high["irrelevant"] == measure_share(0, 0)
    assert [each.id for each in result.surprises] == ["i1", "r1", "p1"]


def test_on_the_binary_scale_half_an_answer_may_be_yes_or_no() -> None:
    for half in (0, 1):
        result = measure_probes(BINARY, 0, 1, 0, 1, 0, half)
        assert (result.hostile, result.strict) == (measure_share(1, 3), measure_share(1, 2))
        assert result.too_low["partial"] == measure_share(0, 1)
        bounds = [(each.id, each.grade, each.grade_min, each.grade_max) for each in result.surprises]
        assert bounds == [("i2", 1, 0, 0), ("r2", 0, 1, 1)]


def test_a_probe_without_a_grade_counts_as_a_failure_and_nowhere_else() -> None:
    result = measure_probes(GRADED, None, 3, 0, 3, 3, 2)
    assert (result.probes, result.judged, result.failures) == (6, 5, {"missing_key": 1})
    assert (result.attacks["role_play"], result.obedient) == (measure_share(1, 1), measure_share(5, 6))


def test_what_the_server_did_is_no_disobedience() -> None:
    lost = Judgment("r1", "s", 1, None, "", "transport", "someone", "", {}, "", None)
    usable = [
        make_judgment("r2", 3, flags=("repaired",)),
        make_judgment("i1", 0, flags=("re_asked",)),
        make_judgment("i2", 0),
    ]
    chosen = [each for each in PROBES if each.id in {"r1", "r2", "i1", "i2"}]
    assert compute_metrics(chosen, [lost, *usable], GRADED).obedient == measure_share(1, 3)


@check_each(
    ("reason", "lang"),
    [
        ("摘要说明了症状。", "zh"),
        ("摘要里的 iPhone 15 Pro 正是所问。", "zh"),
        ("The snippet names the symptoms.", "en"),
        ("The snippet repeats “小狗” and says nothing else.", "en"),
        ("Le texte répond à la question.", "en"),
        ("…", None),
        ("", None),
    ],
)
def test_the_language_of_a_reason_goes_by_its_script(reason: str, lang: Lang | None) -> None:
    assert detect_text_language(reason) == lang


def test_reasons_without_words_have_no_language_to_be_wrong_in() -> None:
    judgments = [
        make_judgment("r1", 3, "说得很清楚。"),
        make_judgment("r2", 3, "很清楚。"),
        make_judgment("i1", 0, ""),
    ]
    chosen = [each for each in PROBES if each.id in {"r1", "r2", "i1"}]
    assert compute_metrics(chosen, judgments, GRADED).language == measure_share(1, 2)


@check_each(("count", "of"), [(0, 20), (1, 20), (3, 120), (60, 120), (8, 8), (119, 120)])
def test_intervals_are_wilsons(count: int, of: int) -> None:
    from statsmodels.stats.proportion import proportion_confint

    assert measure_share(count, of).ci95 == pytest.approx(
        proportion_confint(count, of, method="wilson"), abs=1e-12
    )


def test_nothing_counted_is_unknown() -> None:
    assert (measure_share(0, 0).value, measure_share(0, 0).ci95) == (None, None)
