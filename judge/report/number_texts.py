"""Numbers as sentences have them: counts, intervals, p-values, costs."""

from __future__ import annotations

from collections.abc import Sequence

from judge.analysis.summary import RunCost
from judge.measure.resampling import Interval
from judge.messages import Translator

#: What stands on a page where there is no value.
NOTHING = "–"


def count_queries(t: Translator, count: int) -> str:
    """Return `1 query`, `2 queries`."""
    return t.plural("{count:,} query", "{count:,} queries", count)


def format_interval(t: Translator, ends: Interval | None, form: str = ".4f") -> str:
    """Return ` (95 %: low to high)`; empty where there is no interval or both ends are equal."""
    if not ends or ends[0] >= ends[1]:
        return ""
    return t(" (95 %: {low} to {high})", low=format(ends[0], form), high=format(ends[1], form))


def format_number(value: float | None, form: str = ".3f") -> str:
    """Return a number as text, with a true minus sign; a dash for None."""
    return NOTHING if value is None else format(value, form).replace("-", "−")


def format_range(ends: Sequence[float | None] | None, form: str = ".3f") -> str:
    """Return both ends of a range; a dash for None."""
    return f"{format_number(ends[0], form)} … {format_number(ends[1], form)}" if ends else NOTHING


def format_share(value: float | None) -> str:
    """Return a share as a percentage; a dash for None."""
    return NOTHING if value is None else f"{value:.0%}"


def format_p_value(p: float | None, nothing: str = "-") -> str:
    """Return a p-value as text; the smallest as `<0.0001` rather than 0, and `nothing` for None."""
    return nothing if p is None else "<0.0001" if p < 0.0001 else f"{p:.4f}"


def format_cost(t: Translator, usd: float | None, *, calls: int, tokens: int, unclear: int) -> str | None:
    """Return what calls cost, such as `$0.0123`, or `at least $0.0123` with `unclear` calls.

    None where the cost is unknown; `""` where nothing was billed: no server was called, or no call was
    answered.
    """
    if usd is None:
        return None if calls else ""
    if not tokens:
        return None if unclear else ""
    if unclear:
        return t("at least ${usd:.4f}", usd=usd)
    return t("less than $0.0001") if 0 < usd < 0.0001 else t("${usd:.4f}", usd=usd)


def format_run_cost(t: Translator, cost: RunCost) -> str | None:
    """Return what the judgments of a run cost, as `format_cost` does."""
    return format_cost(
        t,
        cost.usd,
        calls=cost.calls,
        tokens=cost.prompt_tokens + cost.completion_tokens,
        unclear=cost.uncounted + cost.maybe_billed,
    )
