"""Owns the way from a file of queries to a dataset: read, ask, keep, derive."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import aiohttp

from judge.assess.schedule import Limits
from judge.assess.signals import listening
from judge.assess.stop import Stop
from judge.collect import query_file, raw_log
from judge.collect.assemble import CollectedResults, hold, rows
from judge.collect.collector import CollectListener, Collector, EngineSession
from judge.collect.query_file import QueryRow
from judge.collect.registry import sources
from judge.collect.sources import AT_ONCE, ResultSource
from judge.collect.tally import CollectResult, outcome
from judge.config.collect import CollectConfig
from judge.config.environment import environment
from judge.errors import InputError, Interrupted
from judge.lock import locked
from judge.runs.folder import RunFolder, dump_json

#: Seconds that calls under way get when somebody wants to stop.
_GRACE = 5.0


class _Unwatched:
    """A watch that looks away."""

    def begin(self, asked: int, known: int) -> None:
        """Ignores the beginning."""

    def answered(self, *, failed: bool) -> None:
        """Ignores the answer."""

    def end(self) -> None:
        """Ignores the end."""


def collect(
    asked: CollectConfig, *, watch: CollectListener | None = None, stop: Stop | None = None
) -> CollectResult:
    """Asks engines what is missing and writes the dataset, whole, from all that is there.

    Raises InputError before anything is asked, StoreError when the journal or the dataset can't be
    written, Interrupted after Ctrl-C: then the journal is kept and the dataset left as it was.
    """
    stop = stop or Stop()
    data = Path(asked.out)
    path = raw_log.path_of(data)
    with asked.source.error_context("out"):
        _check(data, path, Path(asked.queries))
    asked.source.check_exists("queries", Path(asked.queries))
    with asked.source.error_context("queries"):
        found = query_file.read(Path(asked.queries))
    with asked.source.error_context("engines", "base_urls"):
        opened = sources(asked, environment())
    with _locked(data):
        held = hold(raw_log.entries(path), opened)
        with raw_log.RawLog(path) as written:
            calls = asyncio.run(_ask(_Task(asked, found, opened, held, written), watch or _Unwatched(), stop))
        if stop.reason is not None:
            raise stop.reason
        lines = (dump_json(row) + "\n" for row in rows(found, opened, asked.depth, held))
        RunFolder(data.parent).write(data.name, lines)
    return outcome(asked, calls, found, opened, held)


@dataclass(frozen=True, slots=True)
class _Task:
    """What is to be done, and with what."""

    asked: CollectConfig
    queries: Sequence[QueryRow]
    sources: Sequence[ResultSource]
    held: CollectedResults
    journal: raw_log.RawLog


def _check(data: Path, path: Path, asked: Path) -> None:
    """Raises InputError when the dataset would take the place of something else."""
    if data.suffix != ".jsonl":
        raise InputError(f"--out is {str(data)!r}; a dataset of judge collect is called NAME.jsonl")
    if data.resolve() == asked.resolve():
        raise InputError(f"{data}: is the file of queries; name another --out")
    if data.exists() and not path.exists():
        raise InputError(f"{data}: is there, but not from judge collect (no {path.name}); name another --out")


@contextmanager
def _locked(data: Path) -> Iterator[None]:
    """Keeps other processes from collecting into the same dataset."""
    busy = f"{data}: another judge is collecting into it; wait for it or name another --out"
    with locked(data.with_name(f".{data.name}.lock"), busy, f"{data}: cannot be written"):
        yield


async def _ask(task: _Task, watch: CollectListener, stop: Stop) -> int:
    """Asks all that is missing, and gives the number of calls; a stop ends it in good order."""
    asked = task.asked
    limits = Limits(AT_ONCE, asked.attempts, asked.max_wait, _GRACE)
    seats = [EngineSession(source, asked.rate, stop) for source in task.sources]
    timeout = aiohttp.ClientTimeout(total=asked.timeout)
    # Bodies are unpacked with a limit on their size (`judge.models.bodies`).
    connections = aiohttp.ClientSession(
        timeout=timeout, cookie_jar=aiohttp.DummyCookieJar(), auto_decompress=False
    )
    async with connections as session:
        asking = Collector(task.journal, task.held, limits, asked.depth, stop, session, watch)
        with listening(stop):
            working = asyncio.ensure_future(asking.ask(task.queries, seats))
            await _until_done(working, stop)
    if isinstance(stop.reason, Interrupted):
        raise Interrupted("interrupted; every answer so far is kept, the same command goes on from here")
    return asking.calls


async def _until_done(working: asyncio.Future[None], stop: Stop) -> None:
    """Waits for the work; once a stop is requested, no longer than the grace for calls under way."""
    stopping = asyncio.ensure_future(stop.wait())
    await asyncio.wait({working, stopping}, return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    if not working.done():
        hurrying = asyncio.ensure_future(stop.wait_for_hurry(_GRACE))
        await asyncio.wait({working, hurrying}, return_when=asyncio.FIRST_COMPLETED)
        hurrying.cancel()
        working.cancel()
    with suppress(asyncio.CancelledError):
        await working
