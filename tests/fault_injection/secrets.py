"""Looks for a canary key in every byte that runs write, over all wires, failures and levels of talk.

    python -m tests.fault_injection.secrets

Every server says the key that it was sent in its errors, its replies and its headers, in every spelling.
Looked through are the standard streams, the
run's folder, the store with its WAL while it is written, the home and the temporary folder.
Importing its libraries takes most of a run's time, so the runs of one wire are forked from a process that has
imported them.
"""

from __future__ import annotations

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
from tests.support.factories import numbered, says_its_grade, write_rows
from tests.support.fake_server import ChatRequest, LoopbackServer, Reply

#: Shaped unlike any provider's keys, so that only knowing it can mask it.
CANARY = "canary/9e41+not.like=a key".replace(" ", "~")
WIRES = ("openai", "dashscope", "langchain:openai", "langchain:tongyi")
#: Everything that makes a library talk.
LOUD = {
    "OPENAI_LOG": "debug",
    "DASHSCOPE_LOGGING_LEVEL": "debug",
    "LANGCHAIN_VERBOSE": "true",
    "LANGCHAIN_DEBUG": "true",
    "HTTPX_LOG_LEVEL": "trace",
    "PYTHONASYNCIODEBUG": "1",
}
#: A process that calls judge from Python and logs all that anyone has to say.
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
#: Forks a process for each line of its input, and imports what that process imported before the next.
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
        gc.freeze()  # the processes share memory, which looking for garbage would copy
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


def _error(status: int, code: str, **headers: str) -> Callable[[ChatRequest], Reply]:
    """A failure in words that hold the key, in the forms of all wires at once."""

    def answer(request: ChatRequest) -> Reply:
        key = request.headers.get("Authorization", "").removeprefix("Bearer ")
        text = f'"message": "Incorrect API key provided: {key}. Bearer {key}", "code": "{code}"'
        body = f'{{"error": {{{text}, "type": "{code}"}}, {text}, "request_id": "{key}"}}'
        return Reply(status=status, body=body, headers={"x-request-id": key, "x-key": key, **headers})

    return answer


def _key(request: ChatRequest) -> str:
    return request.headers.get("Authorization", "").removeprefix("Bearer ")


def _page(request: ChatRequest) -> Reply:
    return Reply(body=f"<html>{dict(request.headers)}</html>")


def _begins(request: ChatRequest) -> Reply:
    return Reply(body=f"{_key(request)} {'x' * 100}")


def _repeats(request: ChatRequest) -> Reply:
    """A reply of a model that was told its key by a gateway."""
    key = _key(request)
    encoded = [base64.b64encode(b"x" * shift + key.encode()) for shift in range(3)]
    reason = " ".join(text.decode() for text in (*encodings(key), *encoded))
    return Reply(text=json.dumps({"reason": f"Authorization: {key} {reason}", "grade": 2}), model=key)


def _refuses(request: ChatRequest) -> Reply:
    key = _key(request)
    return Reply(
        message={"role": "assistant", "content": None, "refusal": f"I must not tell {key}"}, model=key
    )


def _pages(encode: Callable[[str], str]) -> Callable[[ChatRequest], Reply]:
    """A gateway's page with the headers of the request, encoded."""
    return lambda request: Reply(
        status=502, body=f"<html>{encode(f'Authorization: Bearer {_key(request)}')}</html>"
    )


