"""What `judge agree` prints of the engines: their order and their means by the grades of people."""

from collections.abc import Iterable, Iterator, Sequence

from rich.table import Table

from judge.analysis.label_agreement import LabelAgreement, MissingCalibration
from judge.analysis.planned_order import PlannedComparison, PlannedDifference
from judge.cli.render.tables import Part, make_table
from judge.cli.terminal import t
from judge.measure.engine_agreement import EngineOrders
from judge.measure.measures import name_mean
from judge.measure.numeric import rank_engines
from judge.measure.ppi import CorrectedDifference
from judge.measure.resampling import MIN_DIFFERING
from judge.messages import Message
from judge.report.comparison_sentences import rank_means
from judge.report.display_text import (
    format_p_value,
    format_plain_number,
    format_plain_range,
    format_query_count,
)
from judge.report.facts import OUTCOMES

#: How many engines or pairs of them a sentence names.
_MAX_NAMES = 6
#: How many comparisons a table has: as many as `judge compare` prints by default.
_MAX_COMPARISONS = 21
#: With fewer engines RBO, which looks at the top of long lists, adds nothing to tau.
_LONG_LIST = 10


def iter_decision_parts(decision: PlannedComparison) -> Iterator[Part]:
    """Yield what labels on drawn pairs say of the order of engines."""
    name = name_mean(decision.measure)
    yield t(
        "{name} by people's grades on all {queries:,} queries, estimated from {labels:,} labels on the"
        " pairs that decide the order:",
        name=name,
        queries=decision.queries,
        labels=decision.labels,
    )
    rows = [_list_cells(row, row.difference, f"{row.labelled:,}") for row in decision.comparisons]
    yield _make_table(rows, name, t("labels"))
    yield from _describe_outcomes(decision.comparisons)
    yield from map(t, decision.warnings)


def _make_table(rows: Iterable[Sequence[str]], name: str, *others: str) -> Table:
    """Return a table of differences of engines, which fits 80 columns by headings of two lines."""
    p_value, order = (heading.replace(" ", "\n") for heading in (t("adjusted p"), t("assessor's order")))
    titles = name, t("assessor"), t("corrected"), t("95% interval"), p_value, *others, order
    return make_table(titles, rows)


def _list_cells(
    row: CorrectedDifference | PlannedDifference, corrected: float | None, *others: str
) -> tuple[str, ...]:
    return (
        f"{row.a} - {row.b}",
        f"{row.assessor:+.3f}",
        format_plain_number(corrected, "+.3f"),
        format_plain_range(t, row.ci95, "+.3f"),
        format_p_value(row.p_adjusted),
        *others,
        t(OUTCOMES[row.outcome].en),
    )


def describe_orders(agreement: LabelAgreement, measure: str) -> Iterator[str]:
    """Yield the engines' orders by people's grades and by the assessor's, and how alike the two are."""
    orders, name = agreement.orders[measure], name_mean(measure)
    if orders.left_out:
        yield t(
            "without an order, because too few queries have a value by both: {names}",
            names=t.list_names(orders.left_out[:_MAX_NAMES]) + _count_more(orders.left_out),
        )
    if orders.tau.value is None:
        why = t(orders.tau.why or "")
        yield t("{name}: the orders of the engines can't be compared: {why}", name=name, why=why)
        return
    yield t(
        "means of {name} on {queries}{partly}{others}, highest first: {people} by people's grades, {assessor}"
        " by the assessor's",
        name=name,
        queries=format_query_count(t, orders.queries),
        partly=t(", partly labelled") if orders.partly_labelled else "",
        others=_explain_left_out(agreement, orders),
        people=rank_means(t, orders.people, _MAX_NAMES),
        assessor=rank_means(t, orders.assessor, _MAX_NAMES),
    )
    yield t(
        "similarity of the two orders: tau {tau:.4f}, where 1 is the same and -1 the reverse; tau-ap"
        " {tau_ap}{overlap}",
        tau=orders.tau.value,
        tau_ap=format_plain_number(orders.tau_ap, ".4f"),
        overlap=f", RBO {format_plain_number(orders.rbo, '.4f')}" if len(orders.people) >= _LONG_LIST else "",
    )
    if orders.swapped:
        yield t(
            "people's order, which the assessor reverses: {pairs}", pairs=_list_engine_pairs(orders.swapped)
        )


