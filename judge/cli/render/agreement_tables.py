"""What `judge agree` prints: how far the assessor agrees with people, and what follows for the engines."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from math import inf
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from judge.analysis.label_agreement import CalibrationResult, LabelAgreement, MissingCalibration
from judge.analysis.planned_order import PlannedComparison, PlannedDifference
from judge.cli.render.tables import escape_line, make_table, print_lines
from judge.cli.terminal import t
from judge.errors import InputError
from judge.measure.agreement import PublishedAgreement
from judge.measure.engine_agreement import EngineOrders
from judge.measure.measures import name_mean, parse_measure
from judge.measure.ppi import CorrectedDifference, MeasureCalibration
from judge.measure.resampling import MIN_DIFFERING, StatisticValue
from judge.messages import Message, SeparatedNames
from judge.report.assessor_sentences import FEW_FOR_BCA, explain_missing, name_strength, warn_narrow_intervals
from judge.report.comparison_sentences import rank_means
from judge.report.display_text import (
    count_queries,
    format_interval,
    format_p_value,
    format_plain_number,
    format_plain_range,
)
from judge.report.facts import OUTCOMES

#: How many engines or pairs of them a sentence names.
_MOST_NAMES = 6
#: What commands in stored texts begin with.
_ANY_RUN = "judge agree RUN "
#: With fewer engines RBO, which looks at the top of long lists, adds nothing to tau.
_LONG_LIST = 10


def print_agreement(
    agreement: LabelAgreement, run: Path, console: Console, measure: str | None = None
) -> None:
    """Print the answer, the table of grades, and what people's labels mean for the engines of a `run`.

    `measure` chooses whose order and correction is shown. Raises InputError when it compares no engines.
    """
    deciding = _choose(agreement, measure)
    print_lines(_list_parts(agreement, deciding, shlex.quote(str(run))), console)
    console.print()
    for line in _describe_references(agreement.references):
        console.print(Text(line, style="dim"))


def _list_parts(agreement: LabelAgreement, deciding: str | None, run: str) -> Iterator[str | Table]:
    yield from _describe_agreement(agreement)
    yield from _describe_favoured(agreement)
    yield _make_confusion_table(agreement)
    yield _make_statistics_table(agreement)
    yield from _list_reasons(agreement)
    if agreement.engines:
        yield _make_bias_table(agreement, agreement.orders[deciding].assessor if deciding else {})
        if sum(engine.results for engine in agreement.engines.values()) > agreement.pairs:
            yield t(
                "By engine, each result counts: a pair that several engines returned counts once for each of"
                " them here, and once in the table above."
            )
    if deciding is not None:
        orders = agreement.orders[deciding]
        partly = orders.partly_labelled
        labelled = agreement.labelled_queries if partly else agreement.wholly_labelled_queries
        yield from _describe_orders(orders, deciding, labelled)
        if deciding in agreement.calibration:
            without_text = agreement.queries_without_text
            for part in _list_correction(agreement.calibration[deciding], deciding, without_text):
                # The stored texts do not know the folder.
                yield part.replace(_ANY_RUN, f"judge agree {run} ") if isinstance(part, str) else part


def print_decision(decision: PlannedComparison, console: Console) -> None:
    """Print what labels on drawn pairs say of the order of engines."""
    name = name_mean(decision.measure)
    line = t(
        "{name} by people's grades on all {queries:,} queries, estimated from {labels:,} labels on the"
        " pairs that decide the order:",
        name=name,
        queries=decision.queries,
        labels=decision.labels,
    )
    table = _make_order_table(name, t("labels"))
    for row in decision.comparisons:
        table.add_row(
            escape_line(f"{row.a} - {row.b}"),
            f"{row.assessor:+.3f}",
            format_plain_number(row.difference, "+.3f"),
            format_plain_range(t, row.ci95, "+.3f"),
            format_p_value(row.p_adjusted),
            f"{row.labelled:,}",
            t(OUTCOMES[row.outcome].en),
        )
    print_lines([line, table, *_describe_outcomes(decision.comparisons), *map(t, decision.warnings)], console)


def _choose(agreement: LabelAgreement, measure: str | None) -> str | None:
    if measure is None:
        return next(iter(agreement.orders), None)
    name = str(parse_measure(measure))
    if name not in agreement.orders:
        raise InputError(
            "{name} compares no engines here; the measures that do: {names}; judge score RUN --save"
            " --measures takes others",
            name=name,
            names=SeparatedNames(agreement.orders) or Message("none"),
        )
    return name


def _describe_agreement(agreement: LabelAgreement) -> Iterator[str]:
    graded = agreement.people_scale == "graded"
    yield t(
        "{pairs} of {queries} have a grade from people ({scale}) and one from {assessor}; of {whole} people"
        " graded every pair",
        pairs=t.translate_plural("{count:,} pair", "{count:,} pairs", agreement.pairs),
        queries=count_queries(t, agreement.queries),
        scale=t("0 to 3") if graded else t("yes or no"),
        assessor=agreement.assessor,
        whole=count_queries(t, agreement.wholly_labelled_queries),
    )
    if agreement.grades is None:
        yield t(
            "Below, people's grades are those of {labels}, and the assessor's those of {assessor}.",
            labels=agreement.labels,
            assessor=agreement.assessor,
        )
    yield from map(t, agreement.warnings)
    if agreement.unmatched_labels:
        yield t.translate_plural(
            "ignored: {count:,} label matches no pair of this run",
            "ignored: {count:,} labels match no pair of this run",
            agreement.unmatched_labels,
        )
    if agreement.empty_pairs:
        yield t.translate_plural(
            "ignored: {count:,} pair without text, which counts as grade 0 on both sides",
            "ignored: {count:,} pairs without text, which count as grade 0 on both sides",
            agreement.empty_pairs,
        )
    if not agreement.wholly_labelled_queries:
        yield t(
            "No query is wholly labelled, so the figures hold for the labelled pairs alone; for labels on the"
            " pairs of --plan-pairs, add --plan with its file"
        )
    if graded and agreement.highest_label in (0, 1):
        yield t("no label is above 1; if people said yes or no, add --labels-scale binary")
    yield from _describe_kappa(agreement)
    side = _clear_side(agreement.bias_relevant)
    if side:
        people = sum(map(sum, agreement.confusion[agreement.people_relevant_from :]))
        assessor = sum(sum(row[agreement.relevant_from :]) for row in agreement.confusion)
        yield t(
            "The assessor is more {kind} than people: it grades {assessor:.1%} of the pairs as relevant,"
            " people {people:.1%}.",
            kind=t("generous") if side > 0 else t("strict"),
            assessor=assessor / agreement.pairs,
            people=people / agreement.pairs,
        )


def _describe_kappa(agreement: LabelAgreement) -> Iterator[str]:
    kappa, same = agreement.kappa_relevant, agreement.same_verdict
    if kappa.value is None or same.value is None:
        yield t("Agreement on relevant or not: {why}.", why=explain_missing(t, kappa))
        return
    yield t(
        "Agreement on relevant or not: {strength}; the same on {same:.1%} of the pairs, kappa"
        " {kappa:.3f}{interval}, where 0 is chance and 1 is perfect.",
        strength=name_strength(t, kappa.value),
        same=same.value,
        kappa=kappa.value,
        interval=format_interval(t, kappa.ci95, "z.3f"),
    )
    if kappa.ci95 and agreement.queries < FEW_FOR_BCA:
        yield warn_narrow_intervals(t)


def _clear_side(statistic: StatisticValue) -> int:
    """Return 1 or -1 when the whole interval is above or below 0, else 0."""
    low, high = statistic.ci95 or (0.0, 0.0)
    return (low > 0) - (high < 0)


def _describe_favoured(agreement: LabelAgreement) -> Iterator[str]:
    gap = agreement.widest_gap
    if gap is None:
        return
    if gap.difference.value == 0:
        yield t("On these pairs the assessor's bias is the same for all engines.")
        return
    of_grades = agreement.bias.value is not None and len(agreement.confusion[0]) > 2
    unit = t("grades per result") if of_grades else t("in the share of results called relevant")
    difference = gap.difference
    values = {
        "favoured": gap.favoured,
        "other": gap.other,
        "size": format_plain_number(difference.value) + format_interval(t, difference.ci95, "z.3f"),
        "unit": unit,
    }
    if _clear_side(difference) > 0:
        yield t(
            "The assessor favours {favoured} over {other} by {size} {unit}, which is statistically"
            " significant: a difference between engines may come from that.",
            **values,
        )
    else:
        yield t(
            "The assessor favours no engine significantly over another. The largest gap of all pairs is"
            " {favoured} over {other}, {size} {unit}{why}.",
            why="" if difference.ci95 else t(" ({reason})", reason=explain_missing(t, difference)),
            **values,
        )


def _make_confusion_table(agreement: LabelAgreement) -> Table:
    grades = range(len(agreement.confusion[0]))
    heading: str | Text = t("people's grade \\ the assessor's")
    if agreement.grades is None:
        heading = escape_line(f"{agreement.labels} \\ {agreement.assessor}")
    table = make_table(heading, *map(str, grades))
    for grade, row in enumerate(agreement.confusion):
        table.add_row(str(grade), *(f"{count:,}" for count in row))
    return table


def _list_statistics(agreement: LabelAgreement) -> dict[str, StatisticValue]:
    """Return every statistic by its name in print."""
    differ = len(agreement.confusion) != len(agreement.confusion[0])
    return {
        t("same grade"): agreement.same_grade,
        t("kappa of bare numbers (scales differ)") if differ else "kappa": agreement.kappa,
        t("kappa, large differences count more (quadratic)"): agreement.kappa_quadratic,
        t("alpha, large differences count more (ordinal)"): agreement.alpha,
        t("mean of assessor's grade - people's"): agreement.bias,
        t("relevant or not: same"): agreement.same_verdict,
        t("relevant or not: kappa"): agreement.kappa_relevant,
        t("share relevant, assessor's - people's"): agreement.bias_relevant,
        t("of the assessor's relevant, relevant to people"): agreement.precision,
        t("of people's relevant, found by the assessor"): agreement.recall,
        **{
            t("kappa, relevant from grade {grade}", grade=grade): kappa
            for grade, kappa in agreement.kappa_at.items()
            if len(agreement.confusion) == len(agreement.confusion[0])  # else only the people's side has it
        },
    }


def _make_statistics_table(agreement: LabelAgreement) -> Table:
    table = make_table(t("agreement"), "", t("95% interval"))
    for name, statistic in _list_statistics(agreement).items():
        value, ends = (
            format_plain_number(statistic.value),
            format_plain_range(t, statistic.ci95),
        )
        table.add_row(name, value, ends)
    return table


def _make_order_table(name: str, *others: str) -> Table:
    """Return a table of differences of engines, which fits 80 columns by headings of two lines."""
    p_value, order = (heading.replace(" ", "\n") for heading in (t("p (adjusted)"), t("assessor's order")))
    table = make_table(name, t("assessor"), t("corrected"), t("95% interval"), p_value, *others)
    table.add_column(order, no_wrap=True)
    return table


def _list_reasons(agreement: LabelAgreement) -> Iterator[str]:
    """Yield why a number or its range is missing, each reason once."""
    missing: dict[str, list[str]] = {}
    for name, statistic in _list_statistics(agreement).items():
        if statistic.why:
            missing.setdefault(explain_missing(t, statistic), []).append(name)
    for why, names in missing.items():
        listing = names if len(names) <= 3 else [names[0], t("{count:,} more", count=len(names) - 1)]
        yield t("- ({names}): {why}", names=t("; ").join(listing), why=why)


def _make_bias_table(agreement: LabelAgreement, means: Mapping[str, float]) -> Table:
    """Return one row an engine, that with the highest of the assessor's `means` first."""
    table = make_table(t("assessor's - people's, by engine"), t("mean"), t("95% interval"), t("results"))
    for name in sorted(agreement.engines, key=lambda name: (-means.get(name, -inf), name)):
        engine = agreement.engines[name]
        bias, ends = engine.bias.value, format_plain_range(t, engine.bias.ci95, "+.3f")
        table.add_row(escape_line(name), format_plain_number(bias, "+.3f"), ends, f"{engine.results:,}")
    return table


