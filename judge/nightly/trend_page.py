"""Owns trend.html: one file that shows every night, what changed when, and asks nobody for anything.

Same nights, same bytes. Names are untrusted: text is escaped where it enters the page.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from os.path import relpath
from pathlib import Path
from urllib.parse import quote

from judge.errors import InputError
from judge.messages import Text
from judge.nightly import history
from judge.nightly.history import EXITS, History, Night
from judge.nightly.trend_chart import NIGHTS, canaries, chart
from judge.nightly.trend_words import CHANGED, SENTENCE, STATUS, drawn, headline, reasons, unfinished
from judge.report.charts.svg import format_number
from judge.report.display_text import truncate_with_ellipsis
from judge.report.page.shell import content_security_policy, read_own_files, template_environment
from judge.runs.folder import RunFolder

NAME = "trend.html"
_STYLE = (
    *(("judge.report", f"{each}.css") for each in ("look", "report", "charts")),
    ("judge.nightly", "trend.css"),
)
#: Package and name of each script, in the order of the page; `.ci/javascript/trend.json` lists them too.
SCRIPTS = (
    *(("judge.report", f"{each}.js") for each in ("dom", "messages", "display")),
    ("judge.nightly", "trend.js"),
)


@dataclass(frozen=True, slots=True)
class Line:
    """A night as the table shows it; `link` leads to its report, if it has one."""

    day: str
    link: str
    status: Text
    quiet: bool
    changed: tuple[Text, ...]
    because: tuple[Text, ...]
    queries: str
    coverage: str
    unchanged: str
    usd: str


def write(folder: Path, out: Path | None = None) -> Path:
    """Writes trend.html of the nights in `folder`, there or as `out`, and gives its path.

    Raises InputError when there is no night or no folder to write to, StoreError when the disk takes no
    file.
    """
    path = out or folder / NAME
    if not path.parent.is_dir():
        raise InputError(f"{path}: there is no folder {str(path.parent)!r}; make it first")
    text = page(history.read(folder), relpath(folder, path.parent))
    return RunFolder(path.parent).write(path.name, text)


def page(found: History, nights: str = ".") -> Iterator[str]:
    """The text of trend.html, in pieces; `nights` is where the nights' folders are, seen from the page."""
    shown = found.nights
    charts = [chart(shown, measure, kind) for measure, kind in history.measures(shown).items()]
    template = template_environment("judge.nightly").get_template("trend.html.jinja")
    yield from template.generate(
        policy=content_security_policy(read_own_files(*SCRIPTS), read_own_files(*_STYLE)),
        style=read_own_files(*_STYLE),
        script=read_own_files(*SCRIPTS),
        headline=headline(shown),
        reasons=reasons(shown[-1]) if shown else (),
        drawn=drawn(shown, NIGHTS),
        charts=[each for each in (*charts, canaries(shown)) if each],
        lines=_lines(shown, nights),
        stored=any(each.en == each.zh for night in shown for each in reasons(night)),
        damaged=[truncate_with_ellipsis(each, SENTENCE) for each in found.damaged],
        unfinished=[unfinished(day) for day in found.begun],
    )


def _lines(nights: Sequence[Night], where: str) -> list[Line]:
    """The nights, the last first."""
    prefix = "" if where == "." else f"{quote(where)}/"
    lines = [
        Line(
            each.day.isoformat(),
            f"{prefix}{each.day}/report.html" if each.coverage is not None else "",
            STATUS[each.status],
            EXITS[each.status] == 0,
            tuple(CHANGED[change][1] for change in changed),
            reasons(each),
            f"{each.queries:,}",
            format_number(each.coverage, ".1%"),
            format_number(each.canaries.unchanged if each.canaries else None, ".1%"),
            format_number(each.usd, ".4f"),
        )
        for each, changed in zip(nights, history.changes(nights), strict=True)
    ]
    return lines[::-1]
