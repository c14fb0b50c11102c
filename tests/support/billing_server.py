"""A provider that keeps books: it counts each request and token as it charges for them.

What `judge` says that a run cost is held against these books.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from judge.records import Usage
from tests.support.fake_server import ChatRequest, Reply

#: Tokens that Qwen's chat template puts round each message, and before the answer.
_ROUND_MESSAGE, _BEFORE_ANSWER = 5, 3


def qwen() -> Callable[[str], int]:
    """Qwen's own tokenizer, as its provider ships it: how many tokens a text is."""
    import dashscope

    encode = dashscope.get_tokenizer("qwen-plus").encode
    return lambda text: len(encode(text))


@dataclass
class BillingServer:
    """A model that answers by `answer`, with its books; every reply is charged for by `tokens`.

    A reply that has no `usage` of its own accord keeps none, and is `uncounted`. Replies that don't
    arrive whole are `lost`: charged for in `lost_usage`, but nobody hears how much.
    """

    answer: Callable[[ChatRequest], Reply]
    tokens: Callable[[str], int] = len
    requests: Counter[str] = field(default_factory=Counter)
    usage: Usage = field(default_factory=Usage)
    lost_usage: Usage = field(default_factory=Usage)
    largest_reply: int = 0

    def __call__(self, request: ChatRequest) -> Reply:
        """Answers, and writes down what that costs."""
        reply = self.answer(request)
        if reply.status != 200:
            self.requests[str(reply.status)] += 1
            return reply
        if reply.usage is None:
            self.requests["uncounted"] += 1
            return reply
        charged = Usage(self._count_tokens(request), completion_tokens=self.tokens(reply.text or ""))
        self.largest_reply = max(self.largest_reply, charged.completion_tokens)
        if reply.cut or reply.reset:
            self.requests["lost"] += 1
            self.lost_usage = _sum(self.lost_usage, charged)
        else:
            self.requests["answered"] += 1
            self.usage = _sum(self.usage, charged)
        return replace(reply, usage=charged)

    @property
    def calls(self) -> int:
        """Every request that arrived."""
        return self.requests.total()

    def _count_tokens(self, chat_request: ChatRequest) -> int:
        texts = [message["content"] for message in turns(chat_request)]
        return sum(self.tokens(text) + _ROUND_MESSAGE for text in texts) + _BEFORE_ANSWER


def turns(request: ChatRequest) -> list[dict[str, Any]]:
    """The messages of a request on either wire."""
    body = request.body or {}
    result: list[dict[str, Any]] = body.get("input", body)["messages"]
    return result


def digest(request: ChatRequest) -> int:
    """A number that the prompt alone decides: what a deterministic fake rolls its dice with."""
    return int.from_bytes(hashlib.sha256(request.prompt.encode()).digest()[:8])


def talkative(request: ChatRequest) -> Reply:
    """Grades anything by its hash, with a reason of one to three sentences in the prompt's language."""
    number = digest(request)
    zh = "摘要" in turns(request)[0]["content"]
    sentence = (
        "摘要直接说明了查询所问的内容，并给出了具体的做法。"
        if zh
        else "The snippet states plainly what the query asks for and says how to do it. "
    )
    reply = {"reason": sentence * (1 + number % 3), "grade": number % 4}
    return Reply(text=json.dumps(reply, ensure_ascii=False))


def _sum(one: Usage, other: Usage) -> Usage:
    return Usage(
        prompt_tokens=one.prompt_tokens + other.prompt_tokens,
        completion_tokens=one.completion_tokens + other.completion_tokens,
    )
