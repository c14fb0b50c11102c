"""Engines by name: known ones, those that a user describes in a TOML file, and LangChain's.

The known ones are described in engines.toml. A function of codes takes the value of --lang or --country, a
tag such as zh-CN (BCP 47), and returns the engine's code. A language without a special code is sent as its
primary subtag, so that the engine itself refuses one that it does not support.
"""

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from importlib.resources import files
from itertools import starmap
from typing import Annotated, Any
from urllib.parse import parse_qsl, urlsplit

from pydantic import BaseModel, Field, JsonValue

from judge.collect.engines import (
    MAX_CONCURRENT_QUERIES,
    MIN_MASKED_LENGTH,
    PLACEHOLDERS,
    SECRET_NAME,
    EngineDefinition,
    HttpEngine,
    ResultSource,
    iter_texts,
)
from judge.collect.responses import ResponseShape
from judge.config.collect import CollectConfig
from judge.config.option_checks import STRICT, validate_table
from judge.config.option_types import CountValue, OneOrMore, VariableName
from judge.config.toml_file import TomlTable
from judge.dataset.field_values import parse_identifier
from judge.errors import InputError, suggest_name
from judge.files.json_text import dump_json
from judge.messages import Message, NameList, SeparatedNames
from judge.models.server import ServerAccess

_PLACEHOLDER = re.compile(r"\{(\w+)\}")
#: The name of a method or of a header, and what the text of a header cannot have (RFC 9110).
_TOKEN = re.compile(r"[-!#$%&'*+.^_`|~0-9A-Za-z]+")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
#: Scripts and regions with traditional characters; a tag without a script implies it by the region.
_TRADITIONAL = frozenset({"hant", "tw", "hk", "mo"})
#: Codes of Bing and Brave that are not the primary subtag.
_BING = {"en-gb": "en-gb", "ja": "jp", "no": "nb", "nn": "nb"}
_BING |= {"pt": "pt-pt", "pt-br": "pt-br", "pt-pt": "pt-pt"}
#: Codes of Google (the values of `hl`) that are not the primary subtag.
_GOOGLE = {"he": "iw", "pt-br": "pt-br", "pt-pt": "pt-pt"}


def _look_up_code(codes: dict[str, str], simplified: str, traditional: str, tag: str) -> str:
    tag = tag.lower().replace("_", "-")
    primary, *others = tag.split("-")
    if primary == "zh":
        script = [other for other in others if other in ("hans", "hant")]
        return traditional if _TRADITIONAL.intersection(script or others) else simplified
    return codes.get(tag) or codes.get(primary, primary)


#: The codes of Bing's `setLang` (and Brave's `search_lang`) and of Google's `hl` (in Serper and SerpApi).
LANGUAGES: Mapping[str, Callable[[str], str]] = {
    "bing": partial(_look_up_code, _BING, "zh-hans", "zh-hant"),
    "google": partial(_look_up_code, _GOOGLE, "zh-cn", "zh-tw"),
}
_CODES = {"language": LANGUAGES, "country": {"upper": str.upper, "lower": str.lower}}


def _read_known_engines() -> Iterator[EngineDefinition]:
    text = (files("judge.collect") / "engines.toml").read_text(encoding="utf-8")
    for name, table in tomllib.loads(text).items():
        codes = {kind: _CODES[kind][table[kind]] for kind in _CODES.keys() & table.keys()}
        yield EngineDefinition(**{**table, **codes, "name": name, "shape": ResponseShape(**table["shape"])})


KNOWN: Mapping[str, EngineDefinition] = {engine.name: engine for engine in _read_known_engines()}


def open_engines(config: CollectConfig, environ: Mapping[str, str]) -> list[ResultSource]:
    """Return the engines of `config`, in its order.

    Raises InputError for an unknown name, an invalid description or a name used twice, and SetupError when
    a key, an address or a package is missing.
    """
    sources = [_open_engine(spec, config, environ) for spec in dict.fromkeys(config.engines)]
    names = [parse_identifier("--engine", "engine", source.name) for source in sources]
    if repeated := [name for name in names if names.count(name) > 1]:
        raise InputError("two engines are called {name!r}; describe one under another name", name=repeated[0])
    if unused := set(config.base_urls) - set(names):
        raise InputError(
            "--base-url names {name!r}, which is not an engine of this collection; the engines are {names}",
            name=min(unused),
            names=SeparatedNames(names),
        )
    return sources


