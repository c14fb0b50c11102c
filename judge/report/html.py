"""report.html: one file with the answer, the charts and the queries. It loads nothing from elsewhere.

The same input gives the same bytes. All that is shown is untrusted: the page escapes text where it enters,
and a script puts the texts of queries and snippets into text nodes.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path, PurePath
from typing import Self

from markupsafe import Markup

from judge.analysis.summary import Summary
from judge.errors import JUDGMENT_ERRORS
from judge.flags import FLAGS, UNKNOWN_TEXT
from judge.injection.patterns import INJECTION_FLAGS
from judge.messages import Bilingual, Translator, build_text, build_texts, make_text
from judge.report import assessor_sentences, facts, result_tables, run_warnings
from judge.report.charts import ChartData, draw_charts
from judge.report.charts.svg import GRADE_NAMES
from judge.report.comparison_sentences import (
    MAX_COMPARISONS,
    choose_headline,
    describe_deciding_queries,
    describe_difference,
    describe_power,
    describe_segment_differences,
    explain_no_number,
)
from judge.report.display_text import (
    fit_on_line,
    make_labels,
    name_dimension,
    translate_remark,
    use_display_names,
)
from judge.report.facts import NightBanner, ReportExtras
from judge.report.pages import render_page
from judge.report.payload import PageLimits, PageQueries, dump_script_json
from judge.runs.folder import RunFolder
from judge.runs.load import RecordedConfig, load_agreement, load_labelled_order, read_config_if_there
from judge.runs.record_json import RenamedKey, load_record
from judge.runs.results_file import ALL_INDICES, QueryEntry, ReadQueries

_STYLE = tuple(("judge.report", file_name) for file_name in ("look.css", "report.css", "charts.css"))
#: Package and name of each script, in the order of the page; `.ci/javascript/report.json` lists them too.
REPORT_SCRIPTS = tuple(
    ("judge.report", f"{file_name}.js")
    for file_name in ("dom", "messages", "display", "payload", "query", "browser", "report")
)


class ReportQueries:
    """What the report needs of the queries of results.json, which `read` yields.

    Each is added once, in reading order. Where they exceed the `limits`, the page holds a stated sample of
    them, which it reads again.
    """

    def __init__(self, summary: Summary, read: ReadQueries, limits: PageLimits | None = None) -> None:
        self.read = read
        self.charts = ChartData(summary)
        self.page = PageQueries(summary, limits or PageLimits())
        self.languages: set[str] = set()

    @classmethod
    def from_entries(cls, summary: Summary, read: ReadQueries, limits: PageLimits | None = None) -> Self:
        """Return what the report needs of all queries that `read` yields."""
        queries = cls(summary, read, limits)
        for entry in read(ALL_INDICES):
            queries.add(entry)
        return queries

    def add(self, entry: QueryEntry) -> None:
        """Add the next query."""
        self.charts.add(entry)
        self.page.add(entry)
        self.languages.add(entry.lang)


def write_report(folder: RunFolder, summary: Summary, queries: ReportQueries) -> Path:
    """Write report.html into the folder of a run and return its path.

    The report shows agreement with people when the folder has an agreement.json or labelled_order.json about
    these grades, and the decision of the night when the run belongs to one.
    """
    page = render_report(folder.path.name, summary, queries, read_extras(folder, summary))
    return folder.write("report.html", page)


def read_extras(folder: RunFolder, summary: Summary) -> ReportExtras:
    """Return the contents of the files beside the summary, where they exist."""
    agreement, order = load_agreement(folder), load_labelled_order(folder)
    config = read_config_if_there(folder) or RecordedConfig()
    inputs, source = config.inputs, config.options.data or config.options.topics
    renamed = RenamedKey((), "band", "banner")  # of version 1
    night = load_record(folder, "night.json", NightBanner, [renamed]) or NightBanner()
    return ReportExtras(
        agreement if agreement and agreement.grades == summary.grades else None,
        order if order and order.grades == summary.grades else None,
        prompts=inputs.prompts,
        dataset=tuple(filter(None, (PurePath(source).name if source else "", inputs.dataset))),
        night=night,
        min_coverage=config.options.min_coverage,
    )


def render_report(
    run: str, summary: Summary, queries: ReportQueries, extras: ReportExtras | None = None
) -> Iterator[str]:
    """Yield the text of report.html in pieces."""
    extras = extras or ReportExtras()
    page_data = queries.page.select(queries.read)
    named_summary = use_display_names(summary)
    if extras.night.banner:  # it says why the night stopped
        named_summary = replace(named_summary, stopped={})
    comparison_tables = list(result_tables.iter_comparison_tables(named_summary))
    yield from render_page(
        "judge.report",
        "report.html.jinja",
        _STYLE,
        REPORT_SCRIPTS,
        run=fit_on_line(run),
        night_exit=extras.night.exit,
        night_banner=extras.night.banner,
        missing=build_texts(_warn_missing, named_summary, extras.min_coverage),
        headline=build_text(choose_headline, named_summary),
        segments=build_texts(describe_segment_differences, named_summary),
        alarms=build_texts(_iter_alarms, named_summary),
        differences=build_texts(_describe_differences, named_summary),
        engines=result_tables.make_engines_table(named_summary),
        returns=result_tables.make_returns_table(named_summary),
        warnings=build_texts(run_warnings.iter_page_warnings, named_summary, extras.min_coverage),
        facts=list(facts.iter_facts(summary, extras, queries.languages)),
        charts=draw_charts(summary, queries.charts, extras.agreement),
        comparison_tables=comparison_tables,
        comparison_notes=result_tables.list_comparison_notes(comparison_tables),
        segment_tables=list(result_tables.iter_segment_tables(named_summary)),
        dimensions=list(_iter_dimensions(named_summary)),
        deciding_queries=named_summary.deciding_queries,
        deciding_note=build_text(describe_deciding_queries, named_summary),
        sampled=facts.describe_sample(page_data),
        header=_make_payload_header(run, summary),
        # The queries are packed as JSON that is safe inside a script.
        queries=Markup(",\n".join(page_data.lines)),  # noqa: S704
    )


def _warn_missing(t: Translator, summary: Summary, min_coverage: float) -> Iterator[str]:
    """Yield what comes first: results or grades are missing."""
    yield run_warnings.warn_incomplete(t, summary, min_coverage)
    yield from map(t, run_warnings.warn_without_results(summary))


def _iter_alarms(t: Translator, summary: Summary) -> Iterator[str]:
    """Yield why the answer may be wrong."""
    yield run_warnings.warn_flagged(t, summary)
    yield from run_warnings.warn_unreliable(t, summary)
    yield assessor_sentences.warn_false_positives(t, summary)


def _describe_differences(t: Translator, summary: Summary) -> Iterator[str]:
    """Yield the first comparisons, as the terminal does, and the power of the tests."""
    if deciding := summary.deciding_measure:
        rows = summary.select_comparisons(deciding)[:MAX_COMPARISONS]
        yield from (describe_difference(t, row) for row in rows)
        yield explain_no_number(t, rows)
        yield describe_power(t, summary)


def _iter_dimensions(summary: Summary) -> Iterator[tuple[object, ...]]:
    """Yield the title, the tables, the remarks and the notes with their texts of each dimension."""
    order = summary.sort_engines(summary.main_measure)
    for name, dimension in summary.dimensions.items():
        tables = list(result_tables.iter_dimension_tables(name, dimension, order))
        remarks = [build_text(translate_remark, remark) for remark in dimension.remarks]
        notes = [(note, Bilingual(*map(fit_on_line, make_text(note.text)))) for note in dimension.notes]
        yield build_text(name_dimension, name), tables, remarks, notes


def _make_payload_header(run: str, summary: Summary) -> Markup:
    """Return the header of the data of the query browser; `order` has the engines' indexes, best first."""
    engines, deciding = list(summary.engines), summary.main_measure
    header = {
        "run": fit_on_line(run),
        "engines": list(make_labels(engines).values()),
        "order": list(map(engines.index, summary.sort_engines(deciding))),
        "measures": summary.measures,
        "deciding": summary.measures.index(deciding),
        "grades": GRADE_NAMES[summary.scale],
        "relevant_from": summary.relevant_from,
        "errors": {kind: make_text(text) for kind, text in JUDGMENT_ERRORS.items()},
        "flags": {flag: make_text(text) for flag, text in FLAGS.items()},
        "suspicious": sorted(INJECTION_FLAGS),
        "no_text": sorted(UNKNOWN_TEXT),
    }
    return dump_script_json(header)
