"""Owns the plain prompt: the same task and grades with no fence, no warning, nothing against attacks.

What the shipped prompt is worth is the difference between the two on the same snippets.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from importlib.resources import files
from typing import get_args

from judge.assess.prompts import Prompts, Template, answer_schema
from judge.records import Lang, Scale

_REASK_TEXTS: Mapping[Lang, str] = {
    "zh": "上次的答复无法读取，请只回复一个 JSON 对象。",
    "en": "The last reply could not be read. Reply with one JSON object and nothing else.",
}
_LABELS: Mapping[Lang, tuple[str, str]] = {"zh": ("查询：", "摘要："), "en": ("Query: ", "Snippet: ")}


def make_plain_prompts(scale: Scale) -> Prompts:
    """The plain prompts of `scale`."""
    templates = {lang: _make_template(lang, scale) for lang in get_args(Lang)}
    return Prompts(scale, answer_schema(scale), templates)


def _make_template(lang: Lang, scale: Scale) -> Template:
    place = files("judge.selftest") / "plain" / f"{lang}-{scale.name}.txt"
    system = place.read_text(encoding="utf-8").strip()
    digest = hashlib.sha256("\0".join((system, _REASK_TEXTS[lang], *_LABELS[lang])).encode()).hexdigest()
    return Template(
        lang=lang,
        version=f"{lang}-{scale.name}-plain-{digest[:10]}",
        digest=digest,
        system=system,
        again=_REASK_TEXTS[lang],
        show=_make_renderer(*_LABELS[lang]),
    )


def _make_renderer(query: str, snippet: str) -> Callable[[Mapping[str, str]], str]:
    return lambda shown: f"{query}{shown['query']}\n{snippet}{shown['snippet']}"
