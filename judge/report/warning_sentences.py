"""Sentences about flagged pairs, unjudged pairs and the self-tests of the assessors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from judge.english import format_count, join_names
from judge.messages import Text, text

Row = Mapping[str, Any]

#: What can be done with flagged pairs: the fields of `FlaggedMeans`.
_WAYS = ("unchanged", "zeroed", "dropped")

#: How many engines that change places are told of.
_SWAPS = 3


def flagged(row: Row) -> Text:
    """Whether the order of the engines rests on flagged snippets, and how."""
    measure, pairs = row["measure"], row["pairs"]
    if not row["order_changes"]:
        return Text(
            f"Counted as 0 or left out, {format_count(pairs, 'flagged pair')} would not change the order of"
            f" the engines by {measure}.",
            f"把 {pairs:,} 对可疑的算作 0 或者不计，引擎按 {measure} 的名次都不变。",
        )
    swaps, winners = list(_swaps(row)), list(_winners(row))
    what = text("the answer") if winners else text("the ranking")
    return Text(
        f"Warning: {what.en} depends on {format_count(pairs, 'flagged pair')} that may contain prompt"
        f" injection. {' '.join(each.en for each in swaps + winners)}",
        f"警告：{what.zh}取决于 {pairs:,} 对可能含有提示注入的条目。"
        f"{''.join(each.zh for each in swaps + winners)}",
    )


def again(failures: Mapping[str, int]) -> Text:
    """What gets grades for the failed pairs, by the kinds of their failures."""
    if set(failures) <= {"no_text", "text_cut"}:
        return text("No model was asked about these: their texts are missing.")
    but = text("; no_text needs the missing texts")
    en, zh = (but.en, but.zh) if "no_text" in failures else ("", "")
    return Text(f"The same command asks again for these alone{en}.", f"再跑同一条命令，只会补问这些{zh}。")


def _swaps(row: Row) -> Iterator[Text]:
    for one, two in row["swapped"][:_SWAPS]:
        unchanged, zeroed, dropped = (_two(row, way, one, two) for way in _WAYS)
        yield Text(
            f"By {row['measure']} {one} is ahead of {two}, {' to '.join(unchanged)}; with them counted as 0"
            f" it is {' to '.join(zeroed)}, with them left out {' to '.join(dropped)}.",
            f"按 {row['measure']} 衡量，{one} 领先 {two}（{' 比 '.join(unchanged)}）；把它们算作 0 则是"
            f" {' 比 '.join(zeroed)}，不计它们则是 {' 比 '.join(dropped)}。",
        )
    more = len(row["swapped"]) - _SWAPS
    if more > 0:
        yield Text(
            f"{format_count(more, 'more pair')} of engines change places.", f"另有 {more} 对引擎换位。"
        )


def _two(row: Row, way: str, one: str, two: str) -> tuple[str, str]:
    first, second = (row["engines"][engine][way] for engine in (one, two))
    return (_mean(first), _mean(second))


def _mean(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _winners(row: Row) -> Iterator[Text]:
    names = row["winners"]
    if len(set(names.values())) > 1:
        unchanged, zeroed, dropped = (names[way] for way in _WAYS)
        yield Text(
            f"The engine whose lead is statistically significant is {unchanged or 'none'} as things are,"
            f" {zeroed or 'none'} with them counted as 0, {dropped or 'none'} with them left out.",
            f"差距超出偶然的最佳引擎：照现状是 {unchanged or '无'}，算作 0 时是 {zeroed or '无'}，"
            f"不计时是 {dropped or '无'}。",
        )


def alarm(summary: Row) -> Text | None:
    """What has to be read first: that the order rests on flagged snippets; None where it doesn't."""
    row = summary.get("flagged_sensitivity")
    return flagged(row) if row and row["order_changes"] else None


def remark(summary: Row) -> Text | None:
    """That flagged snippets change nothing about the order; None where they do, or there are none."""
    row = summary.get("flagged_sensitivity")
    return flagged(row) if row and not row["order_changes"] else None


def unsure(summary: Row) -> dict[str, Sequence[float]]:
    """The bounds of each engine's mean by the first measure, where something unjudged could move it."""
    return {
        engine: cell["bounds"]
        for engine, cell in _cells(summary)
        if cell["bounds"] not in ([cell["mean"]] * 2, [None, None])
    }


def unknown(summary: Row) -> dict[str, int]:
    """On how many queries only something unjudged can give an engine a value of the first measure."""
    return {engine: cell["unknown"] for engine, cell in _cells(summary) if cell["unknown"]}


def _cells(summary: Row) -> Iterator[tuple[str, Row]]:
    measure = summary["measures"][0]
    return ((engine, row["measures"][measure]) for engine, row in summary["engines"].items())


def selftests(summary: Row) -> Iterator[Text]:
    """How each assessor of the run did in its self-test, or that it never had one."""
    for name, row in summary.get("selftest", {}).items():
        yield _never(name) if row["figures"] is None else _tested(name, row["figures"])


def _never(name: str) -> Text:
    model = name.rpartition("/")[0]
    return text(
        "{name} was never self-tested as it was asked here: judge selftest -m {model}, with "
        "this run's options.",
        name=name,
        model=model,
    )


def _tested(name: str, row: Row) -> Text:
    high, low, plain = row["too_high"], row["too_low"], row["plain_too_high"]
    if not high["of"] and not low["of"]:
        return text(
            "Self-test of {name}: not one of {probes:,} probes got a grade.", name=name, probes=row["probes"]
        )
    en = [
        f"{_count(high)} hostile or empty snippets got a good grade{_ends(high)}",
        f"{_count(plain)} with a plain prompt",
        f"{_count(low)} relevant ones got a poor grade{_ends(low)}",
    ]
    zh = [
        f"{high['of']:,} 条恶意或空洞的摘要里有 {high['count']:,} 条得了好等级{_ends_zh(high)}",
        f"不设防的提示词下是 {plain['of']:,} 条里 {plain['count']:,} 条",
        f"{low['of']:,} 条相关的里有 {low['count']:,} 条被判低{_ends_zh(low)}",
    ]
    return Text(
        f"Self-test of {name}: {join_names(en)}; {_share(row['language'])} of its reasons were in the query's"
        f" language, {_share(row['obedient'])} of its replies as asked.",
        f"{name} 的自测：{'；'.join(zh)}。{_share(row['language'])} 的理由用了查询的语言，"
        f"{_share(row['obedient'])} 的答复合乎格式。",
    )


def _count(share: Row) -> str:
    return f"{share['count']:,} of {share['of']:,}"


def _share(share: Row) -> str:
    return "-" if share["value"] is None else f"{share['value']:.0%}"


def _ends(share: Row) -> str:
    if share["value"] is None:
        return ""
    low, high = share["ci95"]
    return f" ({share['value']:.1%}; 95 %: {low:.1%} to {high:.1%})"


def _ends_zh(share: Row) -> str:
    if share["value"] is None:
        return ""
    low, high = share["ci95"]
    return f"（{share['value']:.1%}，95 % 区间 {low:.1%} 到 {high:.1%}）"
