"""Run `judge` in forked child processes, kill them, and read what they leave.

A child is a fork of this process, which has judge imported already, so a kill costs the run alone and
not two seconds of Python's start. Nothing here may start a thread: a fork would copy its locks.
"""

from __future__ import annotations

import csv
import gc
import json
import os
import shutil
import signal
import sqlite3
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from judge import finished_run, pipeline
from judge.cli import main
from judge.config.run import Config
from judge.errors import InputError, JudgeError
from judge.records import Judgment, RepeatProgress
from tests.support.factories import numbered, write_rows

#: Files whose bytes don't depend on what was paid, so that a kill must leave them equal or absent.
FIXED = ("judgments.jsonl", "scores.csv", "qrels.txt", "run.engine0.trec")
_UNEXPECTED = 70


@dataclass(frozen=True)
class RunSetup:
    """One run to be disturbed: its dataset, its folder, its store, and whom it asks."""

    data: Path
    out: Path
    url: str
    concurrency: int = 8
    timeout: float = 30.0

    @property
    def store(self) -> Path:
        return self.out.parent / "verdicts.sqlite"

    @property
    def config(self) -> Config:
        return Config.load(
            None, data=str(self.data), model="openai:fake", base_url=self.url, out=str(self.out),
            concurrency=self.concurrency, timeout=self.timeout, min_coverage=0.95,
        )  # fmt: skip

    @property
    def words(self) -> tuple[str, ...]:
        """The command line of the run."""
        return (
            "run", str(self.data), "-m", "openai:fake", "--base-url", self.url,
            "--out", str(self.out), "--concurrency", str(self.concurrency), "--timeout", str(self.timeout),
        )  # fmt: skip


def run_setup(folder: Path, url: str, pairs: int, concurrency: int = 8) -> RunSetup:
    """A run of one engine with ten results a query, in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    data = write_rows(folder / "d.jsonl", numbered(pairs // 10, 1, 10))
    return RunSetup(data, folder / "runs" / "one", url, concurrency)


def warm_up(folder: Path) -> None:
    """Imports what a run imports on its way, so that no child has to."""
    from judge.models import openai  # noqa: F401

    here = run_setup(folder, "", 10)
    config = Config.load(None, data=str(here.data), model="lexical", out=str(here.out))
    pipeline.run(config)
    finished_run.rescore(here.out, save=True)


class Acknowledged:
    """A watch that tells the parent of every verdict that judge says is durable."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def begin(self, total: int, done: int, topic: str = "") -> None:
        pass

    def add_judgment(self, judgment: Judgment, usd: float | None) -> None:
        if judgment.grade is not None:
            os.write(self._descriptor, f"{judgment.reason}\n".encode())

    def set_status(self, status: str) -> None:
        pass

    def end_repeat(self, repeat: RepeatProgress) -> None:
        pass

    def end(self) -> None:
        pass


class _PipeReader:
    """Reads a pipe in a thread, until its writer is gone."""

    def __init__(self, pipe: int) -> None:
        self._output = b""
        self._thread = threading.Thread(target=self._read, args=(pipe,), daemon=True)
        self._thread.start()

    def _read(self, pipe: int) -> None:
        with os.fdopen(pipe, "rb") as source:
            self._output = source.read()

    def all(self) -> bytes:
        """Return all output, once the writer is gone."""
        self._thread.join()
        return self._output


class Child:
    """A forked process that does `task`, which gets a descriptor to tell something to.

    Once it is gone, `output` is what it printed and `acknowledged` the pairs that it called judged.
    """

    def __init__(self, task: Callable[[int], int], prepare: Callable[[], None] | None = None) -> None:
        # Pipes, because a file would fail with the disk that a test takes away.
        told, tell = os.pipe()
        text, say = os.pipe()
        self.began = time.monotonic()
        self.pid = os.fork()
        if self.pid == 0:
            _live(task, tell, say, prepare)
        os.close(tell)
        os.close(say)
        self._status: int | None = None
        self.output = ""
        self.acknowledged: set[str] = set()
        # Read all the time: a pipe that is full would stop whoever writes to it.
        self._readers = [_PipeReader(pipe) for pipe in (told, text)]

    def ended(self) -> bool:
        """Whether the process is gone."""
        if self._status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self._status = status
                self._listen()
        return self._status is not None

    def _listen(self) -> None:
        told, output = (each.all() for each in self._readers)
        whole = told[: told.rfind(b"\n") + 1]
        self.acknowledged = {line.decode() for line in whole.splitlines()}
        self.output = output.decode(errors="replace")

    def wait(self, seconds: float = 120.0) -> int:
        """Its exit code, negative for a signal; an AssertionError when it hangs."""
        deadline = time.monotonic() + seconds
        while not self.ended():
            if time.monotonic() > deadline:
                self.send(signal.SIGKILL)
                raise AssertionError(f"hung: {self.output}")
            time.sleep(0.001)
        return os.waitstatus_to_exitcode(self._status or 0)

    def send(self, number: int) -> None:
        """Sends it a signal, if it is there still."""
        if not self.ended():
            os.kill(self.pid, number)


