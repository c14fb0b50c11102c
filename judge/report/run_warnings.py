"""Warnings about a run: flagged, failed and unjudged results, what its means leave out, and self-tests."""

import shlex
from collections.abc import Iterator, Mapping
from itertools import chain

from judge.analysis.failure_advice import advise_on_finished_run, count_missing_grades
from judge.analysis.summary import SelfTestEntry, SelfTestFigures, Summary
from judge.dataset.dataset_warnings import describe_empty_lists, describe_results_without_text
from judge.measure.intervals import CountedShare
from judge.measure.measures import name_mean, parse_measure
from judge.measure.sensitivity import MIN_DIFFERENCE, FlaggedEffect, FlaggedMeans, FlaggedWinners
from judge.messages import Message, NameList, Translator, make_text
from judge.records import LEXICAL, MIN_COVERAGE
from judge.report import assessor_sentences
from judge.report.comparison_sentences import describe_limits, rank_means
from judge.report.display_text import (
    escape_hidden,
    format_counted_share,
    format_query_count,
    format_share,
    translate_remark,
)

#: The most engines of an order.
_MAX_RANKED = 6


def warn_incomplete(t: Translator, summary: Summary, min_coverage: float = MIN_COVERAGE) -> str:
    """Return how many pairs have no grade, why, and what to do; "" where the share `min_coverage` has one.

    Texts about a run begin with it.
    """
    return _warn_unjudged(t, summary) if summary.coverage < min_coverage else ""


def warn_without_results(summary: Summary) -> Iterator[Message]:
    """Return the warnings of empty lists, one for each engine that has them on half of its queries."""
    answers = {
        name: (summary.engines[name].answered, summary.engines[name].empty)
        for name in summary.sort_engines(summary.main_measure)
    }
    return describe_empty_lists(answers)


def warn_without_text(summary: Summary) -> Iterator[Message]:
    """Return the warnings about engines most of whose results have no text besides a title."""
    shares = {name: engine.no_snippet_share for name, engine in summary.engines.items()}
    return describe_results_without_text(shares)


def iter_page_warnings(t: Translator, summary: Summary, min_coverage: float = MIN_COVERAGE) -> Iterator[str]:
    """Yield the warnings of the report: besides `iter_warnings`, what the terminal prints above them."""
    # Not where most grades are labels of people.
    if summary.assessor.startswith(LEXICAL) and 2 * summary.labelled <= summary.judgments:
        yield t(
            "Judged by term overlap (lexical), not by a language model. A language model should do better."
            " Do not choose an engine by these figures."
        )
    yield assessor_sentences.describe_served_models(t, summary)
    yield from iter_warnings(t, summary, min_coverage)
    if errors := {name: f"{engine.errors:,}" for name, engine in summary.engines.items() if engine.errors}:
        yield t(
            "The means and comparisons of an engine leave out the queries on which it failed: {counts}.",
            counts=_join_by_engine(t, summary, errors),
        )
    yield from map(t, warn_without_text(summary))
    yield from (translate_remark(t, remark) for remark in summary.remarks)


def iter_warnings(t: Translator, summary: Summary, min_coverage: float = MIN_COVERAGE) -> Iterator[str]:
    """Yield the warnings of the report and the terminal, some of them empty, the most important first.

    Pairs without a grade are left out where `warn_incomplete` is about them.
    """
    yield from assessor_sentences.warn_assessors(t, summary)
    if summary.coverage >= min_coverage:
        yield _warn_unjudged(t, summary)
    yield from describe_left_out(t, summary)
    yield from _describe_ranges(t, summary)
    yield from describe_limits(t, summary)
    yield from _warn_results(t, summary)
    yield from describe_undefined(t, summary)
    yield from describe_measures(t, summary)


def describe_measures(t: Translator, summary: Summary) -> Iterator[str]:
    """Yield the notes on measures, each with the measures that have it."""
    for note in dict.fromkeys(summary.notes.values()):
        measures = [measure for measure, of_measure in summary.notes.items() if of_measure == note]
        yield t("{measure}: {note}.", measure=t.join(measures), note=t(note))


