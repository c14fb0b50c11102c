"""Search every byte that runs write for a canary key, over all wires, failures and levels of logging.

    python -m tests.fault_injection.secrets

Every server returns the key of the request in its errors, replies and headers, in every encoding. The
search covers the standard streams, the run's folder, the store with its WAL during writes, the home and the
temporary folder. The import of libraries takes most of a run's time, so that the runs of one wire are forks
of a process that has imported them.
"""

import base64
import html
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from urllib.parse import quote

from tests.fault_injection import table
from tests.fault_injection.table import Figure
from tests.support.factories import make_rows, reply_with_grade, write_rows
from tests.support.fake_server import ChatRequest, LoopbackServer, Reply

#: Unlike the key of any provider, so that no pattern of keys matches it.
CANARY = "canary/9e41+not.like=a key".replace(" ", "~")
WIRES = ("openai", "dashscope", "langchain:openai", "langchain:tongyi")
#: Settings with which libraries log the most.
DEBUG_SETTINGS = {
    "OPENAI_LOG": "debug",
    "DASHSCOPE_LOGGING_LEVEL": "debug",
    "LANGCHAIN_VERBOSE": "true",
    "LANGCHAIN_DEBUG": "true",
    "HTTPX_LOG_LEVEL": "trace",
    "PYTHONASYNCIODEBUG": "1",
}
#: A script that calls judge from Python and writes all log records.
_CALL = """
import logging, sys
logging.basicConfig(level=1, stream=sys.stderr)
logging.getLogger().addHandler(logging.FileHandler("all.log"))
import judge
data, model, url, out, config = sys.argv[1:]
try:
    print(judge.run(data, model=model, base_url=url, out=out, config=config).summary)
except judge.JudgeError as error:
    logging.getLogger("caller").exception("the run failed")
    print(repr(error), error)
"""
#: A script that forks a process for each line of its input, and imports its modules before the next line.
_FORK = """
import gc, importlib, json, os, runpy, signal, sys
for line in sys.stdin:
    run = json.loads(line)
    if child := os.fork():
        os.waitpid(child, 0)
        for name in open(run["folder"] + "/modules", encoding="utf-8").read().split():
            try:
                importlib.import_module(name)
            except Exception:
                pass  # a name that only its library can import
        gc.freeze()  # the processes share memory, which the garbage collector would copy
        print("ended", flush=True)
        continue
    signal.alarm(120)
    os.chdir(run["folder"])
    os.environ.clear()
    os.environ.update(run["environment"])
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for number, name in ((1, "stdout"), (2, "stderr")):
        os.dup2(os.open(name, os.O_WRONLY), number)
    sys.argv = [*run["words"]]
    try:
        if sys.argv[0] == "judge":
            runpy.run_module("judge", run_name="__main__", alter_sys=True)
        else:
            runpy.run_path(sys.argv[0], run_name="__main__")
    finally:
        with open("modules", "w", encoding="utf-8") as names:
            print(*sys.modules, file=names)
    break
"""


def _make_error(status: int, code: str, **headers: str) -> Callable[[ChatRequest], Reply]:
    """Return an error that contains the key, in the formats of all wires at once."""

    def answer(request: ChatRequest) -> Reply:
        key = request.headers.get("Authorization", "").removeprefix("Bearer ")
        text = f'"message": "Incorrect API key provided: {key}. Bearer {key}", "code": "{code}"'
        body = f'{{"error": {{{text}, "type": "{code}"}}, {text}, "request_id": "{key}"}}'
        return Reply(status=status, body=body, headers={"x-request-id": key, "x-key": key, **headers})

    return answer


def _read_key(request: ChatRequest) -> str:
    return request.headers.get("Authorization", "").removeprefix("Bearer ")


def _answer_with_headers(request: ChatRequest) -> Reply:
    return Reply(body=f"<html>{dict(request.headers)}</html>")


def _answer_with_key_first(request: ChatRequest) -> Reply:
    return Reply(body=f"{_read_key(request)} {'x' * 100}")


def _answer_with_key(request: ChatRequest) -> Reply:
    """Reply as a model whose prompt contains the key."""
    key = _read_key(request)
    encoded = [base64.b64encode(b"x" * shift + key.encode()) for shift in range(3)]
    reason = " ".join(text.decode() for text in (*iter_encodings(key), *encoded))
    return Reply(text=json.dumps({"reason": f"Authorization: {key} {reason}", "grade": 2}), model=key)


def _refuse_with_key(request: ChatRequest) -> Reply:
    key = _read_key(request)
    return Reply(
        message={"role": "assistant", "content": None, "refusal": f"I must not tell {key}"}, model=key
    )


def _make_page_with_key(encode: Callable[[str], str]) -> Callable[[ChatRequest], Reply]:
    """Return a gateway's page that contains the key, encoded."""
    return lambda request: Reply(
        status=502, body=f"<html>{encode(f'Authorization: Bearer {_read_key(request)}')}</html>"
    )


