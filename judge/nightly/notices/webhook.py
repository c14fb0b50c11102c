"""Owns telling a chat or a server about a night: one POST to an address that is itself a secret.

Formats: Slack's incoming webhooks, the custom bots of Feishu (Lark) and DingTalk, with their optional
signatures, and plain JSON. Feishu and DingTalk answer 200 to what they refuse, and say so in the body.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self
from urllib.parse import quote_plus

import aiohttp
from tenacity import RetryError, Retrying, retry_if_result, stop_after_attempt, wait_exponential
from yarl import URL

from judge.dataset.clean import escape_controls
from judge.errors import InputError
from judge.models.endpoint import is_address
from judge.models.error_mapping import shorten
from judge.models.redaction import mask
from judge.runs.folder import dump_json

#: Seconds that one try may take, and how many tries there are.
TIMEOUT = 10.0
TRIES = 3
_KEYS = ("kind", "url_env", "secret_env", "link")
#: Bytes of an answer that are looked at.
_LARGEST = 10_000
_PASSING = frozenset({408, 425, 429, *range(500, 600)})


@dataclass(frozen=True, slots=True)
class Webhook:
    """Where to tell, in which format; `link` leads people to the report, with {date} in it."""

    kind: str
    url: str = field(repr=False)
    secret: str = field(default="", repr=False)
    link: str = ""

    @classmethod
    def of(cls, table: Mapping[str, Any], environ: Mapping[str, str]) -> Self:
        """The webhook that `[nightly] webhook` asks for; InputError says what is wrong with the table."""
        for key, value in table.items():
            if key not in _KEYS:
                raise InputError(f"[nightly] webhook: unknown key {key!r}; it takes {', '.join(_KEYS)}")
            if not isinstance(value, str):
                raise InputError(f"[nightly] webhook: {key} is {value!r}, not text")
        kind = table.get("kind", "json")
        if kind not in _FORMATS:
            raise InputError(f"[nightly] webhook: kind is {kind!r}; it is {', '.join(_FORMATS)}")
        if "url_env" not in table:
            raise InputError(
                "[nightly] webhook: url_env is missing: the name of the environment variable that holds the"
                " address, which is a secret and never stands in a file"
            )
        url = _secret(environ, table["url_env"])
        if not is_address(url):
            raise InputError(f"[nightly] webhook: ${table['url_env']} holds no https:// address")
        secret = _secret(environ, table["secret_env"]) if "secret_env" in table else ""
        return cls(kind, url, secret, table.get("link", ""))


def _secret(environ: Mapping[str, str], name: str) -> str:
    value = environ.get(name, "").strip()
    if not value:
        raise InputError(f"[nightly] webhook: the environment variable {name!r} is not set; set it")
    return value


def post(
    webhook: Webhook,
    text: str,
    night: Mapping[str, Any],
    *,
    pause: float = 1.0,
    timeout: float = TIMEOUT,
) -> str:
    """Tells `text` of the night, trying again after a passing fault; what went wrong, empty if nothing.

    `pause` is how many seconds the first wait between two tries takes, `timeout` how many a whole try may
    take, however busily the server answers.
    """
    tries = Retrying(
        stop=stop_after_attempt(TRIES),
        wait=wait_exponential(multiplier=pause),
        retry=retry_if_result(lambda answer: answer.passing),
    )
    try:
        # The signatures hold the time, so every try is made anew.
        answer: _Answer = tries(lambda: asyncio.run(_try(*message(webhook, text, night), timeout)))
    except RetryError as error:
        answer = error.last_attempt.result()
    return shorten(escape_controls(mask(answer.wrong, webhook.secret, *_pieces(webhook.url))))


def message(webhook: Webhook, text: str, night: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The address to post to and the body as JSON: of now, where they are signed."""
    return _FORMATS[webhook.kind](webhook, text, night)


@dataclass(frozen=True, slots=True)
class _Answer:
    """What went wrong with a try, empty if nothing did, and whether it may pass."""

    wrong: str
    passing: bool = False


async def _try(url: str, body: Mapping[str, Any], seconds: float) -> _Answer:
    headers = {"Content-Type": "application/json; charset=utf-8", "User-Agent": "judge"}
    try:
        async with (
            asyncio.timeout(seconds),
            aiohttp.ClientSession(trust_env=True) as session,
            # What was meant for one server is no other's business, so nobody is followed elsewhere.
            session.post(
                URL(url, encoded=True), data=dump_json(body).encode(), headers=headers, allow_redirects=False
            ) as response,
        ):
            if response.status >= 300:
                return _Answer(f"HTTP {response.status}", passing=response.status in _PASSING)
            return _Answer(_refusal(await _beginning(response)))
    except (OSError, aiohttp.ClientError, ValueError) as error:
        # Their words may hold the address.
        reason = getattr(error, "os_error", error)
        return _Answer(f"no answer ({type(reason).__name__})", passing=not isinstance(error, ValueError))


async def _beginning(response: aiohttp.ClientResponse) -> bytes:
    raw = bytearray()
    async for part in response.content.iter_any():
        raw += part
        if len(raw) >= _LARGEST:
            break
    return bytes(raw)


def _refusal(raw: bytes) -> str:
    """What Feishu (code) or DingTalk (errcode) says when it took the request but not the message."""
    try:
        body = json.loads(raw)
        if not isinstance(body, dict):
            return ""
        code = body.get("errcode", body.get("code", 0))
        said = body.get("errmsg", body.get("msg", ""))
        return f"refused with {code!r}: {said}" if code not in (0, "0") else ""
    except (ValueError, RecursionError):
        return ""


def _pieces(url: str) -> list[str]:
    """The address and each part of it that could be its secret."""
    return [url, *sorted((part for part in re.split(r"[/?&=#@]", url) if len(part) >= 8), key=len)[::-1]]


def _plain_json(webhook: Webhook, text: str, night: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    return webhook.url, {"text": text, "night": night}


def _slack(webhook: Webhook, text: str, night: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    for char, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")):
        text = text.replace(char, entity)
    return webhook.url, {"text": text}


def _feishu(webhook: Webhook, text: str, night: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    # <at user_id="all"> calls everybody, and nothing escapes it.
    body: dict[str, Any] = {"msg_type": "text", "content": {"text": text.replace("<", "＜")}}
    if webhook.secret:
        seconds = str(int(time.time()))
        body |= {"timestamp": seconds, "sign": _signature(f"{seconds}\n{webhook.secret}", "")}
    return webhook.url, body


def _dingtalk(webhook: Webhook, text: str, night: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    url = webhook.url
    if webhook.secret:
        millis = int(time.time() * 1000)
        sign = quote_plus(_signature(webhook.secret, f"{millis}\n{webhook.secret}"))
        url += f"{'&' if '?' in url else '?'}timestamp={millis}&sign={sign}"
    return url, {"msgtype": "text", "text": {"content": text}}


def _signature(key: str, text: str) -> str:
    return base64.b64encode(hmac.new(key.encode(), text.encode(), hashlib.sha256).digest()).decode()


_FORMATS: Mapping[str, Callable[[Webhook, str, Mapping[str, Any]], tuple[str, dict[str, Any]]]] = {
    "json": _plain_json,
    "feishu": _feishu,
    "dingtalk": _dingtalk,
    "slack": _slack,
}
