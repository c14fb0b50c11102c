"""Owns how findings are said: one plain sentence each, for people who know no statistics.

Sentences are made from what summary.json holds, so that every reader of a run says the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import floor, log10
from statistics import median
from typing import Any

from judge.measure.compare import Comparison
from judge.measure.simultaneous import MIN_DIFFERING

Row = Mapping[str, Any]

#: Below so many queries the simultaneous intervals are only approximate.
FEW_QUERIES = 10
#: Below so many queries a BCa interval of 95 %, as of a kappa, holds the truth clearly less often than that.
FEW = 20
NARROW = f"With fewer than {FEW} queries the 95 % ranges come out too narrow"
#: Means that are closer than this are equal but for rounding.
TIE = 1e-12
#: How an engine with the highest mean can come out against another without being ahead.
KINDS = ("behind", "not separated", "undetermined", "apart")
#: What keeps an engine from being best.
_STANDINGS = {
    "behind": "is behind {} on the queries where both have a value",
    "not separated": "is not separated from {} (the difference may be chance)",
    "undetermined": "could lose to {} by what is unjudged",
    "apart": "shares no query with {} on which both have a value",
}


def deciding(summary: Row) -> str:
    """The measure that engines are compared by first; empty when there is none."""
    return next((row["measure"] for row in summary["comparisons"]), "")


def has_few_queries(summary: Row) -> bool:
    """Return whether there are intervals over fewer than `FEW_QUERIES` queries."""
    counts = [row["n"] for row in summary["comparisons"] if row["measure"] == deciding(summary)]
    cells = (row["measures"][summary["measures"][0]] for row in summary["engines"].values())
    return min(counts or (cell["n"] for cell in cells if cell["ci95"]), default=FEW_QUERIES) < FEW_QUERIES


def few(summary: Row) -> str:
    """Return the warning about intervals over few queries; empty when there are enough."""
    if not has_few_queries(summary):
        return ""
    return (
        f"With fewer than {FEW_QUERIES} queries, intervals are approximate and show only large differences."
    )


@dataclass(frozen=True, slots=True)
class Plan:
    """What more queries would show: the true difference found with 80 % power on `n` and on twice as many.

    Both are medians over the pairs of engines that can be tested, by the deciding measure.
    """

    n: int
    detectable: float
    doubled: float


def plan(summary: Row, measure: str | None = None) -> Plan | None:
    """Return what the run's queries can show by `measure` (None: the deciding one), None when nothing."""
    rows = [
        row
        for row in summary["comparisons"]
        if row["measure"] == (measure or deciding(summary)) and row["detectable"] is not None
    ]
    if not rows:
        return None
    first, second = (median(row[key] for row in rows) for key in ("detectable", "detectable_doubled"))
    return Plan(max(row["n"] for row in rows), first, second)


def planning(summary: Row, measure: str | None = None) -> str:
    """Return a sentence about what more queries would show; empty when no pair can be tested."""
    found = plan(summary, measure)
    if found is None:
        return ""
    return (
        f"With {counted(found.n, 'query', 'queries')} a true difference of about {found.detectable:.2g}"
        f" between two engines is found 4 times out of 5; with {2 * found.n:,} queries, one of about"
        f" {found.doubled:.2g} (medians over the pairs, by {measure or deciding(summary)})."
    )


def verdict(comparison: Comparison) -> str:
    """What a comparison comes to: `A > B`, or why no engine is named."""
    if comparison.outcome == "better":
        return f"{comparison.a} > {comparison.b}"
    if comparison.outcome == "undetermined":
        if not comparison.n:
            return "undetermined: there is no query where both have a value"
        return "undetermined: unjudged snippets could turn it"
    differing = comparison.wins + comparison.losses
    if differing < MIN_DIFFERING:
        return (
            f"not separated (they differ on {counted(differing, 'query', 'queries')}; it takes"
            f" {MIN_DIFFERING} or more)"
        )
    if not comparison.sd:
        return "not separated (they differ by the same on every query, which gives no variance to test with)"
    if comparison.at_least is None:
        return "not separated"
    return f"not separated (that takes at least {rounded(comparison.at_least)} queries with values for both)"


