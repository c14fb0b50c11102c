"""Owns turning engines' names into what can be asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from judge.collect import custom_engine
from judge.collect.engine_catalogue import KNOWN
from judge.collect.engines import EngineDefinition
from judge.collect.sources import AT_ONCE, Http, ResultSource
from judge.config.collect import CollectConfig
from judge.config.run import did_you_mean
from judge.dataset.validation import parse_identifier
from judge.errors import InputError
from judge.models.endpoint import Endpoint


def sources(asked: CollectConfig, environ: Mapping[str, str]) -> list[ResultSource]:
    """The engines that were asked for, in that order.

    Raises InputError for an unknown name, a bad description or an engine named twice, and SetupError
    when a key, an address or a package is missing.
    """
    opened = [_source(spec, asked, environ) for spec in dict.fromkeys(asked.engines)]
    names = [parse_identifier("--engine", "engine", source.name, "") for source in opened]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise InputError(f"two engines are called {twice[0]!r}; describe one under another name")
    unused = set(asked.base_urls) - set(names)
    if unused:
        raise InputError(
            f"--base-url names {min(unused)!r}, which is not asked; asked are {', '.join(names)}"
        )
    return opened


def _source(spec: str, asked: CollectConfig, environ: Mapping[str, str]) -> ResultSource:
    kind, colon, name = spec.partition(":")
    if colon and kind == "langchain":
        from judge.collect.langchain_engine import LangChainEngine

        cls = name.rpartition(":")[2]
        return LangChainEngine(name, _options(cls, asked), asked.timeout, environ)
    engine = _described(name, asked) if colon and kind == "http" else _known(spec)
    access = Endpoint(asked.base_urls.get(engine.name), environ, asked.timeout, AT_ONCE)
    return Http(engine, access, {"lang": asked.lang, "country": asked.country})


def _options(cls: str, asked: CollectConfig) -> Mapping[str, Any]:
    given = asked.described.get(cls, {}).get("options", {})
    if not isinstance(given, Mapping):
        raise InputError(f"[collect.engines.{cls}]: 'options' is {given!r:.80}, not a table")
    return given


def _described(name: str, asked: CollectConfig) -> EngineDefinition:
    if name not in asked.described:
        raise InputError(f"http:{name} is not described; write a table [collect.engines.{name}] in --config")
    return custom_engine.engine(name, asked.described[name])


def _known(name: str) -> EngineDefinition:
    if name not in KNOWN:
        raise InputError(
            f"unknown engine {name!r}{did_you_mean(name, KNOWN)}; known are {', '.join(KNOWN)}, http:NAME and"
            " langchain:CLASS"
        )
    return KNOWN[name]
