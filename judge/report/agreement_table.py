"""Owns `judge agree` on the terminal: whether the assessor judges as people do, plain words first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from judge.dataset.clean import visible
from judge.errors import InputError
from judge.measure.measures import parse
from judge.report import words
from judge.report.table import between, title
from judge.report.words import counted

Row = Mapping[str, Any]

#: Lines for Cohen's kappa that are easy to say (Landis & Koch 1977).
_KAPPA = (
    (0.81, "almost perfectly"),
    (0.61, "substantially"),
    (0.41, "moderately"),
    (0.21, "fairly"),
    (0.01, "slightly"),
)
#: How many engines or pairs of them a sentence names.
_NAMED = 6


def agreement(found: Row, console: Console, measure: str | None = None) -> None:
    """Prints the answer, the table of grades, and what people's labels make of the engines.

    `measure` chooses whose order and correction is shown. Raises InputError when it is not in `found`.
    """
    deciding = _deciding(found, measure)
    _say(console, (*_answer(found), *_favoured(found)))
    console.print(_confusion(found), _statistics(found), sep="\n")
    _say(console, _reasons(found))
    if found["engines"]:
        console.print(_bias(found))
    if deciding is not None:
        _say(console, _order(found["orders"][deciding], deciding))
        if deciding in found["calibration"]:
            _calibration(found["calibration"][deciding], deciding, console)
    console.print()
    for line in _references(found["references"]):
        console.print(Text(line, style="dim"))


def _say(console: Console, lines: Iterable[str]) -> None:
    for line in lines:
        console.print(Text(visible(line)))


def _deciding(found: Row, measure: str | None) -> str | None:
    measured = list(found["orders"])
    if measure is None:
        return next(iter(measured), None)
    name = str(parse(measure))
    if name not in measured:
        known = ", ".join(measured) or "none"
        raise InputError(f"{name} compares no engines here; the measures that do: {known}")
    return name


def _answer(found: Row) -> Iterator[str]:
    yield (
        f"{counted(found['pairs'], 'pair')} of {counted(found['queries'], 'query', 'queries')} have a grade"
        f" from people ({_SCALES[found['people_scale']]}) and one from {found['assessor']}; of"
        f" {counted(found['wholly_labelled_queries'], 'query', 'queries')} people graded every pair"
    )
    if found["unmatched_labels"]:
        labels = counted(found["unmatched_labels"], "label")
        yield f"left out, being about nothing that is judged here: {labels}"
    kappa, same = found["kappa_relevant"], found["same_verdict"]
    if kappa["value"] is None:
        yield f"Agreement on relevant or not: {kappa['why']}."
    else:
        word = next((word for least, word in _KAPPA if kappa["value"] >= least), "no more than by chance")
        yield (
            f"On relevant or not they agree {word}: the same on {same['value']:.1%} of the pairs, kappa"
            f" {kappa['value']:.3f}{words.interval(kappa['ci95'])}, where 0 is chance and 1 is always."
        )
    side = _clear_side(found["bias_relevant"])
    if side:
        people, assessor = _relevant_shares(found)
        kind = "generous" if side > 0 else "strict"
        yield (
            f"The assessor is more {kind} than people: it calls {assessor:.1%} of the pairs relevant,"
            f" people {people:.1%}."
        )


def _clear_side(cell: Row) -> int:
    """1 or -1 when the whole interval is above or below 0, else 0."""
    low, high = cell["ci95"] or (0.0, 0.0)
    return (low > 0) - (high < 0)


def _relevant_shares(found: Row) -> tuple[float, float]:
    """The shares of the pairs that people and the assessor call relevant."""
    rows: Sequence[Sequence[int]] = found["confusion"]
    people = sum(map(sum, rows[found["people_relevant_from"] :]))
    assessor = sum(sum(row[found["relevant_from"] :]) for row in rows)
    return people / found["pairs"], assessor / found["pairs"]


def _favoured(found: Row) -> Iterator[str]:
    gap = found["widest_gap"]
    if gap is None:
        return
    cell, favoured, other = gap["difference"], gap["favoured"], gap["other"]
    size = f"{cell['value']:.3f}{words.interval(cell['ci95'])} {_unit(found)}"
    if _clear_side(cell):
        yield (
            f"The assessor favours {favoured} over {other} by {size}: a difference between engines may come"
            " from that."
        )
    elif cell["ci95"]:
        yield f"No engine is clearly favoured; the widest gap is {favoured} over {other}, {size}."


def _unit(found: Row) -> str:
    """What engines' biases are measured in."""
    of_grades = found["bias"]["value"] is not None and len(found["confusion"][0]) > 2
    return "grades a result" if of_grades else "in the share of results called relevant"


def _confusion(found: Row) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    rows = found["confusion"]
    table.add_column("people's grade \\ the assessor's")
    for grade in range(len(rows[0])):
        table.add_column(str(grade), justify="right")
    for grade, row in enumerate(rows):
        table.add_row(str(grade), *(f"{count:,}" for count in row))
    return table


_SCALES = {"graded": "0 to 3", "binary": "yes or no"}

_NAMES = {
    "same_grade": "same grade",
    "kappa": "kappa",
    "kappa_quadratic": "kappa, near misses count less (quadratic)",
    "alpha": "alpha, near misses count less (ordinal)",
    "bias": "mean of assessor's grade - people's",
    "same_verdict": "relevant or not: same",
    "kappa_relevant": "relevant or not: kappa",
    "bias_relevant": "share relevant, assessor's - people's",
    "precision": "of the assessor's relevant, relevant to people",
    "recall": "of people's relevant, found by the assessor",
}


