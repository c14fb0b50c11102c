"""Sentences on findings, in every language of the catalogue, for people who know no statistics.

The terminal, the report and the notices make their sentences here, so that all of them say the same. `t` is
the translator of a language.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from judge.analysis.run_analysis import ComparisonOutcome, describe_outcome
from judge.messages import Translator

Row = Mapping[str, Any]

#: Below so many queries the simultaneous intervals are only approximate.
FEW_QUERIES = 10
#: Below so many queries a BCa interval of 95 %, as of a kappa, holds the truth clearly less often than that.
FEW = 20
#: Means that are closer than this are equal but for rounding.
TIE = 1e-12
#: How an engine with the highest mean can come out against another without being ahead.
KINDS = ("behind", "not separated", "undetermined", "apart")


def deciding(summary: Row) -> str:
    """Return the measure that decides; empty when there is none."""
    return next((row["measure"] for row in summary["comparisons"]), "")


def has_few_queries(summary: Row) -> bool:
    """Return whether there are intervals over fewer than `FEW_QUERIES` queries."""
    counts = [row["n"] for row in summary["comparisons"] if row["measure"] == deciding(summary)]
    cells = (row["measures"][summary["measures"][0]] for row in summary["engines"].values())
    return min(counts or (cell["n"] for cell in cells if cell["ci95"]), default=FEW_QUERIES) < FEW_QUERIES


def warn_narrow(t: Translator) -> str:
    """Return the warning about BCa intervals over few queries."""
    return t("With fewer than {few} queries, the 95 % intervals are too narrow", few=FEW)


def few(t: Translator, summary: Row) -> str:
    """Return the warning about intervals over few queries; empty when there are enough."""
    if not has_few_queries(summary):
        return ""
    return t(
        "With fewer than {few} queries, intervals are approximate and show only large differences.",
        few=FEW_QUERIES,
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


def planning(t: Translator, summary: Row, measure: str | None = None) -> str:
    """Return a sentence about what more queries would show; empty when no pair can be tested."""
    power = plan(summary, measure)
    if power is None:
        return ""
    return t(
        "With {queries} a true difference of about {detectable:.2g} between two engines is found 4 times out"
        " of 5; with {doubled_n:,} queries, one of about {doubled:.2g} (medians over the pairs, by"
        " {measure}).",
        queries=count_queries(t, power.n),
        detectable=power.detectable,
        doubled_n=2 * power.n,
        doubled=power.doubled,
        measure=measure or deciding(summary),
    )


def verdict_of(t: Translator, row: Row) -> str:
    """Return the result of a comparison of summary.json, whose own `verdict` is English."""
    fields = ("a", "b", "outcome", "n", "wins", "losses", "sd", "at_least_queries")
    return describe_outcome(t, ComparisonOutcome(*(row[field] for field in fields)))


@dataclass(frozen=True, slots=True)
class Lead:
    """How the engine with the highest mean by `measure` compares with the `others`.

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
    """Return the lead in the comparisons by `measure`."""
    rows = [row for row in summary["comparisons"] if row["measure"] == measure]
    order = standing(summary, measure)
    wins = Counter(row["winner"] for row in rows)
    # An engine with errors on hard queries may have a higher mean than one that is better on the others.
    best = next((engine for engine in order if wins[engine] == len(order) - 1), order[0])
    compared = [
        (row["b"] if row["a"] == best else row["a"], row) for row in rows if best in (row["a"], row["b"])
    ]
    first, second = (summary["engines"][engine]["measures"][measure]["mean"] for engine in order[:2])
    return Lead(
        measure=measure,
        best=best,
        others=len(order) - 1,
        ahead=wins[best],
        known=summary["engines"][best]["measures"][measure]["mean"] is not None,
        shared=second is not None and first - second <= TIE,
        against={
            kind: [engine for engine, row in compared if _came_out(row, best) == kind] for kind in KINDS
        },
    )


