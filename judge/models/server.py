"""Servers: address, key, timeout and proxy, and the particulars of some servers."""

from __future__ import annotations

import ipaddress
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Self
from urllib.parse import unquote, urlsplit, urlunsplit
from urllib.request import getproxies, proxy_bypass

from judge.errors import SetupError
from judge.models.providers import Service
from judge.models.redaction import find_secrets, mask, redact_logs
from judge.records import Params

#: Domains of servers with the parameter `thinking`.
_THINKING_DOMAINS = ("deepseek.com", "bigmodel.cn", "z.ai", "volces.com", "moonshot.cn", "moonshot.ai")
#: SDKs require a key, servers on a private network do not.
NO_KEY = "none"


@dataclass(frozen=True, slots=True)
class ServerAccess:
    """How a server is reached, and the limits of its calls; the same for every adapter.

    `base_url` None takes the address of `environ` or of the provider; keys come from `environ` only.
    `timeout` is in seconds for a whole call; `concurrency` is the maximum number of concurrent calls.
    """

    base_url: str | None
    environ: Mapping[str, str] = field(repr=False)
    timeout: float
    concurrency: int

    @property
    def secrets(self) -> tuple[str, ...]:
        """Keys and tokens of the environment, which no file, log or message may hold."""
        return find_secrets(self.environ)

    def choose_url(self, *variables: str, default: str) -> str:
        """Return the address to call: `base_url`, else the first of `variables` with a value, else `default`.

        Log records mask a key in its path. Raises SetupError when it is not an address, or holds a user, a
        password, a query or a fragment.
        """
        addresses = (self.environ.get(variable) for variable in variables)
        url = self.base_url or next(filter(None, addresses), default)
        if not is_address(url):
            public = mask(url.rpartition("@")[2].partition("?")[0], *self.secrets)
            raise SetupError(
                "{address!r} is not the address of a server; give one such as https://host/v1 (--base-url)",
                address=public,
            )
        parts = urlsplit(url)
        if parts.username is not None or parts.query or parts.fragment:
            raise SetupError(
                "the address {address!r} contains a user, a query or a fragment; keys come from the"
                " environment",
                address=redact_url(url, *self.secrets),
            )
        for part in parts.path.split("/"):
            if mask(part, *self.secrets) != part:
                redact_logs(part)  # libraries log the address of each request
        return url.rstrip("/")

    def read_header_value(self, variable: str) -> str:
        """Return the value of `variable`, `""` without one; raise SetupError if no header can hold it."""
        value = self.environ.get(variable, "").strip()
        if not (value.isascii() and value.isprintable()):
            raise SetupError(
                "{variable} contains characters that a key cannot have; set {variable} again",
                variable=variable,
            )
        return value

    def read_key(self, variable: str, url: str) -> str:
        """Return the key in `variable`; only a server on a private network may have none."""
        key = self.read_header_value(variable)
        if not key and not _is_private(url):
            raise SetupError(
                "no key for {address!r}: set {variable}",
                address=redact_url(url, *self.secrets),
                variable=variable,
            )
        return key

    def open_server(self, service: Service) -> Server:
        """Return the server of `service` with its key, which logs mask; raise SetupError."""
        url = self.choose_url(*service.address_variables, default=service.url)
        key = self.read_key(service.key_variable, url)
        secrets = (key, *find_proxy_secrets(url))
        redact_logs(*secrets)
        account = {
            header: value
            for header, variable in service.account_headers.items()
            if (value := self.read_header_value(variable))
        }
        return Server(self, url, redact_url(url, *self.secrets), key, secrets, account)


@dataclass(frozen=True, slots=True)
class Server:
    """The server at `url`, with `access` to it.

    `endpoint` is the address without what is secret; `secrets` are the key and the password of a proxy.
    `account_headers` name what the calls are charged to.
    """

    access: ServerAccess
    url: str
    endpoint: str
    key: str = field(repr=False)
    secrets: tuple[str, ...] = field(repr=False)
    account_headers: Mapping[str, str] = field(default_factory=dict)

    def move(self, url: str) -> Server:
        """Return the same server, with its key, at another address."""
        return replace(self, url=url, endpoint=redact_url(url, *self.access.secrets))