#: Short limits: only the messages about failures matter here.
_SHORT_TIMEOUTS = "timeout = 1.0\nattempts = 2\nconcurrency = 4\npatience = 3.0\n"
Faults = Mapping[str, Callable[[ChatRequest], Reply]]
#: Faults of a call; those of `ACCOUNT` end the run.
FAULTS: Faults = {
    "fine": reply_with_grade,
    "rate limit": _make_error(429, "rate_limit_exceeded", **{"retry-after": "0"}),
    "server error": _make_error(500, "server_error"),
    "bad request": _make_error(400, "invalid_request_error"),
    "filter": _make_error(400, "data_inspection_failed"),
    "error as success": _make_error(200, "InternalError"),
    "no JSON": _answer_with_headers,
    "redirect": _make_error(302, "moved", location="http://127.0.0.1:9/"),
    "reset": lambda request: Reply(reset=True),
    "cut": lambda requests: Reply(text="{}", cut=True),
    "timeout": lambda sent_requests: Reply(text="{}", delay=1.5),
    "unreadable": lambda questions: Reply(text="I would rather not."),
    "begins with it": _answer_with_key_first,
    "repeats it": _answer_with_key,
    "refuses with it": _refuse_with_key,
    "as HTML": _make_page_with_key(html.escape),
    "as entities": _make_page_with_key(lambda text: "".join(f"&#x{ord(char):X};" for char in text)),
    "as an address": _make_page_with_key(lambda text: quote(text, safe="")),
    "as JSON": _make_page_with_key(lambda text: json.dumps(text).replace("/", "\\/")),
    "as Base64": _make_page_with_key(lambda text: base64.b64encode(text.encode()).decode()),
    "no answer": lambda received: Reply(text=None),
}
ACCOUNT: Faults = {
    "unknown key": _make_error(401, "invalid_api_key"),
    "forbidden": _make_error(403, "access_denied"),
    "no quota": _make_error(429, "insufficient_quota"),
    "unknown model": _make_error(404, "model_not_found"),
}
ALL_FAULTS: Faults = {**FAULTS, **ACCOUNT}


def fail_in_turn(request: ChatRequest) -> Reply:
    """Return the faults in turn, one for each request."""
    faults = list(FAULTS.values())
    return faults[request.number % len(faults)](request)


@dataclass(frozen=True)
class LeakReport:
    """The files with the key, the number of bytes that were searched, and whether the server got the key."""

    leaks: tuple[str, ...]
    size: int
    sent: bool


