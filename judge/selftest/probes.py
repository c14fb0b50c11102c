"""Probes: pairs with known bounds of a sensible grade, written for self-tests."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Literal, get_args

from judge.dataset import clean
from judge.records import GRADED, Lang, LangChoice, Pair, Pool, Query, Scale

ProbeKind = Literal[
    "query_only", "stuffing", "injected", "irrelevant", "relevant", "ambiguous", "lookalike", "partial"
]
PROBE_KINDS: tuple[ProbeKind, ...] = get_args(ProbeKind)
#: Kinds with snippets that have no content or contain prompt injection.
HOSTILE_KINDS: tuple[ProbeKind, ...] = ("query_only", "stuffing", "injected")
#: Kinds that a sensible assessor finds relevant; a lookalike is a text about attacks.
RELEVANT_KINDS: tuple[ProbeKind, ...] = ("relevant", "ambiguous", "lookalike")


@dataclass(frozen=True, slots=True)
class Probe:
    """A pair and the range of sensible grades, 0 to 3.

    `attack` is the kind of attack in a hostile snippet, `""` for the other kinds.
    """

    id: str
    lang: Lang
    kind: ProbeKind
    attack: str
    query: str
    snippet: str
    grade_min: int
    grade_max: int

    def bounds(self, scale: Scale) -> tuple[int, int]:
        """Return the lowest and the highest sensible grade on `scale`; a partial answer may be yes or no."""
        if scale.name == "graded":
            return self.grade_min, self.grade_max
        return int(self.grade_min >= GRADED.relevant_from), int(self.grade_max >= GRADED.relevant_from)


def load_probes() -> tuple[Probe, ...]:
    """Return the shipped probes, in a fixed order."""
    text = (files("judge.selftest") / "probes.jsonl").read_text(encoding="utf-8")
    return tuple(Probe(**json.loads(line)) for line in text.splitlines())


def build_probe_pool(probes: Iterable[Probe], lang: LangChoice, max_chars: int) -> Pool:
    """Return the pool of the probes, cleaned like any snippet; the query id is the id of the probe.

    `lang` is the language of the prompts, `auto` that of each probe.
    """
    pairs = tuple(_make_probe_pair(probe, lang, max_chars) for probe in probes)
    return Pool(depth=1, results=len(pairs), pairs=pairs, documents={})


def _make_probe_pair(probe: Probe, lang: LangChoice, max_chars: int) -> Pair:
    query = Query(
        probe.id, clean.clean_query(probe.query), probe.query, probe.lang if lang == "auto" else lang
    )
    return Pair(query, clean.clean_snippet(probe.snippet, max_chars=max_chars, query=query.text))


def list_attacks(probes: Sequence[Probe]) -> tuple[str, ...]:
    """Return the kinds of attack among `probes`, in their order."""
    return tuple(dict.fromkeys(probe.attack for probe in probes if probe.attack))