def _cells(found: Row) -> dict[str, Row]:
    """Every statistic by its name in print."""
    named = {name: found[key] for key, name in _NAMES.items()}
    at = {f"kappa, relevant from grade {grade}": cell for grade, cell in found["kappa_at"].items()}
    return named | at


def _statistics(found: Row) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("agreement", overflow="fold")
    table.add_column("", justify="right", no_wrap=True)
    table.add_column("95 % range", justify="right", no_wrap=True)
    for name, cell in _cells(found).items():
        value = "-" if cell["value"] is None else f"{cell['value']:.4f}"
        table.add_row(name, value, between(cell["ci95"]))
    return table


def _reasons(found: Row) -> Iterator[str]:
    """Why a number or its range is missing, each reason once."""
    missing: dict[str, list[str]] = {}
    for name, cell in _cells(found).items():
        if "why" in cell:
            missing.setdefault(cell["why"], []).append(name)
    for why, names in missing.items():
        few = names if len(names) <= 3 else [names[0], f"{len(names) - 1} more"]
        yield f"- ({'; '.join(few)}): {why}"


def _bias(found: Row) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("assessor's - people's, by engine", overflow="fold")
    for name in ("mean", "95 % range", "results"):
        table.add_column(name, justify="right", no_wrap=True)
    for engine, row in found["engines"].items():
        cell = row["bias"]
        value = "-" if cell["value"] is None else f"{cell['value']:+.4f}"
        table.add_row(Text(visible(engine)), value, between(cell["ci95"], "+.3f"), f"{row['results']:,}")
    return table


def _order(found: Row, measure: str) -> Iterator[str]:
    if found["tau"]["value"] is None:
        yield f"{title(measure)}: the orders of the engines can't be compared: {found['tau']['why']}"
        return
    yield (
        f"{title(measure)} on {found['queries']:,} queries: people's grades give {_ranked(found['people'])},"
        f" the assessor's {_ranked(found['assessor'])}"
    )
    rank = "-" if found["tau_ap"] is None else f"{found['tau_ap']:.4f}"
    overlap = "-" if found["rbo"] is None else f"{found['rbo']:.4f}"
    tau = f"{found['tau']['value']:.4f}{words.interval(found['tau']['ci95'])}"
    yield (
        f"how alike the two orders are: tau {tau}, where 1 is the same and -1 the reverse; tau-ap {rank},"
        f" RBO {overlap}"
    )
    if found["swapped"]:
        yield f"the other way round by the assessor: {_listed(found['swapped'])}"


def _ranked(means: Mapping[str, float]) -> str:
    """The engines best first, `A > B = C`."""
    order = sorted(means, key=lambda engine: (-means[engine], engine))
    text = order[0]
    for before, engine in pairwise(order[:_NAMED]):
        text += f" {'>' if means[before] - means[engine] > 1e-12 else '='} {engine}"
    return text + (f" > {len(order) - _NAMED:,} more" if len(order) > _NAMED else "")


def _listed(pairs: Sequence[Sequence[str]], sign: str = " > ") -> str:
    """`A > B; C > D`, or the first of many."""
    more = f"; {len(pairs) - _NAMED:,} more" if len(pairs) > _NAMED else ""
    return "; ".join(sign.join(pair) for pair in pairs[:_NAMED]) + more


def _calibration(found: Row, measure: str, console: Console) -> None:
    if "why" in found:
        _say(console, [f"No correction of {title(measure)}: {found['why']}"])
        return
    some = next(iter(found["engines"].values()))
    whole = some["labelled"] + some["undefined"]
    _say(
        console,
        [
            f"{title(measure)} as people's grades would give it on all {whole + some['rest']:,} queries,"
            f" estimated from the {whole:,} that they labelled and the assessor's grades on the rest:",
        ],
    )
    console.print(_corrections(found, measure))
    _say(console, (*found["warnings"], *_outcomes(found["comparisons"])))


def _corrections(found: Row, measure: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(title(measure), overflow="fold")
    for name in ("assessor", "corrected", "95 % range", "p (Holm)"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("assessor's order", no_wrap=True)
    for engine, row in found["engines"].items():
        means = f"{row['assessor']:.4f}", f"{row['corrected']:.4f}", between(row["ci95"])
        table.add_row(Text(visible(engine)), *means)
    for row in found["comparisons"]:
        pair = Text(visible(f"{row['a']} - {row['b']}"))
        means = f"{row['assessor']:+.4f}", f"{row['corrected']:+.4f}", between(row["ci95"], "+.3f")
        table.add_row(pair, *means, f"{row['p_holm']:.4f}", row["outcome"])
    return table


def _outcomes(rows: Sequence[Row]) -> Iterator[str]:
    """What became of the assessor's order of each pair of engines."""
    pairs: dict[str, list[tuple[str, str]]] = {"confirmed": [], "reversed": [], "open": []}
    for row in rows:
        pairs[row["outcome"]].append((row["a"], row["b"]))
    if pairs["confirmed"]:
        yield f"People's labels confirm the assessor's order: {_listed(pairs['confirmed'])}"
    if pairs["reversed"]:
        true = [(b, a) for a, b in pairs["reversed"]]
        yield f"People's labels reverse the assessor's order, it should be: {_listed(true)}"
    if pairs["open"]:
        yield (
            "Open, for the labels are too few or the engines too close to say:"
            f" {_listed(pairs['open'], ' and ')}"
        )


def _references(found: Sequence[Row]) -> Iterator[str]:
    names = {
        "kappa": "kappa on 4 grades",
        "kappa_relevant": "kappa on relevant or not",
        "tau": "tau",
    }
    yield "For comparison, what others measured:"
    for row in found:
        value = f"{row['low']}" if row["low"] == row["high"] else f"{row['low']} to {row['high']}"
        yield f"  {names[row['statistic']]} {value}: {row['what']} ({row['source']})"