def _describe_references(references: Sequence[PublishedAgreement]) -> Iterator[str]:
    statistics = {
        "kappa": t("kappa on 4 grades"),
        "kappa_relevant": t("kappa on relevant or not"),
        "tau": "tau",
    }
    yield t("For comparison, what others measured:")
    for row in references:
        value = f"{row.low}" if row.low == row.high else t("{low} to {high}", low=row.low, high=row.high)
        yield t(
            "  {statistic} {value}: {what} ({source})",
            statistic=statistics[row.statistic],
            value=value,
            what=t(row.what),
            source=t(row.source),
        )


def _describe_orders(orders: EngineOrders, measure: str, labelled: int) -> Iterator[str]:
    """Yield the engines' orders by people's grades and by the assessor's, and how alike the two are.

    `labelled` queries could count.
    """
    if orders.left_out:
        yield t(
            "without an order, because too few queries have a value by both: {names}",
            names=t(", ").join(orders.left_out[:_MOST_NAMES]) + _count_more(orders.left_out),
        )
    name = name_mean(measure)
    if orders.tau.value is None:
        why = explain_missing(t, orders.tau)
        yield t("{name}: the orders of the engines can't be compared: {why}", name=name, why=why)
        return
    yield t(
        "means of {name} on {queries}{partly}{others}, highest first: {people} by people's grades, {assessor}"
        " by the assessor's",
        name=name,
        queries=count_queries(t, orders.queries),
        partly=t(", partly labelled") if orders.partly_labelled else "",
        others=_explain_left_out(labelled - orders.queries, labelled),
        people=rank_means(t, orders.people, _MOST_NAMES),
        assessor=rank_means(t, orders.assessor, _MOST_NAMES),
    )
    yield t(
        "how alike the two orders are: tau {tau:.4f}, where 1 is the same and -1 the reverse; tau-ap"
        " {tau_ap}{overlap}",
        tau=orders.tau.value,
        tau_ap=format_plain_number(orders.tau_ap, ".4f"),
        overlap=f", RBO {format_plain_number(orders.rbo, '.4f')}" if len(orders.people) >= _LONG_LIST else "",
    )
    if orders.swapped:
        yield t(
            "people's order, which the assessor reverses: {pairs}",
            pairs=_list_engine_pairs(orders.swapped),
        )


