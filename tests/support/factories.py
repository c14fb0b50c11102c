"""Datasets that tests judge, and models that grade them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from tests.support.fake_server import ChatRequest, Reply

#: The puppy with anaemia: six snippets on anaemia, hunger, anaemia, anaemia, hunger, anaemia.
PUPPY_QUERY = "小狗贫血的表现"
PUPPY_SNIPPETS = (
    "<em>狗狗贫血</em>时牙龈发白，<br>精神不好，走几步就喘。",
    "<em>小狗</em>饿了会围着你叫，翻垃圾桶。",
    "幼犬<em>贫血</em>的<em>表现</em>：舌头颜色变淡、嗜睡、食欲差。",
    "判断狗是否<em>贫血</em>，可以看眼结膜，<br>正常是粉红色的。",
    "<em>小狗</em>吃不饱会舔碗，&nbsp;体重下降。",
    "<em>贫血</em>的狗狗心跳快，<em>表现</em>为无力，严重时会晕倒。",
)
PUPPY_VERDICTS = ("yes", "no", "yes", "yes", "no", "yes")


def write_rows(path: Path, rows: Iterable[Mapping[str, Any]]) -> Path:
    """Writes rows as JSON lines and gives the path."""
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def puppy(path: Path) -> Path:
    """The example of one query and one engine."""
    return write_rows(
        path,
        (
            {"query_id": "dog", "query": PUPPY_QUERY, "engine": "seed", "rank": rank, "snippet": snippet}
            for rank, snippet in enumerate(PUPPY_SNIPPETS, start=1)
        ),
    )


def puppy_model(request: ChatRequest) -> Reply:
    """Says yes to snippets on anaemia, as people would, with a reason in Chinese."""
    shown = fenced(request.prompt)
    verdict = "yes" if "贫血" in shown else "no"
    reason = "摘要说明了贫血的症状。" if verdict == "yes" else "摘要讲的是饥饿，不是贫血。"
    return Reply(text=json.dumps({"reason": reason, "verdict": verdict}, ensure_ascii=False))


def fenced(prompt: str) -> str:
    """What a prompt shows between its fence lines."""
    match = re.search(r"\n<<<(\w{16,})\n(.*)\n\1>>>", prompt, re.DOTALL)
    assert match, prompt
    return match[2]


def numbered(queries: int, engines: int, results: int) -> list[dict[str, Any]]:
    """Rows whose snippets say their grade: engine 0 is best, every snippet is one engine's own."""
    return [
        {
            "query_id": f"q{q}",
            "query": f"question {q}",
            "engine": f"engine{e}",
            "rank": r,
            "snippet": f"text {q}.{e}.{r} grade={(q + 2 * r + e) % 4}",
        }
        for q in range(queries)
        for e in range(engines)
        for r in range(1, results + 1)
    ]


def rows_of(lists: Mapping[str, Mapping[str, Iterable[str]]]) -> list[dict[str, Any]]:
    """Rows with the snippets that each engine returns for each query, best first."""
    return [
        {"query_id": query, "query": f"what {query}", "engine": engine, "rank": rank, "snippet": text}
        for query, engines in lists.items()
        for engine, texts in engines.items()
        for rank, text in enumerate(texts, start=1)
    ]


def says_its_grade(request: ChatRequest) -> Reply:
    """Grades a snippet of `numbered` by what it says of itself."""
    match = re.search(r"grade=(\d)", fenced(request.prompt))
    assert match
    return Reply(text=json.dumps({"reason": f"it says {match[1]}", "grade": int(match[1])}))


def slowly(answer: Callable[[ChatRequest], Reply], delay: float) -> Callable[[ChatRequest], Reply]:
    """`answer`, after `delay` seconds."""
    return lambda request: Reply(text=answer(request).text, delay=delay)


def results(folder: Path) -> dict[str, Any]:
    """What results.json of a run holds."""
    content: dict[str, Any] = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    return content