def _open_engine(spec: str, config: CollectConfig, environ: Mapping[str, str]) -> ResultSource:
    kind, colon, name = spec.partition(":")
    if colon and kind == "langchain":
        from judge.collect.langchain_engine import LangChainEngine

        class_name = name.rpartition(":")[2]
        options = config.engine_tables.get(class_name, {}).get("options", {})
        if not isinstance(options, dict):
            raise InputError(
                "[collect.engines.{name}] options is {value!r:.80}; it must be a table",
                name=class_name,
                value=options,
            )
        return LangChainEngine(name, options, config.timeout, environ)
    if colon and kind == "http":
        if name not in config.engine_tables:
            raise InputError(
                "http:{name} is not described; describe it in a table [collect.engines.{name}] of a TOML"
                " file",
                name=name,
            )
        engine = read_custom_engine(name, config.engine_tables[name])
    elif spec in KNOWN:
        engine = KNOWN[spec]
    else:
        listing = Message(
            "; the known names are {names}", names=NameList([*KNOWN, "http:NAME", "langchain:CLASS"])
        )
        raise InputError(
            "unknown engine {engine!r}{suggestion}",
            engine=spec,
            suggestion=suggest_name(spec, KNOWN) or listing,
        )
    access = ServerAccess(config.base_urls.get(engine.name), environ, config.timeout, MAX_CONCURRENT_QUERIES)
    return HttpEngine(engine, access, {"lang": config.lang, "country": config.country})


# --- engines that a user describes

_TextTable = Annotated[dict[str, str], Field(description=Message("a table of texts"))]
_Paths = Annotated[
    tuple[Annotated[str, Field(min_length=1)], ...],
    OneOrMore,
    Field(strict=False, description=Message("a path such as 'link', or a list of paths")),
]


class _FieldPaths(BaseModel, frozen=True):
    """Where a result holds its fields; the first path that leads to a text counts."""

    model_config = STRICT

    title: _Paths = ("title",)
    url: _Paths = ("url",)
    snippet: _Paths = ("snippet",)
    date: _Paths = ("date",)


class EngineTable(BaseModel, frozen=True):
    """A table [collect.engines.NAME]; the words are those of `EngineDefinition` and `ResponseShape`."""

    model_config = STRICT

    url: str = ""
    method: str = ""
    key: VariableName = ""
    headers: _TextTable = {}
    secrets: _TextTable = {}
    params: _TextTable = {}
    body: dict[str, JsonValue] | None = None
    page: CountValue = 10
    max_pages: CountValue | None = None
    results: Annotated[str, Field(description=Message("the path of the list of results, e.g. 'data.items'"))]
    proof: str | None = None
    fields: TomlTable = {}


def read_custom_engine(name: str, table: TomlTable) -> EngineDefinition:
    """Return the engine that `table` describes; raise InputError naming the key and what is wrong with it."""
    place = f"[collect.engines.{name}]"
    described = validate_table(EngineTable, table, place)
    paths = validate_table(_FieldPaths, described.fields, f"[collect.engines.{name}.fields]")
    base_url, path = _split_address(place, described.url)
    path, in_url = _split_query(path)
    params, in_params = _split_secrets(described.params)
    body, in_body = _split_secrets(described.body or {})
    if in_lists := [
        key for key, text in iter_texts(body) if _is_secret(key, text) and not _is_field(key, text)
    ]:
        raise InputError(
            "{place} body: {name!r} is in a list, and would be stored with each response; write it outside of"
            " the list, or in headers or secrets",
            place=place,
            name=in_lists[0],
        )
    secrets = {**in_url, **in_params, **described.secrets}
    _check_placeholders(place, [path, params, body], [described.headers, secrets, in_body])
    _check_request(place, described)
    proof = described.results if described.proof is None else described.proof
    return EngineDefinition(
        name=name,
        table=place,
        shape=ResponseShape(results=described.results, proof=proof, **dict(paths)),
        base_url=base_url,
        path=path,
        method=(described.method or ("GET" if described.body is None else "POST")).upper(),
        secrets=secrets,
        params=params,
        body=None if described.body is None else body,
        body_secrets=in_body,
        **described.model_dump(include={"key", "headers", "page", "max_pages"}),
    )


