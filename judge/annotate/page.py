"""Owns the page as it is served: one file with nothing in it of any run, and what it may load."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from importlib.resources import files

import jinja2
from markupsafe import Markup

_FOLDER = files("judge.annotate") / "templates"


@dataclass(frozen=True, slots=True)
class Page:
    """The page's HTML, and the Content-Security-Policy under which it works and nothing else does."""

    html: str
    content_policy: str


def page() -> Page:
    """The page, the same for every run and person: what it shows it asks for."""
    style = _text("page.css")
    script = "\n".join(map(_text, ("words.js", "show.js", "page.js")))
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    template = environment.from_string(_text("page.html.jinja"))
    # Both are files of ours; the browser checks them against their hashes below.
    html = template.render(style=Markup(style), script=Markup(script))  # noqa: S704
    rules = (
        "default-src 'none'",
        f"style-src '{_hash(style)}'",
        f"script-src '{_hash(script)}'",
        "connect-src 'self'",
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
    )
    return Page(html, "; ".join(rules))


def _text(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
