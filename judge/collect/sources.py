"""Engines over HTTP: one request with its key, and the response."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import quote

import aiohttp
from yarl import URL

from judge.collect.engines import EngineDefinition, EngineRequest, build_requests
from judge.collect.response_shape import ResponseShape
from judge.errors import RequestRejected, SetupError
from judge.models.chat_messages import ACCEPTED, BodyRefused, read_limited
from judge.models.endpoint import Endpoint
from judge.models.error_mapping import shorten, transport_error
from judge.models.redaction import mask, redact

#: A shorter key may be a word of an answer, so it is masked in error messages only.
MIN_MASKED_LENGTH = 16
#: Maximum number of concurrent queries, and so of calls to one engine.
MAX_CONCURRENT_QUERIES = 8
#: Charsets that servers declare for text in a larger, compatible one.
_WIDER_CHARSETS = {"gb2312": "gb18030", "gbk": "gb18030", "x-gbk": "gb18030"}


@dataclass(frozen=True, slots=True)
class Response:
    """The response to one call: `body` as text, without long keys.

    `undecodable` says why its bytes are no text, "" if they are; `body` is then Latin-1 (see `decode_body`).
    """

    status: int
    body: str
    headers: Mapping[str, str]
    undecodable: str = ""


class ResultSource(Protocol):
    """An engine that takes queries."""

    @property
    def name(self) -> str:
        """The name of the engine in the dataset."""
        ...

    @property
    def shape(self) -> ResponseShape:
        """The shape of its answers."""
        ...

    @property
    def hint(self) -> str:
        """What to check when it refuses every request, `""` if it is the key."""
        ...

    @property
    def secrets(self) -> tuple[str, ...]:
        """Texts that must not be printed or stored."""
        ...

    @property
    def max_results(self) -> int | None:
        """The maximum number of results, None if there is no such limit."""
        ...

    def requests(self, query: str, depth: int) -> list[EngineRequest]:
        """Return the calls for `depth` results of `query`, in order."""
        ...

    async def fetch(self, request: EngineRequest, session: aiohttp.ClientSession) -> Response:
        """Send `request` and return the response; raise CallError when none arrives whole."""
        ...


class HttpEngine:
    """An engine with an HTTP API.

    `endpoint` holds its address and the environment with its key, `locale` lang and country. Raises
    SetupError when the address or the key is missing.
    """

    def __init__(
        self, engine: EngineDefinition, endpoint: Endpoint, locale: Mapping[str, str | None]
    ) -> None:
        if not (endpoint.base_url or engine.base_url or endpoint.environ.get(engine.base_env)):
            raise SetupError(
                "engine {engine!r} has no public address: add --base-url {engine}=https://… or set"
                " {variable}",
                engine=engine.name,
                variable=engine.base_env,
            )
        self.name = engine.name
        self.shape = engine.shape
        self.hint = engine.hint
        self._engine = engine
        self._locale = locale
        self._base_url = endpoint.url(engine.base_env, default=engine.base_url)
        key = endpoint.key(engine.key, self._base_url) if engine.key else ""
        self.secrets = tuple(dict.fromkeys(filter(None, (key, quote(key, safe="")))))
        self._headers = {
            "Accept": "application/json",
            "Accept-Encoding": ACCEPTED,
            "User-Agent": "judge",
            **_insert_key(engine.headers, key),
        }
        self._params = "&".join(
            f"{name}={quote(value, safe='')}" for name, value in _insert_key(engine.secrets, key).items()
        )
        has_pages = len(self.requests("", engine.page + 1)) > 1
        self.max_results = None if has_pages else engine.page

    def requests(self, query: str, depth: int) -> list[EngineRequest]:
        """Return the calls for `depth` results of `query`, in order."""
        return build_requests(self._engine, self._base_url, query, depth, self._locale)

    async def fetch(self, request: EngineRequest, session: aiohttp.ClientSession) -> Response:
        """Send `request`, return the response; raise RetryableError or RequestRejected if it is not whole."""
        separator = "&" if "?" in request.url else "?"
        url = URL(request.url + (separator + self._params if self._params else ""), encoded=True)
        body = request.body.encode() or None
        headers = {**self._headers, **({"Content-Type": "application/json"} if body else {})}
        try:
            async with session.request(
                request.method,
                url,
                data=body,
                headers=headers,
                allow_redirects=False,
                middlewares=(_refuse_resending(),),
            ) as response:
                raw = b"".join(
                    [
                        part
                        async for part in read_limited(
                            response.content.iter_any(), response.headers.get("Content-Encoding")
                        )
                    ]
                )
                text, why = decode_body(raw, response.charset)
                return Response(
                    response.status,
                    remove_secrets(self.secrets, text),
                    dict(response.headers),
                    shorten(mask(why, *self.secrets)),
                )
        except BodyRefused as refused:
            raise RequestRejected("too_long", str(refused)) from None
        except TimeoutError:
            raise transport_error("no answer in time") from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise transport_error(f"{type(error).__name__}: {error}", *self.secrets) from None


def _refuse_resending() -> aiohttp.ClientMiddlewareType:
    """Return a middleware for one request that keeps aiohttp from sending it again.

    aiohttp does so when a kept-alive connection breaks; the engine would bill both requests.
    """
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


def decode_body(raw: bytes, declared: str | None) -> tuple[str, str]:
    """Return `raw` as text in the charset `declared` and "", or as Latin-1 and why it is no text.

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


def _insert_key(templates: Mapping[str, str], key: str) -> dict[str, str]:
    """Return `templates` with the key; without a key, only those that need none."""
    return {
        name: text.replace("{key}", key) for name, text in templates.items() if key or "{key}" not in text
    }
