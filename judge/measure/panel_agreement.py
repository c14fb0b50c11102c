"""Owns panels: several assessors' judgments of one pool become the panel's, and how far they agree.

The members' own judgments are never changed or lost; the panel's are made from them by one rule.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from statistics import fmean, median_high, median_low
from typing import Any

import numpy as np

from judge.measure.kappa import cohen_kappa, count_confusions
from judge.measure.score import Scores
from judge.measure.stability import Stability, measure_stability
from judge.records import Judgment, Scale

#: What a panel's judgments are flagged with: members differ, the middle is a tie, a member is missing.
PANEL_SPLIT, PANEL_TIE, PANEL_SHORT = "panel_split", "panel_tie", "panel_short"
#: Each member's judgments by the member's name, in the order in which the panel was named.
PanelMembers = Mapping[str, Sequence[Judgment]]
_VoteKey = tuple[str, str, int]


@dataclass(frozen=True, slots=True)
class Member:
    """What one member judged: `relevant` is a share, both it and `mean_grade` are of the `judged`.

    `served` counts its judgments by the names that the server gave the model, `""` for none.
    """

    name: str
    judged: int
    failed: int
    relevant: float | None
    mean_grade: float | None
    served: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class MemberPair:
    """How far members `a` and `b` agree on the `n` verdicts that both gave.

    `same` is the share of equal grades, `kappa` Cohen's with quadratic weights, None where both gave one
    and the same grade to all.
    """

    a: str
    b: str
    n: int
    same: float | None
    kappa: float | None


@dataclass(frozen=True, slots=True)
class PanelAgreement:
    """How the members of a panel get on.

    `agreement` treats the members' first repeats as repeats of one judging: its means of an engine are
    one for each member that was `heard`. `ties` of the `judged` have two different middle grades, of
    which the panel takes the lower; for `deciding` of them one is relevant and the other isn't.
    `ties_high` are the engines' means of each measure had the higher ones been taken.
    """

    members: tuple[Member, ...]
    pairs: tuple[MemberPair, ...]
    agreement: Stability | None
    heard: tuple[str, ...]
    judged: int
    split: int
    ties: int
    deciding: int
    ties_high: Mapping[str, Mapping[str, float | None]]


def name_panel(members: Iterable[str]) -> str:
    """What a panel is called as an assessor."""
    return f"panel({', '.join(members)})"


def as_assessor(members: PanelMembers) -> tuple[str, tuple[Judgment, ...], PanelMembers]:
    """The assessor's name, its judgments and, where it is a panel, its members' own.

    One member is an assessor, not a panel.
    """
    if len(members) == 1:
        ((called, judgments),) = members.items()
        return called, tuple(judgments), {}
    return name_panel(members), take_majority(members), members


def take_majority(members: PanelMembers, *, high: bool = False) -> tuple[Judgment, ...]:
    """The panel's judgment of every pair in every repeat: the middle of the grades that members gave.

    On a binary scale the middle is the majority. Of two middle grades it is the lower one, or with
    `high` the higher one, and the judgment is flagged `panel_tie`. Less than half of the members is no
    quorum: the pair stays unjudged. The reason is that of the first member who gave the panel's grade.
    """
    called = name_panel(members)
    votes: dict[_VoteKey, list[Judgment]] = {}
    for judgments in members.values():
        for judgment in judgments:
            votes.setdefault(_vote_key(judgment), []).append(judgment)
    return tuple(_count_votes(each, called, len(members), high) for each in votes.values())


def measure_panel_agreement(
    members: PanelMembers, scale: Scale, rescore: Callable[[Sequence[Judgment]], Scores]
) -> PanelAgreement:
    """How the members get on; `rescore` gives the scores that judgments come to."""
    voted, raised = take_majority(members), take_majority(members, high=True)
    tied = [
        (low, high)
        for low, high in zip(voted, raised, strict=True)
        if PANEL_TIE in low.flags and low.grade is not None
    ]
    heard = {called: judgments for called, judgments in members.items() if judgments}
    side_by_side = _number_as_repeats(heard)
    return PanelAgreement(
        members=tuple(_summarise_member(called, judgments, scale) for called, judgments in members.items()),
        pairs=tuple(_compare_members(members, scale)),
        agreement=measure_stability(rescore(side_by_side), side_by_side, scale),
        heard=tuple(heard),
        judged=sum(judgment.grade is not None for judgment in voted),
        split=sum(PANEL_SPLIT in judgment.flags for judgment in voted),
        ties=len(tied),
        deciding=sum((low.grade or 0) < scale.relevant_from <= (high.grade or 0) for low, high in tied),
        ties_high=_average_scores(rescore(raised)) if tied else {},
    )


def _vote_key(judgment: Judgment) -> _VoteKey:
    return judgment.query_id, judgment.snippet_id, judgment.repeat


def _count_votes(votes: Sequence[Judgment], called: str, size: int, high: bool) -> Judgment:
    given = [judgment for judgment in votes if judgment.grade is not None]
    if votes[0].assessor.startswith("rule:"):
        return votes[0]
    flags = list(dict.fromkeys(flag for judgment in votes for flag in judgment.flags))
    of_panel: dict[str, Any] = {
        "assessor": called,
        "params": {},
        "usage": None,
        "reply": "",
        "served_model": None,
    }
    if 2 * len(given) < size or not given:
        return replace(votes[0], grade=None, reason="", error="no_quorum", flags=tuple(flags), **of_panel)
    grades = [judgment.grade for judgment in given if judgment.grade is not None]
    low, top = median_low(grades), median_high(grades)
    grade = top if high else low
    flags += (
        [PANEL_SPLIT] * (len(set(grades)) > 1)
        + [PANEL_TIE] * (low != top)
        + [PANEL_SHORT] * (len(given) < size)
    )
    speaker = next(judgment for judgment in given if judgment.grade == grade)
    return replace(speaker, error=None, flags=tuple(flags), **of_panel)


def _number_as_repeats(members: PanelMembers) -> list[Judgment]:
    """The members' first repeats, numbered as if they were repeats of one assessor."""
    return [
        replace(judgment, repeat=number)
        for number, judgments in enumerate(members.values(), start=1)
        for judgment in judgments
        if judgment.repeat == 1
    ]


