"""The annotation page as it is served: one file without data of a run, and its content security policy."""

from __future__ import annotations

from dataclasses import dataclass

from judge.report.page.shell import hash_for_policy, open_templates, read_own_files

_HERE = "judge.annotate"
_STYLE = (("judge.report", "look.css"), ("judge.report", "charts.css"), (_HERE, "annotate.css"))
#: Package and name of each script, in the order of the page; `.ci/javascript/annotate.json` lists them too.
SCRIPTS = (
    ("judge.report", "dom.js"),
    *((_HERE, f"{each}.js") for each in ("annotate_messages", "annotate_view", "annotate")),
)


@dataclass(frozen=True, slots=True)
class Page:
    """The HTML of the page and its Content-Security-Policy."""

    html: str
    content_policy: str


def make_page() -> Page:
    """Return the page. It is the same for every run and person; its script requests the data."""
    style, script = read_own_files(*_STYLE), read_own_files(*SCRIPTS)
    html = open_templates(_HERE).get_template("annotate.html.jinja").render(style=style, script=script)
    rules = (
        "default-src 'none'",
        f"style-src {hash_for_policy(style)}",
        f"script-src {hash_for_policy(script)}",
        "connect-src 'self'",
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
    )
    return Page(html, "; ".join(rules))
