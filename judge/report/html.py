"""Owns report.html: one file that holds the answer, the charts and every query, and asks nobody for anything.

Same input, same bytes. Everything shown is untrusted: text is escaped where it enters the page, and the
query browser's texts are data that a script puts into text nodes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from markupsafe import Markup

from judge.dataset.suspicion import SUSPICIOUS
from judge.report import trust, words, words_zh
from judge.report.charts import Said, charts
from judge.report.charts.texts import GRADES
from judge.report.page import about, kinds, tables
from judge.report.page.frame import environment, own, policy
from judge.report.page.legible import name
from judge.report.page.mind import mind
from judge.report.page.names import labels, named
from judge.report.page.packing import Shape, as_json
from judge.report.page.sample import Budget, Entries, Room, gather

_STYLE = tuple(("judge.report", each) for each in ("look.css", "report.css", "charts.css"))
#: Package and name of each script, in the order of the page; `.ci/javascript/report.json` lists them too.
SCRIPTS = tuple(
    ("judge.report", f"{each}.js")
    for each in ("dom", "messages", "display", "payload", "query", "browser", "report")
)


Row = Mapping[str, Any]

#: How many comparisons stand as sentences under the answer.
_SENTENCES = 6


@dataclass(frozen=True, slots=True)
class Beside:
    """What agreement.json, config.json and night.json in the run's folder hold, where there are such."""

    agreement: Row | None = None
    config: Row = field(default_factory=dict)
    night: Row = field(default_factory=dict)


def page(
    run: str, summary: Row, entries: Entries, beside: Beside | None = None, budget: Budget | None = None
) -> Iterator[str]:
    """The text of report.html, in pieces.

    `summary` is what summary.json holds; `entries` gives results.json's queries, anew each time it is
    called. Where they are more than the `budget` allows, the page takes a stated sample of them.
    """
    beside = beside or Beside()
    engines = list(summary["engines"])
    measures = list(summary["measures"])
    deciding = words.deciding(summary) or measures[0]
    shape = Shape(engines, measures, summary["depth"])
    room = gather(entries, shape, deciding, budget or Budget())
    shown = named(summary)
    template = environment("judge.report").get_template("report.html.jinja")
    yield from template.generate(
        run=name(run),
        policy=policy(own(*SCRIPTS), own(*_STYLE)),
        style=own(*_STYLE),
        script=own(*SCRIPTS),
        night=beside.night,
        banner=[Said(**said) for said in beside.night.get("band", ())],
        headline=_headline(shown),
        segments=_segments(shown),
        alarm=trust.alarm(shown),
        differences=_differences(shown),
        engines=tables.engines(shown),
        warnings=list(mind(shown)),
        facts=list(about.about(summary, beside.agreement, beside.config)),
        charts=charts(summary, entries(), beside.agreement),
        pairs=list(tables.pairs(shown)),
        slices=list(tables.slices(shown)),
        deciding_queries=shown["deciding_queries"],
        sampled=about.sampled(room),
        data=_data(run, summary, deciding, room),
    )


def _headline(summary: Row) -> Said:
    """The answer in a sentence, or why there is nothing to compare."""
    if words.deciding(summary):
        return Said(words.headline(summary), words_zh.headline(summary))
    count = len(summary["engines"])
    if count < 2:
        said = f"{words.counted(count, 'engine')}: nothing to compare."
        return Said(said, f"只有 {count} 个引擎，没有可比的。")
    return Said(
        f"{count} engines, and no measure that engines can be compared by.",
        f"有 {count} 个引擎，但没有可以用来比较引擎的指标。",
    )


def _segments(summary: Row) -> Sequence[Said]:
    """Return what stands under the headline: segments that other engines win, leads that differ."""
    both = zip(words.by_segment(summary), words_zh.by_segment(summary), strict=True)
    return [Said(english, chinese) for english, chinese in both]


def _differences(summary: Row) -> Sequence[Said]:
    """How the engine with the highest mean compares with the others."""
    deciding = words.deciding(summary)
    if not deciding:
        return []
    best = words.standing(summary, deciding)[0]
    rows = [
        row for row in summary["comparisons"] if row["measure"] == deciding and best in (row["a"], row["b"])
    ]
    return [Said(words.difference(row), words_zh.difference(row)) for row in rows[:_SENTENCES]]


def _data(run: str, summary: Row, deciding: str, room: Room) -> Iterator[Markup]:
    """The query browser's data as JSON, a line a query."""
    head = {
        "run": name(run),
        "engines": list(labels(summary["engines"]).values()),
        "order": _order(summary, deciding),
        "measures": list(summary["measures"]),
        "deciding": list(summary["measures"]).index(deciding),
        "grades": GRADES[summary["scale"]],
        "relevant_from": summary["relevant_from"],
        "errors": kinds.ERRORS,
        "flags": kinds.FLAGS,
        "suspicious": sorted(SUSPICIOUS),
    }
    yield Markup('{"header":' + as_json(head) + ',\n"queries":[\n')  # noqa: S704
    yield Markup(",\n".join(room.lines))  # noqa: S704
    yield Markup("\n]}")


def _order(summary: Row, deciding: str) -> list[int]:
    """The places of the engines, best first."""
    places = {engine: place for place, engine in enumerate(summary["engines"])}
    return [places[engine] for engine in words.standing(summary, deciding)]