def _warn_unjudged(t: Translator, summary: Summary) -> str:
    missing, reason = summary.judgments - summary.judged, summary.stopped.get(t.language)
    stop = t(" The judging stopped: {reason}.", reason=escape_hidden(reason)) if reason else ""
    if not missing:  # controls, or questions besides grades, are
        return stop.strip()
    failures = NameList(count_missing_grades(missing, summary.failures))
    return t.translate_plural(
        "{count:,} of {run.judgments:,} judgments has no grade (coverage {coverage}){failures}."
        "{imputed}{advice}",
        "{count:,} of {run.judgments:,} judgments have no grade (coverage {coverage}){failures}."
        "{imputed}{advice}",
        missing,
        run=summary,
        coverage=format_share(summary.coverage, format_spec=".1%"),
        failures=t(": {names}", names=failures),
        advice=stop or t(" What to do: {advice}.", advice=advise_on_finished_run(summary)),
        imputed=explain_imputation(t, summary),
    )


def explain_imputation(t: Translator, summary: Summary) -> str:
    """Return what the means have for missing grades; "" where no grade is missing, or all are."""
    if not 0 < summary.judged < summary.judgments:
        return ""
    left_out = max(engine.measures[summary.measures[0]].unknown for engine in summary.engines.values())
    if not left_out:
        return t(
            " Missing grades do not count as “no”: they are imputed from similar judged snippets of the same"
            " query."
        )
    return t(
        " Missing grades do not count as “no”: queries with too few judged snippets are left out of"
        " {measure} ({count:,} of {queries}), and on the others, missing grades are imputed from similar"
        " judged snippets of the same query.",
        measure=name_mean(summary.measures[0]),
        count=left_out,
        queries=format_query_count(t, summary.queries),
    )


def _warn_results(t: Translator, summary: Summary) -> Iterator[str]:
    if summary.flagged:
        flagged = {engine: f"{count:,}" for engine, count in summary.flagged.items()}
        yield t(
            "Snippets that seem to address the assessor or only repeat the query (grades unchanged):"
            " {counts}.",
            counts=_join_by_engine(t, summary, flagged),
        )
        yield describe_flagged_effect(t, summary)
    if summary.empty_snippets:
        yield t.translate_plural(
            "{count:,} result shows no text at all: grade 0 without a call (flag empty_snippet)",
            "{count:,} results show no text at all: grade 0 without a call (flag empty_snippet)",
            summary.empty_snippets,
        )


def _join_by_engine(t: Translator, summary: Summary, values: Mapping[str, str]) -> str:
    """Return `a 1, b 2`, the best engine first."""
    order = summary.sort_engines(summary.main_measure)
    return t(", ").join(f"{engine} {values[engine]}" for engine in order if engine in values)


def warn_flagged(t: Translator, summary: Summary) -> str:
    """Return the warning that the order of the engines depends on flagged snippets, else ""."""
    effect = summary.flagged_sensitivity
    if effect is None or not effect.order_changes:
        return ""
    return t(
        "Warning: the order of the engines depends on {pairs}, whose text seems to address the"
        " assessor or only repeats the query.{details}",
        pairs=_count_flagged(t, effect.pairs),
        details=_describe_swaps(t, effect) + _describe_winners(t, effect.winners),
    )


def describe_flagged_effect(t: Translator, summary: Summary) -> str:
    """Return the sentence that flagged snippets do not change the order, or nearly, else ""."""
    effect = summary.flagged_sensitivity
    if effect is None or effect.order_changes:
        return ""
    return t(
        "With {pairs} counted as 0 or left out, only engines whose means by {measure} differ by less"
        " than {least:g} change places."
        if effect.swapped
        else "With {pairs} counted as 0 or left out, the order of the engines by {measure} stays the same.",
        pairs=_count_flagged(t, effect.pairs),
        measure=name_mean(effect.measure),
        least=MIN_DIFFERENCE,
    )


def _count_flagged(t: Translator, count: int) -> str:
    return t.translate_plural("{count:,} flagged pair", "{count:,} flagged pairs", count)