@dataclass(frozen=True, slots=True)
class Lead:
    """How the engine that leads by `measure` stands to the `others`, however one says it.

    It is significantly ahead of `ahead` of them. `against` holds the rest by how it came
    out against them, a key of `KINDS`. `known` is False when no engine has a value, `shared` True when
    another engine has the same mean.
    """

    measure: str
    best: str
    others: int
    ahead: int
    known: bool
    shared: bool
    against: Mapping[str, Sequence[str]]


def lead(summary: Row, measure: str) -> Lead:
    """The lead in the comparisons by `measure`."""
    rows = [row for row in summary["comparisons"] if row["measure"] == measure]
    order = standing(summary, measure)
    wins = Counter(row["winner"] for row in rows)
    # An engine that broke on hard queries may have a higher mean than one that beats it on the others.
    best = next((engine for engine in order if wins[engine] == len(order) - 1), order[0])
    met = [(row["b"] if row["a"] == best else row["a"], row) for row in rows if best in (row["a"], row["b"])]
    first, second = (summary["engines"][engine]["measures"][measure]["mean"] for engine in order[:2])
    return Lead(
        measure=measure,
        best=best,
        others=len(order) - 1,
        ahead=wins[best],
        known=summary["engines"][best]["measures"][measure]["mean"] is not None,
        shared=second is not None and first - second <= TIE,
        against={kind: [engine for engine, row in met if _came_out(row, best) == kind] for kind in KINDS},
    )


def headline(summary: Row, measure: str | None = None) -> str:
    """Which engine is best by `measure` (None: the deciding one), or why none can be named.

    Empty when there is nothing to compare.
    """
    measure = measure or deciding(summary)
    if not measure:
        return ""
    if "runs" in summary:
        return _between_runs([row for row in summary["comparisons"] if row["measure"] == measure], measure)
    found = lead(summary, measure)
    which = "" if measure == deciding(summary) else f" (descriptive: {deciding(summary)} decides)"
    if found.ahead == found.others:
        if found.ahead == 1:
            return f"{found.best} is best by {measure}{which}: its lead is statistically significant."
        return (
            f"{found.best} is best by {measure}{which}: its leads over the {found.ahead} others are"
            " statistically significant."
        )
    if not found.known:
        return f"No engine is best by {measure}{which}: none has a value on any query."
    reasons = [_STANDINGS[kind].format(_some(names)) for kind, names in found.against.items() if names]
    if found.ahead:
        reasons.append(f"is ahead of {counted(found.ahead, 'other')}")
    has = "shares" if found.shared else "has"
    return (
        f"No engine is best by {measure}{which}: {found.best} {has} the highest mean, but {listed(reasons)}."
    )


def _between_runs(rows: Sequence[Row], measure: str) -> str:
    """Which engines differ from themselves in another run."""
    changed = [row["verdict"] for row in rows if row["winner"]]
    unsure = sum(row["outcome"] == "undetermined" for row in rows)
    rest = f"; {counted(unsure, 'comparison')} could be turned by what is unjudged" if unsure else ""
    if not changed:
        return f"No engine differs significantly between the runs by {measure}{rest}."
    return f"Between the runs, by {measure}: {listed(changed)}{rest}."


def _came_out(row: Row, best: str) -> str:
    """How the leading engine came out of a comparison: `ahead`, or one of `KINDS`."""
    if row["outcome"] == "better":
        return "ahead" if row["winner"] == best else "behind"
    return str(row["outcome"]) if row["n"] else "apart"


def standing(summary: Row, measure: str) -> list[str]:
    """The engines, highest mean first, those without one last."""

    def place(engine: str) -> tuple[float, str]:
        mean = summary["engines"][engine]["measures"][measure]["mean"]
        return (1.0 if mean is None else -mean, engine)

    return sorted(summary["engines"], key=place)


def ranked(means: Mapping[str, float | None], most: int = 1000) -> str:
    """The engines that have a mean, best first, `A > B = C`; of many the first, and how many more."""
    known = {engine: mean for engine, mean in means.items() if mean is not None}
    groups: list[list[str]] = []
    for engine in sorted(known, key=lambda engine: -known[engine]):
        if groups and known[groups[-1][-1]] - known[engine] <= TIE:
            groups[-1].append(engine)
        else:
            groups.append([engine])
    signed = [(" = " if at else " > ") + engine for tied in groups for at, engine in enumerate(sorted(tied))]
    more = f" > {len(signed) - most:,} more" if len(signed) > most else ""
    return "".join(signed[:most]).removeprefix(" > ") + more


