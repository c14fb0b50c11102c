"""What a night needs on another machine, read from judge.toml: environment variables, packages, files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from judge.config.environment import environment
from judge.config.loader import read_section
from judge.config.nightly import NightlyConfig
from judge.config.run import Config
from judge.errors import InputError

#: What a variable may be called, in a shell and as a secret of a repository.
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OF_MODELS = {
    "openai": ("OPENAI_API_KEY", "OPENAI_BASE_URL"),
    "dashscope": ("DASHSCOPE_API_KEY", "DASHSCOPE_BASE_URL"),
    "langchain:openai": ("OPENAI_API_KEY", "OPENAI_BASE_URL"),
    "langchain:tongyi": ("DASHSCOPE_API_KEY", "DASHSCOPE_BASE_URL"),
}
#: The packages, named as extras, that read a dataset or ask a model.
_EXTRA_OF_SUFFIX = {".parquet": "parquet"}


@dataclass(frozen=True, slots=True)
class Needs:
    """What a night needs: `variables` of the environment, `extras` of the package, `nights`, its folder.

    `store` is the file of the verdicts when judge.toml keeps it outside of that folder, else "".
    """

    variables: tuple[str, ...]
    extras: tuple[str, ...]
    nights: str
    store: str


def read_needs(toml: Path) -> Needs:
    """Return what the nights of `toml` need; raise InputError when it is missing or wrong."""
    if not toml.exists():
        raise InputError(f"{toml}: no such file; the schedule is made from it")
    config = Config.load(toml)
    rules = NightlyConfig.load(read_section(toml, "nightly"), f"{toml}: [nightly]")
    collect = read_section(toml, "collect")
    variables = dict.fromkeys((*_of_models(config), *_of_engines(toml, collect), *_of_webhook(rules.webhook)))
    for name in variables:
        if not _VARIABLE.fullmatch(name):
            raise InputError(f"{toml}: {name!r} is no name of an environment variable")
    nights = PurePosixPath(rules.folder)
    store = config.store or ""
    if store and nights in PurePosixPath(store).parents:
        store = ""
    return Needs(tuple(variables), tuple(sorted(_extras(config, collect))), str(nights), store)


def _of_models(config: Config) -> Iterator[str]:
    """The keys of the models; an address that the environment holds here is needed there, too."""
    for spec in filter(None, (config.model, *config.panel)):
        model, at, _ = spec.partition("@http")
        kind = ":".join(model.split(":")[: 2 if model.startswith("langchain:") else 1])
        provider = kind.partition(":")[2]
        if kind in _OF_MODELS:
            key, address = _OF_MODELS[kind]
            yield key
            if not at and not config.base_url and environment().get(address):
                yield address
        elif provider:
            yield f"{provider.upper()}_API_KEY"


def _of_engines(toml: Path, collect: Mapping[str, Any]) -> Iterator[str]:
    if not collect:
        return
    from judge.collect.engine_catalogue import KNOWN
    from judge.collect.langchain_engine import KEYS
    from judge.config.collect import CollectConfig

    asked = CollectConfig.load(toml, out="data.jsonl")
    for spec in asked.engines:
        kind, _, name = spec.partition(":")
        if spec in KNOWN:
            yield from filter(None, (KNOWN[spec].key,))
            if not KNOWN[spec].base_url and spec not in asked.base_urls:
                yield KNOWN[spec].base_env
        elif kind == "http":
            yield from filter(None, (str(asked.described.get(name, {}).get("key", "")),))
        elif kind == "langchain":
            yield from filter(None, (KEYS.get(name.rpartition(":")[2], ""),))


def _of_webhook(webhook: Mapping[str, Any]) -> Iterator[str]:
    for key in ("url_env", "secret_env"):
        if key in webhook:
            yield str(webhook[key])


def _extras(config: Config, collect: Mapping[str, Any]) -> set[str]:
    """The extras of the package that the models, the engines and the dataset need."""
    kinds = {spec.partition(":")[0] for spec in (config.model, *config.panel)}
    found = kinds & {"dashscope", "langchain"}
    engines = collect.get("engine", ())
    if any(str(engine).startswith("langchain:") for engine in engines):
        found.add("langchain")
    if config.assessor == "deepeval":
        found.add("deepeval")
    suffixes = Path(config.data or "").suffixes
    return found | {extra for suffix, extra in _EXTRA_OF_SUFFIX.items() if suffix in suffixes}
