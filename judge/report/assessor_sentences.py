"""Sentences about a panel, and about assessors and engines of one vendor."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from judge.english import join_names
from judge.messages import CHINESE, ENGLISH, Text, text
from judge.report import sentences

Row = Mapping[str, Any]


def said(summary: Row) -> Iterator[Text]:
    """What to know of a panel and of kinship, in English and Chinese."""
    if summary.get("panel"):
        yield from _panel(summary, summary["panel"])
    yield from (_kin(row, summary) for row in summary.get("self_preference", ()))


def _panel(summary: Row, panel: Row) -> Iterator[Text]:
    size = len(panel["members"])
    for member in panel["members"]:
        if member["failed"] or not member["judged"]:
            yield _lacking(member)
        if len(member["served"]) > 1:
            yield _changing(member)
    for pair in panel["pairs"]:
        yield _pair(pair)
    yield text(
        "The panel takes the middle grade of its {size} members: they differ on {split:,} of "
        "{judged:,} judgments, and {ties:,} are ties, of which it takes the lower grade (for "
        "{deciding_ties:,} the other would be relevant).",
        size=size,
        split=panel["split"],
        judged=panel["judged"],
        ties=panel["ties"],
        deciding_ties=panel["deciding_ties"],
    )
    measure = sentences.deciding(summary) or summary["measures"][0]
    yield from _orders(summary, panel, measure)


def _lacking(member: Row) -> Text:
    name, judged, all_ = member["name"], member["judged"], member["judged"] + member["failed"]
    if not all_:
        return text("{name} was not asked before the run stopped.", name=name)
    return text(
        "{name} judged only {judged:,} of the {all_:,} pairs that it was asked about: there "
        "the panel is the others.",
        name=name,
        judged=judged,
        all_=all_,
    )


def _changing(member: Row) -> Text:
    en = join_names(f"{name} ({count:,})" for name, count in member["served"].items())
    zh = "、".join(f"{name}（{count:,}）" for name, count in member["served"].items())
    return Text(
        f"{member['name']} was answered by {len(member['served'])} models: {en}; their grades may not be"
        " comparable.",
        f"{member['name']} 实际由 {len(member['served'])} 个模型作答：{zh}；它们给出的等级未必可比。",
    )


def _pair(pair: Row) -> Text:
    a, b, n = pair["a"], pair["b"], pair["n"]
    if pair["same"] is None:
        return text("{a} and {b} judged no pair both.", a=a, b=b)
    kappa = pair["kappa"]
    en = (
        "kappa says nothing"
        if kappa is None
        else f"they agree {sentences.strength(ENGLISH, kappa)}, kappa {kappa:.3f}"
    )
    zh = (
        "kappa 无从计算"
        if kappa is None
        else f"一致程度：{sentences.strength(CHINESE, kappa)}，kappa {kappa:.3f}"
    )
    return Text(
        f"{a} and {b} give the same grade to {pair['same']:.1%} of {n:,} pairs ({en}).",
        f"{a} 与 {b} 在 {n:,} 个条目中有 {pair['same']:.1%} 等级相同（{zh}）。",
    )


def _orders(summary: Row, panel: Row, measure: str) -> Iterator[Text]:
    """Whether every member, and the other way to break ties, would order the engines alike."""
    engines = (panel["agreement"] or {}).get("measures", {}).get(measure, {}).get("engines", {})
    ranked = {
        name: sentences.ranked({engine: row["means"][at] for engine, row in engines.items()})
        for at, name in enumerate(panel["responded"])
    }
    # A member without judgments has no order of engines.
    orders = {name: order for name, order in ranked.items() if order}
    if len(engines) > 1 and len(orders) > 1:
        yield _in_order(orders, len(orders) == len(panel["members"]), measure)
    high = panel["ties_high"].get(measure)
    low = {engine: row["measures"][measure]["mean"] for engine, row in summary["engines"].items()}
    if high and sentences.ranked(high) != sentences.ranked(low):
        yield text(
            "With the higher grade of each tie the order would be {high}.", high=sentences.ranked(high)
        )


def _in_order(orders: Mapping[str, str], all_members: bool, measure: str) -> Text:
    """How the members' orders of the engines compare; `known` has an order for each who judged."""
    if len(set(orders.values())) == 1:
        who = "Every member" if all_members else "Every member that judged"
        return Text(
            f"{who} puts the engines in the same order by {measure}.",
            f"按 {measure}，凡有判定的成员对引擎的排序都一致。",
        )
    each = [f"{name}: {order}" for name, order in orders.items()]
    return Text(
        f"The members order the engines differently by {measure}: {'; '.join(each)}.",
        f"按 {measure}，成员对引擎的排序不同：{'；'.join(each)}。",
    )


def _kin(row: Row, summary: Row) -> Text:
    if row["other"] in summary["engines"]:
        return text(
            "By their names {assessor} and {other} are both from {vendor}; {assessor} may favour "
            "{other} (self-preference). Check with another model or human labels.",
            assessor=row["assessor"],
            other=row["other"],
            vendor=row["vendor"],
        )
    return text(
        "{assessor} and {other} are both from {vendor}: they are not two independent assessors.",
        assessor=row["assessor"],
        other=row["other"],
        vendor=row["vendor"],
    )
