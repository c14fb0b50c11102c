"""Bias of an assessor towards engines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations, product

import numpy as np

from judge.measure.agreement import PairedGrades
from judge.measure.formulas import Floats, Ints, divide
from judge.measure.resampling import IntervalEstimate, estimate_statistic, estimate_statistics

#: How often an engine may be called favoured by chance: over all pairs of engines.
ALPHA = 0.05
#: Two engines that the assessor treats differently on fewer queries get no interval.
MIN_QUERIES = 6
_TOO_FEW_QUERIES = f"the biases of the two differ on fewer than {MIN_QUERIES} queries, which gives no range"
#: Variances below this are those of rounding errors.
_ROUNDING = 1e-24
_NO_RESULT = "none of its results has both grades"


@dataclass(frozen=True, slots=True)
class EngineBias:
    """The mean of assessor - people over one engine's `results` results with both grades."""

    engine: str
    results: int
    queries: int
    bias: IntervalEstimate


@dataclass(frozen=True, slots=True)
class BiasGap:
    """The two engines that the assessor treats most differently: what its errors may add to a comparison.

    `difference` is the bias for `favoured` minus that for `other`, never below 0. Its interval is one of
    those that hold for all pairs of engines at once with probability 95 %: where it leaves out 0, chance
    doesn't explain that one is favoured.
    """

    favoured: str
    other: str
    difference: IntervalEstimate


def estimate_engine_bias(engines: Sequence[str], engine: Ints, shown: PairedGrades) -> tuple[EngineBias, ...]:
    """How far the assessor over- or underrates each of `engines`, in their order.

    `shown` has a row for every result of an engine that has both grades, `engine` says by its place in
    `engines` whose it is; a result that two engines show is in it twice. Both grades are on one scale:
    0 and 1 for not relevant and relevant where the scales differ.
    """
    cells = _sum_by_engine(len(engines), engine, shown)
    flat = cells.reshape(len(cells), 2 * len(engines))
    shared = estimate_statistics(
        flat, {str(at): (partial(_compute_bias, at), _NO_RESULT) for at in range(len(engines))}
    )
    return tuple(_make_engine_bias(name, cells[:, at], shared[str(at)]) for at, name in enumerate(engines))


def find_widest_gap(engines: Sequence[str], engine: Ints, shown: PairedGrades) -> BiasGap | None:
    """The largest difference in bias between two engines; None unless two of them have results.

    Takes what `engine_bias` takes. Differences that chance doesn't explain come before wider ones that
    it may: an engine with two results can be far from all others and mean nothing.
    """
    cells = _sum_by_engine(len(engines), engine, shown)
    biases = _divide_sums(cells.sum(0))
    measured = [at for at in range(len(engines)) if not np.isnan(biases[at])]
    order = sorted(measured, key=lambda at: (-biases[at], engines[at]))
    pairs = list(combinations(order, 2))
    if not pairs:
        return None
    one, other = np.array(pairs).T
    differences = biases[one] - biases[other]
    margins = _compute_margins(cells, one, other)
    clear = np.flatnonzero(differences - margins > 0)
    among = clear if clear.size else np.arange(len(pairs))
    widest = among[differences[among].argmax()]
    value, margin = float(differences[widest]), float(margins[widest])
    difference = IntervalEstimate(value, value - margin, value + margin)
    if np.isnan(margin):
        difference = IntervalEstimate(value, why=_TOO_FEW_QUERIES)
    return BiasGap(engines[one[widest]], engines[other[widest]], difference)


def _compute_margins(cells: Floats, one: Ints, other: Ints) -> Floats:
    """(pairs,) half the width of each difference's interval, NaN where too few queries tell of it.

    The variance is the jackknife's over queries, for results of one query err together, with the t
    distribution and one degree of freedom fewer than queries of the engine that has fewer. The level is
    Bonferroni's for as many pairs (Dunn 1961).
    """
    from scipy.special import stdtrit

    queries = len(cells)
    without = _divide_sums(cells.sum(0) - cells)
    differences = without[:, one] - without[:, other]
    variance = differences.var(0) * (queries - 1)
    present = (cells[..., 1] > 0).sum(0)
    fewest = np.minimum(present[one], present[other])
    quantile = stdtrit(np.maximum(1, fewest - 1), 1 - ALPHA / 2 / len(one))
    # Without spread the rounding of means is all there is.
    margins: Floats = quantile * np.sqrt(np.where(variance > _ROUNDING, variance, 0.0))
    by_query = np.nan_to_num(_divide_sums(cells))
    different = (by_query[:, one] != by_query[:, other]).sum(0)
    return np.where(np.minimum(fewest, different) < MIN_QUERIES, np.nan, margins)


