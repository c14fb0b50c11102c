"""Owns how a server is reached (address, key, timeout) and what is known about particular servers."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from judge.errors import SetupError
from judge.models.redaction import mask, secrets_in

OPENAI_URL = "https://api.openai.com/v1"
DASHSCOPE_URL = "https://dashscope.aliyuncs.com/api/v1"
#: SDKs insist on a key, servers on a private network don't.
NO_KEY = "none"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """How to reach a server, the same for every adapter.

    `base_url` None means the one that `environ` or the provider names; keys come from `environ`
    only. `timeout` is in seconds and covers a whole call; `concurrency` is how many calls are in
    flight at most.
    """

    base_url: str | None
    environ: Mapping[str, str] = field(repr=False)
    timeout: float
    concurrency: int

    @property
    def secrets(self) -> tuple[str, ...]:
        """What no file, log or message may hold: keys and tokens of the environment."""
        return secrets_in(self.environ)

    def url(self, *variables: str, default: str) -> str:
        """The address to call: `base_url`, else the first of `variables` that is set, else `default`."""
        named = (self.environ.get(variable) for variable in variables)
        url = self.base_url or next(filter(None, named), default)
        if not is_address(url):
            shown = mask(url.rpartition("@")[2].partition("?")[0], *self.secrets)
            raise SetupError(f"{shown!r} is no server's address: give one like https://host/v1 (--base-url)")
        parts = urlsplit(url)
        if parts.username is not None or parts.query or parts.fragment:
            more = "a query or a fragment" if parts.username is None else "a user or password"
            shown = public_part(url, *self.secrets)
            raise SetupError(f"the address of {shown} holds {more}; keys come from the environment")
        return url.rstrip("/")

    def key(self, variable: str, url: str) -> str:
        """The key in `variable`; a server on a private network may do without one."""
        key = self.environ.get(variable, "").strip()
        if key and not (key.isascii() and key.isprintable()):
            raise SetupError(f"{variable} holds characters that no key has: set {variable} again")
        if not key and not is_private(url):
            raise SetupError(f"no key for {public_part(url, *self.secrets)}: set {variable}")
        return key


def is_private(url: str) -> bool:
    """Whether `url` names this machine or a private network, where self-hosted servers live."""
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_private
    except ValueError:
        return "." not in host or host.endswith((".local", ".localhost", ".internal", ".lan"))


def public_part(url: str, *secrets: str) -> str:
    """`url` without a user, password, query, `secrets` and what is shaped like a key, to store and print."""
    parts = urlsplit(url)
    public = urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
    return mask(public, *secrets)


def is_dashscope(url: str) -> bool:
    """Whether `url` is one of Alibaba Cloud's."""
    return _in_domain(url, "aliyuncs.com")


def thinking_switch(url: str, thinking: bool) -> dict[str, Any]:
    """The parameters that turn thinking on or off at an OpenAI-compatible `url`.

    There is no common one. DashScope reads `enable_thinking`, DeepSeek `thinking`, Ollama
    `reasoning_effort` (it ignores the others silently), vLLM, SGLang and llama.cpp
    `chat_template_kwargs`. OpenAI reads `reasoning_effort`, too, and says so where a model has
    none. Other hosts may refuse fields that they don't know, and get nothing.
    """
    if is_dashscope(url):
        return {"enable_thinking": thinking}
    if _in_domain(url, "deepseek.com"):
        return {"thinking": {"type": "enabled" if thinking else "disabled"}}
    if _in_domain(url, "ollama.com") or _in_domain(url, "openai.com") or urlsplit(url).port == 11434:
        return {} if thinking else {"reasoning_effort": "none"}
    if is_private(url):
        return {"chat_template_kwargs": {"enable_thinking": thinking}}
    return {}


def is_address(url: str) -> bool:
    """Whether `url` names a server that can be called: http or https, a host, a real port, no blank."""
    try:
        parts = urlsplit(url)
        blank = any(char.isspace() or not char.isprintable() for char in url)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0 and not blank
    except ValueError:
        return False


def _in_domain(url: str, domain: str) -> bool:
    return f".{urlsplit(url).hostname or ''}".endswith(f".{domain}")
