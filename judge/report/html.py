"""report.html: one file with the answer, the charts and the queries. It loads nothing from elsewhere.

The same input gives the same bytes. All that is shown is untrusted: the page escapes text where it enters,
and a script puts the texts of queries and snippets into text nodes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from markupsafe import Markup

from judge.dataset.injection import INJECTION_FLAGS
from judge.messages import CHINESE, ENGLISH, Text, Translator, in_both, text
from judge.report import sentences, warning_sentences
from judge.report.charts import draw_charts
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

_STYLE = tuple(("judge.report", file_name) for file_name in ("look.css", "report.css", "charts.css"))
#: Package and name of each script, in the order of the page; `.ci/javascript/report.json` lists them too.
SCRIPTS = tuple(
    ("judge.report", f"{file_name}.js")
    for file_name in ("dom", "messages", "display", "payload", "query", "browser", "report")
)


Row = Mapping[str, Any]

#: How many comparisons stand as sentences under the answer.
_SENTENCES = 6


@dataclass(frozen=True, slots=True)
class ReportExtras:
    """The contents of agreement.json, config.json and night.json in the run folder, where they exist."""

    agreement: Row | None = None
    config: Row = field(default_factory=dict)
    night: Row = field(default_factory=dict)


def render_report(
    run: str,
    summary: Row,
    entries: Entries,
    extras: ReportExtras | None = None,
    budget: PageBudget | None = None,
) -> Iterator[str]:
    """Yield the text of report.html in pieces.

    `summary` is the content of summary.json. `entries` yields the queries of results.json from the start each
    time it is called. Where they exceed the `budget`, the page holds a stated sample of them.
    """
    extras = extras or ReportExtras()
    engines = list(summary["engines"])
    measures = list(summary["measures"])
    deciding = sentences.deciding(summary) or measures[0]
    shape = PayloadSchema(engines, measures, summary["depth"])
    page_data = select_queries(entries, shape, deciding, budget or PageBudget())
    named_summary = use_display_names(summary)
    template = template_environment("judge.report").get_template("report.html.jinja")
    yield from template.generate(
        run=one_line(run),
        policy=content_security_policy(read_own_files(*SCRIPTS), read_own_files(*_STYLE)),
        style=read_own_files(*_STYLE),
        script=read_own_files(*SCRIPTS),
        night=extras.night,
        banner=[Text(**sentence) for sentence in extras.night.get("banner") or extras.night.get("band", ())],
        headline=_headline(named_summary),
        segments=_segments(named_summary),
        alarm=warning_sentences.alarm(named_summary),
        differences=_differences(named_summary),
        engines=tables.engines_table(named_summary),
        warnings=list(list_warnings(named_summary)),
        facts=list(statements.list_facts(summary, extras.agreement, extras.config)),
        charts=draw_charts(summary, entries(), extras.agreement),
        pairs=list(tables.pair_tables(named_summary)),
        slices=list(tables.segment_tables(named_summary)),
        deciding_queries=named_summary["deciding_queries"],
        sampled=statements.describe_sample(page_data),
        data=_data(run, summary, deciding, page_data),
    )


def _headline(summary: Row) -> Text:
    """Return the answer in a sentence, or why there is nothing to compare."""
    if sentences.deciding(summary):
        return in_both(sentences.headline, summary)
    count = len(summary["engines"])
    if count < 2:
        return in_both(_nothing_to_compare, count)
    return text("{count} engines, and no measure that engines can be compared by.", count=count)


def _nothing_to_compare(t: Translator, count: int) -> str:
    return t.plural("{count} engine: nothing to compare.", "{count} engines: nothing to compare.", count)


def _segments(summary: Row) -> Sequence[Text]:
    """Return what stands under the headline: segments that other engines win, leads that differ."""
    return list(map(Text, *(sentences.by_segment(t, summary) for t in (ENGLISH, CHINESE))))


def _differences(summary: Row) -> Sequence[Text]:
    """Return how the engine with the highest mean compares with the others."""
    deciding = sentences.deciding(summary)
    if not deciding:
        return []
    best = sentences.standing(summary, deciding)[0]
    rows = [
        row for row in summary["comparisons"] if row["measure"] == deciding and best in (row["a"], row["b"])
    ]
    return [in_both(sentences.difference, row) for row in rows[:_SENTENCES]]


def _data(run: str, summary: Row, deciding: str, page_data: PageData) -> Iterator[Markup]:
    """Yield the data of the query browser as JSON, a line for each query."""
    head = {
        "run": one_line(run),
        "engines": list(make_labels(summary["engines"]).values()),
        "order": _order(summary, deciding),
        "measures": list(summary["measures"]),
        "deciding": list(summary["measures"]).index(deciding),
        "grades": GRADE_NAMES[summary["scale"]],
        "relevant_from": summary["relevant_from"],
        "errors": kind_names.ERRORS,
        "flags": kind_names.FLAGS,
        "suspicious": sorted(INJECTION_FLAGS),
    }
    yield Markup('{"header":' + dump_script_json(head) + ',\n"queries":[\n')  # noqa: S704
    yield Markup(",\n".join(page_data.lines))  # noqa: S704
    yield Markup("\n]}")


def _order(summary: Row, deciding: str) -> list[int]:
    """Return the indexes of the engines, best first."""
    places = {engine: place for place, engine in enumerate(summary["engines"])}
    return [places[engine] for engine in sentences.standing(summary, deciding)]
