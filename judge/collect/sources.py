"""Owns asking an engine over HTTP: one call, with its key, and what came back."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import quote

import aiohttp
from yarl import URL

from judge.collect.engines import EngineDefinition, EngineRequest, requests
from judge.collect.response_shape import ResponseShape
from judge.errors import RequestRejected, SetupError
from judge.models.bodies import ACCEPTED, BodyRefused, read_limited
from judge.models.endpoint import Endpoint
from judge.models.error_mapping import shorten, transport
from judge.models.redaction import mask, redact

#: A key of fewer characters may be a word, which answers are full of: it is masked in errors alone.
MASKED_FROM = 16
#: Queries that are under way at most, and so calls to one engine.
AT_ONCE = 8
#: Charsets by which servers mean one that has more characters, and the same where both have any.
_MEANT = {"gb2312": "gb18030", "gbk": "gb18030", "x-gbk": "gb18030"}


@dataclass(frozen=True, slots=True)
class Response:
    """What came back for one call: `body` as text, without a long key that it repeats.

    `undecodable` says why its bytes are no text, "" where they are; `body` is then as `decoded` gives it.
    """

    status: int
    body: str
    headers: Mapping[str, str]
    undecodable: str = ""


class ResultSource(Protocol):
    """An engine that can be asked."""

    @property
    def name(self) -> str:
        """What the engine is called in the dataset."""
        ...

    @property
    def shape(self) -> ResponseShape:
        """How its answers are read."""
        ...

    @property
    def hint(self) -> str:
        """What to look at when it turns everybody away, `""` when there is nothing in particular."""
        ...

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must not be printed or kept."""
        ...

    @property
    def most(self) -> int | None:
        """How many results it gives at most, None when it gives as many as it is asked for."""
        ...

    def requests(self, query: str, depth: int) -> list[EngineRequest]:
        """The calls that bring `depth` results for `query`, in order."""
        ...

    async def fetch(self, request: EngineRequest, session: aiohttp.ClientSession) -> Response:
        """What comes back for `request`; raises CallError when nothing whole does."""
        ...


class Http:
    """An engine behind an HTTP API.

    `access` says where it is and holds the environment with its key, `place` lang and country. Raises
    SetupError when the address or the key is missing.
    """

    def __init__(self, engine: EngineDefinition, access: Endpoint, place: Mapping[str, str | None]) -> None:
        if not (access.base_url or engine.base_url or access.environ.get(engine.base_env)):
            raise SetupError(
                f"engine {engine.name!r} has no common address: add --base-url {engine.name}=https://…"
                f" or set {engine.base_env}"
            )
        self.name = engine.name
        self.shape = engine.shape
        self.hint = engine.hint
        self._engine = engine
        self._place = place
        self._base_url = access.url(engine.base_env, default=engine.base_url)
        key = access.key(engine.key, self._base_url) if engine.key else ""
        self.secrets = tuple(dict.fromkeys(filter(None, (key, quote(key, safe="")))))
        self._headers = {
            "Accept": "application/json",
            "Accept-Encoding": ACCEPTED,
            "User-Agent": "judge",
            **_with_key(engine.headers, key),
        }
        self._params = "&".join(
            f"{name}={quote(value, safe='')}" for name, value in _with_key(engine.secrets, key).items()
        )
        has_pages = len(self.requests("", engine.page + 1)) > 1
        self.most = None if has_pages else engine.page

    def requests(self, query: str, depth: int) -> list[EngineRequest]:
        """The calls that bring `depth` results for `query`, in order."""
        return requests(self._engine, self._base_url, query, depth, self._place)

    async def fetch(self, request: EngineRequest, session: aiohttp.ClientSession) -> Response:
        """What comes back for `request`; raises Transient or Declined when nothing whole does."""
        joint = "&" if "?" in request.url else "?"
        url = URL(request.url + (joint + self._params if self._params else ""), encoded=True)
        body = request.body.encode() or None
        headers = {**self._headers, **({"Content-Type": "application/json"} if body else {})}
        try:
            async with session.request(
                request.method,
                url,
                data=body,
                headers=headers,
                allow_redirects=False,
                middlewares=(_sent_once(),),
            ) as response:
                raw = b"".join(
                    [
                        part
                        async for part in read_limited(
                            response.content.iter_any(), response.headers.get("Content-Encoding")
                        )
                    ]
                )
                text, why = decoded(raw, response.charset)
                return Response(
                    response.status,
                    without(self.secrets, text),
                    dict(response.headers),
                    shorten(mask(why, *self.secrets)),
                )
        except BodyRefused as refused:
            raise RequestRejected("too_long", str(refused)) from None
        except TimeoutError:
            raise transport("no answer in time") from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise transport(f"{type(error).__name__}: {error}", *self.secrets) from None


def _sent_once() -> aiohttp.ClientMiddlewareType:
    """Return a middleware for one request that keeps aiohttp from sending it again on its own.

    aiohttp does so when a connection that was kept open breaks; an engine bills such a request, too.
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


def decoded(raw: bytes, declared: str | None) -> tuple[str, str]:
    """The text that `raw` is in the charset `declared`, and `""`; or its bytes and why they are no text.

    Where none is declared, or one that nobody knows, JSON is UTF-8 (RFC 8259), or UTF-16 or UTF-32 where
    its first bytes say so. What can't be decoded is given as Latin-1, a character for each byte, so that
    nothing is lost.
    """
    tried = ""
    for charset in filter(None, (declared, json.detect_encoding(raw))):
        tried = charset
        try:
            return raw.decode(_MEANT.get(charset.lower(), charset)).removeprefix("\ufeff"), ""
        except LookupError:
            continue
        except UnicodeError:
            break
    said = f"charset={declared}" if declared else "no charset"
    return raw.decode("latin-1"), f"the answer is no text in {tried} (Content-Type: {said})"


def without(secrets: Iterable[str], body: str) -> str:
    """An answer without those of `secrets` that are too long to be there by chance: it is to be judged."""
    return redact(body, *(secret for secret in secrets if len(secret) >= MASKED_FROM))


def _with_key(templates: Mapping[str, str], key: str) -> dict[str, str]:
    """`templates` with the key in its place, without those that have none to show."""
    return {
        name: text.replace("{key}", key) for name, text in templates.items() if key or "{key}" not in text
    }
