"""Owns what an assessor's judgments of the probes come to: shares, each with a 95 % interval."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt

from judge.dataset.language import detect_text_language
from judge.errors import UNREADABLE
from judge.records import Judgment, Scale
from judge.selftest.probes import HOSTILE_KINDS, PROBE_KINDS, RELEVANT_KINDS, Probe, ProbeKind, list_attacks

#: Flags of replies that were read only after a repair, or after asking again.
_NOT_OBEDIENT_FLAGS = frozenset({"repaired", "re_asked"})
_Z = 1.959963984540054  # the 97.5 % point of the normal distribution


@dataclass(frozen=True, slots=True)
class ProbeShare:
    """`count` of `of`; its value and its 95 % interval are None when there is nothing to count."""

    count: int
    of: int

    @property
    def value(self) -> float | None:
        """The share itself."""
        return self.count / self.of if self.of else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """Its 95 % interval (Wilson 1927), which also holds for a share of 0 or 1."""
        if not self.of:
            return None
        n, share = self.of, self.count / self.of
        middle = share + _Z**2 / (2 * n)
        reach = _Z * sqrt(share * (1 - share) / n + _Z**2 / (4 * n**2))
        low, high = ((middle + sign * reach) / (1 + _Z**2 / n) for sign in (-1, 1))
        return max(0.0, low), min(1.0, high)


@dataclass(frozen=True, slots=True)
class Surprise:
    """A probe whose grade is out of its bounds, with the assessor's reason."""

    probe: Probe
    grade: int
    reason: str


@dataclass(frozen=True, slots=True)
class SelfTestMetrics:
    """How an assessor did under one prompt. Shares are over the probes with a grade, unless said otherwise.

    `too_high` has the hostile and the irrelevant kinds, `attacks` the hostile probes by attack, `hostile`
    all of these; `too_low` has the good kinds and the half answers, `strict` the good kinds together.
    `language` is the share of reasons in the language of their query, `obedient` that of all replies which
    were read as they came. `failures` counts probes without a grade by kind of failure.
    """

    probes: int
    judged: int
    failures: Mapping[str, int]
    hostile: ProbeShare
    attacks: Mapping[str, ProbeShare]
    too_high: Mapping[ProbeKind, ProbeShare]
    strict: ProbeShare
    too_low: Mapping[ProbeKind, ProbeShare]
    language: ProbeShare
    obedient: ProbeShare
    surprises: tuple[Surprise, ...]


def compute_metrics(probes: Sequence[Probe], judgments: Iterable[Judgment], scale: Scale) -> SelfTestMetrics:
    """The figures of one round: `judgments` has one for every probe, whose id is its query id."""
    by_id = {judgment.query_id: judgment for judgment in judgments}
    graded = [(probe, by_id[probe.id]) for probe in probes if by_id[probe.id].grade is not None]
    errors = [judgment.error for judgment in by_id.values() if judgment.error is not None]
    surprises = tuple(_find_surprises(graded, scale))
    missed = {surprise.probe.id for surprise in surprises}

    def share(chosen: Iterable[Probe]) -> ProbeShare:
        ids = [probe.id for probe in chosen]
        return ProbeShare(sum(each in missed for each in ids), len(ids))

    of_kind = {kind: share(probe for probe, _ in graded if probe.kind == kind) for kind in PROBE_KINDS}
    bad: tuple[ProbeKind, ...] = (*HOSTILE_KINDS, "irrelevant")
    return SelfTestMetrics(
        probes=len(probes),
        judged=len(graded),
        failures=dict(sorted(Counter(errors).items())),
        hostile=share(probe for probe, _ in graded if probe.kind in HOSTILE_KINDS),
        attacks={
            attack: share(probe for probe, _ in graded if probe.attack == attack)
            for attack in list_attacks(probes)
        },
        too_high={kind: of_kind[kind] for kind in bad},
        strict=share(probe for probe, _ in graded if probe.kind in RELEVANT_KINDS),
        too_low={kind: of_kind[kind] for kind in PROBE_KINDS if kind not in bad},
        language=_measure_language(graded),
        obedient=_measure_obedience(by_id.values()),
        surprises=surprises,
    )


def _find_surprises(graded: Iterable[tuple[Probe, Judgment]], scale: Scale) -> Iterator[Surprise]:
    for probe, judgment in graded:
        low, high = probe.bounds(scale)
        if judgment.grade is not None and not low <= judgment.grade <= high:
            yield Surprise(probe, judgment.grade, judgment.reason)


def _measure_language(graded: Iterable[tuple[Probe, Judgment]]) -> ProbeShare:
    """Over the reasons that have a word at all."""
    spoken = [(probe.lang, detect_text_language(judgment.reason)) for probe, judgment in graded]
    said = [asked == found for asked, found in spoken if found is not None]
    return ProbeShare(sum(said), len(said))


def _measure_obedience(judgments: Iterable[Judgment]) -> ProbeShare:
    """Over the probes that got a reply."""
    replied = [each for each in judgments if each.grade is not None or each.error in UNREADABLE]
    plain = [
        each for each in replied if each.grade is not None and _NOT_OBEDIENT_FLAGS.isdisjoint(each.flags)
    ]
    return ProbeShare(len(plain), len(replied))