def iter_spellings(key: str) -> Iterator[bytes]:
    """Yield the key, its halves and its encodings."""
    yield key.encode()
    yield from (key[: len(key) // 2].encode(), key[len(key) // 2 :].encode())
    yield from iter_encodings(key)
    # The Base64 of a longer text with the key contains one of these, wherever the key begins.
    for shift in range(3):
        yield base64.b64encode(b"x" * shift + key.encode())[4:-4]


def iter_encodings(key: str) -> Iterator[bytes]:
    """Yield encodings of the key."""
    yield quote(key, safe="").encode()
    yield html.escape(key).encode()
    yield "".join(f"&#x{ord(char):X};" for char in key).encode()
    yield json.dumps(key)[1:-1].replace("/", "\\/").encode()
    yield key.encode().hex().encode()


def search_for_key(name: str, content: bytes) -> Iterator[str]:
    """Yield `name` if the key is in `content`."""
    if any(spelling in content for spelling in iter_spellings(CANARY)):
        yield name


def read_files(root: Path) -> Iterator[tuple[str, bytes]]:
    """Yield every file under `root` with its bytes, except files that are deleted meanwhile."""
    for path in sorted(root.rglob("*")):
        try:
            if path.is_file():
                yield str(path.relative_to(root)), path.read_bytes()
        except OSError:
            continue


#: A function that runs a command (`judge` or a script, and its arguments) in a folder and an environment; the
#: output goes to the files `stdout` and `stderr` in the folder.
Runner = Callable[[Sequence[str], Path, Mapping[str, str]], None]


def run_in_process(words: Sequence[str], folder: Path, environment: Mapping[str, str]) -> None:
    """Run `words` in a process of its own."""
    program = ["-m", *words] if words[0] == "judge" else words
    with (folder / "stdout").open("wb") as stdout, (folder / "stderr").open("wb") as stderr:
        subprocess.run(
            [sys.executable, *program],
            stdout=stdout,
            stderr=stderr,
            timeout=120,
            check=False,
            cwd=folder,
            env=environment,
        )


@contextmanager
def start_fork_server(home: Path, *, debug: bool) -> Iterator[Runner]:
    """Yield a `Runner` that forks one process, whose home is `home`, for each run."""
    with subprocess.Popen(
        [sys.executable, "-c", _FORK],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=home,
        env=_make_environment(home, debug=debug),
    ) as process:
        assert process.stdin
        assert process.stdout
        requests, replies = process.stdin, process.stdout

        def run_in_fork(words: Sequence[str], folder: Path, environment: Mapping[str, str]) -> None:
            for name in ("stdout", "stderr", "modules"):
                (folder / name).touch()
            requests.write(
                json.dumps({"words": words, "folder": str(folder), "environment": dict(environment)}) + "\n"
            )
            requests.flush()
            if not replies.readline():
                raise ChildProcessError("the process that forks ended")

        yield run_in_fork


def search_run(
    wire: str,
    answer: Callable[[ChatRequest], Reply],
    *,
    python: bool,
    debug: bool,
    in_path: bool = False,
    run_command: Runner = run_in_process,
) -> LeakReport:
    """Run judge over `wire`, from Python or by its command, and search all files for the key.

    `in_path` puts the key into the path of the address as well, where some gateways expect it.
    """
    with tempfile.TemporaryDirectory() as name:
        root, leaks, sent = Path(name), list[str](), list[bool]()
        for folder in ("home", "tmp"):
            (root / folder).mkdir()
        config = root / "judge.toml"
        config.write_text(_SHORT_TIMEOUTS, encoding="utf-8")
        script = root / "call.py"
        script.write_text(_CALL, encoding="utf-8")
        data = write_rows(root / "data.jsonl", make_rows(2, 2, 3))

        def answer_and_search(request: ChatRequest) -> Reply:
            sent.append(CANARY in request.headers.get("Authorization", ""))
            if request.number % 5 == 0:
                leaks.extend(
                    f"{path}, written"
                    for path, content in read_files(root)
                    for _ in search_for_key(path, content)
                )
            return answer(request)

        with LoopbackServer(answer_and_search) as server:
            url = server.dashscope_url if wire.endswith(("dashscope", "tongyi")) else server.openai_url
            if in_path:
                url = url.replace("/v1", f"/{CANARY}/v1")
            arguments = (str(data), f"{wire}:fake", url, str(root / "runs" / "x"), str(config))
            words = (str(script), *arguments) if python else _make_command(*arguments)
            run_command(words, root, _make_environment(root, debug=debug))
        written = list(read_files(root))
        leaks += [place for path, content in written for place in search_for_key(path, content)]
        return LeakReport(tuple(dict.fromkeys(leaks)), sum(len(content) for _, content in written), any(sent))


def _make_command(data: str, model: str, url: str, out: str, config: str) -> tuple[str, ...]:
    return ("judge", "run", data, "-m", model, "--base-url", url, "--out", out, "--config", config)


def _make_environment(root: Path, *, debug: bool) -> dict[str, str]:
    ours = {"HOME": str(root / "home"), "TMPDIR": str(root / "tmp"), "PYTHONPATH": str(Path.cwd())}
    keys = {"OPENAI_API_KEY": CANARY, "DASHSCOPE_API_KEY": CANARY}
    return {**os.environ, **ours, **keys, **(DEBUG_SETTINGS if debug else {})}


def search_each_fault(case: tuple[str, tuple[bool, bool]], faults: Faults = ALL_FAULTS) -> list[LeakReport]:
    """Run judge over a wire with each fault, from Python or by its command; print the places with the key.

    Return one report for each run.
    """
    wire, (python, debug) = case
    label = f"{wire}, {'python' if python else 'command'}, loud={debug}"
    reports = []
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        for folder in ("home", "tmp"):
            (home / folder).mkdir()
        with start_fork_server(home, debug=debug) as run_command:
            for fault, answer in faults.items():
                reports.append(search_run(wire, answer, python=python, debug=debug, run_command=run_command))
                for leak in reports[-1].leaks:
                    print(f"FOUND {label}, {fault}: {leak}")
                if not reports[-1].sent:
                    print(f"NOT SENT {label}, {fault}")
        # Files at a path that a library chose at its import.
        leaks = [path for path, content in read_files(home) for _ in search_for_key(path, content)]
        for leak in leaks:
            print(f"FOUND {label}, after all faults: {leak}")
        reports[-1] = replace(reports[-1], leaks=(*reports[-1].leaks, *leaks))
    return reports


def main() -> int:
    """Run all cases and print the figures."""
    table.make_parser(__doc__).parse_args()
    cases = list(product(WIRES, ((False, False), (False, True), (True, True))))
    # Most runs wait for a timeout or between two attempts.
    with ThreadPoolExecutor(2 * (os.cpu_count() or 1)) as pool:
        reports = [each for case in pool.map(search_each_fault, cases) for each in case]
    leaks = sum(len(each.leaks) for each in reports)
    size = sum(each.size for each in reports)
    sent = sum(each.sent for each in reports)
    return table.print_figures(
        [
            Figure("runs", len(reports)),
            Figure("runs that sent the key", sent, "all", sent == len(reports)),
            Figure("bytes searched", f"{size:,}"),
            Figure.expect_equal("places with the key", leaks, 0),
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