def _describe_swaps(t: Translator, effect: FlaggedEffect) -> str:
    """Return the order of the engines that change places, in each way to count flagged pairs; else ""."""
    engines = set(chain.from_iterable(effect.swapped))
    if not engines:
        return ""
    orders = {
        way: rank_means(t, {engine: getattr(effect.engines[engine], way) for engine in engines}, _MAX_RANKED)
        for way in FlaggedMeans.__slots__
    }
    return t(
        " The order by {measure} of the engines that change places: {unchanged} with their grades, {zeroed}"
        " with them counted as 0, {dropped} with them left out.",
        measure=name_mean(effect.measure),
        **orders,
    )


def _describe_winners(t: Translator, winners: FlaggedWinners) -> str:
    """Return the winner in each way to count flagged pairs; empty where it is the same one."""
    if winners.unchanged == winners.zeroed == winners.dropped:
        return ""
    return t(
        " The engine whose lead is statistically significant is {unchanged} with their grades, {zeroed}"
        " with them counted as 0, {dropped} with them left out.",
        **{way: getattr(winners, way) or t("none") for way in FlaggedWinners.__slots__},
    )


def describe_left_out(t: Translator, summary: Summary) -> Iterator[str]:
    """Yield on how many queries unjudged snippets leave a measure without a value.

    That is for the first measure, and for each other one that has no mean of an engine.
    """
    measures: dict[str, list[str]] = {}
    for measure in summary.measures:
        means = {name: engine.measures[measure] for name, engine in summary.engines.items()}
        unknown = {name: f"{mean.unknown:,}" for name, mean in means.items() if mean.unknown}
        if measure == summary.measures[0] or any(means[name].mean is None for name in unknown):
            measures.setdefault(_join_by_engine(t, summary, unknown), []).append(name_mean(measure))
    for engines, names in measures.items():
        if engines:
            yield t(
                "{measure}: queries left out until more is judged (no snippet of the query is judged, none of"
                " the engine on any query, or none judged in the pool is relevant): {engines}",
                measure=t.join(names),
                engines=engines,
            )


def _describe_ranges(t: Translator, summary: Summary) -> Iterator[str]:
    """Yield the range of the engines' means by the first measure over all grades of unjudged snippets."""
    first = summary.measures[0]
    ranges = {
        name: t("{low} to {high}", low=f"{lowest:.3f}", high=f"{highest:.3f}")
        for name, engine in summary.engines.items()
        for mean in [engine.measures[first]]
        for lowest, highest in [mean.bounds]
        if lowest is not None and highest is not None and (lowest, highest) != (mean.mean, mean.mean)
    }
    if ranges:
        yield t(
            "{measure} over all possible grades of the unjudged snippets: {engines}",
            measure=name_mean(first),
            engines=_join_by_engine(t, summary, ranges),
        )


def describe_undefined(t: Translator, summary: Summary) -> Iterator[str]:
    """Yield how many queries a measure leaves out because it is undefined on them."""
    for measure, count in summary.undefined.items():
        kind, why = parse_measure(measure).kind, t("no relevant snippet in the pool")
        if kind.gains == "grade" and summary.relevant_from > 1:  # grade 1 is a gain, and not relevant
            why = t("no snippet in the pool has a grade above 0")
        # Only the share of judged results is undefined for one engine alone.
        yield t(
            "{measure} leaves out {count:,} of {queries} or fewer for each engine: its list has no result."
            if kind.gains is None
            else "{measure} leaves out {count:,} of {queries}: {why}.",
            measure=name_mean(measure),
            count=count,
            queries=format_query_count(t, summary.queries),
            why=why,
        )


#: Grades of the assessor on a smaller share of the pairs hardly change a result.
_FEW_PAIRS = 0.05


def describe_selftests(
    t: Translator, summary: Summary, run: str = "", min_coverage: float = MIN_COVERAGE
) -> Iterator[str]:
    """Yield how each assessor of the run did in its self-test, or that it never had one.

    `run` is the folder of the run, unknown if empty. A self-test that is missing does not matter where people
    gave nearly all grades, nor where less than `min_coverage` has a grade; where the assessor gave none, no
    self-test does.
    """
    if not summary.pairs:
        return
    labelled = summary.labels.pairs / summary.pairs if summary.labels and not summary.labels.check else 0.0
    if labelled == 1:
        return
    missing = {name: entry for name, entry in summary.selftest.items() if entry.figures is None}
    if labelled > 1 - _FEW_PAIRS or summary.coverage < min_coverage:
        missing = {}
    for name, entry in summary.selftest.items():
        if entry.figures is not None:
            yield _describe_selftest(t, name, entry.figures)
    if missing:
        run = run or t("FOLDER_OF_THIS_PAGE")
        yield t(
            "There is no self-test of {names} with the options of this run. To add one, run {commands} with"
            " the same options, then judge score {run} --save (with --store, if the run has it).",
            names=t.join(missing),
            run=run,
            commands=t.join(_make_command(name, entry, run) for name, entry in missing.items()),
        )


