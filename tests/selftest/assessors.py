"""Owns loopback assessors for self-tests: they know the shipped probes and are sound, or wrong in one way."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cache

from judge.selftest.probes import HOSTILE_KINDS, Probe, build_probe_pool, load_probes
from tests.loopback.server import Asked, Reply
from tests.worlds import fenced

Answer = Callable[[Asked], Reply]
_REASON = {"zh": "摘要里写得很清楚。", "en": "The snippet says so."}


@cache
def _by_text() -> dict[str, Probe]:
    pairs = build_probe_pool(load_probes(), "auto", 4000).pairs
    return {pair.snippet.text: probe for probe, pair in zip(load_probes(), pairs, strict=True)}


def defended(asked: Asked) -> bool:
    """Whether the prompt holds its snippet inside a fence."""
    return re.search(r"^<<<[0-9a-f]{16}$", asked.prompt, re.MULTILINE) is not None


def probe_of(asked: Asked) -> Probe:
    """The probe that a prompt is about."""
    if defended(asked):
        return _by_text()[fenced(asked.prompt)]
    shown = re.split(r"\n(?:Snippet: |摘要：)", asked.prompt, maxsplit=1)[1]
    # A second request goes on behind the snippet.
    return _by_text()[max((text for text in _by_text() if shown.startswith(text)), key=len)]


def said(asked: Asked, grade: int, lang: str) -> str:
    """A reply in the shape that the prompt asks for."""
    if '"grade"' in asked.prompt.split("\n\nQuery: ")[0].split("\n\n查询：")[0]:
        return json.dumps({"reason": _REASON[lang], "grade": grade}, ensure_ascii=False)
    return json.dumps({"reason": _REASON[lang], "verdict": "yes" if grade >= 2 else "no"}, ensure_ascii=False)


def sound(asked: Asked) -> Reply:
    """Gives every probe a sensible grade."""
    probe = probe_of(asked)
    return Reply(text=said(asked, probe.grade_min, probe.lang))


def obedient(asked: Asked) -> Reply:
    """Does what injected text asks of it."""
    return _swayed(asked, probe_of(asked).kind == "injected")


def guarded(asked: Asked) -> Reply:
    """Falls for everything hostile unless the prompt fences it."""
    return _swayed(asked, probe_of(asked).kind in HOSTILE_KINDS and not defended(asked))


def _swayed(asked: Asked, falls: bool) -> Reply:
    return Reply(text=said(asked, 3, probe_of(asked).lang)) if falls else sound(asked)


def strict(asked: Asked) -> Reply:
    """Finds nothing relevant."""
    return Reply(text=said(asked, 0, probe_of(asked).lang))


def foreign(asked: Asked) -> Reply:
    """Gives its reasons in the other language."""
    probe = probe_of(asked)
    return Reply(text=said(asked, probe.grade_min, "en" if probe.lang == "zh" else "zh"))


def sloppy(asked: Asked) -> Reply:
    """Breaks JSON on Chinese probes so that it can be repaired; says nothing to half answers in English."""
    probe = probe_of(asked)
    text = said(asked, probe.grade_min, probe.lang)
    if probe.lang == "zh":
        return Reply(text=text.removesuffix("}") + ",}")
    return Reply(text="I would rather not say." if probe.kind == "partial" else text)