def _split_query(path: str) -> tuple[str, dict[str, str]]:
    """Return a path with the parameters of its query that may be stored, and those that hold a key."""
    path, _, query = path.partition("?")
    public: list[str] = []
    secrets: dict[str, str] = {}
    for part in query.split("&"):
        values = parse_qsl(part, keep_blank_values=True)
        if any(starmap(_is_secret, values)):
            secrets |= values
        else:
            public.append(part)
    return f"{path}?{'&'.join(public)}".rstrip("?"), secrets


def _split_secrets(table: Mapping[str, Any]) -> tuple[TomlTable, TomlTable]:
    """Return the parts of `params` or of `body` that may be stored, and those that hold a key."""
    secrets = {name: part for name, part in table.items() if _is_secret(name, part)}
    public = {name: part for name, part in table.items() if name not in secrets}
    for name, part in public.items():
        if isinstance(part, Mapping):
            public[name], inner = _split_secrets(part)
            secrets |= {name: inner} if inner else {}
    return public, secrets


def _is_secret(name: str, part: object) -> bool:
    """Return whether a parameter holds a key: its name is that of a key, or `{key}` is in it.

    Numbers, and parts with a placeholder of the query, hold none.
    """
    placeholders = _find_placeholders(part)
    if isinstance(part, int | float) or placeholders & PLACEHOLDERS:
        return False
    has_key = "key" in placeholders and not isinstance(part, Mapping)
    return has_key or SECRET_NAME.search(name) is not None


def _is_field(name: str, text: str) -> bool:
    """Return whether a text in a list names a field, as in `{key = "title"}`, and is no key."""
    return name == "key" and len(text) < MIN_MASKED_LENGTH and "{key}" not in text


def _check_placeholders(place: str, public: Iterable[object], secrets: Iterable[object]) -> None:
    """Raise InputError when a template has an unknown placeholder, or none has that of the query."""
    placeholders = _find_placeholders(*public)
    if unknown := (placeholders - PLACEHOLDERS) | (_find_placeholders(*secrets) - {"key"}):
        raise InputError(
            "{place}: {{{name}}} is not a placeholder; the placeholders of url, params and body are {names};"
            " the only one of headers and secrets is {{key}}",
            place=place,
            name=min(unknown),
            names=SeparatedNames(sorted(PLACEHOLDERS)),
        )
    if "query" not in placeholders:
        raise InputError(
            "{place}: url, params and body do not contain {{query}}, so all queries would be the"
            " same request; write it where the query belongs",
            place=place,
        )


def _check_request(place: str, table: EngineTable) -> None:
    """Raise InputError when the method or a header is none of HTTP; the text of a header may be secret."""
    if table.method and not _TOKEN.fullmatch(table.method):
        raise InputError(
            "{place} method is {value!r:.80}; it must be an HTTP method such as GET or POST",
            place=place,
            value=table.method,
        )
    for name, text in table.headers.items():
        if not _TOKEN.fullmatch(name) or _CONTROL.search(text):
            raise InputError(
                "{place} headers: {name!r:.80} is not the name of a header, or its text has a line break or"
                " another control character; correct it",
                place=place,
                name=name,
            )


def _find_placeholders(*templates: object) -> set[str]:
    return {name for template in templates for name in _PLACEHOLDER.findall(dump_json(template))}


def _split_address(place: str, url: str) -> tuple[str, str]:
    """Return the server in `url`, which --base-url may replace, and the rest."""
    invalid = InputError(
        "{place} url is {url!r:.80}; it must be like https://host/search?q={{query}}&n={{count}}",
        place=place,
        url=url,
    )
    try:
        parts = urlsplit(url)
    except ValueError:
        raise invalid from None
    if parts.scheme not in ("http", "https") or not parts.netloc or "{" in parts.netloc:
        raise invalid
    query = f"?{parts.query}" if parts.query else ""
    return f"{parts.scheme}://{parts.netloc}", parts.path + query
