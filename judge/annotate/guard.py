"""Checks of requests: only our own page, in a browser, at a known address, gets an answer.

Any page in a browser can send requests to 127.0.0.1, and by DNS rebinding can seem to have the same origin.
So the Host must be one that the server listens on, and an Origin must be ours (a write needs one). The
browser must not report a cross-site request. A write must be JSON with a header that no form can send. Other
users of this machine reach the address as well, so everything but the empty page needs a token.
"""

import hmac
import ipaddress
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from judge.errors import InputError
from judge.messages import CHINESE, ENGLISH, Message, Translator

Headers = Sequence[tuple[bytes, bytes]]

_LOCAL = ("127.0.0.1", "localhost", "[::1]")
_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?|\[?[0-9A-Fa-f:.]+\]?")
_TOKEN = re.compile(r"[A-Za-z0-9._~-]{8,200}")
_ONCE = (
    *(b"host", b"origin", b"sec-fetch-site", b"content-type", b"content-length"),
    *(b"sec-fetch-mode", b"sec-fetch-dest", b"x-judge", b"x-judge-token"),
)


@dataclass(frozen=True, slots=True)
class Policy:
    """Which requests get an answer.

    `hosts` are the allowed values of Host; `any_address` allows numeric addresses as well, because no name
    can be rebound to look like one. Every request needs the `token`, except that for the page itself, which
    holds no data.
    """

    hosts: frozenset[str]
    port: int
    token: str = field(repr=False)
    any_address: bool = False

    def knows(self, host: str) -> bool:
        """Return whether a request may name `host`."""
        if host in self.hosts:
            return True
        address, _, port = host.rpartition(":")
        return self.any_address and port == str(self.port) and _parse_address(address) is not None


def make_policy(host: str, port: int, token: str) -> Policy:
    """Return the policy of a server that listens on `host`.

    Raises InputError for an invalid host, and for a token that is too short or has characters that an address
    cannot hold.
    """
    if not _NAME.fullmatch(host) or (":" in host and _parse_address(host) is None):
        raise InputError("--host is {host!r:.80}; it must be a name or an address without a port", host=host)
    if not _TOKEN.fullmatch(token):
        raise InputError("--token has 8 to 200 letters, digits, '-', '.', '_' and '~'")
    plain = _parse_address(host)
    own = f"[{plain}]" if plain is not None and plain.version == 6 else host.lower()
    is_local = host == "localhost" or (plain is not None and plain.is_loopback)
    is_wildcard = plain is not None and plain.is_unspecified
    names = (own, *_LOCAL) if is_local or is_wildcard else (own,)
    # Browsers leave out port 80.
    hosts = {f"{name}:{port}" for name in names} | (set(names) if port == 80 else set())
    return Policy(frozenset(hosts), port, token, is_wildcard)


def _parse_address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text.removeprefix("[").removesuffix("]"))
    except ValueError:
        return None


def choose_translator(accept_language: str) -> Translator:
    """Return the messages in the language that the page asks for in its header Accept-Language."""
    return CHINESE if accept_language.lower().startswith("zh") else ENGLISH


def find_refusal(policy: Policy, method: str, path: str, headers: Headers) -> tuple[int, Message] | None:
    """Return the HTTP status and the reason for which a request is refused; None when it is not."""
    values = _read_values(headers)
    if values is None:
        return 400, Message("the request has a header twice, or one that is not ASCII")
    if method not in ("GET", "POST"):
        return 405, Message("the method is {method!r:.80}; it must be GET or POST", method=method)
    is_page, reads = (method, path) == ("GET", "/"), method == "GET"
    token = values.get(b"x-judge-token", "")
    host, origin = values.get(b"host", "").lower(), values.get(b"origin")
    # A person may follow a link to the page, such as the one in the file of `--open`.
    fetch = tuple(values.get(name) for name in (b"sec-fetch-mode", b"sec-fetch-dest", b"origin"))
    is_visit = is_page and fetch == ("navigate", "document", None)
    content_type = values.get(b"content-type", "").split(";")[0].strip().lower()
    for status, header, is_accepted in (
        (403, "Host", policy.knows(host)),
        (403, "Origin", origin == f"http://{host}" or (reads and origin is None)),
        (403, "Sec-Fetch-Site", is_visit or values.get(b"sec-fetch-site") in ("same-origin", "none", None)),
        (403, "X-Judge-Token", is_page or hmac.compare_digest(token.encode(), policy.token.encode())),
        (403, "X-Judge", reads or values.get(b"x-judge") == "annotate"),
        (415, "Content-Type", reads or content_type == "application/json"),
        (400, "Content-Length", values.get(b"content-length", "0").isdigit()),
    ):
        if not is_accepted and header == "X-Judge-Token":
            # All that a person can do wrong: to open the page without the part of its address behind "#".
            return status, Message(
                "the token is missing or wrong: open the address that judge annotate printed, in this tab"
            )
        if not is_accepted:
            return status, Message(
                "the header {header} is missing or wrong: open the address that judge annotate printed, in"
                " this tab",
                header=header,
            )
    return None


def _read_values(headers: Headers) -> dict[bytes, str] | None:
    """Return the headers that decide, each once; None when one occurs twice or is not plain ASCII."""
    values_by_name: dict[bytes, str] = {}
    for header, value in headers:
        if header.lower() in _ONCE:
            if header.lower() in values_by_name or not value.isascii():
                return None
            values_by_name[header.lower()] = value.decode("ascii").strip()
    return values_by_name