def headline(t: Translator, summary: Row, measure: str | None = None) -> str:
    """Return which engine is best by `measure` (None: the deciding one), or why none can be named.

    Empty when there is nothing to compare.
    """
    measure = measure or deciding(summary)
    if not measure:
        return ""
    if "runs" in summary:
        rows = [row for row in summary["comparisons"] if row["measure"] == measure]
        return _between_runs(t, rows, measure)
    leader = lead(summary, measure)
    values = {"best": leader.best, "measure": measure, "which": ""}
    if measure != deciding(summary):
        values["which"] = t(" (descriptive: {measure} decides)", measure=deciding(summary))
    if leader.ahead == leader.others == 1:
        return t("{best} is best by {measure}{which}: its lead is statistically significant.", **values)
    if leader.ahead == leader.others:
        return t(
            "{best} is best by {measure}{which}: its leads over the {count} others are statistically"
            " significant.",
            count=leader.ahead,
            **values,
        )
    if not leader.known:
        return t("No engine is best by {measure}{which}: none has a value on any query.", **values)
    reasons = [
        _standing_sentence(t, kind, _some(t, names)) for kind, names in leader.against.items() if names
    ]
    if leader.ahead:
        reasons.append(t.plural("is ahead of {count} other", "is ahead of {count} others", leader.ahead))
    values["reasons"] = t.join(reasons, "clauses")
    if leader.shared:
        return t(
            "No engine is best by {measure}{which}: {best} shares the highest mean, but {reasons}.", **values
        )
    return t("No engine is best by {measure}{which}: {best} has the highest mean, but {reasons}.", **values)


def _standing_sentence(t: Translator, kind: str, names: str) -> str:
    """Return what keeps an engine from being best, as a clause."""
    if kind == "behind":
        return t("is behind {names} on the queries where both have a value", names=names)
    if kind == "not separated":
        return t("is not separated from {names} (the difference may be chance)", names=names)
    if kind == "undetermined":
        return t("could lose to {names} by what is unjudged", names=names)
    return t("shares no query with {names} on which both have a value", names=names)


def _between_runs(t: Translator, rows: Sequence[Row], measure: str) -> str:
    """Return which engines differ from themselves in another run."""
    changed = [row["verdict"] for row in rows if row["winner"]]
    unsure = sum(row["outcome"] == "undetermined" for row in rows)
    rest = ""
    if unsure:
        rest = t.plural(
            "; {count:,} comparison could be turned by what is unjudged",
            "; {count:,} comparisons could be turned by what is unjudged",
            unsure,
        )
    if not changed:
        return t(
            "No engine differs significantly between the runs by {measure}{rest}.", measure=measure, rest=rest
        )
    return t(
        "Between the runs, by {measure}: {changed}{rest}.",
        measure=measure,
        changed=t.join(changed),
        rest=rest,
    )


def _came_out(row: Row, best: str) -> str:
    """Return the result of a comparison for the leading engine: `ahead`, or one of `KINDS`."""
    if row["outcome"] == "better":
        return "ahead" if row["winner"] == best else "behind"
    return str(row["outcome"]) if row["n"] else "apart"


def standing(summary: Row, measure: str) -> list[str]:
    """Return the engines, highest mean first, those without a mean last."""

    def place(engine: str) -> tuple[float, str]:
        mean = summary["engines"][engine]["measures"][measure]["mean"]
        return (1.0 if mean is None else -mean, engine)

    return sorted(summary["engines"], key=place)


def ranked(means: Mapping[str, float | None], most: int = 1000) -> str:
    """Return the engines with a mean, best first, `A > B = C`; of many the first, and how many more."""
    present = {engine: mean for engine, mean in means.items() if mean is not None}
    groups: list[list[str]] = []
    for engine in sorted(present, key=lambda engine: -present[engine]):
        if groups and present[groups[-1][-1]] - present[engine] <= TIE:
            groups[-1].append(engine)
        else:
            groups.append([engine])
    signed = [(" = " if at else " > ") + engine for tied in groups for at, engine in enumerate(sorted(tied))]
    more = f" > {len(signed) - most:,} more" if len(signed) > most else ""
    return "".join(signed[:most]).removeprefix(" > ") + more


def _some(t: Translator, names: Sequence[str]) -> str:
    """Return the names, or the first of many."""
    if len(names) <= 4:
        return t.join(names)
    return t(
        "{names} and {more} more",
        names=t(", ").join(names[:3]),
        more=len(names) - 3,
        total=len(names),
    )


def difference(t: Translator, row: Row) -> str:
    """Return a comparison in one sentence."""
    result = verdict_of(t, row)
    pair = {"a": row["a"], "b": row["b"], "result": result}
    if row["difference"] is None:
        return t("{a}, {b}: {result}", **pair)
    ahead = t(
        "ahead on {wins} of {n} queries, behind on {losses}",
        wins=row["wins"],
        n=row["n"],
        losses=row["losses"],
    )
    size = f"{row['difference']:+.4f}{interval(t, row['ci95'])}{_worst_case(t, row)}"
    if row["winner"]:
        return t("{result}: {size}; {ahead}", result=result, size=size, ahead=ahead)
    return t("{a}, {b}: {result}; {size}; {ahead}", size=size, ahead=ahead, **pair)


