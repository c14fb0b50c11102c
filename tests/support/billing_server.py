"""A provider that counts each request and token that it charges for.

Tests compare the costs that `judge` reports with these counts.
"""

import hashlib
import json
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from judge.example import find_dataset as example
from judge.records import Usage
from tests.support.factories import reply_with_grade
from tests.support.fake_server import ChatRequest, Reply

#: Tokens that Qwen's chat template adds to each message, and before the answer.
_ROUND_MESSAGE, _BEFORE_ANSWER = 5, 3


def load_qwen_tokenizer() -> Callable[[str], int]:
    """Return a function that counts the tokens of a text with Qwen's own tokenizer."""
    import dashscope

    encode = dashscope.get_tokenizer("qwen-plus").encode
    return lambda text: len(encode(text))


@dataclass
class BillingServer:
    """Makes replies, and counts the requests and the charges; `tokens` counts the tokens of a text.

    A reply without `usage` stays without it, and counts as `uncounted`. Replies that don't arrive complete
    count as `lost`: the provider charges for them in `lost_usage`, but the client does not learn the amount.
    """

    make_reply: Callable[[ChatRequest], Reply]
    tokens: Callable[[str], int] = len
    requests: Counter[str] = field(default_factory=Counter)
    usage: Usage = field(default_factory=Usage)
    lost_usage: Usage = field(default_factory=Usage)
    largest_reply: int = 0

    def __call__(self, request: ChatRequest) -> Reply:
        """Return the reply, and add it and its tokens to the counts."""
        reply = self.make_reply(request)
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
            self.lost_usage = _add_usage(self.lost_usage, charged)
        else:
            self.requests["answered"] += 1
            self.usage = _add_usage(self.usage, charged)
        return replace(reply, usage=charged)

    @property
    def calls(self) -> int:
        """The number of requests that arrived."""
        return self.requests.total()

    def _count_tokens(self, chat_request: ChatRequest) -> int:
        texts = [message["content"] for message in read_messages(chat_request)]
        return sum(self.tokens(text) + _ROUND_MESSAGE for text in texts) + _BEFORE_ANSWER


def read_messages(request: ChatRequest) -> list[dict[str, Any]]:
    """Return the messages of a request on either wire."""
    body = request.body or {}
    result: list[dict[str, Any]] = body.get("input", body)["messages"]
    return result


def hash_prompt(request: ChatRequest) -> int:
    """Return a number that depends on the prompt only, for fakes with fixed random choices."""
    return int.from_bytes(hashlib.sha256(request.prompt.encode()).digest()[:8])


def reply_with_reasons(request: ChatRequest) -> Reply:
    """Reply with a grade by the hash of the prompt, and one to three sentences in the prompt's language."""
    number = hash_prompt(request)
    zh = "摘要" in read_messages(request)[0]["content"]
    sentence = (
        "摘要直接说明了查询所问的内容，并给出了具体的做法。"
        if zh
        else "The snippet states plainly what the query asks for and says how to do it. "
    )
    reply = {"reason": sentence * (1 + number % 3), "grade": number % 4}
    return Reply(text=json.dumps(reply, ensure_ascii=False))


def _add_usage(one: Usage, other: Usage) -> Usage:
    return Usage(
        prompt_tokens=one.prompt_tokens + other.prompt_tokens,
        completion_tokens=one.completion_tokens + other.completion_tokens,
    )


def fail_first_attempts(request: ChatRequest) -> Reply:
    """Fail by the hash of the prompt: in seven ways the first request, in two ways every request."""
    kind = hash_prompt(request) % 12
    good = reply_with_grade(request)
    if kind == 4:
        return Reply(text='{"reason": "unfin', finish_reason="content_filter")
    if kind == 5:
        return Reply(text="I can't", message={"role": "assistant", "content": None, "refusal": "I can't"})
    if request.attempt > 1:
        return good
    failures = {
        0: Reply(status=500, body="{}"),
        1: Reply(status=429, headers={"retry-after": "0.05"}, body='{"error": {"message": "slow down"}}'),
        2: Reply(text=good.text, cut=True),
        3: Reply(text=good.text, reset=True),
        6: Reply(text="no verdict here"),
        7: Reply(text=good.text, usage=None),
        8: Reply(status=400, body='{"error": {"code": "data_inspection_failed", "message": "no"}}'),
    }
    return failures.get(kind, good)


def yield_snippet_rows(pairs: int, seed: int) -> Iterator[dict[str, Any]]:
    """Yield rows in Chinese and English by turns, with random snippets of the shipped example."""
    rng = random.Random(seed)
    by_lang: dict[str, list[dict[str, Any]]] = {"zh": [], "en": []}
    for line in Path(example()).read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        results = [
            result for engine in record["engines"].values() if isinstance(engine, list) for result in engine
        ]
        by_lang["zh" if re.search("[一-鿿]", record["query"]) else "en"].append(
            {**record, "results": results}
        )
    for number in range(pairs):
        record = rng.choice(by_lang["zh" if number % 2 else "en"])
        texts = [rng.choice(record["results"])["snippet"] for _ in range(rng.randint(1, 4))]
        yield {
            "query": record["query"],
            "engine": "e",
            "rank": number + 1,
            "title": rng.choice(record["results"])["title"],
            "snippet": f"{' '.join(texts)} {number}",
        }
