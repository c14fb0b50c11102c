"""Owns what stands below the answer: how it was judged, how stable it is, what it cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any, NamedTuple

from judge.report import warning_sentences, words, words_zh
from judge.report.charts import Text
from judge.report.page.sampling import PageData
from judge.report.page.sanitize import legible, name
from judge.report.page.tables import plain

Row = Mapping[str, Any]


class Fact(NamedTuple):
    """Something to know about a run, and what it is called."""

    label: Text
    says: tuple[Text, ...]


def about(summary: Row, agreement: Row | None, config: Row) -> Iterator[Fact]:
    """The facts in the order of asking: who judged what and how, how stable, how like people, how dear."""
    yield Fact(Text("assessor", "评测员"), (plain(name(summary["assessor"])),))
    prompts = config.get("identity", {}).get("prompts", {})
    if prompts:
        yield Fact(Text("prompt", "提示词"), (plain(", ".join(name(each) for each in prompts.values())),))
    yield Fact(Text("scale", "等级"), (_scale(summary),))
    yield Fact(Text("depth and repeats", "深度与重复"), (_depth(summary),))
    yield Fact(Text("dataset", "数据"), tuple(_dataset(summary, config)))
    if summary["stability"]:
        yield Fact(Text("stability", "稳定性"), tuple(_stability(summary)))
    tests = tuple(Text(legible(said.en), legible(said.zh)) for said in warning_sentences.selftests(summary))
    if tests:
        yield Fact(Text("self-test", "自测"), tests)
    if agreement is not None:
        yield Fact(Text("agreement with people", "与人工一致"), tuple(_agreement(agreement)))
    if summary["cost"]:
        yield Fact(Text("cost", "花费"), (_cost(summary["cost"]),))


def _scale(summary: Row) -> Text:
    if summary["scale"] == "binary":
        return Text("binary: relevant or not", "二分：相关或不相关")
    least = summary["relevant_from"]
    return Text(f"graded: 0 to 3, relevant from {least}", f"分级：0 到 3，从 {least} 起算相关")


def _depth(summary: Row) -> Text:
    depth, repeats = summary["depth"], summary["repeats"]
    times = "judged once" if repeats == 1 else f"judged {repeats} times"
    return Text(f"down to rank {depth}, each pair {times}", f"看前 {depth} 条，每对判定 {repeats} 次")


def _dataset(summary: Row, config: Row) -> Iterator[Text]:
    counts = [f"{summary[key]:,}" for key in ("queries", "results", "pairs")]
    engines = len(summary["engines"])
    yield Text(
        f"{words.counted(summary['queries'], 'query', 'queries')}, {words.counted(engines, 'engine')},"
        f" {counts[1]} results, {words.counted(summary['pairs'], 'pair')} to judge"
        f" ({summary['saved']:.0%} saved by judging a pair once)",
        f"{counts[0]} 条查询、{engines} 个引擎、{counts[1]} 条结果，要判定 {counts[2]} 对"
        f"（同一对只判一次，省下 {summary['saved']:.0%}）",
    )
    source = config.get("options", {}).get("data") or config.get("options", {}).get("topics")
    fingerprint = config.get("identity", {}).get("dataset")
    told = [name(each) for each in (PurePath(source).name if source else "", fingerprint or "") if each]
    if told:
        yield plain(" · ".join(told))


def _stability(summary: Row) -> Iterator[Text]:
    deciding = words.deciding(summary) or summary["measures"][0]
    row = summary["stability"]
    for en, zh in zip(words.stability(row, deciding), words_zh.stability(row, deciding), strict=True):
        yield Text(en, zh)


def _agreement(found: Row) -> Iterator[Text]:
    kappa, same = found["kappa_relevant"], found["same_verdict"]
    source = name(found["labels"])
    if kappa["value"] is None or same["value"] is None:
        yield Text(f"unknown ({source}): {kappa.get('why', '')}", f"未知（{source}）：{words_zh.why(kappa)}")
        return
    yield Text(
        f"relevant or not: the same on {same['value']:.1%} of {found['pairs']:,} pairs ({source}), kappa"
        f" {kappa['value']:.3f}{words.interval(kappa['ci95'])}; 0 is chance, 1 is always",
        f"相关与否：{found['pairs']:,} 对中 {same['value']:.1%} 与人工相同（{source}），kappa"
        f" {kappa['value']:.3f}{words_zh.interval(kappa['ci95'])}；0 等于碰运气，1 为完全一致",
    )
    if kappa["ci95"] and found["queries"] < words.FEW:
        yield Text(f"{words.NARROW}.", f"{words_zh.NARROW}。")


def _cost(cost: Row) -> Text:
    en = (
        f"{cost['calls']:,} calls, {cost['prompt_tokens']:,} tokens in ({cost['cached_tokens']:,} cached),"
        f" {cost['completion_tokens']:,} out"
    )
    zh = (
        f"{cost['calls']:,} 次调用，输入 {cost['prompt_tokens']:,} 个 token"
        f"（缓存 {cost['cached_tokens']:,}），输出 {cost['completion_tokens']:,} 个"
    )
    amount = words.dollars(cost)
    if amount is None:
        said = Text(f"{en}; price unknown", f"{zh}；价格未知")
    else:
        least = amount.removeprefix("at least ")
        zh_amount = f"，{'至少 ' if least != amount else ''}{least.removeprefix('$')} 美元" if amount else ""
        said = Text(f"{en}, {amount}" if amount else en, f"{zh}{zh_amount}")
    for key, more_en, more_zh in _OPEN:
        if cost.get(key):
            said = Text(f"{said.en}; {cost[key]:,} {more_en}", f"{said.zh}；{cost[key]:,} {more_zh}")
    return said


_OPEN = (
    ("uncounted", "calls came back without a token count", "次调用没有返回 token 数"),
    ("maybe_billed", "calls may be billed without an answer", "次调用可能计费却没有答复"),
)


def sampled(room: PageData) -> Text | None:
    """That the page carries a sample, and which; None when every query is there."""
    if room.taken is None:
        return None
    shown, every = f"{len(room.lines):,}", f"{room.queries_in_all:,}"
    counts = [f"{room.taken[kind]:,}" for kind in ("worst", "disagreeing", "random")]
    pairs = f"{room.pairs:,}", f"{room.pairs_in_all:,}"
    return Text(
        f"A sample: {shown} of {every} queries ({pairs[0]} of {pairs[1]} pairs), because all of them would"
        f" make this page too large. {counts[0]} have the lowest mean, in {counts[1]} engines or repeats"
        f" disagree most, {counts[2]} were drawn by lot. The answer and the charts are about all queries, and"
        " results.json holds them.",
        f"这里是样本：{every} 条查询中的 {shown} 条（{pairs[1]} 对中的 {pairs[0]} 对），全放进来页面太大。"
        f"其中 {counts[0]} 条均值最低，{counts[1]} 条引擎之间或重复之间分歧最大，{counts[2]} 条随机抽取。"
        "结论和图表依据全部查询，完整内容见 results.json。",
    )
