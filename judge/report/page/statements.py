"""Facts and warnings below the answer: how the run was judged, how stable it is, what it cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from judge.analysis.label_agreement import LabelAgreement
from judge.analysis.summary import RepeatStability, RunCost, Summary
from judge.english import format_count
from judge.messages import CHINESE, ENGLISH, Text, each_in_both, in_both, text
from judge.report import assessor_sentences, sentences, stability_sentences, warning_sentences
from judge.report.display_text import escape_hidden, one_line
from judge.report.number_texts import format_interval, format_run_cost
from judge.report.page.kind_names import ERRORS
from judge.report.page.payload import PageData
from judge.report.page.tables import same_text


class Fact(NamedTuple):
    """A fact about a run and its name."""

    label: Text
    says: tuple[Text, ...]


def list_facts(
    summary: Summary, agreement: LabelAgreement | None, prompts: Sequence[str], dataset: Sequence[str]
) -> Iterator[Fact]:
    """Yield the facts: who judged what and how, stability, agreement with labels, cost."""
    yield Fact(text("assessor"), (same_text(one_line(summary.assessor)),))
    if prompts:
        yield Fact(text("prompt"), (same_text(", ".join(map(one_line, prompts))),))
    yield Fact(text("scale"), (_scale(summary),))
    yield Fact(text("depth and repeats"), (_depth(summary),))
    yield Fact(text("dataset"), tuple(_dataset(summary, dataset)))
    if summary.stability:
        yield Fact(text("stability"), tuple(_stability(summary, summary.stability)))
    for title, describe in (
        (text("self-test"), assessor_sentences.describe_selftests),
        (text("labels"), assessor_sentences.describe_labels),
    ):
        if values := tuple(Text(*map(escape_hidden, each)) for each in each_in_both(describe, summary)):
            yield Fact(title, values)
    if agreement is not None:
        yield Fact(text("agreement with people"), tuple(_agreement(agreement)))
    if summary.cost:
        yield Fact(text("cost"), (_cost(summary.cost),))


def _scale(summary: Summary) -> Text:
    if summary.scale == "binary":
        return text("binary: relevant or not")
    least = summary.relevant_from
    return text("graded: 0 to 3, relevant from {least}", least=least)


def _depth(summary: Summary) -> Text:
    depth, repeats = summary.depth, summary.repeats
    times = "judged once" if repeats == 1 else f"judged {repeats} times"
    return Text(f"down to rank {depth}, each pair {times}", f"看前 {depth} 条，每对评定 {repeats} 次")


def _dataset(summary: Summary, names: Sequence[str]) -> Iterator[Text]:
    counts = [f"{count:,}" for count in (summary.queries, summary.results, summary.pairs)]
    engines = len(summary.engines)
    yield Text(
        f"{format_count(summary.queries, 'query', 'queries')},"
        f" {format_count(engines, 'engine')},"
        f" {counts[1]} results, {format_count(summary.pairs, 'pair')} to judge"
        f" ({summary.dedup_saving:.0%} saved by judging a pair once)",
        f"{counts[0]} 条查询、{engines} 个引擎、{counts[1]} 条结果，要评定 {counts[2]} 对"
        f"（同一对只判一次，省下 {summary.dedup_saving:.0%}）",
    )
    if names:
        yield same_text(" · ".join(map(one_line, names)))


def _stability(summary: Summary, stability: RepeatStability) -> Iterator[Text]:
    measure = sentences.find_main_measure(summary)
    yield from each_in_both(stability_sentences.describe_repeats, stability, measure)


def _agreement(agreement: LabelAgreement) -> Iterator[Text]:
    kappa, same = agreement.kappa_relevant, agreement.same_verdict
    source = one_line(agreement.labels)
    if kappa.value is None or same.value is None:
        why = in_both(stability_sentences.explain_missing, kappa)
        yield Text(f"unknown ({source}): {why.en}", f"未知（{source}）：{why.zh}")
        return
    yield Text(
        f"relevant or not: the same on {same.value:.1%} of {agreement.pairs:,} pairs ({source}), kappa"
        f" {kappa.value:.3f}{format_interval(ENGLISH, kappa.ci95)}; 0 is chance, 1 is always",
        f"相关与否：{agreement.pairs:,} 对中 {same.value:.1%} 与人工相同（{source}），kappa"
        f" {kappa.value:.3f}{format_interval(CHINESE, kappa.ci95)}；0 等于碰运气，1 为完全一致",
    )
    if kappa.ci95 and agreement.queries < stability_sentences.FEW_FOR_BCA:
        yield in_both(stability_sentences.warn_narrow_intervals)


def _cost(cost: RunCost) -> Text:
    en = (
        f"{cost.calls:,} calls, {cost.prompt_tokens:,} tokens in ({cost.cached_tokens:,} cached),"
        f" {cost.completion_tokens:,} out"
    )
    zh = (
        f"{cost.calls:,} 次调用，输入 {cost.prompt_tokens:,} 个 token"
        f"（缓存 {cost.cached_tokens:,}），输出 {cost.completion_tokens:,} 个"
    )
    amount, zh_amount = format_run_cost(ENGLISH, cost), format_run_cost(CHINESE, cost)
    if amount is None:
        text = Text(f"{en}; price unknown", f"{zh}；价格未知")
    else:
        text = Text(f"{en}, {amount}", f"{zh}，{zh_amount}") if amount else Text(en, zh)
    for key, more_en, more_zh in _OPEN:
        if count := getattr(cost, key):
            text = Text(f"{text.en}; {count:,} {more_en}", f"{text.zh}；{count:,} {more_zh}")
    return text


_OPEN = (
    ("uncounted", "calls came back without a token count", "次调用没有返回 token 数"),
    ("maybe_billed", "calls may be billed without an answer", "次调用可能计费却没有答复"),
)


def describe_sample(page_data: PageData) -> Text | None:
    """Return a text that describes the sample on the page; None when the page holds every query."""
    if page_data.taken is None:
        return None
    return text(
        "A sample: {shown:,} of {queries:,} queries ({shown_pairs:,} of {pairs:,} pairs), because all of "
        "them would make this page too large. {worst:,} have the lowest mean, in {disagreeing:,} "
        "engines or repeats disagree most, {random:,} were drawn by lot. The answer and the "
        "charts are about all queries, and results.json holds them.",
        shown=len(page_data.lines),
        queries=page_data.queries_in_all,
        shown_pairs=page_data.pairs,
        pairs=page_data.pairs_in_all,
        **page_data.taken,
    )


def list_warnings(summary: Summary) -> Iterator[Text]:
    """Yield the warnings, the most important first; `summary` has display names."""
    if summary.assessor.startswith("lexical"):
        yield text(
            "Judged by term overlap (lexical), not by a language model. Any language model should do"
            " better. Choose no engine by these figures."
        )
    if (served := in_both(assessor_sentences.describe_served_models, summary)).en:
        yield served
    yield from each_in_both(assessor_sentences.describe_assessors, summary)
    yield from _coverage(summary)
    remarks = (in_both(sentences.warn_few_queries, summary), in_both(sentences.describe_power, summary))
    yield from (remark for remark in remarks if remark.en)
    if summary.own_list_reversal:
        yield in_both(sentences.explain_reversal, summary.own_list_reversal)
    yield from _engines(summary)
    yield from _snippets(summary)
    yield from _measures(summary)


def _coverage(summary: Summary) -> Iterator[Text]:
    judged, wanted = summary.judged, summary.judgments
    if judged < wanted:
        kinds, advice = (
            summary.failures.items(),
            in_both(warning_sentences.advise_on_failures, summary.failures),
        )
        en = ", ".join(f"{_error(kind).en} ({count:,})" for kind, count in kinds)
        zh = "、".join(f"{_error(kind).zh}（{count:,}）" for kind, count in kinds)
        yield Text(
            f"{wanted - judged:,} of {wanted:,} judgments have no grade (coverage {summary.coverage:.1%})"
            f"{': ' + en if en else ''}. They do not count as “no”:"
            " their grades are imputed from similar judged snippets of the same query."
            f"{advice.en}",
            f"{wanted:,} 次评定中有 {wanted - judged:,} 次没有等级（覆盖率 {summary.coverage:.1%}）"
            f"{'：' + zh if zh else ''}。它们不算“不相关”："
            "其等级由同一查询中相似的已评定摘要插补。"
            f"{advice.zh}",
        )
    measure = summary.measures[0]
    unsure = warning_sentences.find_uncertain_means(summary)
    if unsure:
        en = ", ".join(f"{engine} {low:.3f} to {high:.3f}" for engine, (low, high) in unsure.items())
        zh = "，".join(f"{engine} {low:.3f} 到 {high:.3f}" for engine, (low, high) in unsure.items())
        yield Text(
            f"Whatever the unjudged snippets are, {measure} lies within: {en}.",
            f"不论未评定的摘要是好是坏，{measure} 都落在：{zh}。",
        )


def _error(kind: str) -> Text:
    return ERRORS.get(kind, Text(kind, kind))


def _engines(summary: Summary) -> Iterator[Text]:
    broke = {engine: row.errors for engine, row in summary.engines.items() if row.errors}
    if broke:
        en, zh = _counts(broke)
        yield Text(
            f"Broke on some queries, which its means and comparisons leave out: {en}.",
            f"在一些查询上出错，均值和比较都不计这些查询：{zh}。",
        )
    first, unknown = summary.measures[0], warning_sentences.count_unknown_queries(summary)
    if unknown:
        en, zh = _counts(unknown)
        yield Text(
            f"{first} leaves out queries until more is judged (no snippet of the engine is judged, or none"
            f" judged in the pool is relevant): {en}.",
            f"有的查询要评定更多摘要后才计入 {first}"
            f"（该引擎的摘要一条都没评定，或池里已评定的都不相关）：{zh}。",
        )


def _counts(counts: Mapping[str, int]) -> Text:
    parts = [f"{name} {count:,}" for name, count in counts.items()]
    return Text(", ".join(parts), "，".join(parts))


def _snippets(summary: Summary) -> Iterator[Text]:
    yield from (Text(remark, remark) for remark in summary.remarks)
    if summary.flagged:
        en, zh = _counts(summary.flagged)
        yield Text(
            f"Snippets flagged because they seem to speak to the grader (never re-graded for it): {en}.",
            f"疑似对评测员喊话的摘要，只做标记、不因此改分：{zh}。",
        )
        remark = in_both(warning_sentences.describe_flagged_effect, summary)
        if remark.en:
            yield remark
    if summary.empty_snippets:
        count = f"{summary.empty_snippets:,}"
        yield text("Results without any text, which get grade 0 without a call: {count}.", count=count)


def _measures(summary: Summary) -> Iterator[Text]:
    for measure, count in summary.undefined.items():
        nothing = measure.startswith("Judged")
        en = "no result to look at" if nothing else "no relevant snippet in the pool"
        zh = "没有可看的结果" if nothing else "整个池里没有相关摘要"
        yield Text(
            f"{measure} leaves out {count:,} of {summary.queries:,} queries: {en}.",
            f"{measure} 略去了 {summary.queries:,} 条查询中的 {count:,} 条：{zh}。",
        )
    for measure, note in summary.notes.items():
        yield Text(f"{measure}: {note}.", f"{measure}：{CHINESE(note)}。")
