"""Owns what a reader has to mind before believing the answer, in English and Chinese."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from judge.report import assessor_sentences, sentences, served_models_text, warning_sentences, words_zh
from judge.report.charts import Said
from judge.report.page.kind_names import ERRORS

Row = Mapping[str, Any]


def mind(summary: Row) -> Iterator[Said]:
    """The warnings, the most important first; `summary` is `named`."""
    if str(summary["assessor"]).startswith("lexical"):
        yield Said(
            "Judged by term overlap (lexical), not by a language model: a floor that any model must beat."
            " Choose no engine by it.",
            "这里的判定只看词面重合（lexical），没有用大模型：这是任何模型都必须超过的地板，不要据此挑选引擎。",
        )
    if served_models_text.english(summary):
        yield Said(served_models_text.english(summary), served_models_text.chinese(summary))
    yield from assessor_sentences.said(summary)
    yield from _coverage(summary)
    for english, chinese in ((sentences.few, words_zh.few), (sentences.planning, words_zh.planning)):
        if english(summary):
            yield Said(english(summary), chinese(summary))
    if summary["within_lists"]:
        within = summary["within_lists"]
        yield Said(sentences.within_lists(within), words_zh.within_lists(within))
    yield from _engines(summary)
    yield from _snippets(summary)
    yield from _measures(summary)


def _coverage(summary: Row) -> Iterator[Said]:
    judged, wanted = summary["judged"], summary["judgments"]
    if judged < wanted:
        kinds = summary["failures"].items()
        en = ", ".join(f"{_error(kind).en} ({count:,})" for kind, count in kinds)
        zh = "、".join(f"{_error(kind).zh}（{count:,}）" for kind, count in kinds)
        yield Said(
            f"{wanted - judged:,} of {wanted:,} judgments have no grade (coverage {summary['coverage']:.1%})"
            f"{': ' + en if en else ''}. They do not count as “no”:"
            " their grades are imputed from similar judged snippets of the same query."
            f" {warning_sentences.again(summary['failures']).en}",
            f"{wanted:,} 次判定中有 {wanted - judged:,} 次没有等级（覆盖率 {summary['coverage']:.1%}）"
            f"{'：' + zh if zh else ''}。它们不算“不相关”："
            "其等级由同一查询中相似的已判定摘要插补。"
            f"{warning_sentences.again(summary['failures']).zh}",
        )
    measure = summary["measures"][0]
    unsure = warning_sentences.unsure(summary)
    if unsure:
        en = ", ".join(f"{engine} {low:.3f} to {high:.3f}" for engine, (low, high) in unsure.items())
        zh = "，".join(f"{engine} {low:.3f} 到 {high:.3f}" for engine, (low, high) in unsure.items())
        yield Said(
            f"Whatever the unjudged snippets are, {measure} lies within: {en}.",
            f"不论未判定的摘要是好是坏，{measure} 都落在：{zh}。",
        )


def _error(kind: str) -> Said:
    return ERRORS.get(kind, Said(kind, kind))


def _engines(summary: Row) -> Iterator[Said]:
    broke = {engine: row["errors"] for engine, row in summary["engines"].items() if row["errors"]}
    if broke:
        en, zh = _counts(broke)
        yield Said(
            f"Broke on some queries, which its means and comparisons leave out: {en}.",
            f"在一些查询上出错，均值和比较都不计这些查询：{zh}。",
        )
    first, unknown = summary["measures"][0], warning_sentences.unknown(summary)
    if unknown:
        en, zh = _counts(unknown)
        yield Said(
            f"{first} leaves out queries until more is judged (no snippet of the engine is judged, or none"
            f" judged in the pool is relevant): {en}.",
            f"有的查询要判定更多摘要后才计入 {first}"
            f"（该引擎的摘要一条都没判定，或池里已判定的都不相关）：{zh}。",
        )


def _counts(counts: Mapping[str, int]) -> Said:
    each = [f"{name} {count:,}" for name, count in counts.items()]
    return Said(", ".join(each), "，".join(each))


def _snippets(summary: Row) -> Iterator[Said]:
    yield from (Said(remark, remark) for remark in summary.get("remarks", ()))
    if summary["flagged"]:
        en, zh = _counts(summary["flagged"])
        yield Said(
            f"Snippets flagged because they seem to speak to the grader (never re-graded for it): {en}.",
            f"疑似对评测员喊话的摘要，只做标记、不因此改分：{zh}。",
        )
        remark = warning_sentences.remark(summary)
        if remark:
            yield remark
    if summary["empty_snippets"]:
        count = f"{summary['empty_snippets']:,}"
        yield Said(
            f"Results without any text, which get grade 0 without a call: {count}.",
            f"没有任何文字的结果有 {count} 条，不经评测员，直接记 0。",
        )


def _measures(summary: Row) -> Iterator[Said]:
    for measure, count in summary["undefined"].items():
        nothing = measure.startswith("Judged")
        en = "no result to look at" if nothing else "no relevant snippet in the pool"
        zh = "没有可看的结果" if nothing else "整个池里没有相关摘要"
        yield Said(
            f"{measure} leaves out {count:,} of {summary['queries']:,} queries: {en}.",
            f"{measure} 略去了 {summary['queries']:,} 条查询中的 {count:,} 条：{zh}。",
        )
    yield from _notes(summary["notes"].items())


def _notes(notes: Iterable[tuple[str, str]]) -> Iterator[Said]:
    for measure, note in notes:
        zh = "除数是引擎自己返回的条数" if measure.startswith("SetP") else "只说明列表内部的次序"
        yield Said(f"{measure}: {note}.", f"{measure}：{zh}，不能用来比较引擎。")
