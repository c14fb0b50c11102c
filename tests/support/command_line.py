"""Run the command line in this process or in one of its own."""

import io
import os
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from judge.cli.main import main
from tests.support.fake_server import LoopbackServer

#: The key in the environment of judge, which no file, log or terminal may show.
_KEYS = {"OPENAI_API_KEY": "sk-canary-5b1d9f"}


def run_judge(*words: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command line in this process; return its exit code and its output.

    A test uses `run_process` where it tests the process itself: signals, pipes, locks, the start.
    """
    arguments = list(map(str, words))
    environ = {**os.environ, **_KEYS, **environment}
    stdout, stderr = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="\n") for _ in range(2))
    # Playwright's event loop may run in this thread; the command needs a thread without one.
    with ThreadPoolExecutor(1) as thread:
        code = thread.submit(main, arguments, stdout=stdout, stderr=stderr, environ=environ).result()
    return subprocess.CompletedProcess(["judge", *arguments], code, _read_text(stdout), _read_text(stderr))


def _read_text(stream: io.TextIOWrapper) -> str:
    stream.seek(0)
    return stream.read()


def run_process(*words: object, timeout: float = 120, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run `python -m judge` in a process of its own; return its exit code and its output."""
    return subprocess.run(
        [sys.executable, "-m", "judge", *map(str, words)],
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
        env={**os.environ, **_KEYS, **environment},
    )


def start_process(*words: object) -> subprocess.Popen[str]:
    """Start `python -m judge` in a process of its own, with pipes for its output."""
    return subprocess.Popen(
        [sys.executable, "-m", "judge", *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **_KEYS},
    )


def wait_for_requests(count: Callable[[], int], least: int) -> None:
    """Return as soon as `count` is at least `least`; raise AssertionError after five minutes."""
    deadline = time.monotonic() + 300
    while count() < least:
        assert time.monotonic() < deadline, f"only {count()} requests came"
        time.sleep(0.005)


def inject_faults(name: str, *words: object) -> None:
    """Run `python -m tests.fault_injection.NAME`; raise AssertionError if a figure misses its target."""
    completed = subprocess.run(
        [sys.executable, "-m", f"tests.fault_injection.{name}", *map(str, words)],
        capture_output=True, text=True, timeout=300, check=False, cwd=Path(__file__).parents[2],
    )  # fmt: skip
    assert completed.returncode == 0, completed.stdout + completed.stderr


def make_words(data: Path, server: LoopbackServer) -> tuple[str, ...]:
    """Return the words of a `judge run` over `data` with a model at `server`."""
    return ("run", str(data), "-m", "openai:fake", "--base-url", server.openai_url)
