"""What `judge agree` prints: how far the assessor agrees with people, and what follows for the engines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from judge.analysis.label_agreement import (
    CalibrationResult,
    CorrectedDifference,
    EngineOrders,
    LabelAgreement,
    MeasureCalibration,
    MissingCalibration,
)
from judge.analysis.summary import StatisticValue
from judge.cli.render.cells import format_interval, format_number
from judge.dataset.clean import escape_controls
from judge.english import format_count
from judge.errors import InputError
from judge.measure.agreement import PublishedAgreement
from judge.measure.measures import parse_measure
from judge.measure.ppi import MIN_DIFFERENT, CorrectedOutcome
from judge.messages import ENGLISH
from judge.report import sentences
from judge.report.charts.svg import mean_name

#: How many engines or pairs of them a sentence names.
_MOST_NAMES = 6
#: With fewer engines RBO, which looks at the top of long lists, adds nothing to tau.
_LONG_LIST = 10
_SCALES = {"graded": "0 to 3", "binary": "yes or no"}
_REFERENCES = {
    "kappa": "kappa on 4 grades",
    "kappa_relevant": "kappa on relevant or not",
    "tau": "tau",
}


def print_agreement(agreement: LabelAgreement, console: Console, measure: str | None = None) -> None:
    """Print the answer, the table of grades, and what people's labels mean for the engines.

    `measure` chooses whose order and correction is shown. Raises InputError when it compares no engines.
    """
    deciding = _choose(agreement, measure)
    _print(console, (*_answer(agreement), *_favoured(agreement)))
    console.print(_confusion(agreement), _statistics(agreement), sep="\n")
    _print(console, _reasons(agreement))
    if agreement.engines:
        console.print(_bias(agreement))
    if deciding is not None:
        _print(console, _orders(agreement.orders[deciding], deciding))
        if deciding in agreement.calibration:
            without_text = agreement.queries_without_text
            _print(console, _correction(agreement.calibration[deciding], deciding, without_text))
    console.print()
    for line in _references(agreement.references):
        console.print(Text(line, style="dim"))


def _print(console: Console, lines: Iterable[str | Table]) -> None:
    for line in lines:
        console.print(line if isinstance(line, Table) else Text(escape_controls(line)))


def _choose(agreement: LabelAgreement, measure: str | None) -> str | None:
    if measure is None:
        return next(iter(agreement.orders), None)
    name = str(parse_measure(measure))
    if name not in agreement.orders:
        raise InputError(
            "{name} compares no engines here; the measures that do: {names}; judge score RUN --save "
            "--measures takes others",
            name=name,
            names=", ".join(agreement.orders) or "none",
        )
    return name


def _answer(agreement: LabelAgreement) -> Iterator[str]:
    queries = format_count(agreement.queries, "query", "queries")
    yield (
        f"{format_count(agreement.pairs, 'pair')} of {queries} have a grade from people"
        f" ({_SCALES[agreement.people_scale]}) and one from {agreement.assessor}; of"
        f" {format_count(agreement.wholly_labelled_queries, 'query', 'queries')} people graded every pair"
    )
    if agreement.unmatched_labels:
        labels = agreement.unmatched_labels
        match = "matches" if labels == 1 else "match"
        yield f"ignored: {format_count(labels, 'label')} {match} no pair of this run"
    if agreement.empty_pairs:
        empty = format_count(agreement.empty_pairs, "pair")
        yield f"ignored: {empty} without text, which have grade 0 by rule"
    if agreement.people_scale == "graded" and agreement.highest_label in (0, 1):
        yield "no label is above 1; if people said yes or no, add --labels-scale binary"
    kappa, same = agreement.kappa_relevant, agreement.same_verdict
    if kappa.value is None or same.value is None:
        yield f"Agreement on relevant or not: {kappa.why}."
    else:
        yield (
            f"On relevant or not they agree {sentences.strength(ENGLISH, kappa.value)}: the same on"
            f" {same.value:.1%} of the pairs,"
            f" kappa {kappa.value:.3f}{sentences.interval(ENGLISH, kappa.ci95)},"
            " where 0 is chance and 1 is always."
        )
        if kappa.ci95 and agreement.queries < sentences.FEW:
            yield f"{sentences.warn_narrow(ENGLISH)}."
    side = _clear_side(agreement.bias_relevant)
    if side:
        people, assessor = _relevant_shares(agreement)
        kind = "generous" if side > 0 else "strict"
        yield (
            f"The assessor is more {kind} than people: it calls {assessor:.1%} of the pairs relevant,"
            f" people {people:.1%}."
        )


def _clear_side(statistic: StatisticValue) -> int:
    """Return 1 or -1 when the whole interval is above or below 0, else 0."""
    low, high = statistic.ci95 or (0.0, 0.0)
    return (low > 0) - (high < 0)


def _relevant_shares(agreement: LabelAgreement) -> tuple[float, float]:
    """Return the shares of the pairs that people and the assessor call relevant."""
    people = sum(map(sum, agreement.confusion[agreement.people_relevant_from :]))
    assessor = sum(sum(row[agreement.relevant_from :]) for row in agreement.confusion)
    return people / agreement.pairs, assessor / agreement.pairs


def _favoured(agreement: LabelAgreement) -> Iterator[str]:
    gap = agreement.widest_gap
    if gap is None:
        return
    of_grades = agreement.bias.value is not None and len(agreement.confusion[0]) > 2
    unit = "grades a result" if of_grades else "in the share of results called relevant"
    difference = gap.difference
    size = f"{format_number(difference.value, '.3f')}{sentences.interval(ENGLISH, difference.ci95)} {unit}"
    if _clear_side(difference) > 0:
        yield (
            f"The assessor favours {gap.favoured} over {gap.other} by {size}, which is statistically"
            " significant: a difference between engines may come from that."
        )
    else:
        why = "" if difference.ci95 else f" ({difference.why})"
        yield (
            f"No engine is clearly favoured; of all pairs the widest gap is {gap.favoured} over {gap.other},"
            f" {size}{why}."
        )


def _confusion(agreement: LabelAgreement) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("people's grade \\ the assessor's")
    for grade in range(len(agreement.confusion[0])):
        table.add_column(str(grade), justify="right")
    for grade, row in enumerate(agreement.confusion):
        table.add_row(str(grade), *(f"{count:,}" for count in row))
    return table


def _list_statistics(agreement: LabelAgreement) -> dict[str, StatisticValue]:
    """Return every statistic by its name in print."""
    differ = len(agreement.confusion) != len(agreement.confusion[0])
    return {
        "same grade": agreement.same_grade,
        "kappa of bare numbers (scales differ)" if differ else "kappa": agreement.kappa,
        "kappa, near misses count less (quadratic)": agreement.kappa_quadratic,
        "alpha, near misses count less (ordinal)": agreement.alpha,
        "mean of assessor's grade - people's": agreement.bias,
        "relevant or not: same": agreement.same_verdict,
        "relevant or not: kappa": agreement.kappa_relevant,
        "share relevant, assessor's - people's": agreement.bias_relevant,
        "of the assessor's relevant, relevant to people": agreement.precision,
        "of people's relevant, found by the assessor": agreement.recall,
        **{f"kappa, relevant from grade {grade}": kappa for grade, kappa in agreement.kappa_at.items()},
    }


def _statistics(agreement: LabelAgreement) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("agreement", overflow="fold")
    table.add_column("", justify="right", no_wrap=True)
    table.add_column("95 % range", justify="right", no_wrap=True)
    for name, statistic in _list_statistics(agreement).items():
        table.add_row(name, format_number(statistic.value), format_interval(statistic.ci95))
    return table


def _reasons(agreement: LabelAgreement) -> Iterator[str]:
    """Yield why a number or its range is missing, each reason once."""
    missing: dict[str, list[str]] = {}
    for name, statistic in _list_statistics(agreement).items():
        if statistic.why:
            missing.setdefault(statistic.why, []).append(name)
    for why, names in missing.items():
        listing = names if len(names) <= 3 else [names[0], f"{len(names) - 1} more"]
        yield f"- ({'; '.join(listing)}): {why}"


def _bias(agreement: LabelAgreement) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("assessor's - people's, by engine", overflow="fold")
    for name in ("mean", "95 % range", "results"):
        table.add_column(name, justify="right", no_wrap=True)
    for name, engine in agreement.engines.items():
        mean, ends = format_number(engine.bias.value, "+.4f"), format_interval(engine.bias.ci95, "+.3f")
        table.add_row(Text(escape_controls(name)), mean, ends, f"{engine.results:,}")
    return table


def _references(references: Sequence[PublishedAgreement]) -> Iterator[str]:
    yield "For comparison, what others measured:"
    for row in references:
        value = f"{row.low}" if row.low == row.high else f"{row.low} to {row.high}"
        yield f"  {_REFERENCES[row.statistic]} {value}: {row.what} ({row.source})"


def _orders(orders: EngineOrders, measure: str) -> Iterator[str]:
    """Yield the engines' orders by people's grades and by the assessor's, and how alike the two are."""
    if orders.left_out:
        yield (
            "in no order, for too few of the queries have a value by both:"
            f" {', '.join(orders.left_out[:_MOST_NAMES])}{_more(orders.left_out)}"
        )
    if orders.tau.value is None:
        yield f"{mean_name(measure)}: the orders of the engines can't be compared: {orders.tau.why}"
        return
    queries = format_count(orders.queries, "query", "queries")
    partly = ", partly labelled" if orders.partly_labelled else ""
    yield (
        f"{mean_name(measure)} on {queries}{partly}: people's grades give"
        f" {sentences.ranked(orders.people, _MOST_NAMES)}, the assessor's"
        f" {sentences.ranked(orders.assessor, _MOST_NAMES)}"
    )
    overlap = f", RBO {format_number(orders.rbo)}" if len(orders.people) >= _LONG_LIST else ""
    yield (
        f"how alike the two orders are: tau {orders.tau.value:.4f}, where 1 is the same and -1 the"
        f" reverse; tau-ap {format_number(orders.tau_ap)}{overlap}"
    )
    if orders.swapped:
        yield f"the other way round by the assessor: {_list_pairs(orders.swapped)}"