def _explain_left_out(agreement: LabelAgreement, orders: EngineOrders) -> str:
    """Return how many labelled queries have no part in the means, and why; "" for none."""
    labelled = agreement.wholly_labelled_queries
    if orders.partly_labelled:
        labelled = agreement.labelled_queries
    if labelled <= orders.queries:
        return ""
    return t(
        " (left out: {count:,} of {labelled:,} labelled queries, on which an engine has no value, because"
        " nothing is relevant by one side's grades, or the engine failed or has no row)",
        count=labelled - orders.queries,
        labelled=labelled,
    )


def iter_correction_parts(agreement: LabelAgreement, measure: str, run: str) -> Iterator[Part]:
    """Yield the engines as people's grades would have them, with commands for the folder `run`."""
    calibration, name = agreement.calibration[measure], name_mean(measure)
    if isinstance(calibration, MissingCalibration):
        yield t("No correction of {name}: {why}.", name=name, why=_name_run(calibration.why, run))
        return
    first = next(iter(calibration.engines.values()))
    labelled = first.labelled + first.undefined
    left_out = ""
    if count := agreement.queries_without_text:
        left_out = t(" that have something to label ({count:,} have nothing)", count=count)
    yield t(
        "{name} by people's grades on all {queries:,} queries{left_out}, estimated from the {labelled:,}"
        " queries that they labelled and the assessor's grades on the others:"
        if first.rest
        else "{name} by people's grades on all {queries:,} queries{left_out}, which they labelled:",
        name=name,
        queries=labelled + first.rest,
        left_out=left_out,
        labelled=labelled,
    )
    engines = rank_engines({engine: row.assessor for engine, row in calibration.engines.items()})
    comparisons = sorted(calibration.comparisons, key=lambda row: sorted(map(engines.index, (row.a, row.b))))
    rows = [
        (engine, f"{row.assessor:.3f}", f"{row.corrected:.3f}", format_plain_range(t, row.ci95))
        for engine, row in ((engine, calibration.engines[engine]) for engine in engines)
    ]
    differences = [
        _list_cells(comparison, comparison.corrected) for comparison in comparisons[:_MAX_COMPARISONS]
    ]
    yield _make_table([*rows, *differences], name)
    if (more := len(comparisons) - _MAX_COMPARISONS) > 0:
        yield t("… and {count:,} more pairs of engines: agreement.json has all", count=more)
    if first.rest:
        yield t(
            "This holds if the labelled queries were drawn at random (judge agree {run} --plan N).", run=run
        )
    yield from (_name_run(warning, run) for warning in calibration.warnings)
    if len(comparisons) > 1:
        yield t(
            "The intervals of differences hold for all pairs together, those of engines for each engine"
            " alone."
        )
    alike = [
        (comparison.a, comparison.b) for comparison in comparisons if comparison.different < MIN_DIFFERING
    ]
    if alike:
        yield t(
            "No interval, because people's grades differ on fewer than {least} labelled queries: {pairs}",
            least=MIN_DIFFERING,
            pairs=_list_engine_pairs(alike, ordered=False),
        )
    yield from _describe_outcomes(comparisons)


def _name_run(text: str, run: str) -> str:
    """Return a text of an agreement, with the folder of the run in its commands."""
    return t(text.replace_value("run", run) if isinstance(text, Message) else text)


def _describe_outcomes(comparisons: Sequence[CorrectedDifference | PlannedDifference]) -> Iterator[str]:
    """Yield what becomes of the assessor's order of each pair of engines."""
    sentences = {
        "confirmed": t("People's labels confirm the assessor's order: {pairs}"),
        "reversed": t("People's labels reverse the assessor's order. By their labels: {pairs}"),
        "decided": t("The assessor gives no order, and people's labels decide: {pairs}"),
        "open": t("Undecided, because there are too few labels or the engines are too close: {pairs}"),
    }
    for outcome, sentence in sentences.items():
        rows = [row for row in comparisons if row.outcome == outcome]
        names = [(row.b, row.a) if outcome == "reversed" else (row.a, row.b) for row in rows]
        if names:
            yield sentence.format(pairs=_list_engine_pairs(names, ordered=outcome != "open"))


def _list_engine_pairs(engine_pairs: Sequence[tuple[str, str]], *, ordered: bool = True) -> str:
    """Return `A > B; C > D`, or the first of many; `A and B` where no order is known."""
    names = [f"{a} > {b}" if ordered else t("{a} and {b}", a=a, b=b) for a, b in engine_pairs[:_MAX_NAMES]]
    return t("; ").join(names) + _count_more(engine_pairs)


def _count_more(names: Sequence[object]) -> str:
    count = len(names) - _MAX_NAMES
    return t("; ") + t("{count:,} more", count=count) if count > 0 else ""
