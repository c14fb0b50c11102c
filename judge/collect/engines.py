"""Engines over HTTP: their definitions, the requests that they make, and the response to one.

Templates hold {query}, {count}, {count_text} (where JSON needs text), {page} (from 1), {skipped_pages},
{offset} (results to skip), {first} (number of the first result), {lang} and {country}; a parameter without a
value is left out.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import quote, urlencode

from yarl import URL

from judge.collect.responses import ResponseShape
from judge.config.toml_file import TomlTable
from judge.errors import RequestRejected, SetupError
from judge.files.json_text import dump_json
from judge.messages import Message, OptionName
from judge.models.error_mapping import make_connection_error, make_transport_error, shorten
from judge.models.http_responses import ACCEPTED, BodyRefused, BodyTooLarge, read_body
from judge.models.redaction import mask, redact
from judge.models.server import Proxy, ServerAccess, find_proxy, find_proxy_secrets

if TYPE_CHECKING:
    import aiohttp

#: A shorter key may be a word of an answer, so it is masked in error messages only.
MIN_MASKED_LENGTH = 16
#: Names of options, parameters, environment variables and headers that hold keys; not `keyword`, `tokenizer`.
SECRET_NAME = re.compile(r"key(?!word)|token(?!iz)|secret|password|authorization|cookie", re.IGNORECASE)
#: Maximum number of concurrent queries, and so of calls to one engine.
MAX_CONCURRENT_QUERIES = 8
#: Charsets that servers declare for text in a larger, compatible one.
_WIDER_CHARSETS = {"gb2312": "gb18030", "gbk": "gb18030", "x-gbk": "gb18030"}
PLACEHOLDERS = frozenset(
    {"query", "count", "count_text", "page", "skipped_pages", "offset", "first", "lang", "country"}
)
#: The value of a placeholder, None where it is not set.
_Value = str | int | None
_PLACEHOLDER = re.compile(rf"\{{({'|'.join(sorted(PLACEHOLDERS))})\}}")


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineDefinition:
    """The API of one engine.

    `table` names the table that describes the engine, "" if it is a known one. `base_url` is "" if there is
    no public server; `base_env` names a variable that may hold an address. `key` names the variable of the
    key, which replaces "{key}" in `headers`, the parameters `secrets` or the `body_secrets`; no request in
    the raw log has these. A `body` is sent as JSON with the `body_secrets` in it. One
    call returns `page` results at most, and a query takes `max_pages` calls at most. `hint` says what to
    check when the engine refuses every request. `language` and `country` turn a language tag and a country
    into the engine's codes; most engines take them as they are.
    """

    name: str
    shape: ResponseShape
    table: str = ""
    base_url: str = ""
    base_env: str = ""
    path: str = ""
    method: str = "GET"
    key: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    secrets: Mapping[str, str] = field(default_factory=dict)
    params: Mapping[str, str] = field(default_factory=dict)
    body: TomlTable | None = None
    body_secrets: TomlTable = field(default_factory=dict)
    page: int = 10
    max_pages: int | None = None
    hint: str = ""
    language: Callable[[str], str] = str
    country: Callable[[str], str] = str


@dataclass(frozen=True, slots=True)
class EngineRequest:
    """One call without its key; a request that has an answer is not sent again.

    `setting` is a digest of whatever else changes the answer, "" if nothing does.
    """

    method: str
    url: str
    body: str = ""
    setting: str = ""


def hash_settings(settings: Mapping[str, object]) -> str:
    """Return a hash of an engine's settings, which may be secret, "" when there are none."""
    if not settings:
        return ""
    return hashlib.sha256(json.dumps(settings, sort_keys=True, default=str).encode()).hexdigest()[:16]


def _fill_template(template: Any, values: Mapping[str, _Value]) -> Any:  # noqa: ANN401 - JSON
    """Return `template` with the values of its placeholders, without parts that have no value.

    A part that is one placeholder keeps the type of the value, so that a count stays a number in JSON.
    """
    if isinstance(template, Mapping):
        parts = {name: _fill_template(part, values) for name, part in template.items()}
        return {name: part for name, part in parts.items() if part is not None}
    if isinstance(template, list):
        return [part for item in template if (part := _fill_template(item, values)) is not None]
    if not isinstance(template, str):
        return template
    if whole := _PLACEHOLDER.fullmatch(template):
        return values[whole[1]]
    # A language or country that is not set is empty.
    return _PLACEHOLDER.sub(lambda match: "" if values[match[1]] is None else str(values[match[1]]), template)