def _list_pairs(pairs: Sequence[Sequence[str]], sign: str = " > ") -> str:
    """Return `A > B; C > D`, or the first of many."""
    return "; ".join(sign.join(pair) for pair in pairs[:_MOST_NAMES]) + _more(pairs)


def _more(names: Sequence[object]) -> str:
    return f"; {len(names) - _MOST_NAMES:,} more" if len(names) > _MOST_NAMES else ""


def _correction(calibration: CalibrationResult, measure: str, without_text: int) -> Iterator[str | Table]:
    """Yield the engines as people's grades would have them; `without_text` queries have nothing to label."""
    if isinstance(calibration, MissingCalibration):
        yield f"No correction of {mean_name(measure)}: {calibration.why}"
        return
    engine = next(iter(calibration.engines.values()))
    labelled = engine.labelled + engine.undefined
    left_out = f" that have something to label ({without_text:,} have nothing)" if without_text else ""
    yield (
        f"{mean_name(measure)} as people's grades would give it on all {labelled + engine.rest:,} queries"
        f"{left_out}, estimated from the {labelled:,} that they labelled and the assessor's grades on the"
        " rest:"
    )
    yield _corrections(calibration, measure)
    yield "This holds if the labelled queries were drawn at random (judge agree RUN --plan)."
    yield from calibration.warnings
    if len(calibration.comparisons) > 1:
        yield "The ranges of differences hold for all pairs at once, those of engines for each one alone."
    alike = [(pair.a, pair.b) for pair in calibration.comparisons if pair.different < MIN_DIFFERENT]
    if alike:
        yield (
            f"No range, for people's grades tell them apart on fewer than {MIN_DIFFERENT} labelled queries:"
            f" {_list_pairs(alike, ' and ')}"
        )
    yield from _outcomes(calibration.comparisons)


