"""Owns the page as it is served: one file with nothing in it of any run, and what it may load."""

from __future__ import annotations

from dataclasses import dataclass

from judge.report.page.shell import csp_hash, read_own_files, template_environment

_HERE = "judge.annotate"
_STYLE = (("judge.report", "look.css"), ("judge.report", "charts.css"), (_HERE, "page.css"))
_SCRIPT = tuple((_HERE, f"{each}.js") for each in ("words", "show", "page"))


@dataclass(frozen=True, slots=True)
class Page:
    """The page's HTML, and the Content-Security-Policy under which it works and nothing else does."""

    html: str
    content_policy: str


def page() -> Page:
    """The page, the same for every run and person: what it shows it asks for."""
    style, script = read_own_files(*_STYLE), read_own_files(*_SCRIPT)
    html = template_environment(_HERE).get_template("page.html.jinja").render(style=style, script=script)
    rules = (
        "default-src 'none'",
        f"style-src {csp_hash(style)}",
        f"script-src {csp_hash(script)}",
        "connect-src 'self'",
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
    )
    return Page(html, "; ".join(rules))