@dataclass(frozen=True, slots=True)
class Response:
    """The response to one call: `body` as text, without long keys.

    `undecodable` says why its bytes are not text, "" if they are; `body` is then Latin-1 (`_decode_body`).
    """

    status: int
    body: str
    headers: Mapping[str, str]
    undecodable: str = ""


class ResultSource(Protocol):
    """An engine that takes queries.

    `name` is its name in the dataset, `shape` that of its answers. `hint` says what to check when it refuses
    every request, `""` if it is the key. `secrets` are texts that must not be printed or stored.
    `table` names the table that describes its responses, `""` if that is no option. `depth_advice` names
    options that can give more results, `""` if there are none.
    """

    name: str
    shape: ResponseShape
    hint: str
    table: str
    depth_advice: str
    secrets: tuple[str, ...]

    def make_requests(self, query: str, depth: int) -> list[EngineRequest]:
        """Return the calls for `depth` results of `query`, in order."""

    async def fetch(self, request: EngineRequest, session: aiohttp.ClientSession) -> Response:
        """Send `request` and return the response; raise CallError when none arrives whole."""


class HttpEngine:
    """An engine with an HTTP API.

    `access` holds its address and the environment with its key, `locale` lang and country. Raises
    SetupError when the address or the key is missing.
    """

    def __init__(
        self, engine: EngineDefinition, access: ServerAccess, locale: Mapping[str, str | None]
    ) -> None:
        if not (access.base_url or engine.base_url or access.environ.get(engine.base_env)):
            raise SetupError(
                "engine {engine.name!r} has no public address: add that of your server with {option}, or set"
                " {engine.base_env}",
                engine=engine,
                option=OptionName(f"--base-url {engine.name}=URL"),
            )
        self.name = engine.name
        self.shape = engine.shape
        self.hint = engine.hint
        self.table = engine.table
        self.depth_advice = (
            Message("page or max_pages in {table}", table=engine.table) if engine.table else ""
        )
        self._engine = engine
        lang, country = locale.get("lang"), locale.get("country")
        self._codes = {"lang": lang and engine.language(lang), "country": country and engine.country(country)}
        self._base_url = access.choose_url(engine.base_env, default=engine.base_url)
        key = access.read_key(engine.key, self._base_url) if engine.key else ""
        proxy = find_proxy(self._base_url)
        self._proxy = Proxy.parse(proxy, self._base_url) if proxy else None
        texts = (key, quote(key, safe=""), *find_proxy_secrets(self._base_url), *_iter_literal_keys(engine))
        self.secrets = tuple(dict.fromkeys(filter(None, texts)))
        self._headers = {
            "Accept": "application/json",
            "Accept-Encoding": ACCEPTED,
            "User-Agent": "judge",
            **_insert_key(engine.headers, key),
            **(self._proxy.headers if self._proxy else {}),
        }
        self._params = "&".join(
            f"{name}={quote(value, safe='')}" for name, value in _insert_key(engine.secrets, key).items()
        )
        self._body_secrets = _insert_key(engine.body_secrets, key)

    def make_requests(self, query: str, depth: int) -> list[EngineRequest]:
        """Return the calls for `depth` results of `query`, in order; one for an engine without pages."""
        count = min(depth, self._engine.page)
        pages = range(-(-depth // count))[: self._engine.max_pages]
        return list(dict.fromkeys(self._make_request(query, count, skipped) for skipped in pages))

    def _make_request(self, query: str, count: int, skipped: int) -> EngineRequest:
        engine = self._engine
        values = {
            **self._codes,
            "query": query,
            "count": count,
            "count_text": str(count),
            "page": skipped + 1,
            "skipped_pages": skipped,
            "offset": skipped * count,
            "first": skipped * count + 1,
        }
        path, mark, rest = engine.path.partition("?")
        quoted = {name: value and quote(str(value), safe="") for name, value in values.items()}
        # A parameter is left out where its placeholder has no value.
        parts = [
            part for part in rest.split("&") if _fill_template(part.partition("=")[2], quoted) is not None
        ]
        path = _fill_template(f"{path}{mark}{'&'.join(parts)}", quoted).rstrip("?")
        params = urlencode(_fill_template(engine.params, values))
        body = "" if engine.body is None else dump_json(_fill_template(engine.body, values))
        templates = chain(*map(iter_texts, (engine.headers, engine.secrets, engine.body_secrets)))
        settings = {name: text for name, text in templates if "{key}" not in text}
        url = _add_params(f"{self._base_url}{path}", params)
        return EngineRequest(engine.method, url, body, hash_settings(settings))

    async def fetch(self, request: EngineRequest, session: aiohttp.ClientSession) -> Response:
        """Send `request`, return the response; raise RetryableError or RequestRejected if it is not whole."""
        import aiohttp  # slow to import, and a night imports this module even if it collects nothing

        url = URL(_add_params(request.url, self._params), encoded=True)
        body = request.body.encode() or None
        if self._body_secrets:
            body = dump_json(_merge_tables(json.loads(request.body), self._body_secrets)).encode()
        headers = {**self._headers, **({"Content-Type": "application/json"} if body else {})}
        try:
            async with session.request(
                request.method,
                url,
                data=body,
                headers=headers,
                allow_redirects=False,
                middlewares=(_refuse_resending(),),
                proxy=self._proxy.url if self._proxy else None,
                proxy_headers=self._proxy.tunnel_headers if self._proxy else None,
            ) as response:
                text, why = _decode_body(await read_body(response), response.charset)
                return Response(
                    response.status,
                    remove_secrets(self.secrets, text),
                    dict(response.headers),
                    shorten(mask(why, *self.secrets)),
                )
        except BodyTooLarge as error:
            raise RequestRejected("too_long", str(error)) from None
        except BodyRefused as error:
            raise make_transport_error(str(error)) from None
        except TimeoutError:
            raise make_transport_error("the request timed out") from None
        except aiohttp.ServerDisconnectedError:
            raise make_transport_error("the server closed the connection") from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise make_connection_error(error, self._base_url, *self.secrets) from None


def _add_params(url: str, params: str) -> str:
    separator = "&" if "?" in url else "?"
    return f"{url}{separator}{params}" if params else url


def _refuse_resending() -> aiohttp.ClientMiddlewareType:
    """Return a middleware for one request that keeps aiohttp from sending it again.

    aiohttp does so when a kept-alive connection breaks; the engine would bill both requests.
    """
    import aiohttp

    sent = False

    async def send(
        request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType
    ) -> aiohttp.ClientResponse:
        nonlocal sent
        if sent:
            raise aiohttp.ClientConnectionError("the connection broke")
        sent = True
        return await handler(request)

    return send


def _decode_body(raw: bytes, declared: str | None) -> tuple[str, str]:
    """Return `raw` as text in the charset `declared` and "", or as Latin-1 and why it is not text.

    Without a known charset, JSON is UTF-8 (RFC 8259), or UTF-16 or UTF-32 by its first bytes. Latin-1 has a
    character for each byte, so that nothing is lost.
    """
    charset = ""
    for charset in filter(None, (declared, json.detect_encoding(raw))):
        try:
            return raw.decode(_WIDER_CHARSETS.get(charset.lower(), charset)).removeprefix("\ufeff"), ""
        except LookupError:
            continue
        except UnicodeError:
            break
    content_type = f"charset={declared}" if declared else "no charset"
    return raw.decode("latin-1"), f"the answer is no text in {charset} (Content-Type: {content_type})"


def remove_secrets(secrets: Iterable[str], body: str) -> str:
    """Return an answer without those of `secrets` that are too long to occur in it by chance."""
    return redact(body, *(secret for secret in secrets if len(secret) >= MIN_MASKED_LENGTH))


def _iter_literal_keys(engine: EngineDefinition) -> Iterator[str]:
    """Yield the keys that are in the templates of an engine instead of `{key}`."""
    texts = [text for name, text in engine.headers.items() if SECRET_NAME.search(name)]
    texts += [text for table in (engine.secrets, engine.body_secrets) for _, text in iter_texts(table)]
    for text in texts:
        if "{key}" not in text:
            yield text
            yield text.partition(" ")[2]  # what follows the name of a scheme, such as Bearer


def iter_texts(table: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Yield the texts of a table, and of lists and tables in it, each with its name."""
    for name, value in table.items():
        if isinstance(value, str):
            yield name, value
        elif isinstance(value, Mapping):
            yield from iter_texts(value)
        elif isinstance(value, list):
            for part in value:
                yield from iter_texts({name: part})


def _insert_key(template: Any, key: str) -> Any:  # noqa: ANN401 - JSON
    """Return `template` with the key; without a key, only the parts that need none."""
    if isinstance(template, str):
        return template.replace("{key}", key)
    if isinstance(template, list):
        return [_insert_key(part, key) for part in template]
    if not isinstance(template, Mapping):
        return template
    return {
        name: _insert_key(part, key)
        for name, part in template.items()
        if key or not isinstance(part, str) or "{key}" not in part
    }


def _merge_tables(table: TomlTable, more: Mapping[str, Any]) -> TomlTable:
    """Return a table with the values of another one, also in the tables that both have."""
    inner = {name: part for name, part in table.items() if isinstance(part, dict) and name in more}
    return {**table, **more, **{name: _merge_tables(part, more[name]) for name, part in inner.items()}}