def _make_command(name: str, entry: SelfTestEntry, run: str) -> str:
    """Return the command for a self-test of an assessor, with the address of another server than OpenAI's."""
    model, address = name.partition(" at ")[0].rpartition("/")[0], entry.options.get("base_url", "")
    needs_address = model.startswith("openai:") and not address.startswith("https://api.openai.com/")
    server = f" --base-url {shlex.quote(address)}" if address and needs_address else ""
    return f"judge selftest -m {shlex.quote(model)}{server} --out {run}"


def _describe_selftest(t: Translator, name: str, figures: SelfTestFigures) -> str:
    high, irrelevant, low = figures.too_high, figures.irrelevant_too_high, figures.too_low
    if not high.of and not low.of:
        return t(
            "Self-test of {name}: none of {probes:,} probes has a grade.", name=name, probes=figures.probes
        )
    return t(
        "Self-test of {name}: too high on {high.count:,} of {high.of:,} hostile or empty"
        " snippets{high_range}{irrelevant}; too low on {low.count:,} of {low.of:,} relevant ones{low_range}."
        " Reasons in the query's language: {language}. Replies in the requested form: {obedient}.",
        name=name,
        high=high,
        high_range=t(
            " ({share.value:.1%}; 95%: {share.ci95[0]:.1%} to {share.ci95[1]:.1%}; plain prompt:"
            " {plain.count:,})",
            share=high,
            plain=figures.plain_too_high,
        )
        if high.value is not None
        else "",
        irrelevant=t(
            " and on {share.count:,} of {share.of:,} irrelevant ones{range}",
            share=irrelevant,
            range=format_counted_share(t, irrelevant),
        )
        if irrelevant
        else "",
        low=low,
        low_range=format_counted_share(t, low),
        language=format_share(figures.language.value, "-"),
        obedient=format_share(figures.obedient.value, "-"),
    )


#: An assessor is not reliable if the whole interval of a share of wrong grades in its self-test is above
#: this.
MAX_WRONG = 0.1


def list_wrong_grades(
    t: Translator, too_high: CountedShare, irrelevant: CountedShare | None, too_low: CountedShare
) -> list[str]:
    """Return a clause on each share of wrong grades whose interval is above `MAX_WRONG`."""
    shares = (
        (make_text("{share.value:.0%} of hostile or empty snippets got too high a grade"), too_high),
        (make_text("{share.value:.0%} of irrelevant snippets got too high a grade"), irrelevant),
        (make_text("{share.value:.0%} of relevant snippets got too low a grade"), too_low),
    )
    return [
        t(text.en, share=share)
        for text, share in shares
        if share and share.ci95 and share.ci95[0] > MAX_WRONG
    ]


def warn_unreliable(t: Translator, summary: Summary) -> Iterator[str]:
    """Yield the warning about each assessor whose self-test has too many wrong grades."""
    if summary.labels and summary.labels.pairs == summary.pairs:
        return
    for name, entry in summary.selftest.items():
        figures = entry.figures
        wrong = figures and list_wrong_grades(
            t, figures.too_high, figures.irrelevant_too_high, figures.too_low
        )
        if wrong:
            yield t(
                "This assessor is not reliable: in its self-test, {wrong}; do not choose an engine by it."
                if len(summary.selftest) == 1
                else "The assessor {name} is not reliable: in its self-test, {wrong}; do not choose an engine"
                " by it."
                if summary.runs
                else "The assessor {name} is not reliable: in its self-test, {wrong}; leave it out of the"
                " panel.",
                name=name,
                wrong=t.join(wrong, "clauses"),
            )
