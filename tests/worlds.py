"""Owns small worlds that tests judge: datasets, and loopback models that grade them."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from judge.cli.main import main
from tests.loopback.server import Asked, LoopbackServer, Reply

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


def puppy_model(asked: Asked) -> Reply:
    """Says yes to snippets on anaemia, as people would, with a reason in Chinese."""
    shown = fenced(asked.prompt)
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


def says_its_grade(asked: Asked) -> Reply:
    """Grades a snippet of `numbered` by what it says of itself."""
    match = re.search(r"grade=(\d)", fenced(asked.prompt))
    assert match
    return Reply(text=json.dumps({"reason": f"it says {match[1]}", "grade": int(match[1])}))


def slowly(answer: Callable[[Asked], Reply], delay: float) -> Callable[[Asked], Reply]:
    """`answer`, after `delay` seconds."""
    return lambda asked: Reply(text=answer(asked).text, delay=delay)


#: What a shell that calls judge has set: a key that no file, log or terminal may show.
_KEYS = {"OPENAI_API_KEY": "sk-canary-5b1d9f"}


def command(*words: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command line in this process; return its exit code and what it printed.

    A test uses `process` where the process itself is what is tested: signals, pipes, locks, its start.
    """
    arguments = list(map(str, words))
    environ = {**os.environ, **_KEYS, **environment}
    stdout, stderr = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="\n") for _ in range(2))
    # Playwright's event loop may run in this thread; a thread of its own has none, as a process.
    with ThreadPoolExecutor(1) as thread:
        code = thread.submit(main, arguments, stdout=stdout, stderr=stderr, environ=environ).result()
    return subprocess.CompletedProcess(["judge", *arguments], code, _text(stdout), _text(stderr))


def _text(stream: io.TextIOWrapper) -> str:
    stream.seek(0)
    return stream.read()


def process(*words: object, timeout: float = 120, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run `python -m judge` in a process of its own; return its exit code and what it printed."""
    return subprocess.run(
        [sys.executable, "-m", "judge", *map(str, words)],
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
        env={**os.environ, **_KEYS, **environment},
    )


def chaos(name: str, *words: object) -> None:
    """Runs `python -m tests.chaos.NAME`; raises AssertionError with its table when a figure is missed."""
    done = subprocess.run(
        [sys.executable, "-m", f"tests.chaos.{name}", *map(str, words)],
        capture_output=True, text=True, timeout=300, check=False, cwd=Path(__file__).parents[1],
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def asking(data: Path, server: LoopbackServer) -> tuple[str, ...]:
    """The words of a `judge run` over `data` that asks a model behind `server`."""
    return ("run", str(data), "-m", "openai:fake", "--base-url", server.openai_url)


def results(folder: Path) -> dict[str, Any]:
    """What results.json of a run holds."""
    found: dict[str, Any] = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    return found