def _is_private(url: str) -> bool:
    """Return whether `url` names this machine or a private network."""
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_private
    except ValueError:
        return "." not in host or host.endswith((".local", ".localhost", ".internal", ".lan"))


def redact_url(url: str, *secrets: str) -> str:
    """Return `url` without user, password, query, `secrets` and texts shaped like a key."""
    parts = urlsplit(url)
    public = urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
    return mask(public, *secrets)


def find_proxy(url: str) -> str | None:
    """Return the proxy of the environment or the system for `url`, None to connect directly.

    A server on this machine or a private network is always called directly, since a proxy would read the
    prompts and the key. Raises SetupError for a proxy that is not HTTP.
    """
    parts = urlsplit(url)
    if _is_private(url) or proxy_bypass(parts.netloc.rpartition("@")[2]):
        return None
    proxies = getproxies()
    address = proxies.get(parts.scheme) or proxies.get("all")
    if address and "://" not in address:
        address = f"http://{address}"
    if address and urlsplit(address).scheme not in {"http", "https"}:
        raise SetupError(
            "the proxy {address!r} cannot be used: name an HTTP proxy in HTTPS_PROXY, or add {host} to"
            " NO_PROXY",
            address=redact_url(address),
            host=parts.hostname,
        )
    return address or None


@dataclass(frozen=True, slots=True)
class Proxy:
    """A proxy for the requests to one server: its address without the login, and the headers with the login.

    A request to an http address has `headers`; the tunnel to an https address has `tunnel_headers`.
    """

    url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    tunnel_headers: Mapping[str, str] = field(default_factory=dict, repr=False)

    @classmethod
    def parse(cls, address: str, server: str) -> Self:
        """Return the proxy for the URL `server` at an address that can have a user and a password."""
        parts = urlsplit(address)
        url = urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
        if parts.username is None:
            return cls(url)
        login = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        headers = {"Proxy-Authorization": f"Basic {b64encode(login.encode()).decode()}"}
        is_tunnel = urlsplit(server).scheme == "https"
        return cls(url, tunnel_headers=headers) if is_tunnel else cls(url, headers)


def find_proxy_secrets(url: str) -> tuple[str, ...]:
    """Return the password of the proxy for `url`, alone and with its user as it is sent."""
    parts = urlsplit(find_proxy(url) or "")
    if parts.password is None:
        return ()
    user, password = unquote(parts.username or ""), unquote(parts.password)
    return password, f"{user}:{password}"


def is_dashscope(url: str) -> bool:
    """Return whether `url` is one of Alibaba Cloud."""
    return _is_in_domain(url, "aliyuncs.com")


def build_thinking_params(url: str, *, thinking: bool) -> Params:
    """Return the parameters that turn thinking on or off at an OpenAI-compatible `url`.

    There is no common one. DashScope and SiliconFlow read `enable_thinking`, DeepSeek, Zhipu, Volcengine and
    Moonshot `thinking`, OpenRouter `reasoning`, Ollama `reasoning_effort` (it ignores the others silently),
    vLLM, SGLang and llama.cpp `chat_template_kwargs`. OpenAI reads `reasoning_effort`, too, and refuses it
    for models without reasoning. Other hosts may refuse unknown fields, so they get none.
    """
    if is_dashscope(url) or _is_in_domain(url, "siliconflow.cn", "siliconflow.com"):
        return {"enable_thinking": thinking}
    if _is_in_domain(url, *_THINKING_DOMAINS):
        return {"thinking": {"type": "enabled" if thinking else "disabled"}}
    if _is_in_domain(url, "openrouter.ai"):
        return {"reasoning": {"enabled": thinking}}
    if _is_in_domain(url, "ollama.com", "openai.com") or urlsplit(url).port == 11434:
        return {} if thinking else {"reasoning_effort": "none"}
    if _is_private(url):
        return {"chat_template_kwargs": {"enable_thinking": thinking}}
    return {}


def is_address(url: str) -> bool:
    """Return whether `url` names a server: http or https, a host, a valid port, no blanks."""
    try:
        parts = urlsplit(url)
        blank = any(char.isspace() or not char.isprintable() for char in url)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0 and not blank
    except ValueError:
        return False


def _is_in_domain(url: str, *domains: str) -> bool:
    return f".{urlsplit(url).hostname or ''}".endswith(tuple(f".{domain}" for domain in domains))
