"""Small projects for nights: engines whose results change, and an assessor that changes.

Datasets come from the module `simulated`; each snippet says its true grade, and the assessor reads it there,
flips now and then, and can be swapped or switched off. Canaries get their expected grade. The judge is a
model in this process, or a server on loopback where a night runs in a process of its own.
"""

from __future__ import annotations

import asyncio
import json
import math
import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any, Self

import numpy as np
import pytest

from judge.errors import ConnectionFailed, RetryableError, StoreError
from judge.models.providers import PROVIDERS, Provider
from judge.models.server import ServerAccess
from judge.nightly import job
from judge.nightly.assessor_drift import CANARIES_FILE
from judge.records import Completion, Prompt, Sampling, Usage
from judge.runs.record_json import to_json
from tests.support.factories import extract_fenced, write_rows
from tests.support.fake_server import ChatRequest, LoopbackServer, Reply
from tests.unit.nightly import simulated

#: A small project of nights is noisy, and two repeats are enough for an assessor as steady as this one.
RULES: Mapping[str, object] = {"min_drop": 0.02, "canary_repeats": 2, "judge_on_drift": "all"}
#: Results of a list: few, so that a night is soon over.
_SHOWN = 5
_EXPECTED = {
    row["snippet"]: row["expected"]
    for row in map(json.loads, CANARIES_FILE.read_text(encoding="utf-8").splitlines())
}


@dataclass
class Judge:
    """The judge behind the server: what it is called, how often it flips, and what is wrong with it.

    `swapped` is the share of snippets to which it gives another grade than it used to, `last` the number of
    the last request that gets a reply, `mumbles` whether its replies hold no verdict, `down` whether the
    server is.
    """

    served: str = "fake"
    flips: float = 0.02
    swapped: float = 0.0
    last: float = math.inf
    mumbles: bool = False
    down: bool = False

    def answer(self, request: ChatRequest) -> Reply:
        """Return the reply to a request about a snippet."""
        if self.down:
            return Reply(status=503, body="{}")
        shown = extract_fenced(request.prompt)
        match = re.search(r"grade=(\d)", shown)
        grade = int(match[1]) if match else _EXPECTED[shown]
        if _draw_chance("swapped", shown) < self.swapped:
            grade = _step_beside(grade, shown)
        if _draw_chance("flip", request.prompt, request.attempt) < self.flips:
            grade = _step_beside(grade, shown, request.attempt)
        text = "hm" if self.mumbles else json.dumps({"reason": f"it is {grade}", "grade": grade})
        delay = 3600.0 if request.number > self.last else 0.0
        return Reply(text=text, delay=delay, model=self.served, usage=Usage(100, 0, 10))


def _draw_chance(*parts: object) -> float:
    """Return a number from 0 to 1 that depends on `parts` alone."""
    return int.from_bytes(sha256(repr(parts).encode()).digest()[:6]) / 2**48


def _step_beside(grade: int, *parts: object) -> int:
    step = 1 if _draw_chance("step", *parts) < 0.5 else -1
    return grade + step if 0 <= grade + step <= 3 else grade - step


