"""What `judge agree` prints of the engines: their order by people's labels and their corrected scores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from judge.cli.render.run_tables import between
from judge.dataset.clean import escape_controls
from judge.measure.ppi import MIN_DIFFERENT
from judge.report import words
from judge.report.charts.chart_texts import mean_of
from judge.report.words import counted

Row = Mapping[str, Any]

#: How many engines or pairs of them a sentence names.
_NAMED = 6
#: With fewer engines RBO, which looks at the top of long lists, says nothing that tau does not.
_LONG = 10


def orders(found: Row, measure: str) -> Iterator[str]:
    """The engines' orders by people's grades and by the assessor's, and how alike the two are."""
    if found["left_out"]:
        yield (
            "in no order, for too few of the queries have a value by both:"
            f" {', '.join(found['left_out'][:_NAMED])}{_more(found['left_out'])}"
        )
    if found["tau"]["value"] is None:
        yield f"{mean_of(measure)}: the orders of the engines can't be compared: {found['tau']['why']}"
        return
    on = counted(found["queries"], "query", "queries")
    partly = ", partly labelled" if found["partly_labelled"] else ""
    yield (
        f"{mean_of(measure)} on {on}{partly}: people's grades give"
        f" {words.ranked(found['people'], _NAMED)}, the assessor's {words.ranked(found['assessor'], _NAMED)}"
    )
    rank = "-" if found["tau_ap"] is None else f"{found['tau_ap']:.4f}"
    overlap = f", RBO {found['rbo']:.4f}" if len(found["people"]) >= _LONG else ""
    yield (
        f"how alike the two orders are: tau {found['tau']['value']:.4f}, where 1 is the same and -1 the"
        f" reverse; tau-ap {rank}{overlap}"
    )
    if found["swapped"]:
        yield f"the other way round by the assessor: {_listed(found['swapped'])}"


def _listed(pairs: Sequence[Sequence[str]], sign: str = " > ") -> str:
    """`A > B; C > D`, or the first of many."""
    return "; ".join(sign.join(pair) for pair in pairs[:_NAMED]) + _more(pairs)


def _more(named: Sequence[object]) -> str:
    return f"; {len(named) - _NAMED:,} more" if len(named) > _NAMED else ""


def correction(found: Row, measure: str, without_text: int) -> Iterator[str | Table]:
    """The engines as people's grades would have them; `without_text` queries have nothing to label."""
    if "why" in found:
        yield f"No correction of {mean_of(measure)}: {found['why']}"
        return
    some = next(iter(found["engines"].values()))
    whole = some["labelled"] + some["undefined"]
    left_out = f" that have something to label ({without_text:,} have nothing)" if without_text else ""
    yield (
        f"{mean_of(measure)} as people's grades would give it on all {whole + some['rest']:,} queries"
        f"{left_out}, estimated from the {whole:,} that they labelled and the assessor's grades on the"
        " rest:"
    )
    yield _corrections(found, measure)
    yield "This holds if the labelled queries were drawn at random (judge agree RUN --plan)."
    yield from found["warnings"]
    if len(found["comparisons"]) > 1:
        yield "The ranges of differences hold for all pairs at once, those of engines for each one alone."
    few = [(row["a"], row["b"]) for row in found["comparisons"] if row["different"] < MIN_DIFFERENT]
    if few:
        yield (
            f"No range, for people's grades tell them apart on fewer than {MIN_DIFFERENT} labelled queries:"
            f" {_listed(few, ' and ')}"
        )
    yield from _outcomes(found["comparisons"])


def _corrections(found: Row, measure: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(mean_of(measure), overflow="fold")
    for name in ("assessor", "corrected", "95 % range", "p (adjusted)"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("assessor's order", no_wrap=True)
    for engine, row in found["engines"].items():
        means = f"{row['assessor']:.4f}", f"{row['corrected']:.4f}", between(row["ci95"])
        table.add_row(Text(escape_controls(engine)), *means)
    for row in found["comparisons"]:
        pair = Text(escape_controls(f"{row['a']} - {row['b']}"))
        means = f"{row['assessor']:+.4f}", f"{row['corrected']:+.4f}", between(row["ci95"], "+.3f")
        table.add_row(pair, *means, words.chance(row["p_adjusted"]), row["outcome"])
    return table


def _outcomes(rows: Sequence[Row]) -> Iterator[str]:
    """What became of the assessor's order of each pair of engines."""
    pairs: dict[str, list[tuple[str, str]]] = {"confirmed": [], "reversed": [], "decided": [], "open": []}
    for row in rows:
        pairs[row["outcome"]].append((row["a"], row["b"]))
    if pairs["confirmed"]:
        yield f"People's labels confirm the assessor's order: {_listed(pairs['confirmed'])}"
    if pairs["reversed"]:
        true = [(b, a) for a, b in pairs["reversed"]]
        yield f"People's labels reverse the assessor's order, it should be: {_listed(true)}"
    if pairs["decided"]:
        yield f"The assessor saw a tie where people's labels decide: {_listed(pairs['decided'])}"
    if pairs["open"]:
        yield (
            "Open, for the labels are too few or the engines too close to say:"
            f" {_listed(pairs['open'], ' and ')}"
        )
