"""Redaction: every spelling of a key or a password in texts and log records is replaced by `***`.

A server may repeat the key that it received: in an error, in a page of a gateway, in the reply of a model.
Every text from a server goes through `redact` before it is read, cut or stored.
"""

import base64
import html.entities
import logging
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

#: Minimum length of a secret that is masked. A shorter one ("none", "EMPTY", "x", as used on a private
#: network) occurs in texts by chance, and reasons would be damaged.
MIN_SECRET_LENGTH = 8
_MASK = "***"
#: Characters of Base64 that have more than one spelling.
_BASE64 = {"+": r"(?:[+-]|%2[Bb])", "/": r"(?:[/_]|%2[Ff]|\\/)"}
#: Names of environment variables that hold secrets.
_NAMED = re.compile(r"(?:KEY|TOKEN|SECRET|PASSWORD)\Z")


def redact(text: str, *secrets: str) -> str:
    """Return `text` with every spelling of each of `secrets` that has 8 characters or more replaced by `***`.

    Spellings: as it is, percent-encoded, as HTML entities, with JSON's escapes, any mix of them by
    character, in hexadecimal digits, and in Base64 wherever it begins in a longer text.
    """
    if len(text) < MIN_SECRET_LENGTH:  # no spelling is shorter than its secret
        return text
    pattern = _compile_pattern(secrets)
    return text if pattern is None else pattern.sub(_MASK, text)


def mask(text: str, *secrets: str) -> str:
    """Return `text` with `secrets` and everything shaped like a key replaced by `***`.

    For errors and addresses; replies of a model go through `redact` alone.
    """
    text = redact(text, *secrets)
    text = re.sub(r"(?i)(\bbearer\s+|api[-_]?key[\"']?\s*[=:]\s*[\"']?)[^\s\"',;]{6,}", r"\1***", text)
    return re.sub(r"\b(?:(?:sk|rk|pk|ak|gsk|xai|hf)[-_]|AIza|LTAI)[\w*.-]{6,}", "***", text)


def find_secrets(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the values of the variables in `environ` that hold secrets by their names."""
    return tuple(value.strip() for name, value in environ.items() if value and _NAMED.search(name))


def describe_setup_error(error: Exception) -> str:
    """Return the message of an error of a package; that of pydantic without the values, which may be keys."""
    if not isinstance(error, ValueError) or not hasattr(error, "errors"):
        return str(error) or type(error).__name__
    details = ((".".join(map(str, detail["loc"])), detail["msg"]) for detail in error.errors())
    return "; ".join(f"{place}: {problem}" if place else problem for place, problem in details)


@lru_cache(maxsize=64)
def _compile_pattern(secrets: tuple[str, ...]) -> re.Pattern[str] | None:
    """Return a pattern that finds any of `secrets`, None when none is long enough."""
    # The longest first, since a secret may begin with another one.
    ordered = sorted(
        {secret for secret in secrets if len(secret) >= MIN_SECRET_LENGTH}, key=len, reverse=True
    )
    spellings = [spelling for secret in ordered for spelling in _iter_spellings(secret)]
    return re.compile("|".join(spellings)) if spellings else None


def _iter_spellings(secret: str) -> Iterator[str]:
    """Yield regular expressions for the spellings of `secret`; Base64 for each place where it may begin."""
    raw = secret.encode()
    yield "".join(map(_spell_character, secret))
    yield f"(?i:{raw.hex()})"
    for shift in range(3):
        # Without the characters that share bits with the text before and after.
        start = -(-8 * shift // 6)
        encoded = base64.b64encode(b"\0" * shift + raw).decode()[start : (shift + len(raw)) * 8 // 6]
        yield "".join(_BASE64.get(char, char) for char in encoded)


@lru_cache(maxsize=256)
def _spell_character(char: str) -> str:
    """Return a regular expression for the spellings of one character."""
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


#: All secrets of the models that this process opened.
_log_secrets: dict[str, None] = {}


def redact_logs(*secrets: str) -> None:
    """Mask `secrets` in every log record of this process from now on.

    Libraries log whole answers and addresses at the level DEBUG. A record without a secret stays as it is.
    """
    if secrets and not _log_secrets:
        make_record = logging.getLogRecordFactory()

        def make_redacted_record(*args: Any, **options: Any) -> logging.LogRecord:  # noqa: ANN401
            record: logging.LogRecord = make_record(*args, **options)
            try:
                text = record.getMessage()
            except (TypeError, ValueError, KeyError):  # the arguments do not fit: logging reports it later
                return record
            masked = redact(text, *_log_secrets)
            if masked != text:
                record.msg, record.args = masked, None
            if record.exc_info and not record.exc_text:
                trace = logging.Formatter().formatException(record.exc_info)
                masked = redact(trace, *_log_secrets)
                if masked != trace:
                    record.exc_text = masked
            return record

        logging.setLogRecordFactory(make_redacted_record)
    _log_secrets.update(dict.fromkeys(secrets))
