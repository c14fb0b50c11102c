"""Owns what stands below the answer: how it was judged, how stable it is, what it cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any, NamedTuple

from judge.report import sentences, warning_sentences, words_zh
from judge.report.charts import Said
from judge.report.display_text import escape_hidden, one_line
from judge.report.page.payload import PageData
from judge.report.page.tables import same_text

Row = Mapping[str, Any]


class Fact(NamedTuple):
    """Something to know about a run, and what it is called."""

    label: Said
    says: tuple[Said, ...]


def list_facts(summary: Row, agreement: Row | None, config: Row) -> Iterator[Fact]:
    """The facts in the order of asking: who judged what and how, how stable, how like people, how dear."""
    yield Fact(Said("assessor", "评测员"), (same_text(one_line(summary["assessor"])),))
    prompts = config.get("identity", {}).get("prompts", {})
    if prompts:
        yield Fact(
            Said("prompt", "提示词"), (same_text(", ".join(one_line(each) for each in prompts.values())),)
        )
    yield Fact(Said("scale", "等级"), (_scale(summary),))
    yield Fact(Said("depth and repeats", "深度与重复"), (_depth(summary),))
    yield Fact(Said("dataset", "数据"), tuple(_dataset(summary, config)))
    if summary["stability"]:
        yield Fact(Said("stability", "稳定性"), tuple(_stability(summary)))
    tests = tuple(
        Said(escape_hidden(said.en), escape_hidden(said.zh)) for said in warning_sentences.selftests(summary)
    )
    if tests:
        yield Fact(Said("self-test", "自测"), tests)
    if agreement is not None:
        yield Fact(Said("agreement with people", "与人工一致"), tuple(_agreement(agreement)))
    if summary["cost"]:
        yield Fact(Said("cost", "花费"), (_cost(summary["cost"]),))


def _scale(summary: Row) -> Said:
    if summary["scale"] == "binary":
        return Said("binary: relevant or not", "二分：相关或不相关")
    least = summary["relevant_from"]
    return Said(f"graded: 0 to 3, relevant from {least}", f"分级：0 到 3，从 {least} 起算相关")


def _depth(summary: Row) -> Said:
    depth, repeats = summary["depth"], summary["repeats"]
    times = "judged once" if repeats == 1 else f"judged {repeats} times"
    return Said(f"down to rank {depth}, each pair {times}", f"看前 {depth} 条，每对判定 {repeats} 次")


def _dataset(summary: Row, config: Row) -> Iterator[Said]:
    counts = [f"{summary[key]:,}" for key in ("queries", "results", "pairs")]
    engines = len(summary["engines"])
    yield Said(
        f"{sentences.format_count(summary['queries'], 'query', 'queries')}, {sentences.format_count(engines, 'engine')},"
        f" {counts[1]} results, {sentences.format_count(summary['pairs'], 'pair')} to judge"
        f" ({summary['saved']:.0%} saved by judging a pair once)",
        f"{counts[0]} 条查询、{engines} 个引擎、{counts[1]} 条结果，要判定 {counts[2]} 对"
        f"（同一对只判一次，省下 {summary['saved']:.0%}）",
    )
    source = config.get("options", {}).get("data") or config.get("options", {}).get("topics")
    fingerprint = config.get("identity", {}).get("dataset")
    told = [one_line(each) for each in (PurePath(source).name if source else "", fingerprint or "") if each]
    if told:
        yield same_text(" · ".join(told))


def _stability(summary: Row) -> Iterator[Said]:
    deciding = sentences.deciding(summary) or summary["measures"][0]
    row = summary["stability"]
    for en, zh in zip(sentences.stability(row, deciding), words_zh.stability(row, deciding), strict=True):
        yield Said(en, zh)


def _agreement(found: Row) -> Iterator[Said]:
    kappa, same = found["kappa_relevant"], found["same_verdict"]
    source = one_line(found["labels"])
    if kappa["value"] is None or same["value"] is None:
        yield Said(f"unknown ({source}): {kappa.get('why', '')}", f"未知（{source}）：{words_zh.why(kappa)}")
        return
    yield Said(
        f"relevant or not: the same on {same['value']:.1%} of {found['pairs']:,} pairs ({source}), kappa"
        f" {kappa['value']:.3f}{sentences.interval(kappa['ci95'])}; 0 is chance, 1 is always",
        f"相关与否：{found['pairs']:,} 对中 {same['value']:.1%} 与人工相同（{source}），kappa"
        f" {kappa['value']:.3f}{words_zh.interval(kappa['ci95'])}；0 等于碰运气，1 为完全一致",
    )
    if kappa["ci95"] and found["queries"] < sentences.FEW:
        yield Said(f"{sentences.NARROW}.", f"{words_zh.NARROW}。")


def _cost(cost: Row) -> Said:
    en = (
        f"{cost['calls']:,} calls, {cost['prompt_tokens']:,} tokens in ({cost['cached_tokens']:,} cached),"
        f" {cost['completion_tokens']:,} out"
    )
    zh = (
        f"{cost['calls']:,} 次调用，输入 {cost['prompt_tokens']:,} 个 token"
        f"（缓存 {cost['cached_tokens']:,}），输出 {cost['completion_tokens']:,} 个"
    )
    amount = sentences.dollars(cost)
    if amount is None:
        said = Said(f"{en}; price unknown", f"{zh}；价格未知")
    else:
        least = amount.removeprefix("at least ")
        zh_amount = f"，{'至少 ' if least != amount else ''}{least.removeprefix('$')} 美元" if amount else ""
        said = Said(f"{en}, {amount}" if amount else en, f"{zh}{zh_amount}")
    for key, more_en, more_zh in _OPEN:
        if cost.get(key):
            said = Said(f"{said.en}; {cost[key]:,} {more_en}", f"{said.zh}；{cost[key]:,} {more_zh}")
    return said


_OPEN = (
    ("uncounted", "calls came back without a token count", "次调用没有返回 token 数"),
    ("maybe_billed", "calls may be billed without an answer", "次调用可能计费却没有答复"),
)


def describe_sample(room: PageData) -> Said | None:
    """That the page carries a sample, and which; None when every query is there."""
    if room.taken is None:
        return None
    shown, every = f"{len(room.lines):,}", f"{room.queries_in_all:,}"
    counts = [f"{room.taken[kind]:,}" for kind in ("worst", "disagreeing", "random")]
    pairs = f"{room.pairs:,}", f"{room.pairs_in_all:,}"
    return Said(
        f"A sample: {shown} of {every} queries ({pairs[0]} of {pairs[1]} pairs), because all of them would"
        f" make this page too large. {counts[0]} have the lowest mean, in {counts[1]} engines or repeats"
        f" disagree most, {counts[2]} were drawn by lot. The answer and the charts are about all queries, and"
        " results.json holds them.",
        f"这里是样本：{every} 条查询中的 {shown} 条（{pairs[1]} 对中的 {pairs[0]} 对），全放进来页面太大。"
        f"其中 {counts[0]} 条均值最低，{counts[1]} 条引擎之间或重复之间分歧最大，{counts[2]} 条随机抽取。"
        "结论和图表依据全部查询，完整内容见 results.json。",
    )