def _sum_by_engine(engines: int, engine: Ints, shown: PairedGrades) -> Floats:
    """(queries, engines, 2): the summed assessor - people, and over how many results."""
    numbers, row = np.unique(shown.query, return_inverse=True)
    cells = np.zeros((len(numbers), engines, 2))
    excess = (shown.assessor - shown.human).astype(np.float64)
    np.add.at(cells, (row, engine), np.stack([excess, np.ones_like(excess)], axis=1))
    return cells


def _make_engine_bias(name: str, cells: Floats, shared: IntervalEstimate) -> EngineBias:
    present = cells[cells[:, 1] > 0]
    # Where one query is all there is, resamples hold it or nothing: a range of no width.
    bias = estimate_statistic(present, _divide_sums, _NO_RESULT) if len(present) == 1 else shared
    return EngineBias(name, int(present[:, 1].sum()), len(present), bias)


def _compute_bias(engine: int, sums: Floats) -> Floats:
    """The mean for one engine of sums (..., 2 × engines)."""
    return _divide_sums(sums[..., 2 * engine : 2 * engine + 2])


def _divide_sums(sums: Floats) -> Floats:
    return divide(sums[..., 0], sums[..., 1], np.nan)


#: What the models and engines of each house are called: a word of a name is one of these, begins with it
#: (from five letters on) or, in Chinese, holds it.
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
#: How a server is spoken to says nothing about whose model it serves.
_PROTOCOLS = frozenset({"openai", "dashscope", "langchain", "ollama", "tongyi"})


@dataclass(frozen=True, slots=True)
class SharedVendor:
    """Assessor `assessor` and `other`, an engine or a further member of the panel, are of one `house`."""

    assessor: str
    other: str
    house: str


def find_vendor(words: str) -> str | None:
    """The house that a model or an engine called `words` belongs to, None when its name tells of none."""
    for word in re.findall(r"[^\W\d_]+", words.lower()):
        for called, tokens in VENDORS.items():
            if any(_matches_word(token, word) for token in tokens):
                return called
    return None


def _matches_word(token: str, word: str) -> bool:
    if not token.isascii():
        return token in word
    return word == token or (len(token) > 4 and word.startswith(token))


def find_shared_vendors(assessors: Iterable[str], engines: Iterable[str]) -> tuple[SharedVendor, ...]:
    """Who grades an engine of its own house, and which members of a panel are no second opinion."""
    named = [name for assessor in assessors for name in _panel_members(assessor)]
    return (
        *_compare_vendors(product(named, engines), engines=True),
        *_compare_vendors(combinations(named, 2), engines=False),
    )


def _panel_members(assessor: str) -> list[str]:
    """The members of a panel, or the assessor itself."""
    panel = re.fullmatch(r"panel\((.*)\)", assessor)
    return panel[1].split(", ") if panel else [assessor]


def _compare_vendors(pairs: Iterable[tuple[str, str]], *, engines: bool) -> Iterator[SharedVendor]:
    for assessor, other in pairs:
        of_assessor = find_vendor(_model_words(assessor))
        of_other = find_vendor(other if engines else _model_words(other))
        if of_assessor is not None and of_assessor == of_other:
            yield SharedVendor(assessor, other, of_assessor)


def _model_words(assessor: str) -> str:
    """The model's own name: `openai:qwen-plus/graded` speaks OpenAI's wire and is a Qwen."""
    assessor = assessor.partition(" at ")[0]  # its server's name says nothing of its house
    parts: Sequence[str] = assessor.rpartition("/")[0].split(":") if "/" in assessor else assessor.split(":")
    return " ".join(part for part in parts[:-1] if part not in _PROTOCOLS) + f" {parts[-1]}"
