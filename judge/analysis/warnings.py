"""Owns what a run says of how far its numbers can be trusted: flagged, unjudged, self-tests of assessors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from judge.measure.sensitivity import TREATMENTS, FlaggedSensitivity
from judge.report.charts.svg import Text
from judge.report.words import counted, listed

Row = Mapping[str, Any]

#: How many engines that change places are told of.
_SWAPS = 3


def as_json(found: FlaggedSensitivity | None) -> dict[str, Any] | None:
    """The weight of flagged snippets as JSON values; None where nothing is flagged."""
    if found is None:
        return None
    row = {
        "measure": found.measure,
        "pairs": found.pairs,
        "engines": {
            engine: {way: found.means[way][engine] for way in TREATMENTS} for engine in found.means["kept"]
        },
        "winners": {way: found.winners[way] for way in TREATMENTS},
        "swapped": [list(pair) for pair in found.swapped],
        "order_changes": found.changes,
    }
    return {**row, "why": flagged(row).en}


def flagged(row: Row) -> Text:
    """Whether the order of the engines rests on flagged snippets, and how."""
    measure, pairs = row["measure"], row["pairs"]
    if not row["order_changes"]:
        return Text(
            f"Counted as 0 or left out, {counted(pairs, 'flagged pair')} would not change the order of the"
            f" engines by {measure}.",
            f"把 {pairs:,} 对可疑的算作 0 或者不计，引擎按 {measure} 的名次都不变。",
        )
    said, winners = list(_swaps(row)), list(_winners(row))
    what = Text("the answer", "结论") if winners else Text("the order of the engines", "引擎的名次")
    return Text(
        f"Mind the flagged snippets: {counted(pairs, 'pair')} seem to plead for a grade, and {what.en} rests"
        f" on them. {' '.join(each.en for each in said + winners)}",
        f"当心可疑摘要：有 {pairs:,} 对疑似在讨要等级，而{what.zh}正取决于它们。"
        f"{''.join(each.zh for each in said + winners)}",
    )


def again(failures: Mapping[str, int]) -> Text:
    """What gets grades for the failed pairs, by the kinds of their failures."""
    if set(failures) <= {"no_text", "text_cut"}:
        return Text(
            "No model was asked about these: their texts are missing.", "这些缺少文字，没有问过评测员。"
        )
    but = Text("; no_text needs the missing texts", "；no_text 要先补上文字")
    en, zh = (but.en, but.zh) if "no_text" in failures else ("", "")
    return Text(f"The same command asks again for these alone{en}.", f"再跑同一条命令，只会补问这些{zh}。")


def _swaps(row: Row) -> Iterator[Text]:
    for one, two in row["swapped"][:_SWAPS]:
        kept, zeroed, dropped = (_two(row, way, one, two) for way in TREATMENTS)
        yield Text(
            f"By {row['measure']} {one} is ahead of {two}, {' to '.join(kept)}; with them counted as 0 it is"
            f" {' to '.join(zeroed)}, with them left out {' to '.join(dropped)}.",
            f"按 {row['measure']} 衡量，{one} 领先 {two}（{' 比 '.join(kept)}）；把它们算作 0 则是"
            f" {' 比 '.join(zeroed)}，不计它们则是 {' 比 '.join(dropped)}。",
        )
    more = len(row["swapped"]) - _SWAPS
    if more > 0:
        yield Text(f"{counted(more, 'more pair')} of engines change places.", f"另有 {more} 对引擎换位。")


def _two(row: Row, way: str, one: str, two: str) -> tuple[str, str]:
    first, second = (row["engines"][engine][way] for engine in (one, two))
    return (_mean(first), _mean(second))


def _mean(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _winners(row: Row) -> Iterator[Text]:
    names = row["winners"]
    if len(set(names.values())) > 1:
        kept, zeroed, dropped = (names[way] for way in TREATMENTS)
        yield Text(
            f"Best by more than chance explains is {kept or 'none'} as things are, {zeroed or 'none'} with"
            f" them counted as 0, {dropped or 'none'} with them left out.",
            f"差距超出偶然的最佳引擎：照现状是 {kept or '无'}，算作 0 时是 {zeroed or '无'}，"
            f"不计时是 {dropped or '无'}。",
        )


def alarm(summary: Row) -> Text | None:
    """What has to be read first: that the order rests on flagged snippets; None where it doesn't."""
    row = summary.get("without_flagged")
    return flagged(row) if row and row["order_changes"] else None


def remark(summary: Row) -> Text | None:
    """That flagged snippets change nothing about the order; None where they do, or there are none."""
    row = summary.get("without_flagged")
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
    return Text(
        f"{name} was never self-tested as it was asked here: judge selftest -m {model}, with this run's"
        " options.",
        f"{name} 按这次的问法还没有做过自测：用这次的选项运行 judge selftest -m {model}。",
    )


def _tested(name: str, row: Row) -> Text:
    high, low, plain = row["too_high"], row["too_low"], row["plain_too_high"]
    if not high["of"] and not low["of"]:
        return Text(
            f"Self-test of {name}: not one of {row['probes']:,} probes got a grade.",
            f"{name} 的自测：{row['probes']:,} 条探针没有一条得到等级。",
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
        f"Self-test of {name}: {listed(en)}; {_share(row['language'])} of its reasons were in the query's"
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
