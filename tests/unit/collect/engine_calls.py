"""Calls of engines on a loopback server, for tests of collecting."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from judge.collect.collection import collect
from judge.collect.raw_log import CollectResult
from judge.collect.registry import KNOWN
from judge.config.collect import CollectConfig
from tests.support.fake_engines import EngineServer, Page, Result, SearchRequest

#: Shaped unlike any provider's keys, so that only knowing it can mask it.
CANARY = "canary/7f3a+not like a key"
#: Fast enough for a test, and still a rate.
RATE = 1000.0
KEYS = {engine.key: CANARY for engine in KNOWN.values() if engine.key}


def make_results(query: str, count: int = 3) -> list[Result]:
    """Results that say which query they are for."""
    return [
        (f"{query} {rank}", f"https://site{rank}.example/{rank}", f"<b>{query}</b> at &amp; rank {rank}")
        for rank in range(1, count + 1)
    ]


def return_three(request: SearchRequest) -> Page:
    """Three results for every query."""
    return Page(make_results(request.query))


def write_queries(folder: Path, *queries: str) -> Path:
    """A file with the queries, called q1, q2 and so on."""
    path = folder / "queries.tsv"
    path.write_text(
        "".join(f"q{at}\t{query}\n" for at, query in enumerate(queries, start=1)), encoding="utf-8"
    )
    return path


def make_config(folder: Path, server: EngineServer, *engines: str, **options: Any) -> CollectConfig:
    """A collection from `server` into the folder."""
    names = [engine.removeprefix("http:") for engine in engines]
    given: dict[str, Any] = {
        "queries": str(folder / "queries.tsv"),
        "engines": engines,
        "out": str(folder / "data.jsonl"),
        "rate": RATE,
        "base_urls": dict.fromkeys(names, server.url),
    }
    return CollectConfig(**{**given, **options})


def collect_results(folder: Path, server: EngineServer, *engines: str, **options: Any) -> CollectResult:
    """What came of the collection."""
    return collect(make_config(folder, server, *engines, **options))


def count_answered(result: CollectResult) -> dict[str, int]:
    """How many queries each engine answered."""
    return {name: tally.answered for name, tally in result.engines.items()}


def read_rows(folder: Path) -> list[dict[str, Any]]:
    """The dataset that was written."""
    lines = (folder / "data.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def read_answers(folder: Path, engine: str) -> list[Mapping[str, Any]]:
    """What the dataset says of one engine, query by query."""
    return [row["engines"][engine] for row in read_rows(folder)]