def _some(names: Sequence[str]) -> str:
    """The names, or the first of many."""
    return listed(names if len(names) <= 4 else [*names[:3], f"{len(names) - 3} more"])


def difference(row: Row) -> str:
    """A comparison in one sentence."""
    if row["difference"] is None:
        return f"{row['a']}, {row['b']}: {row['verdict']}"
    ahead = f"ahead on {row['wins']} of {row['n']} queries, behind on {row['losses']}"
    size = f"{row['difference']:+.4f}{interval(row['ci95'])}{_worst_case(row)}"
    if row["winner"]:
        return f"{row['verdict']}: {size}; {ahead}"
    return f"{row['a']}, {row['b']}: {row['verdict']}; {size}; {ahead}"


def is_unsure(row: Row) -> bool:
    """Return whether unjudged snippets leave the difference of a comparison open."""
    return bool(row["bounds"]) and row["bounds"][1] - row["bounds"][0] > TIE


def _worst_case(row: Row) -> str:
    if not is_unsure(row):
        return ""
    least, most = row["bounds"]
    robust = ", robust to any grades" if row["robust"] else ""
    return f"; with any grades of the unjudged {least:+.4f} to {most:+.4f}{robust}"


def reversals(summary: Row) -> Iterator[tuple[str, str, int, Row]]:
    """Yield (column, value, queries, comparison) where a segment names the engine that is behind overall."""
    order = standing(summary, deciding(summary)) if deciding(summary) else []
    for column, value, part in segments(summary):
        for row in part["comparisons"]:
            if row["winner"] and order.index(row["a"]) > order.index(row["b"]):
                yield column, value, part["queries"], row


def segments(summary: Row) -> Iterator[tuple[str, str, Row]]:
    """Yield (column, value, segment), however the columns are held."""
    columns = summary["slices"]
    for column, values in columns.items() if isinstance(columns, Mapping) else columns:
        for value, part in values.items() if isinstance(values, Mapping) else values:
            yield column, value, part


def differing_leads(summary: Row) -> Iterator[tuple[str, str, Row]]:
    """Yield (column, value, contrast) where a difference between two engines differs between segments."""
    for column, value, part in segments(summary):
        for row in part.get("contrasts", ()):
            if row["differs"]:
                yield column, value, row


def by_segment(summary: Row) -> Iterator[str]:
    """Yield what stands under the headline: segments that other engines win, leads that differ."""
    for column, value, queries, row in reversals(summary):
        yield (
            f"But in {column} {value} ({counted(queries, 'query', 'queries')}) {row['a']} is ahead of"
            f" {row['b']}: {row['difference']:+.4f}{interval(row['ci95'])}."
        )
    for column, value, row in differing_leads(summary):
        yield (
            f"{row['a']} - {row['b']} differs between segments: {row['inside']:+.4f} in {column} {value},"
            f" {row['outside']:+.4f} on the other queries; difference"
            f" {row['difference']:+.4f}{interval(row['ci95'])}."
        )


def interval(ends: Sequence[float] | None) -> str:
    """` (95 %: low to high)`, or nothing."""
    return f" (95 %: {ends[0]:.4f} to {ends[1]:.4f})" if ends and ends[0] < ends[1] else ""


def within_lists(row: Row) -> str:
    """Why the order that own lists give is another one."""
    better, worse = row["better"], row["worse"]
    chance = "" if row["sure"] else " (which may be chance)"
    return (
        f"Divided by its own list alone, {worse} would come first ({row['own']}: {worse}"
        f" {row['alone'][1]:.3f}, {better} {row['alone'][0]:.3f}): that says how well a list is ordered, not"
        " what it holds, so one relevant result on top and nothing else is perfect."
        f" {better} shows {row['relevant'][0]:.1f} relevant results a query and {worse}"
        f" {row['relevant'][1]:.1f}; measured against what all engines found ({row['measure']}),"
        f" {better} is ahead, {row['pooled'][0]:.3f} to {row['pooled'][1]:.3f}{chance}."
    )


def stability(row: Row, deciding: str) -> Iterator[str]:
    """How far the repeats agree, plain words first; `deciding` names the measure that engines meet by."""
    yield from _verdicts(row)
    measure = row["measures"][deciding]
    yield _means(deciding, measure, row["margin"])
    if measure["smallest_tau"] is not None:
        yield _orders(measure)


