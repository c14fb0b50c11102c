"""Owns trend.html: one file that shows every night, what changed when, and asks nobody for anything.

Same nights, same bytes. Names are untrusted: text is escaped where it enters the page.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from os.path import relpath
from pathlib import Path
from urllib.parse import quote

from judge.errors import InputError
from judge.nightly import history
from judge.nightly.history import History, Night
from judge.nightly.trend_chart import CHANGED, canaries, chart
from judge.report.charts import Said
from judge.report.charts.texts import fixed
from judge.report.page.frame import environment, own, policy
from judge.report.page.legible import isolated, short
from judge.report.rundir import RunFolder

NAME = "trend.html"
STATUS: Mapping[str, Said] = {
    "fine": Said("fine", "正常"),
    "regression": Said("regression", "退步"),
    "incomplete": Said("incomplete", "不完整"),
    "judge drift": Said("judge drift", "评测员漂移"),
    "no baseline": Said("no baseline", "没有基线"),
    "different queries": Said("different queries", "查询不同"),
}
_STYLE = (("judge.report", "report.css"), ("judge.report", "charts.css"), ("judge.nightly", "trend.css"))
_SCRIPT = (("judge.report", "texts.js"), ("judge.nightly", "trend.js"))

_QUIET = frozenset({"fine", "no baseline"})
_REASON = 300


@dataclass(frozen=True, slots=True)
class Line:
    """A night as the table shows it; `link` leads to its report, if it has one."""

    day: str
    link: str
    status: Said
    quiet: bool
    changed: tuple[Said, ...]
    because: tuple[str, ...]
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
    template = environment("judge.nightly").get_template("trend.html.jinja")
    yield from template.generate(
        policy=policy(own(*_SCRIPT), own(*_STYLE)),
        style=own(*_STYLE),
        script=own(*_SCRIPT),
        headline=_headline(shown),
        reasons=_reasons(shown[-1]) if shown else [],
        charts=[each for each in (*charts, canaries(shown)) if each],
        lines=_lines(shown, nights),
        damaged=[short(each, _REASON) for each in found.damaged],
    )


def _headline(nights: Sequence[Night]) -> Said:
    """How the last night went."""
    if not nights:
        return Said("No night can be read.", "没有一晚可以读取。")
    last = nights[-1]
    status = STATUS[last.status]
    en, zh = f"{last.day}: {status.en}", f"{last.day}：{status.zh}"
    if last.regressed:
        who = [isolated(engine) for engine in sorted(last.regressed)]
        en, zh = f"{en} of {', '.join(who)}", f"{zh}：{'、'.join(who)}"
    return Said(f"{en}.", f"{zh}。")


def _reasons(night: Night) -> list[str]:
    return [short(each, _REASON) for each in night.because]


def _lines(nights: Sequence[Night], where: str) -> list[Line]:
    """The nights, the last first."""
    prefix = "" if where == "." else f"{quote(where)}/"
    lines = [
        Line(
            each.day.isoformat(),
            f"{prefix}{each.day}/report.html" if each.coverage is not None else "",
            STATUS[each.status],
            each.status in _QUIET,
            tuple(CHANGED[change][1] for change in changed),
            tuple(_reasons(each)),
            f"{each.queries:,}",
            fixed(each.coverage, ".1%"),
            fixed(each.canaries.unchanged if each.canaries else None, ".1%"),
            fixed(each.usd, ".4f"),
        )
        for each, changed in zip(nights, history.changes(nights), strict=True)
    ]
    return lines[::-1]
