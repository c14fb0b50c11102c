"""The page of the trend (`trend.html`): one file with every night and what changed when, without requests.

The same nights give the same bytes. Names are untrusted: text is escaped where it enters the page.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from os.path import relpath
from pathlib import Path
from urllib.parse import quote

from judge.errors import InputError
from judge.messages import Text, in_both
from judge.nightly.night_texts import (
    CHANGE_TEXTS,
    SENTENCE_LENGTH,
    STATUS_TEXTS,
    describe_reasons,
    describe_shown_nights,
    describe_unfinished,
    headline,
)
from judge.nightly.record import EXIT_CODES, NightRecord
from judge.nightly.trend import History, find_changes, read_history, trend_measures
from judge.nightly.trend_chart import NIGHTS, draw_canaries, draw_measure
from judge.report.display_text import truncate_with_ellipsis
from judge.report.number_texts import format_number
from judge.report.page.shell import build_content_policy, open_templates, read_own_files
from judge.runs.folder import RunFolder

PAGE_FILE = "trend.html"
_STYLE = (
    *(("judge.report", f"{name}.css") for name in ("look", "report", "charts")),
    ("judge.nightly", "trend.css"),
)
#: Package and name of each script, in the order of the page; `.ci/javascript/trend.json` lists them too.
SCRIPTS = (
    *(("judge.report", f"{each}.js") for each in ("dom", "messages", "display")),
    ("judge.nightly", "trend.js"),
)


@dataclass(frozen=True, slots=True)
class _NightLine:
    """A night as the table shows it; `link` leads to its report, empty without one."""

    day: str
    link: str
    status: Text
    ok: bool
    changed: tuple[Text, ...]
    reasons: tuple[Text, ...]
    queries: str
    coverage: str
    unchanged: str
    usd: str


def write_trend_page(folder: Path, out: Path | None = None) -> Path:
    """Write trend.html of the nights in `folder`, there or as `out`, and return its path.

    Raises InputError when there is no night or no folder to write to, StoreError when the disk is full.
    """
    path = out or folder / PAGE_FILE
    if not path.parent.is_dir():
        raise InputError(
            "{file}: there is no folder {folder!r}; make it first", file=path, folder=str(path.parent)
        )
    text = render_trend_page(read_history(folder), relpath(folder, path.parent))
    return RunFolder(path.parent).write(path.name, text)


def render_trend_page(history: History, nights_folder: str = ".") -> Iterator[str]:
    """Yield the text of trend.html in pieces; `nights_folder` is relative to the page."""
    nights = history.nights
    charts = [draw_measure(nights, measure, kind) for measure, kind in trend_measures(nights).items()]
    template = open_templates("judge.nightly").get_template("trend.html.jinja")
    yield from template.generate(
        policy=build_content_policy(read_own_files(*SCRIPTS), read_own_files(*_STYLE)),
        style=read_own_files(*_STYLE),
        script=read_own_files(*SCRIPTS),
        headline=headline(nights),
        reasons=describe_reasons(nights[-1]) if nights else (),
        shown_nights=describe_shown_nights(nights, NIGHTS),
        charts=[chart for chart in (*charts, draw_canaries(nights)) if chart],
        lines=_night_lines(nights, nights_folder),
        has_stored=any(text.en == text.zh for night in nights for text in describe_reasons(night)),
        damaged=[truncate_with_ellipsis(sentence, SENTENCE_LENGTH) for sentence in history.damaged],
        unfinished=[in_both(describe_unfinished, day) for day in history.begun],
    )


def _night_lines(nights: Sequence[NightRecord], folder: str) -> list[_NightLine]:
    """Return the nights, the last first."""
    prefix = "" if folder == "." else f"{quote(folder)}/"
    lines = [
        _NightLine(
            day=night.date.isoformat(),
            link=f"{prefix}{night.date}/report.html" if night.coverage is not None else "",
            status=STATUS_TEXTS[night.status],
            ok=EXIT_CODES[night.status] == 0,
            changed=tuple(CHANGE_TEXTS[change][1] for change in changed),
            reasons=describe_reasons(night),
            queries=f"{night.queries:,}",
            coverage=format_number(night.coverage, ".1%"),
            unchanged=format_number(night.canaries.unchanged if night.canaries else None, ".1%"),
            usd=format_number(night.cost_total.usd if night.cost_total else None, ".4f"),
        )
        for night, changed in zip(nights, find_changes(nights), strict=True)
    ]
    return lines[::-1]
