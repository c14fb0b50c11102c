"""Facts of the report: how the run was judged, how stable it is, what it cost; and its sample of queries."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from judge.analysis.label_agreement import LabelAgreement
from judge.analysis.planned_order import PlannedComparison
from judge.analysis.summary import Summary
from judge.measure.measures import name_mean
from judge.measure.ppi import CorrectedOutcome
from judge.messages import Bilingual, Translator, build_text, build_texts, make_text
from judge.pricing.costs import Cost, RunCost
from judge.records import MIN_COVERAGE
from judge.report import assessor_sentences, run_warnings
from judge.report.display_text import (
    describe_unanswered_calls,
    escape_hidden,
    fit_on_line,
    format_call_count,
    format_cost,
    format_interval,
    format_number,
    format_pair_count,
    format_query_count,
    isolate,
)
from judge.report.payload import PageData


@dataclass(frozen=True, slots=True)
class NightBanner:
    """What night.json says at the top of the report: the exit code and sentences."""

    exit: int = 0
    banner: tuple[Bilingual, ...] = ()


@dataclass(frozen=True, slots=True)
class ReportExtras:
    """What a report shows besides the run: agreement with labels, prompts, dataset and night.

    `prompts` are the names of the prompts by language, `dataset` the file and the digest of the dataset,
    `night` is about the night that the run belongs to. `min_coverage` is the share of pairs that must have a
    grade.
    """

    agreement: LabelAgreement | None = None
    order: PlannedComparison | None = None
    prompts: Mapping[str, str] = field(default_factory=dict)
    dataset: tuple[str, ...] = ()
    night: NightBanner = NightBanner()
    min_coverage: float = MIN_COVERAGE


def iter_facts(
    summary: Summary, extras: ReportExtras, languages: Collection[str]
) -> Iterator[tuple[Bilingual, Sequence[Bilingual]]]:
    """Yield the name and the texts of each fact: who judged what and how, stability, labels, cost.

    `languages` are those of the queries; the prompt of another one was not used.
    """
    yield make_text("assessor"), [Bilingual.repeat(fit_on_line(summary.assessor))]
    # A reranker has one name for both languages.
    if prompts := dict.fromkeys(
        fit_on_line(name) for lang, name in extras.prompts.items() if lang in languages
    ):
        yield make_text("prompt"), [build_text(Translator.list_names, list(prompts))]
    graded = make_text("graded: 0 to 3, relevant from {least}", least=summary.relevant_from)
    is_binary = summary.scale == "binary"
    yield make_text("scale"), [make_text("binary: relevant or not") if is_binary else graded]
    depth = make_text(
        "down to rank {run.depth}, each pair judged once"
        if summary.repeats == 1
        else "down to rank {run.depth}, each pair judged {run.repeats} times",
        run=summary,
    )
    yield make_text("depth and repeats"), [depth]
    names = [Bilingual.repeat(" · ".join(map(fit_on_line, extras.dataset)))] if extras.dataset else []
    yield make_text("dataset"), [build_text(describe_dataset, summary), *names]
    if summary.stability:
        repeats = build_texts(assessor_sentences.describe_repeats, summary.stability, summary.main_measure)
        yield make_text("stability"), repeats
    for title, describe in (
        (make_text("panel"), assessor_sentences.describe_panel),
        (
            make_text("self-test"),
            partial(run_warnings.describe_selftests, min_coverage=extras.min_coverage),
        ),
        (make_text("labels"), assessor_sentences.describe_labels),
        (make_text("controls"), assessor_sentences.describe_controls),
        (make_text("near-duplicates"), assessor_sentences.describe_near_duplicates),
    ):
        if values := _escape_texts(build_texts(describe, summary)):
            yield title, values
    if extras.agreement:
        warnings = _escape_texts(map(make_text, extras.agreement.warnings))
        counts = make_text(
            "{pairs} with labels of {source}",
            pairs=build_text(format_pair_count, extras.agreement.pairs),
            source=fit_on_line(extras.agreement.labels),
        )
        kappa = build_texts(assessor_sentences.describe_kappa, extras.agreement)
        yield make_text("agreement with people"), [counts, *kappa, *warnings]
    if extras.order:
        warnings = _escape_texts(map(make_text, extras.order.warnings))
        yield make_text("order by labels on drawn pairs"), [*_describe_order(extras.order), *warnings]
    if summary.cost:
        scope = make_text(
            "all calls behind the verdicts and answers of this run, those of earlier runs included"
        )
        yield make_text("cost"), [build_text(describe_cost, summary.cost), scope]


def _escape_texts(texts: Iterable[Bilingual]) -> list[Bilingual]:
    return [Bilingual(*map(escape_hidden, text)) for text in texts]


#: Names of the outcomes of an order by labels.
OUTCOMES: Mapping[CorrectedOutcome, Bilingual] = {
    "confirmed": make_text("confirmed"),
    "reversed": make_text("reversed"),
    "decided": make_text("decided"),
    "open": make_text("undecided"),
}


def _describe_order(order: PlannedComparison) -> Iterator[Bilingual]:
    for row in order.comparisons:
        yield make_text(
            "{a} - {b} by {measure}: {difference}{interval} from {labels:,} labels; the assessor's"
            " order is {outcome}",
            a=isolate(row.a),
            b=isolate(row.b),
            measure=name_mean(order.measure),
            difference=format_number(row.difference, "+.4f"),
            interval=build_text(format_interval, row.ci95, "z.4f"),
            labels=row.labelled,
            outcome=OUTCOMES[row.outcome],
        )


def describe_cost(t: Translator, cost: Cost) -> str:
    """Return calls, tokens, what they cost at the price of which day, and the calls with an unknown cost."""
    amount, price = format_cost(t, cost), cost.price if isinstance(cost, RunCost) else None
    text = t(
        "{calls}, {cost.prompt_tokens:,} tokens in ({cost.cached_tokens:,} cached),"
        " {cost.completion_tokens:,} out",
        calls=format_call_count(t, cost.calls),
        cost=cost,
    )
    if amount is None:
        text += t("; cost unknown" if price else "; price unknown: add --price or --prices")
    elif amount:
        text += t(", {amount}", amount=amount)
        if price and price.as_of:
            text += t(" at prices of {day}", day=price.as_of)
    return text + describe_unclear_calls(t, cost)


def describe_sample(page_data: PageData) -> Bilingual | None:
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


def describe_dataset(t: Translator, summary: Summary) -> str:
    """Return the numbers of queries, engines, results, and pairs to judge, or all if people graded some."""
    to_judge = t.translate_plural("{count:,} pair to judge", "{count:,} pairs to judge", summary.pairs)
    return t(
        "{queries}, {engines}; {results}, {pairs} ({saved:.0%} fewer: equal results are one pair)"
        if round(summary.dedup_saving, 2)
        else "{queries}, {engines}; {results}, {pairs}",
        queries=format_query_count(t, summary.queries),
        engines=t.translate_plural("{count:,} engine", "{count:,} engines", len(summary.engines)),
        results=t.translate_plural("{count:,} result", "{count:,} results", summary.results),
        pairs=format_pair_count(t, summary.pairs) if summary.labels else to_judge,
        saved=summary.dedup_saving,
    )


def describe_unclear_calls(t: Translator, cost: Cost) -> str:
    """Return the number of calls with an unknown cost, to follow the cost of a run."""
    uncounted = maybe_billed = ""
    if cost.uncounted:
        uncounted = t.translate_plural(
            "; {count:,} call came back without a token count",
            "; {count:,} calls came back without a token count",
            cost.uncounted,
        )
    if cost.maybe_billed:
        maybe_billed = t("; ") + describe_unanswered_calls(t, cost.maybe_billed)
    return uncounted + maybe_billed