def _live(task: Callable[[int], int], tell: int, say: int, prepare: Callable[[], None] | None) -> None:
    """The whole life of a forked process."""
    code = _UNEXPECTED
    try:
        gc.disable()
        for stream in (1, 2):
            os.dup2(say, stream)
        if prepare is not None:
            prepare()
        code = task(tell)
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    finally:
        try:
            if code == _UNEXPECTED:
                traceback.print_exc()
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(code)  # whatever happens, a fork never runs the rest of the test


def judge(here: RunSetup, prepare: Callable[[], None] | None = None) -> Child:
    """`judge run` over `here` in a child that tells which judgments it calls durable."""

    def task(tell: int) -> int:
        try:
            outcome = pipeline.run(here.config, progress=Acknowledged(tell))
        except JudgeError as error:
            print(f"judge: {error}", file=sys.stderr)
            return 2 if isinstance(error, InputError) else 3
        if outcome.incomplete is not None:
            print(f"judge: {outcome.incomplete}", file=sys.stderr)
        return 3 if outcome.incomplete else 0

    return Child(task, prepare)


def command(here: RunSetup, *words: str, prepare: Callable[[], None] | None = None) -> Child:
    """The command line `judge` in a child, `judge run` over `here` by default."""

    def task(_: int) -> int:
        return main.main(words or here.words)

    return Child(task, prepare)


class StoreContent(NamedTuple):
    """What a store holds: the key of each judged pair, leased keys, lost calls of each key, all calls."""

    keys: dict[str, str]
    leases: list[str]
    lost: Counter[str]
    calls: int


def read_store(store: Path) -> StoreContent:
    """What `store` holds after a crash, read from a copy so that judge itself has to recover it.

    Raises AssertionError when the file is damaged.
    """
    if not store.exists():
        return StoreContent({}, [], Counter(), 0)
    with tempfile.TemporaryDirectory() as folder:
        for name in (store.name, store.name + "-wal"):
            if store.with_name(name).exists():
                shutil.copy(store.with_name(name), folder)
        with closing(sqlite3.connect(Path(folder) / store.name)) as copy:
            assert copy.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            if not copy.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]:
                return StoreContent({}, [], Counter(), 0)
            rows = copy.execute("SELECT body, key FROM verdicts")
            keys = {json.loads(body)["reason"]: key for body, key in rows}
            leases = [key for (key,) in copy.execute("SELECT key FROM claims")]
            lost = Counter(key for (key,) in copy.execute("SELECT key FROM calls WHERE outcome = 'lost'"))
            (calls,) = copy.execute("SELECT count(*) FROM calls").fetchone()
    return StoreContent(keys, leases, lost, calls)


def check_files(out: Path, reference: dict[str, bytes]) -> None:
    """Raises AssertionError when a file of the run folder is neither absent nor whole."""
    for path in out.glob("[!.]*"):
        content = path.read_bytes()
        if path.name in reference:
            assert content == reference[path.name], path
        elif path.suffix == ".json":
            json.loads(content)
        elif path.suffix == ".html":
            assert content.rstrip().endswith(b"</html>"), path
        else:
            assert content.endswith(b"\n"), path
            assert path.suffix != ".jsonl" or all(map(json.loads, content.splitlines())), path
    if (out / "scores.csv").exists():
        with (out / "scores.csv").open(newline="") as file:
            assert len({len(row) for row in csv.reader(file)}) == 1


def cost(out: Path) -> dict[str, Any]:
    """What summary.json of a run says that it cost."""
    content: dict[str, Any] = json.loads((out / "summary.json").read_text())["cost"]
    return content
