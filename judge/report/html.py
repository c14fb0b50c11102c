"""Owns report.html: one file that holds the answer, the charts and every query, and asks nobody for anything.

Same input, same bytes. Everything shown is untrusted: text is escaped where it enters the page, and the
reading room's texts are data that a script puts into text nodes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from markupsafe import Markup

from judge.dataset.injection import INJECTION_FLAGS
from judge.report import sentences, warning_sentences, words_zh
from judge.report.charts import Said, draw_charts
from judge.report.charts.svg import GRADE_NAMES
from judge.report.display_text import make_labels, one_line, use_display_names
from judge.report.page import kind_names, statements, tables
from judge.report.page.payload import (
    Entries,
    PageBudget,
    PageData,
    PayloadSchema,
    dump_script_json,
    select_queries,
)
from judge.report.page.shell import content_security_policy, read_own_files, template_environment
from judge.report.page.statements import list_warnings

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


def render_report(
    run: str,
    summary: Row,
    entries: Entries,
    beside: ReportExtras | None = None,
    budget: PageBudget | None = None,
) -> Iterator[str]:
    """The text of report.html, in pieces.

    `summary` is what summary.json holds; `entries` gives results.json's queries, anew each time it is
    called. Where they are more than the `budget` allows, the page takes a stated sample of them.
    """
    beside = beside or ReportExtras()
    engines = list(summary["engines"])
    measures = list(summary["measures"])
    deciding = sentences.deciding(summary) or measures[0]
    shape = PayloadSchema(engines, measures, summary["depth"])
    room = select_queries(entries, shape, deciding, budget or PageBudget())
    shown = use_display_names(summary)
    template = template_environment("judge.report").get_template("report.html.jinja")
    yield from template.generate(
        run=one_line(run),
        policy=content_security_policy(read_own_files(*_SCRIPT), read_own_files(*_STYLE)),
        style=read_own_files(*_STYLE),
        script=read_own_files(*_SCRIPT),
        night=beside.night,
        band=[Said(**said) for said in beside.night.get("band", ())],
        headline=_headline(shown),
        segments=_segments(shown),
        alarm=warning_sentences.alarm(shown),
        differences=_differences(shown),
        engines=tables.engines_table(shown),
        minds=list(list_warnings(shown)),
        facts=list(statements.list_facts(summary, beside.agreement, beside.config)),
        charts=draw_charts(summary, entries(), beside.agreement),
        pairs=list(tables.pair_tables(shown)),
        slices=list(tables.segment_tables(shown)),
        deciding_queries=shown["deciding_queries"],
        sampled=statements.describe_sample(room),
        room=room,
        data=_data(run, summary, deciding, room),
    )


def _headline(summary: Row) -> Said:
    """The answer in a sentence, or why there is nothing to compare."""
    if sentences.deciding(summary):
        return Said(sentences.headline(summary), words_zh.headline(summary))
    count = len(summary["engines"])
    if count < 2:
        said = f"{sentences.format_count(count, 'engine')}: nothing to compare."
        return Said(said, f"只有 {count} 个引擎，没有可比的。")
    return Said(
        f"{count} engines, and no measure that engines can be compared by.",
        f"有 {count} 个引擎，但没有可以用来比较引擎的指标。",
    )


def _segments(summary: Row) -> Sequence[Said]:
    """Return what stands under the headline: segments that other engines win, leads that differ."""
    both = zip(sentences.by_segment(summary), words_zh.by_segment(summary), strict=True)
    return [Said(english, chinese) for english, chinese in both]


def _differences(summary: Row) -> Sequence[Said]:
    """How the engine with the highest mean compares with the others."""
    deciding = sentences.deciding(summary)
    if not deciding:
        return []
    best = sentences.standing(summary, deciding)[0]
    rows = [
        row for row in summary["comparisons"] if row["measure"] == deciding and best in (row["a"], row["b"])
    ]
    return [Said(sentences.difference(row), words_zh.difference(row)) for row in rows[:_SENTENCES]]


def _data(run: str, summary: Row, deciding: str, room: PageData) -> Iterator[Markup]:
    """The reading room's data as JSON, a line a query."""
    head = {
        "run": one_line(run),
        "engines": list(make_labels(summary["engines"]).values()),
        "order": _order(summary, deciding),
        "measures": list(summary["measures"]),
        "deciding": list(summary["measures"]).index(deciding),
        "grades": GRADE_NAMES[summary["scale"]],
        "from": summary["relevant_from"],
        "errors": kind_names.ERRORS,
        "flags": kind_names.FLAGS,
        "suspicious": sorted(INJECTION_FLAGS),
    }
    yield Markup('{"head":' + dump_script_json(head) + ',\n"queries":[\n')  # noqa: S704
    yield Markup(",\n".join(room.lines))  # noqa: S704
    yield Markup("\n]}")


def _order(summary: Row, deciding: str) -> list[int]:
    """The places of the engines, best first."""
    places = {engine: place for place, engine in enumerate(summary["engines"])}
    return [places[engine] for engine in sentences.standing(summary, deciding)]
