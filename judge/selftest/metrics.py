"""Metrics of a self-test: shares of the probes, each with a 95 % interval."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import sqrt

from judge.analysis.summary import SelfTestShare
from judge.dataset.language import detect_text_language
from judge.errors import PARSE_ERROR_KINDS
from judge.records import Judgment, Scale
from judge.selftest.probes import HOSTILE_KINDS, PROBE_KINDS, RELEVANT_KINDS, Probe, ProbeKind, list_attacks

#: Flags of replies that needed a repair or a re-ask.
_NOT_OBEDIENT_FLAGS = frozenset({"repaired", "re_asked"})
_Z = 1.959963984540054  # the 97.5 % point of the normal distribution


@dataclass(frozen=True, slots=True)
class Surprise(Probe):
    """A probe with a grade out of its bounds, and the reason of the assessor."""

    grade: int
    reason: str


@dataclass(frozen=True, slots=True)
class SelfTestMetrics:
    """The metrics of an assessor with one prompt. Shares are over the probes with a grade by default.

    `too_high` has the hostile and the irrelevant kinds, `attacks` the hostile probes by attack, `hostile`
    all of these; `too_low` has the good kinds and the half answers, `strict` the good kinds together.
    `language` is the share of reasons in the language of their query, `obedient` the share of all replies
    that needed no repair or re-ask. `failures` counts probes without a grade by kind of failure.
    """

    probes: int
    judged: int
    failures: Mapping[str, int]
    hostile: SelfTestShare
    attacks: Mapping[str, SelfTestShare]
    too_high: Mapping[ProbeKind, SelfTestShare]
    strict: SelfTestShare
    too_low: Mapping[ProbeKind, SelfTestShare]
    language: SelfTestShare
    obedient: SelfTestShare
    surprises: tuple[Surprise, ...]


def measure_share(count: int, of: int) -> SelfTestShare:
    """Return the share `count` of `of`; value and interval are None when `of` is 0.

    The 95 % interval (Wilson 1927) is valid for a share of 0 or 1, too.
    """
    if not of:
        return SelfTestShare(count, of, None, None)
    share = count / of
    middle = share + _Z**2 / (2 * of)
    reach = _Z * sqrt(share * (1 - share) / of + _Z**2 / (4 * of**2))
    low, high = ((middle + sign * reach) / (1 + _Z**2 / of) for sign in (-1, 1))
    return SelfTestShare(count, of, share, (max(0.0, low), min(1.0, high)))


def compute_metrics(probes: Sequence[Probe], judgments: Iterable[Judgment], scale: Scale) -> SelfTestMetrics:
    """Return the metrics of one repeat; the query id of a judgment is the id of its probe."""
    by_id = {judgment.query_id: judgment for judgment in judgments}
    graded = [(probe, by_id[probe.id]) for probe in probes if by_id[probe.id].grade is not None]
    errors = [judgment.error for judgment in by_id.values() if judgment.error is not None]
    surprises = tuple(_find_surprises(graded, scale))
    missed = {surprise.id for surprise in surprises}

    def share(chosen: Iterable[Probe]) -> SelfTestShare:
        ids = [probe.id for probe in chosen]
        return measure_share(sum(id_ in missed for id_ in ids), len(ids))

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
            yield Surprise(**asdict(probe), grade=judgment.grade, reason=judgment.reason)


def _measure_language(graded: Iterable[tuple[Probe, Judgment]]) -> SelfTestShare:
    """Return the share of reasons in the language of their query, over reasons with a word."""
    languages = [(probe.lang, detect_text_language(judgment.reason)) for probe, judgment in graded]
    matches = [query == reason for query, reason in languages if reason is not None]
    return measure_share(sum(matches), len(matches))


def _measure_obedience(judgments: Iterable[Judgment]) -> SelfTestShare:
    """Return the share of replies without repair or re-ask, over the probes with a reply."""
    replied = [
        judgment
        for judgment in judgments
        if judgment.grade is not None or judgment.error in PARSE_ERROR_KINDS
    ]
    plain = [
        judgment
        for judgment in replied
        if judgment.grade is not None and _NOT_OBEDIENT_FLAGS.isdisjoint(judgment.flags)
    ]
    return measure_share(len(plain), len(replied))
