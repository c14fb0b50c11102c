"""Owns turning engines' names into what can be asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from judge.collect import described
from judge.collect.asked import Asked
from judge.collect.catalogue import KNOWN
from judge.collect.engines import Engine
from judge.collect.sources import AT_ONCE, Http, Source
from judge.config import meant
from judge.dataset.identifiers import identifier
from judge.errors import InputError
from judge.models.access import Access


def sources(asked: Asked, environ: Mapping[str, str]) -> list[Source]:
    """The engines that were asked for, in that order.

    Raises InputError for an unknown name, a bad description or an engine named twice, and SetupError
    when a key, an address or a package is missing.
    """
    opened = [_source(spec, asked, environ) for spec in dict.fromkeys(asked.engines)]
    names = [identifier("--engine", "engine", source.name, "") for source in opened]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise InputError(f"two engines are called {twice[0]!r}; describe one under another name")
    unused = set(asked.base_urls) - set(names)
    if unused:
        raise InputError(
            f"--base-url names {min(unused)!r}, which is not asked; asked are {', '.join(names)}"
        )
    return opened


def _source(spec: str, asked: Asked, environ: Mapping[str, str]) -> Source:
    kind, colon, name = spec.partition(":")
    if colon and kind == "langchain":
        from judge.collect.langchain import LangChain

        cls = name.rpartition(":")[2]
        return LangChain(name, _options(cls, asked), asked.timeout, environ)
    engine = _described(name, asked) if colon and kind == "http" else _known(spec)
    access = Access(asked.base_urls.get(engine.name), environ, asked.timeout, AT_ONCE)
    return Http(engine, access, {"lang": asked.lang, "country": asked.country})


def _options(cls: str, asked: Asked) -> Mapping[str, Any]:
    given = asked.described.get(cls, {}).get("options", {})
    if not isinstance(given, Mapping):
        raise InputError(f"[collect.engines.{cls}]: 'options' is {given!r:.80}, not a table")
    return given


def _described(name: str, asked: Asked) -> Engine:
    if name not in asked.described:
        raise InputError(f"http:{name} is not described; write a table [collect.engines.{name}] in --config")
    return described.engine(name, asked.described[name])


def _known(name: str) -> Engine:
    if name not in KNOWN:
        raise InputError(
            f"unknown engine {name!r}{meant(name, KNOWN)}; known are {', '.join(KNOWN)}, http:NAME and"
            " langchain:CLASS"
        )
    return KNOWN[name]