def _verdicts(row: Row) -> Iterator[str]:
    flips, ever = row["flip_rate"], row["ever_flipped"]
    if flips["value"] is None:
        yield f"stability is unknown: {flips['why']}"
        return
    yield (
        f"judged again, {_percent(flips['value'])} of the verdicts (relevant or not) change"
        f"{_percents(flips['ci95'])}; {_percent(ever['value'])} of {row['pairs']:,} pairs changed at least"
        f" once in {row['repeats']} repeats"
    )
    alpha = row["alpha"]
    if alpha["value"] is None:
        yield f"the repeats agree, but alpha says nothing: {alpha['why']}"
    else:
        value = f"{alpha['value']:.3f}{interval(alpha['ci95'])}"
        yield f"the repeats' grades agree {strength(alpha['value'])}: alpha {value}, where 1 is always"


def _means(name: str, measure: Row, margin: float) -> str:
    if measure["equivalent"] is None:
        return f"{name}: too few queries to say whether the repeats' means are the same"
    spread = f"the repeats' means of an engine differ by up to {measure['largest_difference']:.4f}"
    test = f"(equivalence test, p {chance(measure['tost_p'])})"
    if measure["equivalent"]:
        return f"{name}: {spread}; that they stay within ±{margin} holds for every engine {test}"
    return f"{name}: {spread}; that they stay within ±{margin} is not shown {test}"


def _orders(measure: Row) -> str:
    smallest = measure["smallest_tau"]
    if smallest >= 1 - 1e-9:
        return "the engines stand in the same order in every repeat"
    return f"the order of the engines changes between repeats (smallest tau {smallest:.3f})"


def variance(split: Row | None) -> str:
    """What the values of a measure vary with."""
    if split is None:
        return "what the values vary with can't be told: it takes 2 queries, engines and repeats at least"
    total = sum(split.values())
    if total < TIE:
        return "the values do not vary: every engine has the same on every query"
    names = {
        "query": "the query",
        "engine": "the engine",
        "query_engine": "which engine suits which query",
        "noise": "judging it again",
    }
    return "the values vary with " + ", ".join(
        f"{name} {split[key] / total:.0%}" for key, name in names.items()
    )


def strength(agreement: float) -> str:
    """Words for a kappa or an alpha, at the lines of Landis & Koch (1977), who draw them by feeling."""
    lines = ((0.81, "very well"), (0.61, "well"), (0.41, "moderately"), (0.21, "a little"), (0.01, "hardly"))
    return next((word for least, word in lines if agreement >= least), "no more than by chance")


def listed(names: Iterable[str]) -> str:
    """Names as one says them: `a, b and c`."""
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def counted(count: int, thing: str, things: str = "") -> str:
    """`1 query`, `2 queries`: a count with the word for one or for many."""
    return f"{count:,} {thing if count == 1 else things or thing + 's'}"


def dollars(cost: Mapping[str, Any]) -> str | None:
    """Return what calls cost, such as `$0.0123` or `at least $0.0123`; None where that is unknown.

    `""` where nothing was billed: no server was called, or no call was answered.
    """
    usd = cost["usd"]
    if usd is None:
        return None if cost["calls"] else ""
    if not cost["prompt_tokens"] and not cost["completion_tokens"]:
        return None if cost.get("uncounted") or cost.get("maybe_billed") else ""
    least = "at least " if cost.get("uncounted") or cost.get("maybe_billed") else ""
    if 0 < usd < 0.0001 and not least:
        return "less than $0.0001"
    return f"{least}${usd:.4f}"


def chance(p: float | None) -> str:
    """A p value; the smallest are said to be small rather than 0."""
    return "-" if p is None else "<0.0001" if p < 0.0001 else f"{p:.4f}"


def rounded(count: int) -> str:
    """A count of which only the first two digits mean anything."""
    digits = max(0, floor(log10(count)) - 1) if count else 0
    return f"{round(count, -digits):,}"


def _percent(share: float) -> str:
    return f"{share:.1%}"


def _percents(ends: Sequence[float] | None) -> str:
    return f" (95 %: {_percent(ends[0])} to {_percent(ends[1])})" if ends else ""
