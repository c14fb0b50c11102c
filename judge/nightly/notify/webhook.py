"""The webhook: one POST of a night's message to an address that is itself a secret.

Formats: Slack's incoming webhooks, the custom bots of Feishu (Lark) and DingTalk with their optional
signatures, and plain JSON. Feishu and DingTalk answer 200 to a message that they reject; the body says so.
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

from judge.characters import escape_controls
from judge.errors import InputError
from judge.models.endpoint import is_address
from judge.models.error_mapping import shorten
from judge.models.redaction import mask
from judge.nightly.record import NightRecord, record_to_json
from judge.runs.folder import dump_json

#: The time-out of one attempt in seconds, and the number of attempts.
TIMEOUT = 10.0
ATTEMPTS = 3
_KEYS = ("kind", "url_env", "secret_env", "link")
#: The most bytes of a response that are read.
_RESPONSE_BYTES = 10_000
_RETRYABLE = frozenset({408, 425, 429, *range(500, 600)})


@dataclass(frozen=True, slots=True)
class Webhook:
    """Where to send the message and in which format; `link` leads to the report and may hold {date}."""

    kind: str
    url: str = field(repr=False)
    secret: str = field(default="", repr=False)
    link: str = ""

    @classmethod
    def from_table(cls, table: Mapping[str, object], environ: Mapping[str, str]) -> Self:
        """Return the webhook of the table `[nightly] webhook`; raise InputError when it is wrong."""
        values: dict[str, str] = {}
        for key, value in table.items():
            if key not in _KEYS:
                raise InputError(
                    "[nightly] webhook: unknown key {key!r}; it takes {keys}", key=key, keys=", ".join(_KEYS)
                )
            if not isinstance(value, str):
                raise InputError("[nightly] webhook: {key} is {value!r}, not text", key=key, value=value)
            values[key] = value
        kind = values.get("kind", "json")
        if kind not in _FORMATS:
            raise InputError(
                "[nightly] webhook: kind is {kind!r}; it is {kinds}", kind=kind, kinds=", ".join(_FORMATS)
            )
        if "url_env" not in values:
            raise InputError(
                "[nightly] webhook: url_env is missing: the name of the environment variable that holds the"
                " address, which is a secret and must not be in a file"
            )
        url = _read_secret(environ, values["url_env"])
        if not is_address(url):
            raise InputError(
                "[nightly] webhook: ${variable} holds no https:// address", variable=values["url_env"]
            )
        secret = _read_secret(environ, values["secret_env"]) if "secret_env" in values else ""
        return cls(kind, url, secret, values.get("link", ""))


def _read_secret(environ: Mapping[str, str], name: str) -> str:
    value = environ.get(name, "").strip()
    if not value:
        raise InputError("[nightly] webhook: the environment variable {name!r} is not set; set it", name=name)
    return value


def post_message(
    webhook: Webhook,
    text: str,
    record: NightRecord,
    *,
    pause: float = 1.0,
    timeout: float = TIMEOUT,
) -> str:
    """Post the text about a night, with retries; return the error, empty without one.

    `pause` is the first wait between two attempts in seconds, `timeout` the limit of a whole attempt.
    """
    retrying = Retrying(
        stop=stop_after_attempt(ATTEMPTS),
        wait=wait_exponential(multiplier=pause),
        retry=retry_if_result(lambda attempt: attempt.retryable),
    )
    try:
        # Signatures hold the time, so each attempt has a new request.
        attempt: _Attempt = retrying(
            lambda: asyncio.run(_post(*make_request(webhook, text, record), timeout))
        )
    except RetryError as error:
        attempt = error.last_attempt.result()
    return shorten(escape_controls(mask(attempt.error, webhook.secret, *_secret_parts(webhook.url))))


def make_request(webhook: Webhook, text: str, record: NightRecord) -> tuple[str, dict[str, Any]]:
    """Return the address to post to and the JSON body; a signature is of the current time."""
    return _FORMATS[webhook.kind](webhook, text, record)


@dataclass(frozen=True, slots=True)
class _Attempt:
    """The error of an attempt, empty without one, and whether it may succeed later."""

    error: str
    retryable: bool = False


async def _post(url: str, body: Mapping[str, Any], seconds: float) -> _Attempt:
    headers = {"Content-Type": "application/json; charset=utf-8", "User-Agent": "judge"}
    try:
        async with (
            asyncio.timeout(seconds),
            aiohttp.ClientSession(trust_env=True) as session,
            # The message is for this server only, so redirects are not followed.
            session.post(
                URL(url, encoded=True), data=dump_json(body).encode(), headers=headers, allow_redirects=False
            ) as response,
        ):
            if response.status >= 300:
                return _Attempt(f"HTTP {response.status}", retryable=response.status in _RETRYABLE)
            return _Attempt(_read_rejection(await _read_beginning(response)))
    except (OSError, aiohttp.ClientError, ValueError) as error:
        # The message of the error may hold the address.
        reason = getattr(error, "os_error", error)
        return _Attempt(f"no answer ({type(reason).__name__})", retryable=not isinstance(error, ValueError))


async def _read_beginning(response: aiohttp.ClientResponse) -> bytes:
    raw = bytearray()
    async for part in response.content.iter_any():
        raw += part
        if len(raw) >= _RESPONSE_BYTES:
            break
    return bytes(raw)


def _read_rejection(raw: bytes) -> str:
    """Return why Feishu (code) or DingTalk (errcode) rejected the message, empty when it did not."""
    try:
        body = json.loads(raw)
        if not isinstance(body, dict):
            return ""
        code = body.get("errcode", body.get("code", 0))
        reason = body.get("errmsg", body.get("msg", ""))
        return f"rejected with {code!r}: {reason}" if code not in (0, "0") else ""
    except (ValueError, RecursionError):
        return ""


def _secret_parts(url: str) -> list[str]:
    """Return the address and each part of it that could be its secret, the longest first."""
    return [url, *sorted((part for part in re.split(r"[/?&=#@]", url) if len(part) >= 8), key=len)[::-1]]


def _plain_json(webhook: Webhook, text: str, record: NightRecord) -> tuple[str, dict[str, Any]]:
    return webhook.url, {"text": text, "night": record_to_json(record)}


def _slack(webhook: Webhook, text: str, record: NightRecord) -> tuple[str, dict[str, Any]]:
    for char, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")):
        text = text.replace(char, entity)
    return webhook.url, {"text": text}


def _feishu(webhook: Webhook, text: str, record: NightRecord) -> tuple[str, dict[str, Any]]:
    # <at user_id="all"> notifies all members, and there is no escape for it.
    body: dict[str, Any] = {"msg_type": "text", "content": {"text": text.replace("<", "＜")}}
    if webhook.secret:
        seconds = str(int(time.time()))
        body |= {"timestamp": seconds, "sign": _signature(f"{seconds}\n{webhook.secret}", "")}
    return webhook.url, body


def _dingtalk(webhook: Webhook, text: str, record: NightRecord) -> tuple[str, dict[str, Any]]:
    url = webhook.url
    if webhook.secret:
        millis = int(time.time() * 1000)
        sign = quote_plus(_signature(webhook.secret, f"{millis}\n{webhook.secret}"))
        url += f"{'&' if '?' in url else '?'}timestamp={millis}&sign={sign}"
    return url, {"msgtype": "text", "text": {"content": text}}


def _signature(key: str, text: str) -> str:
    return base64.b64encode(hmac.new(key.encode(), text.encode(), hashlib.sha256).digest()).decode()


_FORMATS: Mapping[str, Callable[[Webhook, str, NightRecord], tuple[str, dict[str, Any]]]] = {
    "json": _plain_json,
    "feishu": _feishu,
    "dingtalk": _dingtalk,
    "slack": _slack,
}
