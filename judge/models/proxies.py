"""Owns the way to a server: the proxy that calls go through, and why no answer came back."""

from __future__ import annotations

import socket
import ssl
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from judge.errors import ConnectionFailed, RetryableError, SetupError, TimedOut, iterate_causes
from judge.models.endpoint import is_private, public_part
from judge.models.error_mapping import shorten, transport
from judge.models.redaction import mask

#: What goes wrong before a request is encrypted: a certificate that nobody vouches for, a server without TLS.
_HANDSHAKE = frozenset({"CERTIFICATE_VERIFY_FAILED", "WRONG_VERSION_NUMBER", "HTTP_REQUEST"})


def proxy(url: str) -> str | None:
    """The proxy that the environment or the system names for `url`, None for the direct way.

    A server on this machine or a private network is always called directly: a proxy would read the
    prompts and the key. Raises SetupError for a proxy that isn't HTTP's.
    """
    parts = urlsplit(url)
    if is_private(url) or proxy_bypass(parts.netloc.rpartition("@")[2]):
        return None
    named = getproxies()
    address = named.get(parts.scheme) or named.get("all")
    if address and "://" not in address:
        address = f"http://{address}"
    if address and urlsplit(address).scheme not in {"http", "https"}:
        raise SetupError(
            f"the proxy {public_part(address)} cannot be used: name an HTTP proxy in HTTPS_PROXY, or add"
            f" {parts.hostname} to NO_PROXY"
        )
    return address or None


def proxy_secrets(url: str) -> tuple[str, ...]:
    """What the proxy for `url` is told of its user, as it is named and as it is sent."""
    parts = urlsplit(proxy(url) or "")
    if parts.password is None:
        return ()
    user, password = unquote(parts.username or ""), unquote(parts.password)
    return password, f"{user}:{password}"


def no_answer(error: BaseException, url: str, *secrets: str, never_sent: bool = False) -> RetryableError:
    """The error for a call to `url` that `error` ended before an answer was there.

    It is `Unconnected` where the reason shows that nobody heard of the call, or when `never_sent` says so.
    """
    *_, cause = iterate_causes(error)
    refused = isinstance(cause, ConnectionRefusedError | socket.gaierror)
    refused |= isinstance(cause, ssl.SSLError) and getattr(cause, "reason", None) in _HANDSHAKE
    via = proxy(url)
    secrets = (*secrets, *proxy_secrets(url))
    where = public_part(url) + (f" through the proxy {public_part(via)}" if via else "")
    if not (refused or never_sent) and isinstance(cause, TimeoutError):
        return TimedOut("transport", shorten(mask(f"{where}: the request timed out", *secrets)), billed=True)
    if not (refused or never_sent):
        return transport(f"{where}: {type(error).__name__}: {error}", *secrets)
    detail = shorten(mask(f"{where}: {_words(cause)}", *secrets))
    return ConnectionFailed("transport", detail, lasting=_lasting(cause))


def _lasting(cause: BaseException) -> bool:
    """Whether waiting alone will not help: a server may be about to start, a network to come back."""
    if isinstance(cause, socket.gaierror):
        return cause.errno != socket.EAI_AGAIN
    return isinstance(cause, ssl.SSLError) or not isinstance(cause, OSError)


def _words(cause: BaseException) -> str:
    if isinstance(cause, ConnectionRefusedError):
        return "connection refused"
    if isinstance(cause, socket.gaierror):
        return f"unknown host ({cause.strerror})"
    if isinstance(cause, ssl.SSLError):
        return f"no TLS connection: {cause}"
    return str(cause) or type(cause).__name__
