"""Run `judge` in forked child processes, kill them, and read what they leave.

A child is a fork of this process, which has imported judge, so that no child spends the two seconds of
Python's start. Nothing here may start a thread before a fork, which would copy its locks.
"""

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
from judge.client.progress import ProgressListener
from judge.config.run import Config
from judge.errors import InputError, JudgeError
from judge.records import Judgment
from tests.support.factories import make_rows, write_rows

#: Files whose bytes don't depend on what was paid, so that they must be equal or absent after a kill.
FIXED_FILES = ("judgments.jsonl", "scores.csv", "qrels.txt", "run.engine0.trec")
_UNEXPECTED = 70


@dataclass(frozen=True)
class RunSetup:
    """The options of a run: its dataset, its folder, the address of its server."""

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


def make_run_setup(folder: Path, url: str, pairs: int, concurrency: int = 8) -> RunSetup:
    """Write a dataset of one engine with ten results a query, and return the setup of its run in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    data = write_rows(folder / "d.jsonl", make_rows(pairs // 10, 1, 10))
    return RunSetup(data, folder / "runs" / "one", url, concurrency)


def warm_up(folder: Path) -> None:
    """Import the modules that a run imports later, so that no child has to."""
    from judge.models import openai  # noqa: F401

    setup = make_run_setup(folder, "", 10)
    config = Config.load(None, data=str(setup.data), model="lexical", out=str(setup.out))
    pipeline.run(config)
    finished_run.rescore(setup.out, save=True)


class AcknowledgementWriter(ProgressListener):
    """A progress that writes the pair of each durable verdict to a descriptor of the parent process."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def add_judgment(self, judgment: Judgment, usd: float | None) -> None:
        if judgment.grade is not None:
            os.write(self._descriptor, f"{judgment.reason}\n".encode())


class _PipeReader:
    """A thread that reads a pipe to its end."""

    def __init__(self, pipe: int) -> None:
        self._output = b""
        self._thread = threading.Thread(target=self._read, args=(pipe,), daemon=True)
        self._thread.start()

    def _read(self, pipe: int) -> None:
        with os.fdopen(pipe, "rb") as source:
            self._output = source.read()

    def read_all(self) -> bytes:
        """Wait for the end of the pipe and return all output."""
        self._thread.join()
        return self._output


class Child:
    """A forked process that runs `task`, which gets a descriptor to write the names of durable pairs to.

    After its end, `output` is its standard output and error, `acknowledged_pairs` the pairs that it wrote.
    """

    def __init__(self, task: Callable[[int], int], prepare: Callable[[], None] | None = None) -> None:
        # Pipes, because a file would fail with the disk that a test takes away.
        acknowledgement_pipe, acknowledgement_end = os.pipe()
        output_pipe, output_end = os.pipe()
        self.started_at = time.monotonic()
        self.pid = os.fork()
        if self.pid == 0:
            _run_child(task, acknowledgement_end, output_end, prepare)
        os.close(acknowledgement_end)
        os.close(output_end)
        self._status: int | None = None
        self.output = ""
        self.acknowledged_pairs: set[str] = set()
        # Threads read all the time: a full pipe would block the child.
        self._readers = [_PipeReader(pipe) for pipe in (acknowledgement_pipe, output_pipe)]

    def has_ended(self) -> bool:
        """Return whether the process has ended, and read its output if so."""
        if self._status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self._status = status
                self._read_pipes()
        return self._status is not None

    def _read_pipes(self) -> None:
        acknowledgements, output = (each.read_all() for each in self._readers)
        complete_lines = acknowledgements[: acknowledgements.rfind(b"\n") + 1]
        self.acknowledged_pairs = {line.decode() for line in complete_lines.splitlines()}
        self.output = output.decode(errors="replace")

    def wait(self, seconds: float = 120.0) -> int:
        """Return the exit code, negative for a signal; raise AssertionError after `seconds`."""
        deadline = time.monotonic() + seconds
        while not self.has_ended():
            if time.monotonic() > deadline:
                self.send(signal.SIGKILL)
                raise AssertionError(f"no end within {seconds:g} s: {self.output}")
            time.sleep(0.001)
        return os.waitstatus_to_exitcode(self._status or 0)

    def send(self, number: int) -> None:
        """Send a signal to the process unless it has ended."""
        if not self.has_ended():
            os.kill(self.pid, number)


def _run_child(
    task: Callable[[int], int], acknowledgement_end: int, output_end: int, prepare: Callable[[], None] | None
) -> None:
    """Run `task` in the forked process and end the process."""
    code = _UNEXPECTED
    try:
        gc.disable()
        for stream in (1, 2):
            os.dup2(output_end, stream)
        if prepare is not None:
            prepare()
        code = task(acknowledgement_end)
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    finally:
        try:
            if code == _UNEXPECTED:
                traceback.print_exc()
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(code)  # a fork never runs the rest of the test


def start_judge(setup: RunSetup, prepare: Callable[[], None] | None = None) -> Child:
    """Start the run of `setup` in a child that writes the pairs whose verdicts are durable."""

    def run_task(descriptor: int) -> int:
        try:
            outcome = pipeline.run(setup.config, progress=AcknowledgementWriter(descriptor))
        except JudgeError as error:
            print(f"judge: {error}", file=sys.stderr)
            return 2 if isinstance(error, InputError) else 3
        if outcome.incomplete is not None:
            print(f"judge: {outcome.incomplete}", file=sys.stderr)
        return 3 if outcome.incomplete else 0

    return Child(run_task, prepare)


def start_command(setup: RunSetup, *words: str, prepare: Callable[[], None] | None = None) -> Child:
    """Start the command line `judge` in a child, by default with the words of `setup`."""

    def run_task(_: int) -> int:
        return main.main(words or setup.words)

    return Child(run_task, prepare)


class StoreContent(NamedTuple):
    """The content of a store: the key of each judged pair, leased keys, lost calls by key, the call count."""

    keys: dict[str, str]
    leases: list[str]
    lost: Counter[str]
    calls: int


def read_store(store: Path) -> StoreContent:
    """Return the content of `store` after a crash, from a copy, so that judge itself has to recover the file.

    Raise AssertionError if the file is damaged.
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
    """Raise AssertionError if a file of the run folder exists and is not complete."""
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


def read_cost(out: Path) -> dict[str, Any]:
    """Return the cost in summary.json of a run."""
    content: dict[str, Any] = json.loads((out / "summary.json").read_text())["cost"]
    return content