#: Failures are given up soon: what is said of them is what counts.
_IMPATIENT = "timeout = 1.0\nattempts = 2\nconcurrency = 4\npatience = 3.0\n"
Faults = Mapping[str, Callable[[ChatRequest], Reply]]
#: What goes wrong with a call; those of the account end the run.
FAULTS: Faults = {
    "fine": says_its_grade,
    "rate limit": _error(429, "rate_limit_exceeded", **{"retry-after": "0"}),
    "server error": _error(500, "server_error"),
    "bad request": _error(400, "invalid_request_error"),
    "filter": _error(400, "data_inspection_failed"),
    "error as success": _error(200, "InternalError"),
    "no JSON": _page,
    "redirect": _error(302, "moved", location="http://127.0.0.1:9/"),
    "reset": lambda request: Reply(reset=True),
    "cut": lambda requests: Reply(text="{}", cut=True),
    "timeout": lambda sent_requests: Reply(text="{}", delay=1.5),
    "unreadable": lambda questions: Reply(text="I would rather not."),
    "begins with it": _begins,
    "repeats it": _repeats,
    "refuses with it": _refuses,
    "as HTML": _pages(html.escape),
    "as entities": _pages(lambda text: "".join(f"&#x{ord(char):X};" for char in text)),
    "as an address": _pages(lambda text: quote(text, safe="")),
    "as JSON": _pages(lambda text: json.dumps(text).replace("/", "\\/")),
    "as Base64": _pages(lambda text: base64.b64encode(text.encode()).decode()),
    "no answer": lambda received: Reply(text=None),
}
ACCOUNT: Faults = {
    "unknown key": _error(401, "invalid_api_key"),
    "forbidden": _error(403, "access_denied"),
    "no quota": _error(429, "insufficient_quota"),
    "unknown model": _error(404, "model_not_found"),
}
ALL_FAULTS: Faults = {**FAULTS, **ACCOUNT}


def all_at_once(request: ChatRequest) -> Reply:
    """Another fault for each request, in turn."""
    faults = list(FAULTS.values())
    return faults[request.number % len(faults)](request)


@dataclass(frozen=True)
class Looked:
    """What was looked through: where the key was found, how many bytes, and whether the server had it."""

    leaks: tuple[str, ...]
    size: int
    sent: bool


