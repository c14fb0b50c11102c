"""The models that grade one run: the members of a panel, and the models that a server names.

The judgments of the members of a panel are combined by one rule, and never changed; their agreement is
measured.

A provider that replaces the model behind a name changes the grades; so a run with answers of two names is
compared by name. A verdict from an earlier run keeps the name it was stored with.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from statistics import fmean, median_high, median_low

import numpy as np

from judge.flags import PANEL_SHORT, PANEL_SPLIT, PANEL_TIE
from judge.measure.agreement import cohen_kappa, count_confusions
from judge.measure.columns import JudgmentColumns, ResultColumns
from judge.measure.grades_by_pair import map_grades
from judge.measure.numeric import convert_non_finite, list_distinct
from judge.measure.score import Scores
from judge.measure.stability import RepeatStability, measure_stability
from judge.records import Judgment, Scale

#: The judgments of each member by its name, in the order of the panel.
JudgmentsByMember = Mapping[str, Sequence[Judgment]]
#: The column that segments queries by the grading model, and its value for several models.
SERVED_MODEL_COLUMN, MIXED = "served model", "mixed"
#: The value in that column for a server that returns no name.
UNNAMED = "unnamed"


@dataclass(frozen=True, slots=True)
class Member:
    """The judgments of one member: `relevant` is the relevant share of the `judged`, `mean_grade` their mean.

    `served` counts its judgments by the model name that the server returned.
    """

    name: str
    judged: int
    failed: int
    relevant: float | None
    mean_grade: float | None
    served: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class MemberPair:
    """The agreement of members `a` and `b` in the `n` judgments that have a grade of both.

    `same` is the share of equal grades, `kappa` Cohen's with quadratic weights, None where both gave the
    same grade to all.
    """

    a: str
    b: str
    n: int
    same: float | None
    kappa: float | None


@dataclass(frozen=True, slots=True)
class PanelResult:
    """The agreement of the members of a panel.

    `agreement` treats the first repeats of the members as repeats: it has one mean of an engine for each
    member in `responded`. `ties` of the `judged` pairs have two different middle grades; the panel takes the
    lower one. For `deciding_ties`, one of the two is relevant and the other is not. `ties_high` has the means
    by measure and engine with the higher grades.
    """

    members: tuple[Member, ...]
    pairs: tuple[MemberPair, ...]
    agreement: RepeatStability | None
    responded: tuple[str, ...]
    judged: int
    split: int
    ties: int
    deciding_ties: int
    ties_high: Mapping[str, Mapping[str, float | None]]


def _name_panel(members: Iterable[str]) -> str:
    return f"panel({', '.join(members)})"


def combine_members(members: JudgmentsByMember) -> tuple[str, Sequence[Judgment], JudgmentsByMember]:
    """Return the name and the judgments of the assessor, and those of its members if they are a panel."""
    if len(members) == 1:
        ((name, judgments),) = members.items()
        return name, judgments, {}
    return _name_panel(members), take_median(members), members


def take_median(members: JudgmentsByMember, *, high: bool = False) -> tuple[Judgment, ...]:
    """Return the judgment of the panel for every pair in every repeat: the median grade of the members.

    On a binary scale the median is the majority. Of two middle grades it is the lower one, or with `high`
    the higher one, and the judgment is flagged `panel_tie`. With grades from less than half of the members
    the pair stays unjudged. The reason is that of the first member with the grade of the panel.
    """
    assessor = _name_panel(members)
    votes: dict[tuple[str, str, int], list[Judgment]] = {}
    for judgments in members.values():
        for judgment in judgments:
            votes.setdefault((*judgment.key, judgment.repeat), []).append(judgment)
    return tuple(_combine_votes(of_pair, assessor, len(members), high=high) for of_pair in votes.values())


def measure_panel_agreement(
    members: JudgmentsByMember, scale: Scale, rescore: Callable[[Sequence[Judgment]], Scores]
) -> PanelResult:
    """Return the agreement of the members; `rescore` computes scores from judgments."""
    judgments_low, judgments_high = take_median(members), take_median(members, high=True)
    tied = [
        (low, high)
        for low, high in zip(judgments_low, judgments_high, strict=True)
        if PANEL_TIE in low.flags and low.grade is not None
    ]
    responded = {name: judgments for name, judgments in members.items() if judgments}
    # The first repeats of the members, as repeats of one assessor.
    as_repeats = [
        replace(judgment, repeat=number)
        for number, judgments in enumerate(responded.values(), start=1)
        for judgment in judgments
        if judgment.repeat == 1
    ]
    return PanelResult(
        members=tuple(_summarise_member(name, judgments, scale) for name, judgments in members.items()),
        pairs=tuple(_compare_members(members, scale)),
        agreement=measure_stability(rescore(as_repeats), as_repeats, scale),
        responded=tuple(responded),
        judged=sum(judgment.grade is not None for judgment in judgments_low),
        split=sum(PANEL_SPLIT in judgment.flags for judgment in judgments_low),
        ties=len(tied),
        deciding_ties=sum((low.grade or 0) < scale.relevant_from <= (high.grade or 0) for low, high in tied),
        ties_high=rescore(judgments_high).average_queries() if tied else {},
    )


def _combine_votes(votes: Sequence[Judgment], assessor: str, size: int, *, high: bool) -> Judgment:
    if votes[0].is_by_rule:
        return votes[0]
    grades = [judgment.grade for judgment in votes if judgment.grade is not None]
    flags = dict.fromkeys(flag for judgment in votes for flag in judgment.flags)
    of_panel = partial(replace, assessor=assessor, params={}, usage=None, reply="", served_model=None)
    if 2 * len(grades) < size or not grades:
        return of_panel(votes[0], grade=None, reason="", error="no_quorum", flags=tuple(flags))
    low, top = median_low(grades), median_high(grades)
    is_set = {PANEL_SPLIT: len(set(grades)) > 1, PANEL_TIE: low != top, PANEL_SHORT: len(grades) < size}
    own_flags = (flag for flag, applies in is_set.items() if applies)
    first = next(judgment for judgment in votes if judgment.grade == (top if high else low))
    return of_panel(first, error=None, flags=(*flags, *own_flags))


def _summarise_member(name: str, judgments: Sequence[Judgment], scale: Scale) -> Member:
    grades = [judgment.grade for judgment in judgments if judgment.grade is not None]
    served = Counter(judgment.served_model for judgment in judgments if judgment.served_model)
    return Member(
        name=name,
        judged=len(grades),
        failed=len(judgments) - len(grades),
        relevant=fmean(grade >= scale.relevant_from for grade in grades) if grades else None,
        mean_grade=fmean(grades) if grades else None,
        served=dict(sorted(served.items())),
    )


def _compare_members(members: JudgmentsByMember, scale: Scale) -> Iterator[MemberPair]:
    grades = {
        name: map_grades(judgment for judgment in judgments if not judgment.is_by_rule)
        for name, judgments in members.items()
    }
    for a, b in combinations(grades, 2):
        both = [(grades[a][key], grades[b][key]) for key in grades[a] if key in grades[b]]
        if not both:
            yield MemberPair(a, b, 0, None, None)
            continue
        grades_a, grades_b = np.array(both).T
        table = count_confusions(np.zeros(len(both), np.int64), grades_a, grades_b, scale.top + 1).sum(0)
        kappa = float(cohen_kappa(table, quadratic=True))
        yield MemberPair(a, b, len(both), float((grades_a == grades_b).mean()), convert_non_finite(kappa))


@dataclass(frozen=True, slots=True)
class ServedModelGrades:
    """The grades that one model gave, over all repeats: how many, how many relevant, and their mean.

    `engines` counts the judgments of the results of each engine down to the depth; a pair that two engines
    returned is in both counts.
    """

    judgments: int
    relevant: int
    mean_grade: float
    engines: Mapping[str, int]


def count_served_models(
    results: ResultColumns, judgments: JudgmentColumns, scale: Scale
) -> dict[str, ServedModelGrades]:
    """Return the grades by served model (`""` without a name), most judgments first; not grades by rule."""
    rows = judgments.rows[judgments.rows["is_graded"] & (judgments.rows["model"] >= 0)]
    returned = [list_distinct(of_engine[of_engine >= 0]) for of_engine in results.pair]
    models = {}
    for number in list_distinct(rows["model"]).tolist():
        of_model = rows[rows["model"] == number]
        pairs = of_model["pair"]
        counts = np.bincount(pairs[pairs >= 0], minlength=len(results.snippet_ids))
        by_engine = zip(results.engines, (int(counts[own].sum()) for own in returned), strict=True)
        models[judgments.models[number]] = ServedModelGrades(
            judgments=len(of_model),
            relevant=int((of_model["grade"] >= scale.relevant_from).sum()),
            mean_grade=int(of_model["grade"].sum()) / len(of_model),
            engines={engine: count for engine, count in by_engine if count},
        )
    return dict(sorted(models.items(), key=lambda item: (-item[1].judgments, item[0])))


def find_grading_models(results: ResultColumns, judgments: JudgmentColumns) -> dict[str, str]:
    """Return, for each graded query, the name of the model with all its grades, or `MIXED`."""
    rows = judgments.rows
    rows = rows[rows["is_graded"] & (rows["model"] >= 0) & (rows["query"] >= 0)]
    cells = list_distinct(rows["query"] * len(judgments.models) + rows["model"])
    names: dict[str, str] = {}
    for cell in cells.tolist():
        query = results.queries[cell // len(judgments.models)]
        name = judgments.models[cell % len(judgments.models)] or UNNAMED
        names[query] = name if names.get(query, name) == name else MIXED
    return names
