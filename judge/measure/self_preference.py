"""Owns noticing that an assessor grades its own house: by the names of models and engines alone.

A model may favour what comes from its own family. Names prove nothing, so this is said and never
changes a grade.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product

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
    """Assessor `assessor` and `other`, an engine or a further member of the panel, are of one `vendor`."""

    assessor: str
    other: str
    vendor: str


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
