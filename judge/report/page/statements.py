"""Facts and warnings below the answer: how the run was judged, how stable it is, what it cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from judge.analysis.label_agreement import LabelAgreement
from judge.analysis.summary import RunCost, Summary
from judge.messages import Text, Translator, each_in_both, in_both, text
from judge.report import assessor_sentences, sentences, stability_sentences, warning_sentences
from judge.report.display_text import escape_hidden, fit_on_line
from judge.report.number_texts import count_queries, format_interval, format_run_cost
from judge.report.page.kind_names import ERRORS
from judge.report.page.payload import PageData
from judge.report.page.tables import repeat_in_both


class Fact(NamedTuple):
    """A fact about a run and its name."""

    label: Text
    says: Sequence[Text]


def list_facts(
    summary: Summary, agreement: LabelAgreement | None, prompts: Sequence[str], dataset: Sequence[str]
) -> Iterator[Fact]:
    """Yield the facts: who judged what and how, stability, agreement with labels, cost."""
    yield Fact(text("assessor"), [repeat_in_both(fit_on_line(summary.assessor))])
    if prompts:
        yield Fact(text("prompt"), [repeat_in_both(", ".join(map(fit_on_line, prompts)))])
    scale = text("graded: 0 to 3, relevant from {least}", least=summary.relevant_from)
    yield Fact(text("scale"), [text("binary: relevant or not") if summary.scale == "binary" else scale])
    yield Fact(text("depth and repeats"), [in_both(_describe_depth, summary)])
    names = [repeat_in_both(" · ".join(map(fit_on_line, dataset)))] if dataset else []
    yield Fact(text("dataset"), [in_both(_describe_dataset, summary), *names])
    if summary.stability:
        measure = sentences.find_main_measure(summary)
        repeats = each_in_both(stability_sentences.describe_repeats, summary.stability, measure)
        yield Fact(text("stability"), repeats)
    for title, describe in (
        (text("self-test"), assessor_sentences.describe_selftests),
        (text("labels"), assessor_sentences.describe_labels),
        (text("near-duplicates"), assessor_sentences.describe_near_duplicates),
    ):
        if values := [Text(*map(escape_hidden, each)) for each in each_in_both(describe, summary)]:
            yield Fact(title, values)
    if agreement is not None:
        yield Fact(text("agreement with people"), list(_describe_agreement(agreement)))
    if summary.cost:
        yield Fact(text("cost"), [in_both(_describe_cost, summary.cost)])


def _describe_depth(t: Translator, summary: Summary) -> str:
    if summary.repeats == 1:
        return t("down to rank {depth}, each pair judged once", depth=summary.depth)
    return t("down to rank {run.depth}, each pair judged {run.repeats} times", run=summary)


def _describe_dataset(t: Translator, summary: Summary) -> str:
    return t(
        "{queries}, {engines}, {run.results:,} results, {pairs} ({run.dedup_saving:.0%} saved by judging a"
        " pair once)",
        queries=count_queries(t, summary.queries),
        engines=t.plural("{count:,} engine", "{count:,} engines", len(summary.engines)),
        pairs=t.plural("{count:,} pair to judge", "{count:,} pairs to judge", summary.pairs),
        run=summary,
    )


def _describe_agreement(agreement: LabelAgreement) -> Iterator[Text]:
    kappa, same = agreement.kappa_relevant, agreement.same_verdict
    source = fit_on_line(agreement.labels)
    if kappa.value is None or same.value is None:
        why = in_both(stability_sentences.explain_missing, kappa)
        yield text("unknown ({source}): {why}", source=source, why=why)
        return
    yield text(
        "relevant or not: the same on {same:.1%} of {pairs:,} pairs ({source}), kappa {kappa:.3f}{interval};"
        " 0 is chance, 1 is always",
        same=same.value,
        pairs=agreement.pairs,
        source=source,
        kappa=kappa.value,
        interval=in_both(format_interval, kappa.ci95),
    )
    if kappa.ci95 and agreement.queries < stability_sentences.FEW_FOR_BCA:
        yield in_both(stability_sentences.warn_narrow_intervals)


def _describe_cost(t: Translator, cost: RunCost) -> str:
    amount = format_run_cost(t, cost)
    parts = [
        t(
            "{cost.calls:,} calls, {cost.prompt_tokens:,} tokens in ({cost.cached_tokens:,} cached),"
            " {cost.completion_tokens:,} out",
            cost=cost,
        ),
        t("; price unknown") if amount is None else t(", {amount}", amount=amount) if amount else "",
    ]
    if cost.uncounted:
        parts.append(t("; {count:,} calls came back without a token count", count=cost.uncounted))
    if cost.maybe_billed:
        parts.append(t("; {count:,} calls may be billed without an answer", count=cost.maybe_billed))
    return "".join(parts)


def describe_sample(page_data: PageData) -> Text | None:
    """Return a text that describes the sample on the page; None when the page holds every query."""
    if page_data.sample is None:
        return None
    return text(
        "A sample: {shown:,} of {queries:,} queries ({shown_pairs:,} of {pairs:,} pairs), because all of "
        "them would make this page too large. {worst:,} have the lowest mean, in {disagreeing:,} "
        "engines or repeats disagree most, {random:,} were drawn by lot. The answer and the "
        "charts are about all queries, and results.json holds them.",
        shown=len(page_data.lines),
        queries=page_data.queries_in_all,
        shown_pairs=page_data.pairs,
        pairs=page_data.pairs_in_all,
        **page_data.sample,
    )


def list_warnings(summary: Summary) -> Sequence[Text]:
    """Return the warnings, the most important first; `summary` has display names."""
    return [warning for warning in each_in_both(_warn, summary) if warning.en]


def _warn(t: Translator, summary: Summary) -> Iterator[str]:
    if summary.assessor.startswith("lexical"):
        yield t(
            "Judged by term overlap (lexical), not by a language model. Any language model should do"
            " better. Choose no engine by these figures."
        )
    yield assessor_sentences.describe_served_models(t, summary)
    yield from assessor_sentences.describe_assessors(t, summary)
    yield from _warn_unjudged(t, summary)
    yield sentences.warn_few_queries(t, summary)
    yield sentences.describe_power(t, summary)
    if summary.own_list_reversal:
        yield sentences.explain_reversal(t, summary.own_list_reversal)
    yield from _warn_engines(t, summary)
    yield from summary.remarks
    yield from _warn_snippets(t, summary)
    for measure, count in summary.undefined.items():
        no_result = measure.startswith("Judged")
        yield t(
            "{measure} leaves out {count:,} of {queries:,} queries: {why}.",
            measure=measure,
            count=count,
            queries=summary.queries,
            why=t("no result to look at") if no_result else t("no relevant snippet in the pool"),
        )
    for measure, note in summary.notes.items():
        yield t("{measure}: {note}.", measure=measure, note=t(note))


def _warn_unjudged(t: Translator, summary: Summary) -> Iterator[str]:
    if summary.judged < summary.judgments:
        names = {kind: t(ERRORS[kind].en) if kind in ERRORS else kind for kind in summary.failures}
        failures = [
            t("{name} ({count:,})", name=names[kind], count=count) for kind, count in summary.failures.items()
        ]
        yield t(
            "{missing:,} of {run.judgments:,} judgments have no grade (coverage"
            " {run.coverage:.1%}){failures}. They do not count as “no”: their grades are imputed from"
            " similar judged snippets of the same query.{advice}",
            missing=summary.judgments - summary.judged,
            run=summary,
            failures=t(": {names}", names=t.join(failures)) if failures else "",
            advice=warning_sentences.advise_on_failures(t, summary.failures),
        )
    means = warning_sentences.find_uncertain_means(summary)
    if means:
        ranges = (
            f"{engine} {t('{low} to {high}', low=f'{low:.3f}', high=f'{high:.3f}')}"
            for engine, (low, high) in means.items()
        )
        yield t(
            "Whatever the unjudged snippets are, {measure} lies within: {ranges}.",
            measure=summary.measures[0],
            ranges=t(", ").join(ranges),
        )


def _warn_engines(t: Translator, summary: Summary) -> Iterator[str]:
    errors = {engine: row.errors for engine, row in summary.engines.items() if row.errors}
    if errors:
        yield t(
            "Broke on some queries, which its means and comparisons leave out: {counts}.",
            counts=_join_counts(t, errors),
        )
    unknown = warning_sentences.count_unknown_queries(summary)
    if unknown:
        yield t(
            "{measure} leaves out queries until more is judged (no snippet of the engine is judged, or none"
            " judged in the pool is relevant): {counts}.",
            measure=summary.measures[0],
            counts=_join_counts(t, unknown),
        )


def _join_counts(t: Translator, counts: Mapping[str, int]) -> str:
    return t(", ").join(f"{name} {count:,}" for name, count in counts.items())


def _warn_snippets(t: Translator, summary: Summary) -> Iterator[str]:
    if summary.flagged:
        yield t(
            "Snippets flagged because they seem to speak to the grader (never re-graded for it): {counts}.",
            counts=_join_counts(t, summary.flagged),
        )
        yield warning_sentences.describe_flagged_effect(t, summary)
    if summary.empty_snippets:
        count = f"{summary.empty_snippets:,}"
        yield t("Results without any text, which get grade 0 without a call: {count}.", count=count)