def is_unsure(row: Row) -> bool:
    """Return whether unjudged snippets leave the difference of a comparison open."""
    return bool(row["bounds"]) and row["bounds"][1] - row["bounds"][0] > TIE


def _worst_case(t: Translator, row: Row) -> str:
    if not is_unsure(row):
        return ""
    least, most = row["bounds"]
    robust = t(", robust to any grades") if row["robust"] else ""
    return t(
        "; with any grades of the unjudged {least:+.4f} to {most:+.4f}{robust}",
        least=least,
        most=most,
        robust=robust,
    )


def reversals(summary: Row) -> Iterator[tuple[str, str, int, Row]]:
    """Yield (column, value, queries, comparison) where a segment names the engine that is behind overall."""
    order = standing(summary, deciding(summary)) if deciding(summary) else []
    for column, value, part in segments(summary):
        for row in part["comparisons"]:
            if row["winner"] and order.index(row["a"]) > order.index(row["b"]):
                yield column, value, part["queries"], row


def segments(summary: Row) -> Iterator[tuple[str, str, Row]]:
    """Yield (column, value, segment), however the columns are held."""
    columns = summary["segments"]
    for column, values in columns.items() if isinstance(columns, Mapping) else columns:
        for value, part in values.items() if isinstance(values, Mapping) else values:
            yield column, value, part


def differing_leads(summary: Row) -> Iterator[tuple[str, str, Row]]:
    """Yield (column, value, contrast) where a difference between two engines differs between segments."""
    for column, value, part in segments(summary):
        for row in part.get("contrasts", ()):
            if row["differs"]:
                yield column, value, row


def by_segment(t: Translator, summary: Row) -> Iterator[str]:
    """Yield what stands under the headline: segments that other engines win, leads that differ."""
    for column, value, queries, row in reversals(summary):
        yield t(
            "But in {column} {value} ({queries}) {a} is ahead of {b}: {size}.",
            column=column,
            value=value,
            queries=count_queries(t, queries),
            a=row["a"],
            b=row["b"],
            size=f"{row['difference']:+.4f}{interval(t, row['ci95'])}",
        )
    for column, value, row in differing_leads(summary):
        yield t(
            "{a} - {b} differs between segments: {inside:+.4f} in {column} {value}, {outside:+.4f} on the"
            " other queries; difference {size}.",
            a=row["a"],
            b=row["b"],
            inside=row["inside"],
            column=column,
            value=value,
            outside=row["outside"],
            size=f"{row['difference']:+.4f}{interval(t, row['ci95'])}",
        )


def interval(t: Translator, ends: Sequence[float] | None) -> str:
    """Return ` (95 %: low to high)`; empty where there is no interval."""
    if not ends or ends[0] >= ends[1]:
        return ""
    return t(" (95 %: {low} to {high})", low=f"{ends[0]:.4f}", high=f"{ends[1]:.4f}")


def within_lists(t: Translator, row: Row) -> str:
    """Return why the order by own lists differs from the order by the pool."""
    return t(
        "Divided by its own list alone, {worse} would come first ({own}: {worse} {alone_worse:.3f}, {better}"
        " {alone_better:.3f}): that says how well a list is ordered, not what it holds, so one relevant"
        " result on top and nothing else is perfect. {better} shows {relevant_better:.1f} relevant results a"
        " query and {worse} {relevant_worse:.1f}; measured against what all engines found ({measure}),"
        " {better} is ahead, {pooled_better:.3f} to {pooled_worse:.3f}{chance}.",
        better=row["better"],
        worse=row["worse"],
        own=row["own"],
        measure=row["measure"],
        alone_better=row["alone"][0],
        alone_worse=row["alone"][1],
        relevant_better=row["relevant"][0],
        relevant_worse=row["relevant"][1],
        pooled_better=row["pooled"][0],
        pooled_worse=row["pooled"][1],
        chance="" if row["significant"] else t(" (which may be chance)"),
    )


def stability(t: Translator, row: Row, deciding: str) -> Iterator[str]:
    """Yield how far the repeats agree, plain words first; `deciding` is the deciding measure."""
    yield from _verdicts(t, row)
    measure = row["measures"][deciding]
    yield _means(t, deciding, measure, row["margin"])
    if measure["smallest_tau"] is not None:
        yield _orders(t, measure)


