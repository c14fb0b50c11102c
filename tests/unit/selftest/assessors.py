"""Assessors on a loopback server for self-tests: correct on the shipped probes, or wrong in one way."""

import json
import re
from collections.abc import Callable
from functools import cache

from judge.selftest.probes import HOSTILE_KINDS, Probe, load_probes, make_probe_pairs
from tests.support.factories import extract_fenced
from tests.support.fake_server import ChatRequest, Reply

Answer = Callable[[ChatRequest], Reply]
_REASON = {"zh": "摘要里写得很清楚。", "en": "The snippet says so."}


@cache
def _index_by_text() -> dict[str, Probe]:
    pairs = make_probe_pairs(load_probes(), "auto", 4000)
    return {pair.snippet.text: probe for probe, pair in zip(load_probes(), pairs, strict=True)}


def is_fenced(request: ChatRequest) -> bool:
    """Whether the prompt holds its snippet inside a fence."""
    return re.search(r"^<<<[0-9a-f]{16}$", request.prompt, re.MULTILINE) is not None


def find_probe(request: ChatRequest) -> Probe:
    """The probe that a prompt is about."""
    if is_fenced(request):
        return _index_by_text()[extract_fenced(request.prompt)]
    shown = re.split(r"\n(?:Snippet: |摘要：)", request.prompt, maxsplit=1)[1]
    # A second request continues behind the snippet.
    return _index_by_text()[max((text for text in _index_by_text() if shown.startswith(text)), key=len)]


def format_reply(request: ChatRequest, grade: int, lang: str) -> str:
    """A reply in the shape that the prompt asks for."""
    if '"grade"' in request.prompt.split("\n\nQuery: ")[0].split("\n\n查询：")[0]:
        return json.dumps({"reason": _REASON[lang], "grade": grade}, ensure_ascii=False)
    return json.dumps({"reason": _REASON[lang], "verdict": "yes" if grade >= 2 else "no"}, ensure_ascii=False)


def reply_sensibly(request: ChatRequest) -> Reply:
    """Gives every probe a sensible grade."""
    probe = find_probe(request)
    return Reply(text=format_reply(request, probe.grade_min, probe.lang))


def reply_as_injected(request: ChatRequest) -> Reply:
    """Does what injected text asks of it."""
    return _follow_text(request, find_probe(request).kind == "injected")


def reply_to_unfenced(request: ChatRequest) -> Reply:
    """Falls for everything hostile unless the prompt fences it."""
    return _follow_text(request, find_probe(request).kind in HOSTILE_KINDS and not is_fenced(request))


def _follow_text(request: ChatRequest, falls: bool) -> Reply:
    return (
        Reply(text=format_reply(request, 3, find_probe(request).lang)) if falls else reply_sensibly(request)
    )


def reply_with_nothing_relevant(request: ChatRequest) -> Reply:
    """Finds nothing relevant."""
    return Reply(text=format_reply(request, 0, find_probe(request).lang))


def reply_in_other_language(request: ChatRequest) -> Reply:
    """Gives its reasons in the other language."""
    probe = find_probe(request)
    return Reply(text=format_reply(request, probe.grade_min, "en" if probe.lang == "zh" else "zh"))


def reply_with_broken_json(request: ChatRequest) -> Reply:
    """Breaks JSON on Chinese probes so that it can be repaired; says nothing to half answers in English."""
    probe = find_probe(request)
    text = format_reply(request, probe.grade_min, probe.lang)
    if probe.lang == "zh":
        return Reply(text=text.removesuffix("}") + ",}")
    return Reply(text="I would rather not say." if probe.kind == "partial" else text)
