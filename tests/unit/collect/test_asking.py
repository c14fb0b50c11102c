"""Latency of an engine does not contain the time of writing to the disk."""

import asyncio
from io import StringIO
from pathlib import Path
from threading import Event

import aiohttp
import pytest

from judge.cli.progress_display import COLLECTING, ProgressLines
from judge.client.cancel import CancelToken
from judge.client.retry import RequestLimits
from judge.collect.collection import Collector, EngineSession
from judge.collect.query_file import read_query_file
from judge.collect.raw_log import CollectedResults, RawLog, RawLogEntry, read_raw_log
from judge.collect.registry import open_engines
from tests.support.fake_engines import EngineServer
from tests.unit.collect.engine_calls import RATE, make_config, return_three, write_queries


class SlowDisk(RawLog):
    """Keeps the first entry no sooner than the second is there, as a disk that takes its time may."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.begun = 0
        self.waited_in_vain = False
        self._second = Event()

    def add(self, entry: RawLogEntry) -> None:
        self.begun += 1
        if self.begun == 1:
            self.waited_in_vain = not self._second.wait(timeout=60)
        else:
            self._second.set()
        super().add(entry)


async def _collect_all(folder: Path, server: EngineServer, raw_log: RawLog) -> None:
    opened = open_engines(make_config(folder, server, "searxng", "exa"), {})
    stop = CancelToken()
    watch = ProgressLines(StringIO(), COLLECTING)
    async with aiohttp.ClientSession() as session:
        results = CollectedResults(opened, read_query_file(folder / "queries.tsv", pytest.fail), 10)
        asking = Collector(raw_log, results, RequestLimits(8, 1, 0.0, 1.0), stop, session, watch)
        await asking.collect([EngineSession(source, RATE, stop) for source in opened])


def test_an_engine_is_heard_while_the_disk_keeps_the_answer_of_another(tmp_path: Path) -> None:
    write_queries(tmp_path, "tea")
    raw_log = SlowDisk(tmp_path / "raw_log")
    with EngineServer(return_three) as server:
        asyncio.run(_collect_all(tmp_path, server, raw_log))
    assert not raw_log.waited_in_vain
    assert {entry.engine for entry in read_raw_log(tmp_path / "raw_log")} == {"exa", "searxng"}