def _verdicts(t: Translator, row: Row) -> Iterator[str]:
    flips, ever, alpha = row["flip_rate"], row["ever_flipped"], row["alpha"]
    if flips["value"] is None:
        yield t("stability is unknown: {why}", why=why(t, flips))
        return
    yield t(
        "judged again, {flips:.1%} of the verdicts (relevant or not) change{range}; {ever:.1%} of {pairs:,}"
        " pairs changed at least once in {repeats} repeats",
        flips=flips["value"],
        range=_percents(t, flips["ci95"]),
        ever=ever["value"],
        pairs=row["pairs"],
        repeats=row["repeats"],
    )
    if alpha["value"] is None:
        yield t("the repeats agree, but alpha says nothing: {why}", why=why(t, alpha))
        return
    yield t(
        "the repeats' grades agree {strength}: alpha {value}, where 1 is always",
        strength=strength(t, alpha["value"]),
        value=f"{alpha['value']:.3f}{interval(t, alpha['ci95'])}",
    )


def why(t: Translator, cell: Row) -> str:
    """Return why the number in `cell` is unknown; as it stands where the catalogue does not know it."""
    return t(str(cell.get("why", "")))


def _means(t: Translator, name: str, measure: Row, margin: float) -> str:
    if measure["equivalent"] is None:
        return t("{name}: too few queries to say whether the repeats' means are the same", name=name)
    values = {"name": name, "largest": measure["largest_difference"], "margin": margin}
    if measure["equivalent"]:
        return t(
            "{name}: the repeats' means of an engine differ by up to {largest:.4f}; that they stay within"
            " ±{margin} holds for every engine (equivalence test, p {p})",
            p=chance(measure["tost_p"]),
            **values,
        )
    return t(
        "{name}: the repeats' means of an engine differ by up to {largest:.4f}; that they stay within"
        " ±{margin} is not shown (equivalence test, p {p})",
        p=chance(measure["tost_p"]),
        **values,
    )


def _orders(t: Translator, measure: Row) -> str:
    smallest = measure["smallest_tau"]
    if smallest >= 1 - 1e-9:
        return t("the engines stand in the same order in every repeat")
    return t("the order of the engines changes between repeats (smallest tau {tau:.3f})", tau=smallest)


def variance(t: Translator, split: Row | None) -> str:
    """Return what the values of a measure vary with."""
    if split is None:
        return t("what the values vary with can't be told: it takes 2 queries, engines and repeats at least")
    total = sum(split.values())
    if total < TIE:
        return t("the values do not vary: every engine has the same on every query")
    names = {
        "query": t("the query"),
        "engine": t("the engine"),
        "query_engine": t("which engine suits which query"),
        "noise": t("judging it again"),
    }
    shares = [f"{name} {split[key] / total:.0%}" for key, name in names.items()]
    return t("the values vary with {shares}", shares=t(", ").join(shares))


def strength(t: Translator, agreement: float) -> str:
    """Return words for a kappa or an alpha, at the lines of Landis & Koch (1977)."""
    if agreement >= 0.81:
        return t("very well")
    if agreement >= 0.61:
        return t("well")
    if agreement >= 0.41:
        return t("moderately")
    if agreement >= 0.21:
        return t("a little")
    return t("hardly") if agreement >= 0.01 else t("no more than by chance")


def served_models(t: Translator, summary: Row) -> str:
    """Return that several models answered in one run, with the grades of each; empty for one model."""
    models = summary.get("served", {})
    if len(models) < 2:
        return ""
    parts = [
        t.plural(
            "{name} ({count:,} judgment, mean grade {mean:.2f})",
            "{name} ({count:,} judgments, mean grade {mean:.2f})",
            row["judgments"],
            name=name or t("one without a name"),
            mean=row["mean_grade"],
        )
        for name, row in models.items()
    ]
    return t(
        "{count} models answered: {models}; their grades may not be comparable.",
        count=len(models),
        models=t.join(parts),
    )


def count_queries(t: Translator, count: int) -> str:
    """Return `1 query`, `2 queries`."""
    return t.plural("{count:,} query", "{count:,} queries", count)


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
    """Return a p value as text; the smallest as `<0.0001` rather than 0."""
    return "-" if p is None else "<0.0001" if p < 0.0001 else f"{p:.4f}"


def _percents(t: Translator, ends: Sequence[float] | None) -> str:
    if not ends:
        return ""
    return t(" (95 %: {low} to {high})", low=f"{ends[0]:.1%}", high=f"{ends[1]:.1%}")