def spellings(key: str) -> Iterator[bytes]:
    """The key, its halves and its encodings."""
    yield key.encode()
    yield from (key[: len(key) // 2].encode(), key[len(key) // 2 :].encode())
    yield from encodings(key)
    # Wherever the key begins within a longer text, one of these is a part of its base64.
    for shift in range(3):
        yield base64.b64encode(b"x" * shift + key.encode())[4:-4]


def encodings(key: str) -> Iterator[bytes]:
    """What encoders make of the key."""
    yield quote(key, safe="").encode()
    yield html.escape(key).encode()
    yield "".join(f"&#x{ord(char):X};" for char in key).encode()
    yield json.dumps(key)[1:-1].replace("/", "\\/").encode()
    yield key.encode().hex().encode()


def look(name: str, content: bytes) -> Iterator[str]:
    """`name`, if the key is in `content`."""
    if any(spelling in content for spelling in spellings(CANARY)):
        yield name


def files(root: Path) -> Iterator[tuple[str, bytes]]:
    """Every file under `root` with its bytes; what vanishes while one looks is left out."""
    for path in sorted(root.rglob("*")):
        try:
            if path.is_file():
                yield str(path.relative_to(root)), path.read_bytes()
        except OSError:
            continue


#: Runs a command (`judge`, or a script, and its arguments) in a folder and an environment. Its output goes to
#: the files `stdout` and `stderr` in the folder.
Start = Callable[[Sequence[str], Path, Mapping[str, str]], None]


def start_process(words: Sequence[str], folder: Path, environment: Mapping[str, str]) -> None:
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
def forking(home: Path, *, loud: bool) -> Iterator[Start]:
    """A `Start` that forks one process, which lives in `home`, for each run."""
    with subprocess.Popen(
        [sys.executable, "-c", _FORK],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=home,
        env=_environment(home, loud=loud),
    ) as process:
        assert process.stdin
        assert process.stdout
        requests, replies = process.stdin, process.stdout

        def start(words: Sequence[str], folder: Path, environment: Mapping[str, str]) -> None:
            for name in ("stdout", "stderr", "modules"):
                (folder / name).touch()
            requests.write(
                json.dumps({"words": words, "folder": str(folder), "environment": dict(environment)}) + "\n"
            )
            requests.flush()
            if not replies.readline():
                raise ChildProcessError("the process that forks ended")

        yield start


def judged(
    wire: str,
    answer: Callable[[ChatRequest], Reply],
    *,
    python: bool,
    loud: bool,
    in_path: bool = False,
    start: Start = start_process,
) -> Looked:
    """Runs judge over `wire`, from Python or by its command, and looks through all that is left of it.

    `in_path` puts the key into the path of the address as well, as some gateways have it.
    """
    with tempfile.TemporaryDirectory() as name:
        root, seen, sent = Path(name), list[str](), list[bool]()
        for folder in ("home", "tmp"):
            (root / folder).mkdir()
        config = root / "judge.toml"
        config.write_text(_IMPATIENT, encoding="utf-8")
        script = root / "call.py"
        script.write_text(_CALL, encoding="utf-8")
        data = write_rows(root / "data.jsonl", numbered(2, 2, 3))

        def watched(request: ChatRequest) -> Reply:
            sent.append(CANARY in request.headers.get("Authorization", ""))
            if request.number % 5 == 0:
                seen.extend(f"{path}, written" for path, content in files(root) for _ in look(path, content))
            return answer(request)

        with LoopbackServer(watched) as server:
            url = server.dashscope_url if wire.endswith(("dashscope", "tongyi")) else server.openai_url
            if in_path:
                url = url.replace("/v1", f"/{CANARY}/v1")
            arguments = (str(data), f"{wire}:fake", url, str(root / "runs" / "x"), str(config))
            words = (str(script), *arguments) if python else _command(*arguments)
            start(words, root, _environment(root, loud=loud))
        written = list(files(root))
        seen += [place for path, content in written for place in look(path, content)]
        return Looked(tuple(dict.fromkeys(seen)), sum(len(content) for _, content in written), any(sent))


def _command(data: str, model: str, url: str, out: str, config: str) -> tuple[str, ...]:
    return ("judge", "run", data, "-m", model, "--base-url", url, "--out", out, "--config", config)


def _environment(root: Path, *, loud: bool) -> dict[str, str]:
    ours = {"HOME": str(root / "home"), "TMPDIR": str(root / "tmp"), "PYTHONPATH": str(Path.cwd())}
    keys = {"OPENAI_API_KEY": CANARY, "DASHSCOPE_API_KEY": CANARY}
    return {**os.environ, **ours, **keys, **(LOUD if loud else {})}


def judge_with_each_fault(case: tuple[str, tuple[bool, bool]], faults: Faults = ALL_FAULTS) -> list[Looked]:
    """Run judge over a wire with each fault, from Python or by its command; print where the key is.

    Return one entry a run.
    """
    wire, (python, loud) = case
    place = f"{wire}, {'python' if python else 'command'}, loud={loud}"
    looked = []
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        for folder in ("home", "tmp"):
            (home / folder).mkdir()
        with forking(home, loud=loud) as start:
            for fault, answer in faults.items():
                looked.append(judged(wire, answer, python=python, loud=loud, start=start))
                for leak in looked[-1].leaks:
                    print(f"FOUND {place}, {fault}: {leak}")
                if not looked[-1].sent:
                    print(f"NOT SENT {place}, {fault}")
        # What a library writes to a place that it chose when it was imported.
        leaks = [path for path, content in files(home) for _ in look(path, content)]
        for leak in leaks:
            print(f"FOUND {place}, after all faults: {leak}")
        looked[-1] = replace(looked[-1], leaks=(*looked[-1].leaks, *leaks))
    return looked


def main() -> int:
    """Runs the whole matrix and prints where the key was found."""
    table.parser(__doc__).parse_args()
    cases = list(product(WIRES, ((False, False), (False, True), (True, True))))
    # Most runs wait for a timeout or between two attempts.
    with ThreadPoolExecutor(2 * (os.cpu_count() or 1)) as pool:
        looked = [each for case in pool.map(judge_with_each_fault, cases) for each in case]
    leaks = sum(len(each.leaks) for each in looked)
    size = sum(each.size for each in looked)
    sent = sum(each.sent for each in looked)
    return table.report(
        [
            Figure("runs", len(looked), "", True),
            Figure("runs that sent the key", sent, "all", sent == len(looked)),
            Figure("bytes looked through", f"{size:,}", "", True),
            Figure("places with the key", leaks, "0", leaks == 0),
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
