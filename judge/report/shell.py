"""What all our pages share: templates, inlined files, and the content security policy."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from judge.report.display_text import fit_on_line, mark_names


@cache
def open_templates(package: str) -> Environment:
    """Return the templates of `package`; they escape text, and a missing value is an error."""
    templates = Environment(
        loader=PackageLoader(package),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters.update(marked=mark_names, fit_on_line=fit_on_line)
    return templates


@cache
def read_own_files(*names: tuple[str, str]) -> Markup:
    """Return our own files, each by package and name, to be inlined as they are."""
    paths = (files(package) / "templates" / name for package, name in names)
    return Markup("\n".join(name.read_text(encoding="utf-8") for name in paths))  # noqa: S704


def build_content_policy(script: str, style: str) -> str:
    """Return a policy (CSP level 3) that allows the page its own script and style and nothing else."""
    return (
        f"default-src 'none'; script-src {hash_for_policy(script)}; style-src {hash_for_policy(style)};"
        " base-uri 'none'; form-action 'none'"
    )


def hash_for_policy(text: str) -> str:
    """Return the hash by which a policy allows a script or a style."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
