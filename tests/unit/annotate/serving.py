"""The server of `judge annotate`: in a process, started as a user would and killed, or in a thread."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from judge.annotate.label_log import open_labels
from judge.annotate.serve import ServerAddress, make_server
from judge.annotate.session import (
    AnnotationSession,
    draw_pairs_to_label,
    order_pairs,
    read_plan,
)
from judge.runs.folder import RunFolder
from judge.runs.load import load_run
from tests.support.command_line import run_judge
from tests.support.factories import make_rows, write_rows


def judge_queries(folder: Path, queries: int, *words: object, engines: int = 2, results: int = 2) -> Path:
    """A run of `queries` numbered queries, judged by the lexical model; a pair an engine and result."""
    data = write_rows(folder / "data.jsonl", make_rows(queries, engines, results))
    run = folder / "runs" / "night"
    done = run_judge("run", data, "-m", "lexical", "--out", run, *words)
    assert done.returncode == 0, done.stderr
    return run


@dataclass
class LabelServer:
    """A server that is asked over a socket."""

    url: str

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self.url.split("#")[0].rstrip("/").rpartition(":")[2])

    @property
    def token(self) -> str:
        """What the address carries after its #."""
        return self.url.partition("#")[2]

    def ask(self, path: str, body: object = None, language: str = "en") -> tuple[int, dict[str, Any]]:
        """Sends what the page in that language would send and gives status and JSON."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            headers = {"Accept-Language": language}
            headers |= {"X-Judge-Token": self.token} if self.token else {}
            if body is None:
                connection.request("GET", path, headers=headers)
            else:
                connection.request("POST", path, json.dumps(body), headers | self.make_headers())
            response = connection.getresponse()
            return response.status, json.loads(response.read())
        finally:
            connection.close()

    def make_headers(self) -> dict[str, str]:
        """What a write of the page carries."""
        return {
            "Origin": f"http://127.0.0.1:{self.port}",
            "Sec-Fetch-Site": "same-origin",
            "Content-Type": "application/json",
            "X-Judge": "annotate",
        }

    def send_raw(self, request: bytes) -> bytes:
        """Sends bytes as they are and gives all that comes back; empty when the line is cut."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=60) as line:
            line.sendall(request)
            try:
                answer = b"".join(iter(lambda: line.recv(65536), b""))
            except ConnectionResetError:
                answer = b""
        return answer


@dataclass
class Serving(LabelServer):
    """A process that serves, and what it said on its first lines."""

    process: subprocess.Popen[str]
    greeting: str

    def kill(self) -> None:
        """Ends it as a power cut would."""
        self.process.kill()
        self.process.wait(30)

    def interrupt(self, number: int = signal.SIGINT) -> str:
        """Ends it as a person would and gives what it said at last."""
        self.process.send_signal(number)
        rest, _ = self.process.communicate(timeout=120)
        return rest


@contextmanager
def start_serving(
    run: Path, *words: object, environment: Mapping[str, str] = MappingProxyType({})
) -> Iterator[Serving]:
    """A server that labels `run`; `words` go to the command."""
    options = ("--port", "0", *map(str, words)) if "--port" not in words else tuple(map(str, words))
    process = subprocess.Popen(
        [sys.executable, "-m", "judge", "annotate", str(run), *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        env={**os.environ, **environment},
    )
    try:
        assert process.stdout is not None
        lines = [process.stdout.readline().strip() for _ in range(3)]
        assert lines[1].startswith("http://"), lines
        yield Serving(lines[1], process, lines[0])
    finally:
        process.kill()
        process.communicate(timeout=120)


@contextmanager
def serve_in_thread(
    run: Path, who: str, token: str | None = None, plan: Path | None = None
) -> Iterator[LabelServer]:
    """As `start_serving`, from a thread of this process, where it is up at once."""
    loaded = load_run(RunFolder(run))
    with open_labels(run, who) as labels, socket.create_server(("127.0.0.1", 0)) as listener:
        keys = read_plan(plan, loaded.pool) if plan else draw_pairs_to_label(loaded.pool)
        tasks = order_pairs(loaded.pool, keys, who)
        address = ServerAddress("127.0.0.1", listener.getsockname()[1])
        address = replace(address, token=address.token if token is None else token)
        server = make_server(AnnotationSession(run, loaded, tasks, labels), address)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield LabelServer(f"http://127.0.0.1:{address.port}/#{address.token}")
        finally:
            server.should_exit = True
            thread.join(30)


def label(state: Mapping[str, Any], number: int, grade: int | None, comment: str = "") -> dict[str, Any]:
    """The write that gives the pair of `state` a grade; `number` makes its id."""
    return {
        "who": state["who"],
        "id": f"{number:032x}",
        "query_id": state["pair"]["query_id"],
        "snippet_id": state["pair"]["snippet_id"],
        "grade": grade,
        "comment": comment,
        "replaces": state["decision"] and state["decision"]["id"],
    }
