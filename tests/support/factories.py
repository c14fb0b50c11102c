"""Datasets for tests, and answers of models that grade them."""

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
    """Write rows as JSON lines and return the path."""
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def write_puppy_dataset(path: Path) -> Path:
    """Write a dataset of one query and one engine, and return the path."""
    return write_rows(
        path,
        (
            {"query_id": "dog", "query": PUPPY_QUERY, "engine": "seed", "rank": rank, "snippet": snippet}
            for rank, snippet in enumerate(PUPPY_SNIPPETS, start=1)
        ),
    )


def reply_about_puppy(request: ChatRequest) -> Reply:
    """Reply yes for snippets on anaemia, no for others, with a reason in Chinese."""
    snippet = extract_fenced(request.prompt)
    verdict = "yes" if "贫血" in snippet else "no"
    reason = "摘要说明了贫血的症状。" if verdict == "yes" else "摘要讲的是饥饿，不是贫血。"
    return Reply(text=json.dumps({"reason": reason, "verdict": verdict}, ensure_ascii=False))


def extract_fenced(prompt: str) -> str:
    """Return the text between the fence lines of a prompt."""
    match = re.search(r"\n<<<(\w{16,})\n(.*)\n\1>>>", prompt, re.DOTALL)
    assert match, prompt
    return match[2]


def make_rows(queries: int, engines: int, results: int) -> list[dict[str, Any]]:
    """Return rows whose snippets state their grade; no two engines share a snippet."""
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


def list_rows(lists: Mapping[str, Mapping[str, Iterable[str]]]) -> list[dict[str, Any]]:
    """Return rows with the snippets of each query and engine, best first."""
    return [
        {"query_id": query, "query": f"what {query}", "engine": engine, "rank": rank, "snippet": text}
        for query, engines in lists.items()
        for engine, texts in engines.items()
        for rank, text in enumerate(texts, start=1)
    ]


def reply_with_grade(request: ChatRequest) -> Reply:
    """Reply with the grade that a snippet of `make_rows` states."""
    match = re.search(r"grade=(\d)", extract_fenced(request.prompt))
    assert match
    return Reply(text=json.dumps({"reason": f"it says {match[1]}", "grade": int(match[1])}))


def delay_reply(make_reply: Callable[[ChatRequest], Reply], delay: float) -> Callable[[ChatRequest], Reply]:
    """Return an answer that replies with the text of `make_reply` after `delay` seconds."""
    return lambda request: Reply(text=make_reply(request).text, delay=delay)


def read_results(folder: Path) -> dict[str, Any]:
    """Return the content of results.json of a run."""
    content: dict[str, Any] = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    return content


def read_summary(folder: Path) -> dict[str, Any]:
    """Return the content of summary.json of a run."""
    content: dict[str, Any] = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    return content


def read_judgments(folder: Path) -> list[dict[str, Any]]:
    """Return the lines of judgments.jsonl of a run."""
    return [
        json.loads(line) for line in (folder / "judgments.jsonl").read_text(encoding="utf-8").splitlines()
    ]
