"""Facts, warnings and tables of the report: how the run was judged, how stable it is, what it cost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from judge.analysis.label_agreement import LabelAgreement
from judge.analysis.planned_order import PlannedComparison
from judge.analysis.summary import DimensionMean, DimensionNote, Summary
from judge.measure.compare import PairComparison, describe_pair_outcome
from judge.measure.engine_summary import MeasureMean
from judge.measure.measures import name_mean
from judge.measure.ppi import CorrectedOutcome
from judge.measure.segments import SegmentMean, SegmentResult
from judge.messages import CHINESE, ENGLISH, Text, Translator, build_text, build_texts, make_text
from judge.pricing import RunCost
from judge.records import LEXICAL
from judge.report import assessor_sentences, sentences
from judge.report.display_text import (
    NOTHING,
    escape_hidden,
    fit_on_line,
    format_call_count,
    format_interval,
    format_number,
    format_p_value,
    format_range,
    format_run_cost,
    isolate,
)
from judge.report.payload import ERRORS, PageData

#: How many pairs of engines a table lists; summary.json has them all.
MAX_PAIRS = 60
#: The titles of the counts of what came back by field, and those that are shares.
COUNT_COLUMNS = {
    "answered": make_text("answered"),
    "empty": make_text("empty"),
    "errors": make_text("errors"),
    "absent": make_text("not asked"),
    "judged": make_text("judged"),
    "duplicates": make_text("duplicates"),
    "unique": make_text("unique"),
}
_SHARES = frozenset({"judged", "duplicates", "unique"})
_PAIR_HEAD = (
    make_text("pair"),
    make_text("result"),
    make_text("difference"),
    make_text("95% interval"),
    make_text("won/tied/lost"),
    make_text("p (adjusted)"),
    make_text("worst case"),
    make_text("detectable"),
)


class Fact(NamedTuple):
    """A fact about a run and its name."""

    label: Text
    texts: Sequence[Text]


@dataclass(frozen=True, slots=True)
class ReportExtras:
    """What a report shows besides the run: what labels say, how the run was asked, its night.

    `prompts` are the names of the prompts, `dataset` the file and the digest of the dataset, `night_exit`
    and `night_banner` the exit code of the night that the run belongs to, and the sentences on it.
    """

    agreement: LabelAgreement | None = None
    order: PlannedComparison | None = None
    prompts: tuple[str, ...] = ()
    dataset: tuple[str, ...] = ()
    night_exit: int = 0
    night_banner: tuple[Text, ...] = ()


def list_facts(summary: Summary, extras: ReportExtras) -> Iterator[Fact]:
    """Yield the facts: who judged what and how, stability, agreement with labels, cost."""
    yield Fact(make_text("assessor"), [repeat_in_both(fit_on_line(summary.assessor))])
    if extras.prompts:
        prompts = [*map(fit_on_line, extras.prompts)]
        yield Fact(make_text("prompt"), [build_text(Translator.list_names, prompts)])
    scale = make_text("graded: 0 to 3, relevant from {least}", least=summary.relevant_from)
    yield Fact(
        make_text("scale"), [make_text("binary: relevant or not") if summary.scale == "binary" else scale]
    )
    yield Fact(make_text("depth and repeats"), [build_text(_describe_depth, summary)])
    names = [repeat_in_both(" · ".join(map(fit_on_line, extras.dataset)))] if extras.dataset else []
    yield Fact(make_text("dataset"), [build_text(sentences.describe_dataset, summary), *names])
    if summary.stability:
        measure = summary.main_measure
        repeats = build_texts(assessor_sentences.describe_repeats, summary.stability, measure)
        yield Fact(make_text("stability"), repeats)
    for title, describe in (
        (make_text("self-test"), assessor_sentences.describe_selftests),
        (make_text("labels"), assessor_sentences.describe_labels),
        (make_text("controls"), assessor_sentences.describe_controls),
        (make_text("near-duplicates"), assessor_sentences.describe_near_duplicates),
    ):
        if values := _escape(build_texts(describe, summary)):
            yield Fact(title, values)
    if extras.agreement:
        warnings = _translate(extras.agreement.warnings)
        yield Fact(make_text("agreement with people"), [*_describe_agreement(extras.agreement), *warnings])
    if extras.order:
        warnings = _translate(extras.order.warnings)
        yield Fact(make_text("order by labels on drawn pairs"), [*_describe_order(extras.order), *warnings])
    if summary.cost:
        yield Fact(make_text("cost"), [build_text(_describe_cost, summary.cost)])


def _translate(messages: Iterable[str]) -> list[Text]:
    return _escape([Text(ENGLISH(message), CHINESE(message)) for message in messages])


def _escape(texts: Iterable[Text]) -> list[Text]:
    return [Text(*map(escape_hidden, each)) for each in texts]


def _describe_depth(t: Translator, summary: Summary) -> str:
    if summary.repeats == 1:
        return t("down to rank {depth}, each pair judged once", depth=summary.depth)
    return t("down to rank {run.depth}, each pair judged {run.repeats} times", run=summary)


def _describe_agreement(agreement: LabelAgreement) -> Iterator[Text]:
    kappa, same = agreement.kappa_relevant, agreement.same_verdict
    source = fit_on_line(agreement.labels)
    if kappa.value is None or same.value is None:
        why = build_text(assessor_sentences.explain_missing, kappa)
        yield make_text("unknown ({source}): {why}", source=source, why=why)
        return
    yield make_text(
        "relevant or not: the same on {same:.1%} of {pairs:,} pairs ({source}), kappa"
        " {kappa:.3f}{interval}; 0 is chance, 1 is perfect",
        same=same.value,
        pairs=agreement.pairs,
        source=source,
        kappa=kappa.value,
        interval=build_text(format_interval, kappa.ci95),
    )
    if kappa.ci95 and agreement.queries < assessor_sentences.FEW_FOR_BCA:
        yield build_text(assessor_sentences.warn_narrow_intervals)


#: Names of the outcomes of an order by labels.
OUTCOMES: Mapping[CorrectedOutcome, Text] = {
    "confirmed": make_text("confirmed"),
    "reversed": make_text("reversed"),
    "decided": make_text("decided"),
    "open": make_text("undecided"),
}


def _describe_order(order: PlannedComparison) -> Iterator[Text]:
    for row in order.comparisons:
        yield make_text(
            "{a} - {b} by {measure}: {difference}{interval} from {labels:,} labels; the assessor's"
            " order is {outcome}",
            a=isolate(row.a),
            b=isolate(row.b),
            measure=name_mean(order.measure),
            difference=format_number(row.difference, "+.4f"),
            interval=build_text(format_interval, row.ci95),
            labels=row.labelled,
            outcome=OUTCOMES[row.outcome],
        )


def _describe_cost(t: Translator, cost: RunCost) -> str:
    amount = format_run_cost(t, cost)
    calls = t(
        "{calls}, {cost.prompt_tokens:,} tokens in ({cost.cached_tokens:,} cached),"
        " {cost.completion_tokens:,} out",
        calls=format_call_count(t, cost.calls),
        cost=cost,
    )
    price = t("; price unknown") if amount is None else t(", {amount}", amount=amount) if amount else ""
    return calls + price + sentences.describe_unclear_calls(t, cost)


def describe_sample(page_data: PageData) -> Text | None:
    """Return a text that describes the sample on the page; None when the page holds every query."""
    if page_data.sample is None:
        return None
    return make_text(
        "A sample: {shown:,} of {page_data.queries_in_all:,} queries ({page_data.pairs:,} of"
        " {page_data.pairs_in_all:,} pairs), because all of them would make this page too large. {worst:,}"
        " have the lowest mean, {disagreeing:,} have the largest disagreement between engines or repeats,"
        " {random:,} were drawn at random. The answer and the charts use all queries, and results.json"
        " contains them.",
        shown=len(page_data.lines),
        page_data=page_data,
        **page_data.sample,
    )


def list_warnings(t: Translator, summary: Summary) -> Iterator[str]:
    """Yield the warnings, some of them empty, the most important first; `summary` has display names."""
    if summary.assessor.startswith(LEXICAL):
        yield t(
            "Judged by term overlap (lexical), not by a language model. A language model should do better."
            " Do not choose an engine by these figures."
        )
    yield assessor_sentences.describe_served_models(t, summary)
    yield from assessor_sentences.describe_assessors(t, summary)
    yield from _warn_unjudged(t, summary)
    yield from sentences.describe_limits(t, summary)
    yield from _warn_results(t, summary)
    yield from sentences.describe_undefined(t, summary)
    for measure, note in summary.notes.items():
        yield t("{measure}: {note}.", measure=measure, note=t(note))


def _warn_unjudged(t: Translator, summary: Summary) -> Iterator[str]:
    if summary.judged < summary.judgments:
        names = {kind: t(ERRORS[kind].en) if kind in ERRORS else kind for kind in summary.failures}
        failures = [
            t("{name} ({count:,})", name=names[kind], count=count) for kind, count in summary.failures.items()
        ]
        if (others := summary.judgments - summary.judged - sum(summary.failures.values())) > 0:
            failures.append(t("{name} ({count:,})", name=t("not judged yet"), count=others))
        yield t.translate_plural(
            "{count:,} of {run.judgments:,} judgments has no grade (coverage"
            " {run.coverage:.1%}){failures}. It does not count as “no”: its grade is imputed from"
            " similar judged snippets of the same query.{advice}",
            "{count:,} of {run.judgments:,} judgments have no grade (coverage"
            " {run.coverage:.1%}){failures}. They do not count as “no”: their grades are imputed from"
            " similar judged snippets of the same query.{advice}",
            summary.judgments - summary.judged,
            run=summary,
            failures=t(": {names}", names=t.join(failures)) if failures else "",
            advice=sentences.advise_on_failures(t, summary.failures),
        )
    yield from sentences.describe_open_means(t, summary)


def _warn_results(t: Translator, summary: Summary) -> Iterator[str]:
    errors = {engine: f"{row.errors:,}" for engine, row in summary.engines.items() if row.errors}
    if errors:
        yield t(
            "Queries on which an engine failed; its means and comparisons leave them out: {counts}.",
            counts=sentences.join_values(t, errors),
        )
    yield from (_translate_remark(t, remark) for remark in summary.remarks)
    if summary.flagged:
        flagged = {engine: f"{count:,}" for engine, count in summary.flagged.items()}
        yield t(
            "Snippets with text that seems to address the grader (their grades are unchanged): {counts}.",
            counts=sentences.join_values(t, flagged),
        )
        yield sentences.describe_flagged_effect(t, summary)
    yield sentences.describe_empty_snippets(t, summary)


class Cell(NamedTuple):
    """The text of a cell, and a text in small letters under it."""

    main: Text
    under: str = ""


def _translate_remark(t: Translator, remark: str) -> str:
    """Return a remark, which a file can hold in any form, as one that a page can show."""
    return escape_hidden(t(remark))


@dataclass(frozen=True, slots=True)
class PageTable:
    """A table whose rows begin with a name; `more` rows are left out."""

    caption: Text
    head: tuple[Text, ...]
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]
    more: int = 0


def repeat_in_both(text: str) -> Text:
    """Return a text that is the same in both languages."""
    return Text(text, text)


def format_cell(value: float | None, form: str = ".4f", under: str = "") -> Cell:
    """Return a cell with a number, or a dash."""
    return Cell(repeat_in_both(format_number(value, form)), under)


class ReturnColumn(NamedTuple):
    """A column of what came back: its title, the value of each engine, and their format."""

    title: Text
    values: Sequence[float | None]
    form: str


def list_return_columns(summary: Summary, counts: Iterable[str]) -> Iterator[ReturnColumn]:
    """Yield the columns of what came back, best engine first.

    They are those `counts` of `COUNT_COLUMNS` that are not 0 for all engines, then a reranker's scores,
    response times and tokens where known.
    """
    rows = [summary.engines[name] for name in summary.sort_engines(summary.main_measure)]
    for name in counts:
        values = [getattr(row, name) for row in rows]
        # The share of judged results is there at 0 too, because it is the coverage of the means.
        if any(value is not None if name == "judged" else value for value in values):
            yield ReturnColumn(COUNT_COLUMNS[name], values, ".1%" if name in _SHARES else ",")
    scores = [row.rerank_relevancy for row in rows]
    if any(scores):
        yield ReturnColumn(make_text("score mean"), [each.mean if each else None for each in scores], ".4f")
        yield ReturnColumn(make_text("score max"), [each.max if each else None for each in scores], ".4f")
    times, tokens = [row.latency_ms for row in rows], [row.tokens for row in rows]
    if any(times):
        yield ReturnColumn(make_text("ms median"), [each.median if each else None for each in times], ",.0f")
        yield ReturnColumn(make_text("ms p95"), [each.p95 if each else None for each in times], ",.0f")
        yield ReturnColumn(make_text("tokens"), [each.mean if each else None for each in tokens], ",.0f")


def make_engines_table(summary: Summary) -> PageTable:
    """Return one row for each engine, best first: means with intervals, and what the engine returned."""
    columns = list(list_return_columns(summary, COUNT_COLUMNS))
    measures = (repeat_in_both(name_mean(measure)) for measure in summary.measures)
    head = (make_text("engine"), *measures, make_text("queries"), *(column.title for column in columns))
    rows = []
    for at, engine in enumerate(summary.sort_engines(summary.main_measure)):
        means = summary.engines[engine].measures
        cells = [_format_mean(means[measure]) for measure in summary.measures]
        cells.append(format_cell(means[summary.main_measure].n, ","))
        cells += [format_cell(column.values[at], column.form) for column in columns]
        rows.append((engine, tuple(cells)))
    caption = make_text("Engines: means with 95% interval, and what came back")
    return PageTable(caption, head, tuple(rows))


def _format_mean(mean: MeasureMean | SegmentMean | DimensionMean) -> Cell:
    return format_cell(mean.mean, under=format_range(mean.ci95) if mean.ci95 else "")


def _format_mean_and_queries(mean: DimensionMean) -> Cell:
    cell = _format_mean(mean)
    return cell if mean.mean is None else cell._replace(under=f"{cell.under} n = {mean.queries:,}".lstrip())


def list_pair_tables(summary: Summary) -> Iterator[PageTable]:
    """Yield a table of all pairs of engines for each measure that compares engines."""
    deciding = summary.deciding_measure
    for measure in dict.fromkeys(row.measure for row in summary.comparisons):
        rows = summary.select_pairs(measure)
        caption = make_text("Pairs by {measure} (descriptive)", measure=name_mean(measure))
        if measure == deciding:
            caption = make_text("Pairs by {measure}", measure=name_mean(measure))
        first_rows = tuple((f"{row.a} − {row.b}", _list_pair_cells(row)) for row in rows[:MAX_PAIRS])
        yield PageTable(caption, _PAIR_HEAD, first_rows, len(rows) - len(first_rows))


def _list_pair_cells(row: PairComparison) -> tuple[Cell, ...]:
    return (
        Cell(build_text(describe_pair_outcome, row)),
        format_cell(row.difference, "+.4f"),
        Cell(repeat_in_both(format_range(row.ci95, "+.4f"))),
        Cell(repeat_in_both(f"{row.wins:,}/{row.ties:,}/{row.losses:,}")),
        Cell(repeat_in_both(format_p_value(row.p_adjusted, NOTHING))),
        Cell(repeat_in_both(format_range(row.bounds if sentences.is_unsure(row) else None, "+.4f"))),
        format_cell(row.detectable, ".3f", format_number(row.detectable_doubled, ".3f")),
    )


def list_segment_tables(summary: Summary) -> Iterator[PageTable]:
    """Yield a table of the engines' means in each segment for each column that divides the queries."""
    measure = summary.main_measure
    for column, values in summary.segments.items():
        caption = make_text("By {column}: mean {measure}", column=column, measure=name_mean(measure))
        order = summary.sort_engines(measure)
        rows = tuple((value, _list_segment_cells(part, order, measure)) for value, part in values.items())
        head = (
            repeat_in_both(column),
            make_text("queries"),
            *map(repeat_in_both, order),
            make_text("separated"),
        )
        yield PageTable(caption, head, rows)