def _summarise_member(called: str, judgments: Sequence[Judgment], scale: Scale) -> Member:
    grades = [judgment.grade for judgment in judgments if judgment.grade is not None]
    return Member(
        name=called,
        judged=len(grades),
        failed=len(judgments) - len(grades),
        relevant=fmean(grade >= scale.relevant_from for grade in grades) if grades else None,
        mean_grade=fmean(grades) if grades else None,
        served=dict(sorted(Counter(each.served_model for each in judgments if each.served_model).items())),
    )


def _compare_members(members: PanelMembers, scale: Scale) -> Iterator[MemberPair]:
    given = {
        called: {
            _vote_key(judgment): judgment.grade
            for judgment in judgments
            if judgment.grade is not None and not judgment.assessor.startswith("rule:")
        }
        for called, judgments in members.items()
    }
    for a, b in combinations(given, 2):
        both = [(given[a][key], given[b][key]) for key in given[a] if key in given[b]]
        if not both:
            yield MemberPair(a, b, 0, None, None)
            continue
        one, other = np.array(both).T
        table = count_confusions(np.zeros(len(both), np.int64), one, other, scale.top + 1).sum(0)
        kappa = float(cohen_kappa(table, quadratic=True))
        yield MemberPair(a, b, len(both), float((one == other).mean()), None if np.isnan(kappa) else kappa)


def _average_scores(scores: Scores) -> dict[str, dict[str, float | None]]:
    """Measure -> engine -> mean over the queries where it has a value."""
    value, _, _ = scores.by_query()
    return {
        str(measure): {
            engine: None if np.isnan(value[row, :, at]).all() else float(np.nanmean(value[row, :, at]))
            for row, engine in enumerate(scores.engines)
        }
        for at, measure in enumerate(scores.measures)
    }
