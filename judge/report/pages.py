"""What all pages share: templates, inlined files and the content security policy."""

import base64
import hashlib
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from judge.report.display_text import fit_on_line, format_number, mark_names, mark_row_name

#: Files of ours, each by package and name.
_OwnFiles = Sequence[tuple[str, str]]


@cache
def open_templates(package: str) -> Environment:
    """Return the templates of `package` and those that all pages share.

    They escape text, and a missing value is an error.
    """
    templates = Environment(
        loader=ChoiceLoader([PackageLoader(package), PackageLoader("judge.report")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters.update(
        marked=mark_names, row_name=mark_row_name, number=format_number, fit_on_line=fit_on_line
    )
    return templates


@cache
def read_own_files(*names: tuple[str, str]) -> Markup:
    """Return our own files, each by package and name, to be inlined as they are."""
    paths = (files(package) / "templates" / name for package, name in names)
    return Markup("\n".join(name.read_text(encoding="utf-8") for name in paths))  # noqa: S704


def render_page(
    package: str, template: str, style: _OwnFiles, scripts: _OwnFiles, /, **values: object
) -> Iterator[str]:
    """Return the text of a page in pieces, with our own style and scripts in it.

    Its policy (CSP level 3) allows this style and these scripts, and nothing else.
    """
    own = {"style": read_own_files(*style), "script": read_own_files(*scripts)}
    hashes = {name: hash_for_policy(text) for name, text in own.items()}
    policy = (
        f"default-src 'none'; script-src {hashes['script']}; style-src {hashes['style']};"
        " base-uri 'none'; form-action 'none'"
    )
    return open_templates(package).get_template(template).generate(policy=policy, **own, **values)


def hash_for_policy(text: str) -> str:
    """Return the hash by which a policy allows a script or a style."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
