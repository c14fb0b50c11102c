"""Probes: pairs with known bounds of a sensible grade, written for self-tests."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.resources import files
from typing import Literal, get_args

from judge.characters import detect_text_language
from judge.dataset import clean
from judge.errors import PARSE_ERROR_KINDS
from judge.flags import RE_ASKED, REPAIRED
from judge.measure.intervals import CountedShare, measure_share
from judge.records import GRADED, Judgment, Lang, LangChoice, Pair, Query, Scale

ProbeKind = Literal[
    "query_only", "stuffing", "injected", "irrelevant", "relevant", "ambiguous", "lookalike", "partial"
]
_PROBE_KINDS: tuple[ProbeKind, ...] = get_args(ProbeKind)
#: Kinds with snippets that have no content or contain prompt injection.
HOSTILE_KINDS: tuple[ProbeKind, ...] = ("query_only", "stuffing", "injected")
#: Kinds that a sensible assessor finds relevant; a lookalike is a text about attacks.
RELEVANT_KINDS: tuple[ProbeKind, ...] = ("relevant", "ambiguous", "lookalike")
#: Flags of replies that needed a repair or a re-ask.
_NOT_OBEDIENT = frozenset({REPAIRED, RE_ASKED})


@dataclass(frozen=True, slots=True)
class Probe:
    """A pair, its range of sensible grades from 0 to 3, and the kind of `attack`, `""` without one."""

    id: str
    lang: Lang
    kind: ProbeKind
    attack: str
    query: str
    snippet: str
    grade_min: int
    grade_max: int

    def find_bounds(self, scale: Scale) -> tuple[int, int]:
        """Return the lowest and the highest sensible grade on `scale`; a partial answer may be yes or no."""
        if scale.name == "graded":
            return self.grade_min, self.grade_max
        return int(self.grade_min >= GRADED.relevant_from), int(self.grade_max >= GRADED.relevant_from)


def load_probes() -> tuple[Probe, ...]:
    """Return the shipped probes, in a fixed order."""
    text = (files("judge.selftest") / "probes.jsonl").read_text(encoding="utf-8")
    return tuple(Probe(**json.loads(line)) for line in text.splitlines())


def make_probe_pairs(probes: Iterable[Probe], lang: LangChoice, max_chars: int) -> list[Pair]:
    """Return the pairs of the probes, cleaned like any snippet; the query id is the id of the probe.

    `lang` is the language of the prompts, `auto` that of each probe.
    """
    pairs = []
    for probe in probes:
        text, language = clean.clean_query(probe.query), probe.lang if lang == "auto" else lang
        snippet = clean.clean_snippet(clean.RawSnippet(probe.snippet), max_chars=max_chars, query=text)
        pairs.append(Pair(Query(probe.id, text, probe.query, language), snippet))
    return pairs


def list_attacks(probes: Sequence[Probe]) -> tuple[str, ...]:
    """Return the kinds of attack among `probes`, in their order."""
    return tuple(dict.fromkeys(probe.attack for probe in probes if probe.attack))


@dataclass(frozen=True, slots=True)
class Surprise(Probe):
    """A probe with a grade out of its bounds on the scale, and the reason of the assessor."""

    grade: int
    reason: str


@dataclass(frozen=True, slots=True)
class SelfTestMetrics:
    """The metrics of an assessor with one prompt. Shares are over the probes with a grade by default.

    `too_high` has the hostile and the irrelevant kinds, `attacks` the hostile probes by attack, `hostile`
    all of these; `too_low` has the good kinds and the partial answers, `strict` the good kinds together.
    `language` is the share of reasons in the language of their query, `obedient` the share of all replies
    that needed no repair or re-ask. `failures` counts probes without a grade by kind of failure.
    """

    probes: int
    judged: int
    failures: Mapping[str, int]
    hostile: CountedShare
    attacks: Mapping[str, CountedShare]
    too_high: Mapping[ProbeKind, CountedShare]
    strict: CountedShare
    too_low: Mapping[ProbeKind, CountedShare]
    language: CountedShare
    obedient: CountedShare
    surprises: tuple[Surprise, ...]


def compute_metrics(probes: Sequence[Probe], judgments: Iterable[Judgment], scale: Scale) -> SelfTestMetrics:
    """Return the metrics of one repeat; the query id of a judgment is the id of its probe."""
    by_id = {judgment.query_id: judgment for judgment in judgments}
    graded, surprises, languages = [], [], []
    for probe in probes:
        judgment = by_id[probe.id]
        if judgment.grade is None:
            continue
        graded.append(probe)
        low, high = probe.find_bounds(scale)
        if not low <= judgment.grade <= high:
            bounded = replace(probe, grade_min=low, grade_max=high)
            surprises.append(Surprise(**asdict(bounded), grade=judgment.grade, reason=judgment.reason))
        # A reason without a word has no language.
        if (language := detect_text_language(judgment.reason)) is not None:
            languages.append(language == probe.lang)
    missed = {surprise.id for surprise in surprises}
    replied = [
        judgment
        for judgment in by_id.values()
        if judgment.grade is not None or judgment.error in PARSE_ERROR_KINDS
    ]
    obedient = [
        judgment.grade is not None and _NOT_OBEDIENT.isdisjoint(judgment.flags) for judgment in replied
    ]
    errors = Counter(judgment.error for judgment in by_id.values() if judgment.error is not None)

    def share(chosen: Iterable[Probe]) -> CountedShare:
        ids = [probe.id for probe in chosen]
        return measure_share(sum(id_ in missed for id_ in ids), len(ids))

    of_kind = {kind: share(probe for probe in graded if probe.kind == kind) for kind in _PROBE_KINDS}
    bad: tuple[ProbeKind, ...] = (*HOSTILE_KINDS, "irrelevant")
    return SelfTestMetrics(
        probes=len(probes),
        judged=len(graded),
        failures=dict(sorted(errors.items())),
        hostile=share(probe for probe in graded if probe.kind in HOSTILE_KINDS),
        attacks={
            attack: share(probe for probe in graded if probe.attack == attack)
            for attack in list_attacks(probes)
        },
        too_high={kind: of_kind[kind] for kind in bad},
        strict=share(probe for probe in graded if probe.kind in RELEVANT_KINDS),
        too_low={kind: of_kind[kind] for kind in _PROBE_KINDS if kind not in bad},
        language=measure_share(sum(languages), len(languages)),
        obedient=measure_share(sum(obedient), len(obedient)),
        surprises=tuple(surprises),
    )