@dataclass(frozen=True, slots=True)
class DimensionSection:
    """A dimension on the page: the table of its means, its remarks, and its notes with their texts."""

    table: PageTable
    remarks: Sequence[Text] = ()
    notes: Sequence[tuple[DimensionNote, Text]] = ()


def list_dimensions(summary: Summary) -> Iterator[DimensionSection]:
    """Yield the section of each dimension."""
    order = summary.sort_engines(summary.main_measure)
    for name, dimension in summary.dimensions.items():
        head = (
            make_text("engine"),
            *(build_text(Translator.name_measure, each) for each in dimension.measures),
        )
        rows = []
        for engine in (name for name in order if name in dimension.engines):
            means = [dimension.find_mean(engine, measure) for measure in dimension.measures]
            rows.append((engine, tuple(map(_format_mean_and_queries, means))))
        remarks = [build_text(_translate_remark, remark) for remark in dimension.remarks]
        caption = build_text(sentences.name_dimension, name)
        table = PageTable(caption, head, tuple(rows) if dimension.measures else ())
        notes = [(note, build_text(_fit_note, note)) for note in dimension.notes]
        yield DimensionSection(table, remarks, notes)
        for measure in dict.fromkeys(pair.measure for pair in dimension.pairs):
            pairs = [pair for pair in dimension.pairs if pair.measure == measure]
            rows = [(f"{pair.a} / {pair.b}", (_format_mean_and_queries(pair.mean),)) for pair in pairs]
            head = (make_text("engines"), build_text(Translator.name_measure, measure))
            yield DimensionSection(PageTable(caption, head, tuple(rows)))


def _fit_note(t: Translator, note: DimensionNote) -> str:
    return fit_on_line(t(note.text))


def _list_segment_cells(part: SegmentResult, order: Sequence[str], measure: str) -> tuple[Cell, ...]:
    means = [part.engines.get(engine, {}).get(measure) for engine in order]
    verdicts = [f"{row.a} > {row.b}" for row in part.comparisons if row.winner]
    separated = Text(*(mark.join(verdicts) for mark in make_text("; "))) if verdicts else make_text("none")
    cells = [_format_mean(mean) if mean else format_cell(None) for mean in means]
    return (format_cell(part.queries, ","), *cells, Cell(separated))