@dataclass
class NightlyProject:
    """A folder with judge.toml, a dataset a night, and the assessor; `tonight` is what engines have now."""

    folder: Path
    judge: Judge
    server: LoopbackServer | FakeServer
    queries: int
    rng: np.random.Generator
    tonight: simulated.Night
    days: int = 0

    @property
    def toml(self) -> Path:
        """The file of options that `judge nightly` reads."""
        return self.folder / "judge.toml"

    @property
    def nights(self) -> Path:
        """The folder of its nights."""
        return self.folder / "nights"

    @property
    def calls(self) -> int:
        """The number of requests that the server has received."""
        return len(self.server.requests)

    def configure(self, rules: Mapping[str, object], top: str = "") -> None:
        """Write judge.toml: rules of the nights, and further options of the run as TOML lines."""
        table = "".join(f"{name} = {json.dumps(value)}\n" for name, value in rules.items())
        lines = (
            f'data = "{self.folder}/{{date}}.jsonl"',
            f'model = "{self.server.provider}:fake"',
            f'base_url = "{self.server.openai_url}"',
            "timeout = 20.0\nattempts = 2\npatience = 1.0",
            top,
            f'[nightly]\nfolder = "{self.nights}"',
            table,
        )
        self.toml.write_text("\n".join(lines), encoding="utf-8")

    def begin_day(self, worse: float = 0.0, edit: Callable[[dict[str, Any]], None] | None = None) -> str:
        """Begin the next day: write the dataset of its night and return its date; `edit` changes each row.

        `worse` is how much worse the first engine is tonight.
        """
        if self.days:
            self.tonight = simulated.draw_next_night(self.rng, self.tonight)
        self.days += 1
        day = f"2026-05-{self.days:02}"
        rows = list(self._make_rows(np.array([worse, 0, 0])))
        for row in rows:
            if edit is not None:
                edit(row)
        write_rows(self.folder / f"{day}.jsonl", rows)
        return day

    def _make_rows(self, worse: np.ndarray[Any, np.dtype[np.float64]]) -> Iterator[dict[str, Any]]:
        lists = self.tonight.rank_documents(worse)
        for query in range(self.queries):
            engines = {}
            for engine, ranked in zip(simulated.ENGINES, lists[:, query], strict=True):
                engines[engine] = [self._make_result(query, int(document)) for document in ranked[:_SHOWN]]
            yield {"query_id": f"q{query}", "query": f"question number {query}", "engines": engines}

    def _make_result(self, query: int, document: int) -> dict[str, str]:
        return {
            "url": f"https://x.example/{query}/{document}",
            "snippet": f"text {query}.{document} grade={self.tonight.true[query, document]}",
        }

    def run_night(self, day: str) -> dict[str, Any]:
        """Run the night of `day` in this process and return its record."""
        return to_json(job.run_nightly(self.toml, day).record, with_defaults=True)

    def fail_after_canaries(self, day: str) -> None:
        """Start the night of `day`, which ends after its canaries: the own store cannot be made."""
        in_the_way = self.nights / f".verdicts.{day}.sqlite.part"
        in_the_way.mkdir()
        with pytest.raises(StoreError):
            self.run_night(day)
        in_the_way.rmdir()

    def get_command(self, day: str) -> str:
        """Return the command that continues the night of `day`, as messages name it."""
        return f"judge nightly {self.toml} --date {day}"

    def read_file(self, day: str, name: str = "night.json") -> bytes:
        """Return the bytes of a file of the night of `day`."""
        return (self.nights / day / name).read_bytes()


class FakeServer:
    """A provider called `fake` in this process: its models are answered for by `answer`."""

    provider = "fake"

    def __init__(self, answer: Callable[[ChatRequest], Reply]) -> None:
        self.requests: list[ChatRequest] = []
        urls = (f"http://fake-{number}.local/v1" for number in count())
        self.openai_url = next(url for url in urls if url not in _SERVERS)
        self._answer = answer
        self.attempts: Counter[str] = Counter()

    def find_reply(self, prompt: Prompt) -> Reply:
        """Return what the server answers to `prompt`."""
        self.attempts[prompt.user] += 1
        request = ChatRequest("", {}, None, prompt.user, len(self.requests) + 1, self.attempts[prompt.user])
        self.requests.append(request)
        return self._answer(request)

    def __enter__(self) -> Self:
        _SERVERS[self.openai_url] = self
        return self

    def __exit__(self, *_: object) -> None:
        del _SERVERS[self.openai_url]


#: The fake servers that are up, by their address.
_SERVERS: dict[str, FakeServer] = {}


