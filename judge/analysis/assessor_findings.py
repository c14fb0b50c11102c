"""Owns second opinions: what a panel's summary holds and how it is said, and who grades its own house."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from judge.measure.bias import SharedVendor
from judge.measure.panel_agreement import PanelAgreement
from judge.measure.stability import Stability
from judge.report import words, words_zh
from judge.report.charts import Text

Row = Mapping[str, Any]


def as_json(
    panel: PanelAgreement | None, stability: Callable[[Stability | None], dict[str, Any]]
) -> dict[str, Any] | None:
    """The panel as JSON values, None without one; `stability` gives those of its agreement."""
    if panel is None:
        return None
    return {
        "members": [asdict(member) for member in panel.members],
        "pairs": [asdict(pair) for pair in panel.pairs],
        "agreement": stability(panel.agreement),
        "heard": list(panel.responded),
        "judged": panel.judged,
        "split": panel.split,
        "ties": panel.ties,
        "deciding_ties": panel.deciding,
        "ties_high": {measure: dict(means) for measure, means in panel.ties_high.items()},
    }


def kinship(kin: Sequence[SharedVendor]) -> list[dict[str, str]]:
    """Who is of one house, as JSON values."""
    return [{"assessor": pair.assessor, "other": pair.other, "house": pair.vendor} for pair in kin]


def said(summary: Row) -> Iterator[Text]:
    """What to know of a panel and of kinship, in English and Chinese."""
    if summary.get("panel"):
        yield from _panel(summary, summary["panel"])
    yield from (_kin(row, summary) for row in summary.get("kin", ()))


def _panel(summary: Row, panel: Row) -> Iterator[Text]:
    size = len(panel["members"])
    for member in panel["members"]:
        if member["failed"] or not member["judged"]:
            yield _lacking(member)
        if len(member["served"]) > 1:
            yield _changing(member)
    for pair in panel["pairs"]:
        yield _pair(pair)
    yield Text(
        f"The panel takes the middle grade of its {size} members: they differ on {panel['split']:,} of"
        f" {panel['judged']:,} judgments, and {panel['ties']:,} are ties, of which it takes the lower grade"
        f" (for {panel['deciding_ties']:,} the other would be relevant).",
        f"合议取 {size} 个成员的中间等级：{panel['judged']:,} 次判定中有 {panel['split']:,} 次意见不一，其中"
        f" {panel['ties']:,} 次打平，取较低的等级（有 {panel['deciding_ties']:,} 次若取较高的就算相关）。",
    )
    measure = words.deciding(summary) or summary["measures"][0]
    yield from _orders(summary, panel, measure)


def _lacking(member: Row) -> Text:
    name, judged, all_ = member["name"], member["judged"], member["judged"] + member["failed"]
    if not all_:
        return Text(f"{name} was not asked before the run stopped.", f"运行中断之前还没问到 {name}。")
    return Text(
        f"{name} judged only {judged:,} of the {all_:,} pairs that it was asked about: there the panel is the"
        " others.",
        f"{name} 只判定了被问到的 {all_:,} 对中的 {judged:,} 对，其余各对由别的成员决定。",
    )


def _changing(member: Row) -> Text:
    en = words.listed(f"{name} ({count:,})" for name, count in member["served"].items())
    zh = "、".join(f"{name}（{count:,}）" for name, count in member["served"].items())
    return Text(
        f"{member['name']} was answered by {len(member['served'])} models: {en}; their grades may not be"
        " comparable.",
        f"{member['name']} 实际由 {len(member['served'])} 个模型作答：{zh}；它们给出的等级未必可比。",
    )


def _pair(pair: Row) -> Text:
    a, b, n = pair["a"], pair["b"], pair["n"]
    if pair["same"] is None:
        return Text(f"{a} and {b} judged no pair both.", f"{a} 与 {b} 没有共同判定过的条目。")
    kappa = pair["kappa"]
    en = "kappa says nothing" if kappa is None else f"they agree {words.strength(kappa)}, kappa {kappa:.3f}"
    zh = "kappa 无从计算" if kappa is None else f"一致程度：{words_zh.strength(kappa)}，kappa {kappa:.3f}"
    return Text(
        f"{a} and {b} give the same grade to {pair['same']:.1%} of {n:,} pairs ({en}).",
        f"{a} 与 {b} 在 {n:,} 个条目中有 {pair['same']:.1%} 等级相同（{zh}）。",
    )


def _orders(summary: Row, panel: Row, measure: str) -> Iterator[Text]:
    """Whether every member, and the other way to break ties, would order the engines alike."""
    engines = panel["agreement"].get("measures", {}).get(measure, {}).get("engines", {})
    ranked = {
        name: words.ranked({engine: row["means"][at] for engine, row in engines.items()})
        for at, name in enumerate(panel["heard"])
    }
    # Who judged nothing puts nobody in any order.
    known = {name: order for name, order in ranked.items() if order}
    if len(engines) > 1 and len(known) > 1:
        yield _in_order(known, len(known) == len(panel["members"]), measure)
    high = panel["ties_high"].get(measure)
    low = {engine: row["measures"][measure]["mean"] for engine, row in summary["engines"].items()}
    if high and words.ranked(high) != words.ranked(low):
        yield Text(
            f"With the higher grade of each tie the order would be {words.ranked(high)}.",
            f"若打平时取较高的等级，排序会变成 {words.ranked(high)}。",
        )


def _in_order(known: Mapping[str, str], everybody: bool, measure: str) -> Text:
    """How the members' orders of the engines compare; `known` has an order for each who judged."""
    if len(set(known.values())) == 1:
        who = "Every member" if everybody else "Every member that judged"
        return Text(
            f"{who} puts the engines in the same order by {measure}.",
            f"按 {measure}，凡有判定的成员对引擎的排序都一致。",
        )
    each = [f"{name}: {order}" for name, order in known.items()]
    return Text(
        f"The members order the engines differently by {measure}: {'; '.join(each)}.",
        f"按 {measure}，成员对引擎的排序不同：{'；'.join(each)}。",
    )


def _kin(row: Row, summary: Row) -> Text:
    if row["other"] in summary["engines"]:
        return Text(
            f"{row['assessor']} grades {row['other']}, by its name of its own house ({row['house']}), and may"
            " favour it. Ask a second model, or people.",
            f"{row['assessor']} 在给 {row['other']} 打分，从名称看两者同属 {row['house']}，可能有所偏袒；"
            "请再用另一个模型或人工核对。",
        )
    return Text(
        f"{row['assessor']} and {row['other']} are of one house ({row['house']}): together they are not two"
        " independent opinions.",
        f"{row['assessor']} 与 {row['other']} 同属 {row['house']}，算不上两份独立的意见。",
    )
