"""Secrets in texts of others: every spelling of a key or a password, replaced by `***`.

A server may repeat the key that it was sent: in an error, in a page of a gateway, in the reply of a model.
Where a text from a server enters judge, it goes through `redact` before it is read, cut or kept.
"""

from __future__ import annotations

import base64
import html.entities
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

#: Characters that a secret must have to be masked. A shorter one ("none", "EMPTY", "x", as servers on a
#: private network are given) occurs in texts by chance, and reasons would be damaged.
SHORTEST = 8
_MASK = "***"
#: Characters of Base64 that have more than one spelling.
_BASE64 = {"+": r"(?:[+-]|%2[Bb])", "/": r"(?:[/_]|%2[Ff]|\\/)"}
#: Environment variables that hold secrets, by their names.
_NAMED = re.compile(r"(?:KEY|TOKEN|SECRET|PASSWORD)\Z")


def redact(text: str, *secrets: str) -> str:
    """Return `text` with every spelling of each of `secrets` that has 8 characters or more replaced by `***`.

    Spellings: as it is, percent-encoded, as HTML entities, with JSON's escapes, any mix of them by
    character, in hexadecimal digits, and in Base64 wherever it begins in a longer text.
    """
    pattern = _pattern(secrets)
    return text if pattern is None else pattern.sub(_MASK, text)


def mask(text: str, *secrets: str) -> str:
    """Return `text` with `secrets` and everything shaped like a key replaced by `***`.

    For errors and addresses. What a model says of a snippet goes through `redact` alone.
    """
    text = redact(text, *secrets)
    text = re.sub(r"(?i)(\bbearer\s+|api[-_]?key[\"']?\s*[=:]\s*[\"']?)[^\s\"',;]{6,}", r"\1***", text)
    return re.sub(r"\b(?:(?:sk|rk|pk|ak|gsk|xai|hf)[-_]|AIza|LTAI)[\w*.-]{6,}", "***", text)


def secrets_in(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the values of the variables in `environ` that are named as those of secrets are."""
    return tuple(value.strip() for name, value in environ.items() if value and _NAMED.search(name))


@lru_cache(maxsize=64)
def _pattern(secrets: tuple[str, ...]) -> re.Pattern[str] | None:
    """What finds any of `secrets`; None when none is long enough."""
    # The longest first: a secret may begin with another one.
    named = sorted({each for each in secrets if len(each) >= SHORTEST}, key=len, reverse=True)
    spellings = [spelling for secret in named for spelling in _spellings(secret)]
    return re.compile("|".join(spellings)) if spellings else None


def _spellings(secret: str) -> Iterator[str]:
    """Regular expressions for the spellings of `secret`."""
    yield "".join(map(_character, secret))
    raw = secret.encode()
    yield f"(?i:{raw.hex()})"
    for shift in range(3):
        # Without the characters that hold bits of what stands before and behind.
        start = -(-8 * shift // 6)
        encoded = base64.b64encode(b"\0" * shift + raw).decode()[start : (shift + len(raw)) * 8 // 6]
        yield "".join(_BASE64.get(each, each) for each in encoded)


@lru_cache(maxsize=256)
def _character(char: str) -> str:
    """A regular expression for the spellings of one character."""
    percent = "".join(f"%{byte:02x}" for byte in char.encode())
    names = "|".join(name.removesuffix(";") for name, text in html.entities.html5.items() if text == char)
    code = ord(char)
    spellings = [
        re.escape(char),
        f"(?i:{percent})",
        # JSON inside JSON doubles each backslash.
        rf"\\{{1,8}}u(?i:{code:04x})",
        f"&#(?:0{{0,6}}{code}|[xX]0{{0,6}}(?i:{code:x}));",
        *([f"&(?:{names});"] if names else []),
        *([rf"\\{{1,8}}{re.escape(char)}"] if char in "\"\\/'" else []),
    ]
    return f"(?:{'|'.join(spellings)})"
