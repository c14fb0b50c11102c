"""The command line, run in this process or in one of its own."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from judge.cli.main import main
from tests.support.fake_server import LoopbackServer

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


def inject_faults(name: str, *words: object) -> None:
    """Run `python -m tests.fault_injection.NAME`; raise AssertionError when a figure is missed."""
    done = subprocess.run(
        [sys.executable, "-m", f"tests.fault_injection.{name}", *map(str, words)],
        capture_output=True, text=True, timeout=300, check=False, cwd=Path(__file__).parents[2],
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def asking(data: Path, server: LoopbackServer) -> tuple[str, ...]:
    """The words of a `judge run` over `data` that asks a model behind `server`."""
    return ("run", str(data), "-m", "openai:fake", "--base-url", server.openai_url)
