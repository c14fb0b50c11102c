"""Owns report.html: one file that holds the answer, the charts and every query, and asks nobody for anything.

Same input, same bytes. Everything shown is untrusted: text is escaped where it enters the page, and the
reading room's texts are data that a script puts into text nodes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from markupsafe import Markup

from judge.analysis import warnings
from judge.dataset.injection import INJECTION_FLAGS
from judge.report import words, words_zh
from judge.report.charts import Text, charts
from judge.report.charts.chart_texts import GRADES
from judge.report.page import about, kind_names, tables
from judge.report.page.caveats import mind
from judge.report.page.display_names import labels, named
from judge.report.page.payload import PayloadSchema, as_json
from judge.report.page.sampling import Budget, Entries, PageData, gather
from judge.report.page.sanitize import name
from judge.report.page.shell import environment, own, policy

_STYLE = tuple(("judge.report", each) for each in ("look.css", "report.css", "charts.css"))
_SCRIPT = tuple(("judge.report", f"{each}.js") for each in ("texts", "data", "query", "room", "report"))


Row = Mapping[str, Any]

#: How many comparisons stand as sentences under the answer.
_SENTENCES = 6


@dataclass(frozen=True, slots=True)
class ReportExtras:
    """What agreement.json, config.json and night.json in the run's folder hold, where there are such."""

    agreement: Row | None = None
    config: Row = field(default_factory=dict)
    night: Row = field(default_factory=dict)


def page(
    run: str, summary: Row, entries: Entries, beside: ReportExtras | None = None, budget: Budget | None = None
) -> Iterator[str]:
    """The text of report.html, in pieces.

    `summary` is what summary.json holds; `entries` gives results.json's queries, anew each time it is
    called. Where they are more than the `budget` allows, the page takes a stated sample of them.
    """
    beside = beside or ReportExtras()
    engines = list(summary["engines"])
    measures = list(summary["measures"])
    deciding = words.deciding(summary) or measures[0]
    shape = PayloadSchema(engines, measures, summary["depth"])
    room = gather(entries, shape, deciding, budget or Budget())
    shown = named(summary)
    template = environment("judge.report").get_template("report.html.jinja")
    yield from template.generate(
        run=name(run),
        policy=policy(own(*_SCRIPT), own(*_STYLE)),
        style=own(*_STYLE),
        script=own(*_SCRIPT),
        night=beside.night,
        # Version 1 of night.json calls the banner "band".
        band=[Text(**said) for said in beside.night.get("banner") or beside.night.get("band", ())],
        headline=_headline(shown),
        segments=_segments(shown),
        alarm=warnings.alarm(shown),
        differences=_differences(shown),
        engines=tables.engines(shown),
        minds=list(mind(shown)),
        facts=list(about.about(summary, beside.agreement, beside.config)),
        charts=charts(summary, entries(), beside.agreement),
        pairs=list(tables.pairs(shown)),
        slices=list(tables.slices(shown)),
        deciding_queries=shown["deciding_queries"],
        sampled=about.sampled(room),
        room=room,
        data=_data(run, summary, deciding, room),
    )


def _headline(summary: Row) -> Text:
    """The answer in a sentence, or why there is nothing to compare."""
    if words.deciding(summary):
        return Text(words.headline(summary), words_zh.headline(summary))
    count = len(summary["engines"])
    if count < 2:
        said = f"{words.counted(count, 'engine')}: nothing to compare."
        return Text(said, f"只有 {count} 个引擎，没有可比的。")
    return Text(
        f"{count} engines, and no measure that engines can be compared by.",
        f"有 {count} 个引擎，但没有可以用来比较引擎的指标。",
    )


def _segments(summary: Row) -> Sequence[Text]:
    """Return what stands under the headline: segments that other engines win, leads that differ."""
    both = zip(words.by_segment(summary), words_zh.by_segment(summary), strict=True)
    return [Text(english, chinese) for english, chinese in both]


def _differences(summary: Row) -> Sequence[Text]:
    """How the engine with the highest mean compares with the others."""
    deciding = words.deciding(summary)
    if not deciding:
        return []
    best = words.standing(summary, deciding)[0]
    rows = [
        row for row in summary["comparisons"] if row["measure"] == deciding and best in (row["a"], row["b"])
    ]
    return [Text(words.difference(row), words_zh.difference(row)) for row in rows[:_SENTENCES]]


def _data(run: str, summary: Row, deciding: str, room: PageData) -> Iterator[Markup]:
    """The reading room's data as JSON, a line a query."""
    head = {
        "run": name(run),
        "engines": list(labels(summary["engines"]).values()),
        "order": _order(summary, deciding),
        "measures": list(summary["measures"]),
        "deciding": list(summary["measures"]).index(deciding),
        "grades": GRADES[summary["scale"]],
        "from": summary["relevant_from"],
        "errors": kind_names.ERRORS,
        "flags": kind_names.FLAGS,
        "suspicious": sorted(INJECTION_FLAGS),
    }
    yield Markup('{"head":' + as_json(head) + ',\n"queries":[\n')  # noqa: S704
    yield Markup(",\n".join(room.lines))  # noqa: S704
    yield Markup("\n]}")


def _order(summary: Row, deciding: str) -> list[int]:
    """The places of the engines, best first."""
    places = {engine: place for place, engine in enumerate(summary["engines"])}
    return [places[engine] for engine in words.standing(summary, deciding)]