class _FakeModel:
    """A model of a `FakeServer`; an address where none is up refuses connections."""

    is_local = False

    def __init__(self, name: str, access: ServerAccess, _: Sampling) -> None:
        self.name = f"fake:{name}"
        self.endpoint = access.choose_url(default="")
        self.params: Mapping[str, Any] = {}

    async def complete(self, prompt: Prompt) -> Completion:
        """Return the answer of the server that is at the address now."""
        server = _SERVERS.get(self.endpoint)
        if server is None:
            raise ConnectionFailed(f"{self.endpoint}: connection refused", lasting=False)
        reply = server.find_reply(prompt)
        await asyncio.sleep(reply.delay)
        if reply.status != 200:
            raise RetryableError("server_error", f"HTTP {reply.status}")
        return Completion(reply.text or "", reply.model or self.name, "stop", {}, reply.usage)

    async def aclose(self) -> None:
        """Close nothing."""


PROVIDERS["fake"] = Provider("fake:NAME", _FakeModel)


@contextmanager
def make_nightly_project(
    folder: Path, rules: Mapping[str, object], queries: int = 12, seed: int = 1, *, wire: bool = False
) -> Iterator[NightlyProject]:
    """Yield a project of nights before its first night; with `wire`, its assessor is a server on loopback."""
    judge, rng = Judge(), np.random.default_rng(seed)
    with (LoopbackServer if wire else FakeServer)(lambda request: judge.answer(request)) as server:
        project = NightlyProject(
            folder, judge, server, queries, rng, simulated.draw_first_night(rng, queries)
        )
        project.configure(rules)
        yield project


@dataclass(frozen=True)
class _FirstNight:
    """The result of a first night: the files of its project with their modes, and the requests."""

    folder: Path
    files: Mapping[Path, tuple[bytes, int]]
    requests: Sequence[ChatRequest]
    attempts: Counter[str]


#: First nights that were made the baseline, by the project and the assessor.
_FIRST_NIGHTS: dict[object, _FirstNight] = {}


def freeze(project: NightlyProject) -> str:
    """Run a night and make it the baseline; take the files of an equal first night where there was one."""
    is_first = not (project.days or project.nights.exists()) and isinstance(project.server, FakeServer)
    day = project.begin_day()
    if not is_first or not isinstance(project.server, FakeServer):
        _run_baseline(project, day)
        return day
    texts = (path.read_text(encoding="utf-8") for path in (project.toml, project.folder / f"{day}.jsonl"))
    key = (
        type(project.judge),
        repr(project.judge),
        *(text.replace(str(project.folder), "") for text in texts),
    )
    if key in _FIRST_NIGHTS:
        _copy_first_night(_FIRST_NIGHTS[key], project, project.server)
    else:
        _run_baseline(project, day)
        files = {
            path.relative_to(project.folder): (path.read_bytes(), path.stat().st_mode)
            for path in project.nights.rglob("*")
            if path.is_file()
        }
        requests, attempts = tuple(project.server.requests), project.server.attempts.copy()
        _FIRST_NIGHTS[key] = _FirstNight(project.folder, files, requests, attempts)
    return day


def _run_baseline(project: NightlyProject, day: str) -> None:
    project.run_night(day)
    job.set_baseline(project.nights / day, project.nights)


def _copy_first_night(night: _FirstNight, project: NightlyProject, server: FakeServer) -> None:
    for name, (content, mode) in night.files.items():
        path = project.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.replace(bytes(night.folder), bytes(project.folder)))
        path.chmod(mode)
    server.requests.extend(night.requests)
    server.attempts.update(night.attempts)


def reword_snippets(row: dict[str, Any]) -> None:
    """Change each snippet, so that all of a night is judged."""
    for result in (result for each in row["engines"].values() for result in each):
        result["snippet"] += " in other words"


def make_calls_older(store: Path) -> None:
    """Make all calls in a store two hours older."""
    with closing(sqlite3.connect(store)) as connection:
        connection.execute("UPDATE calls SET made_at = replace(datetime(made_at, '-2 hours'), ' ', 'T')")
        connection.commit()
