"""Owns what every page of ours is built with: its templates, our own files inside it, and what it may do."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from judge.report.display_text import mark_names


@cache
def template_environment(package: str) -> Environment:
    """The templates of `package`: text is escaped, and a value that is missing is an error."""
    found = Environment(
        loader=PackageLoader(package),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters["marked"] = mark_names
    return found


@cache
def read_own_files(*names: tuple[str, str]) -> Markup:
    """Files of ours, each by its package and name, that stand in the page as they are."""
    found = (files(package) / "templates" / each for package, each in names)
    return Markup("\n".join(each.read_text(encoding="utf-8") for each in found))  # noqa: S704


def content_security_policy(script: str, style: str) -> str:
    """What a page may do: run its own script, wear its own style, and nothing else (CSP level 3)."""
    return (
        f"default-src 'none'; script-src {csp_hash(script)}; style-src {csp_hash(style)};"
        " base-uri 'none'; form-action 'none'"
    )


def csp_hash(text: str) -> str:
    """What a policy calls a script or a style that it allows."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
