"""Vendors that models and engines share, by their names.

A model can prefer results of its own vendor (self-preference bias). Names alone do not prove it, so a shared
vendor is reported and never changes a grade.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations, product

#: Names of the models and engines of each vendor. A word of a name matches when it equals one of these,
#: begins with it (five letters or more) or, in Chinese, contains it.
VENDORS: Mapping[str, tuple[str, ...]] = {
    "Alibaba": ("qwen", "qwq", "tongyi", "aliyun", "alibaba", "iqs", "quark", "通义", "千问", "阿里", "夸克"),
    "Anthropic": ("claude", "anthropic"),
    "Baidu": ("ernie", "wenxin", "baidu", "文心", "百度"),
    "ByteDance": ("doubao", "bytedance", "toutiao", "豆包", "头条", "字节"),
    "DeepSeek": ("deepseek", "深度求索"),
    "Google": ("gemini", "gemma", "palm", "google", "谷歌"),
    "Meta": ("llama", "meta"),
    "Microsoft": ("phi", "bing", "microsoft", "copilot", "必应", "微软"),
    "Mistral": ("mistral", "mixtral", "ministral"),
    "Moonshot": ("kimi", "moonshot", "月之暗面"),
    "OpenAI": ("gpt", "chatgpt", "openai"),
    "Perplexity": ("sonar", "perplexity", "pplx"),
    "Tencent": ("hunyuan", "tencent", "sogou", "混元", "腾讯", "搜狗"),
    "xAI": ("grok", "xai"),
    "Zhipu": ("glm", "chatglm", "zhipu", "智谱"),
}
#: Names of protocols, which do not show the vendor of a model.
_PROTOCOLS = frozenset({"openai", "dashscope", "langchain", "ollama", "tongyi"})


@dataclass(frozen=True, slots=True)
class SharedVendor:
    """An assessor and `other`, an engine or another member of the panel, share a `vendor`."""

    assessor: str
    other: str
    vendor: str


def find_vendor(words: str) -> str | None:
    """Return the vendor of a model or an engine with this name, None when the name does not show it."""
    for word in re.findall(r"[^\W\d_]+", words.lower()):
        for vendor, tokens in VENDORS.items():
            for token in tokens:
                begins = token.isascii() and len(token) > 4 and word.startswith(token)
                if word == token or begins or (not token.isascii() and token in word):
                    return vendor
    return None


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