def _explain_left_out(count: int, labelled: int) -> str:
    """Return why `count` of the `labelled` queries have no part in the means; "" for none."""
    if count <= 0:
        return ""
    return t(
        " (left out: {count:,} of {labelled:,} labelled queries, on which an engine has no value, because"
        " nothing is relevant by one side's grades or the engine failed)",
        count=count,
        labelled=labelled,
    )


def _list_engine_pairs(engine_pairs: Sequence[tuple[str, str]], *, ordered: bool = True) -> str:
    """Return `A > B; C > D`, or the first of many; `A and B` where no order is known."""
    names = [f"{a} > {b}" if ordered else t("{a} and {b}", a=a, b=b) for a, b in engine_pairs[:_MOST_NAMES]]
    return t("; ").join(names) + _count_more(engine_pairs)


def _count_more(names: Sequence[object]) -> str:
    count = len(names) - _MOST_NAMES
    return t("; ") + t("{count:,} more", count=count) if count > 0 else ""


def _list_correction(
    calibration: CalibrationResult, measure: str, without_text: int
) -> Iterator[str | Table]:
    """Yield the engines as people's grades would have them; `without_text` queries have nothing to label."""
    name = name_mean(measure)
    if isinstance(calibration, MissingCalibration):
        yield t("No correction of {name}: {why}.", name=name, why=t(calibration.why))
        return
    engine = next(iter(calibration.engines.values()))
    labelled = engine.labelled + engine.undefined
    left_out = ""
    if without_text:
        left_out = t(" that have something to label ({count:,} have nothing)", count=without_text)
    yield t(
        "{name} by people's grades on all {queries:,} queries{left_out}, estimated from the {labelled:,}"
        " queries that they labelled and the assessor's grades on the others:",
        name=name,
        queries=labelled + engine.rest,
        left_out=left_out,
        labelled=labelled,
    )
    yield _make_correction_table(calibration, name)
    yield t("This holds if the labelled queries were drawn at random (judge agree RUN --plan N).")
    yield from map(t, calibration.warnings)
    if len(calibration.comparisons) > 1:
        yield t(
            "The intervals of differences hold for all pairs together, those of engines for each engine"
            " alone."
        )
    alike = [(each.a, each.b) for each in calibration.comparisons if each.different < MIN_DIFFERING]
    if alike:
        yield t(
            "No interval, because people's grades differ on fewer than {least} labelled queries: {pairs}",
            least=MIN_DIFFERING,
            pairs=_list_engine_pairs(alike, ordered=False),
        )
    yield from _describe_outcomes(calibration.comparisons)


