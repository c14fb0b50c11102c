"""Bias of an assessor towards engines: measured against human labels, or suggested by a shared vendor.

A model can prefer results of its own vendor (self-preference bias). Names alone do not prove it, so a shared
vendor is reported and never changes a grade.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations, product

import numpy as np

from judge.measure.agreement import PairedGrades
from judge.measure.formulas import Floats, Ints, divide_sums
from judge.measure.resampling import (
    ALPHA,
    MIN_DIFFERING,
    Statistic,
    StatisticValue,
    estimate_statistics,
)
from judge.messages import Message

_TOO_FEW_QUERIES = Message(
    "the biases of the two differ on fewer than {least} queries, so there is no interval", least=MIN_DIFFERING
)
#: Variances below this are rounding.
_ROUNDING = 1e-24
_NO_RESULT = Message("none of its results has both grades")


@dataclass(frozen=True, slots=True)
class EngineLabelBias:
    """The mean of assessor - people over the `results` of one engine with both grades."""

    results: int
    queries: int
    bias: StatisticValue


@dataclass(frozen=True, slots=True)
class WidestBiasGap:
    """The two engines with the largest difference in bias: the error of the assessor in a comparison.

    `difference` is the bias for `favoured` minus that for `other`, at least 0. Its interval is simultaneous
    with probability 95% over all pairs of engines: if it excludes 0, the difference is significant.
    """

    favoured: str
    other: str
    difference: StatisticValue


def estimate_engine_bias(
    engines: Sequence[str], engine: Ints, results: PairedGrades
) -> dict[str, EngineLabelBias]:
    """Return the bias of the assessor for each of `engines`, in their order.

    `results` has a row for every result of an engine with both grades, `engine` (results,) holds the indexes
    of the engines. Both grades are on one scale: 0 and 1 for relevance where the scales differ.
    """
    cells = _sum_by_engine(len(engines), engine, results)

    def select_engine(index: int) -> Statistic:
        return lambda sums: divide_sums(sums[..., index, :]), _NO_RESULT

    biases = estimate_statistics(cells, {name: select_engine(at) for at, name in enumerate(engines)})
    results_by_engine = {}
    for index, name in enumerate(engines):
        present = cells[cells[:, index, 1] > 0, index]
        results_by_engine[name] = EngineLabelBias(int(present[:, 1].sum()), len(present), biases[name])
    return results_by_engine


def find_widest_gap(engines: Sequence[str], engine: Ints, results: PairedGrades) -> WidestBiasGap | None:
    """Return the largest difference in bias between two engines, None unless two of them have results.

    The arguments are those of `estimate_engine_bias`. Significant differences come before larger ones that
    are not significant: an engine with two results can be far from all others by chance.
    """
    cells = _sum_by_engine(len(engines), engine, results)
    biases = divide_sums(cells.sum(0))
    measured = [index for index in range(len(engines)) if not np.isnan(biases[index])]
    order = sorted(measured, key=lambda index: (-biases[index], engines[index]))
    engine_pairs = list(combinations(order, 2))
    if not engine_pairs:
        return None
    one, other = np.array(engine_pairs).T
    differences = biases[one] - biases[other]
    margins = _compute_margins(cells, one, other)
    significant = np.flatnonzero(differences - margins > 0)
    candidates = significant if significant.size else np.arange(len(engine_pairs))
    widest = candidates[differences[candidates].argmax()]
    value, margin = float(differences[widest]), float(margins[widest])
    difference = StatisticValue(value, (value - margin, value + margin))
    if np.isnan(margin):
        difference = StatisticValue(value, None, _TOO_FEW_QUERIES)
    return WidestBiasGap(engines[one[widest]], engines[other[widest]], difference)


def _compute_margins(cells: Floats, one: Ints, other: Ints) -> Floats:
    """Return (pairs,) half widths of the intervals of differences, NaN with too few queries.

    The variance is that of the jackknife over queries, because errors on one query are correlated. The t
    distribution has one degree of freedom fewer than the engine with fewer queries has queries. The level
    is corrected for the number of pairs (Bonferroni; Dunn 1961).
    """
    from scipy.special import stdtrit

    queries = len(cells)
    without = divide_sums(cells.sum(0) - cells)
    differences = without[:, one] - without[:, other]
    variance = differences.var(0) * (queries - 1)
    present = (cells[..., 1] > 0).sum(0)
    fewest = np.minimum(present[one], present[other])
    quantile = stdtrit(np.maximum(1, fewest - 1), 1 - ALPHA / 2 / len(one))
    # A smaller variance is rounding.
    margins: Floats = quantile * np.sqrt(np.where(variance > _ROUNDING, variance, 0.0))
    by_query = np.nan_to_num(divide_sums(cells))
    different = (by_query[:, one] != by_query[:, other]).sum(0)
    return np.where(np.minimum(fewest, different) < MIN_DIFFERING, np.nan, margins)


def _sum_by_engine(engines: int, engine: Ints, results: PairedGrades) -> Floats:
    """Return (queries, engines, 2): the sum of assessor - people, and the number of results."""
    numbers, row = np.unique(results.query, return_inverse=True)
    cells = np.zeros((len(numbers), engines, 2))
    excess = (results.assessor - results.human).astype(np.float64)
    np.add.at(cells, (row, engine), np.stack([excess, np.ones_like(excess)], axis=1))
    return cells


#: Names of the models and engines of each vendor. A word of a name matches when it equals one of these,
#: begins with it (five letters or more) or, in Chinese, contains it.
VENDORS: Mapping[str, tuple[str, ...]] = {
    "Alibaba": ("qwen", "qwq", "tongyi", "aliyun", "alibaba", "iqs", "quark", "通义", "千问", "阿里", "夸克"),
    "Anthropic": ("claude", "anthropic"),
    "Baidu": ("ernie", "wenxin", "baidu", "文心", "百度"),
    "ByteDance": ("doubao", "bytedance", "toutiao", "豆包", "头条"),
    "DeepSeek": ("deepseek",),
    "Google": ("gemini", "gemma", "palm", "google"),
    "Meta": ("llama", "meta"),
    "Microsoft": ("phi", "bing", "microsoft", "copilot"),
    "Mistral": ("mistral", "mixtral", "ministral"),
    "Moonshot": ("kimi", "moonshot"),
    "OpenAI": ("gpt", "chatgpt", "openai"),
    "Perplexity": ("sonar", "perplexity", "pplx"),
    "Tencent": ("hunyuan", "tencent", "sogou", "混元", "腾讯", "搜狗"),
    "xAI": ("grok", "xai"),
    "Zhipu": ("glm", "chatglm", "zhipu", "智谱"),
}
#: Names of protocols, which do not tell the vendor of a model.
_PROTOCOLS = frozenset({"openai", "dashscope", "langchain", "ollama", "tongyi"})


@dataclass(frozen=True, slots=True)
class SharedVendor:
    """An assessor and `other`, an engine or another member of the panel, share a `vendor`."""

    assessor: str
    other: str
    vendor: str


def find_vendor(words: str) -> str | None:
    """Return the vendor of a model or an engine with this name, None when the name does not tell."""
    for word in re.findall(r"[^\W\d_]+", words.lower()):
        for vendor, tokens in VENDORS.items():
            if any(_matches_word(token, word) for token in tokens):
                return vendor
    return None


def _matches_word(token: str, word: str) -> bool:
    if not token.isascii():
        return token in word
    return word == token or (len(token) > 4 and word.startswith(token))


def find_shared_vendors(assessors: Iterable[str], engines: Iterable[str]) -> tuple[SharedVendor, ...]:
    """Return assessors and engines with one vendor, and members of a panel with one vendor."""
    members: list[str] = []
    for assessor in assessors:
        panel = re.fullmatch(r"panel\((.*)\)", assessor)
        members += panel[1].split(", ") if panel else [assessor]
    of_members = [(member, find_vendor(_split_model_name(member))) for member in members]
    of_engines = [(engine, find_vendor(engine)) for engine in engines]
    return tuple(
        SharedVendor(assessor, other, vendor)
        for (assessor, vendor), (other, of_other) in chain(
            product(of_members, of_engines), combinations(of_members, 2)
        )
        if vendor and vendor == of_other
    )


def _split_model_name(assessor: str) -> str:
    """Return the words that name the model: `qwen plus` for `openai:qwen-plus/graded`."""
    assessor = assessor.partition(" at ")[0]  # the name of the server does not tell the vendor
    parts: Sequence[str] = assessor.rpartition("/")[0].split(":") if "/" in assessor else assessor.split(":")
    return " ".join(part for part in parts[:-1] if part not in _PROTOCOLS) + f" {parts[-1]}"