def _corrections(calibration: MeasureCalibration, measure: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(mean_name(measure), overflow="fold")
    for name in ("assessor", "corrected", "95 % range", "p (adjusted)"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("assessor's order", no_wrap=True)
    for name, engine in calibration.engines.items():
        means = f"{engine.assessor:.4f}", f"{engine.corrected:.4f}", format_interval(engine.ci95)
        table.add_row(Text(escape_controls(name)), *means)
    for pair in calibration.comparisons:
        label = Text(escape_controls(f"{pair.a} - {pair.b}"))
        means = f"{pair.assessor:+.4f}", f"{pair.corrected:+.4f}", format_interval(pair.ci95, "+.3f")
        table.add_row(label, *means, sentences.chance(pair.p_adjusted), pair.outcome)
    return table


def _outcomes(comparisons: Sequence[CorrectedDifference]) -> Iterator[str]:
    """Yield what becomes of the assessor's order of each pair of engines."""
    pairs: Mapping[CorrectedOutcome, list[tuple[str, str]]] = {
        "confirmed": [], "reversed": [], "decided": [], "open": []
    }  # fmt: skip
    for row in comparisons:
        pairs[row.outcome].append((row.a, row.b))
    if pairs["confirmed"]:
        yield f"People's labels confirm the assessor's order: {_list_pairs(pairs['confirmed'])}"
    if pairs["reversed"]:
        reverse = [(b, a) for a, b in pairs["reversed"]]
        yield f"People's labels reverse the assessor's order, it should be: {_list_pairs(reverse)}"
    if pairs["decided"]:
        yield f"The assessor saw a tie where people's labels decide: {_list_pairs(pairs['decided'])}"
    if pairs["open"]:
        yield (
            "Open, for the labels are too few or the engines too close to say:"
            f" {_list_pairs(pairs['open'], ' and ')}"
        )