def _make_correction_table(calibration: MeasureCalibration, name: str) -> Table:
    table = _make_order_table(name)
    best_first = sorted(calibration.engines.items(), key=lambda item: (-item[1].assessor, item[0]))
    for engine, row in best_first:
        means = f"{row.assessor:.3f}", f"{row.corrected:.3f}", format_plain_range(t, row.ci95)
        table.add_row(escape_line(engine), *means)
    for comparison in calibration.comparisons:
        label = escape_line(f"{comparison.a} - {comparison.b}")
        means = (
            f"{comparison.assessor:+.3f}",
            f"{comparison.corrected:+.3f}",
            format_plain_range(t, comparison.ci95, "+.3f"),
        )
        table.add_row(
            label, *means, format_p_value(comparison.p_adjusted), t(OUTCOMES[comparison.outcome].en)
        )
    return table


def _describe_outcomes(comparisons: Sequence[CorrectedDifference | PlannedDifference]) -> Iterator[str]:
    """Yield what becomes of the assessor's order of each pair of engines."""
    sentences = {
        "confirmed": t("People's labels confirm the assessor's order: {pairs}"),
        "reversed": t("People's labels reverse the assessor's order. By their labels: {pairs}"),
        "decided": t("The assessor saw a tie where people's labels decide: {pairs}"),
        "open": t("Undecided, because there are too few labels or the engines are too close: {pairs}"),
    }
    for outcome, sentence in sentences.items():
        rows = [row for row in comparisons if row.outcome == outcome]
        names = [(row.b, row.a) if outcome == "reversed" else (row.a, row.b) for row in rows]
        if names:
            yield sentence.format(pairs=_list_engine_pairs(names, ordered=outcome != "open"))
