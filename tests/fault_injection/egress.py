"""Watches by strace every connection that runs open: only the configured server's address may be among them.

    python -m tests.fault_injection.egress [--alone]

Every wire is run with DeepEval and LangChain imported; with --alone in a network namespace that holds
nothing but loopback, where a run that needs more than its server fails.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.fault_injection import table
from tests.fault_injection.table import Figure
from tests.support.factories import numbered, says_its_grade, write_rows
from tests.support.fake_server import LoopbackServer

WIRES = ("openai", "dashscope", "langchain:openai", "langchain:tongyi")
#: Libraries that are known to call home, in the process before judge runs.
TALKERS = ("deepeval", "langchain", "langsmith")
_CALL = """
import importlib, sys
talkers, data, model, url, out = sys.argv[1:]
for name in filter(None, talkers.split(",")):
    importlib.import_module(name)
import judge
print(judge.run(data, model=model, base_url=url, out=out, concurrency=4).summary.judged)
"""
#: An address of the internet that a process connects or sends to; names are looked up at such a one, too.
_INTERNET = re.compile(
    r"(?:connect|sendto|sendmsg|sendmmsg)\(.*?sa_family=AF_INET6?, sin6?_port=htons\((?P<port>\d+)\)"
    r".*?(?:inet_addr\(\"(?P<four>[^\"]+)\"\)|inet_pton\(AF_INET6, \"(?P<six>[^\"]+)\")"
)
_SYSTEM_CALLS = "trace=connect,sendto,sendmsg,sendmmsg"


@dataclass(frozen=True)
class Watched:
    """Where a run connected to, as `address:port`, the server that was configured, and how it ended."""

    reached: frozenset[str]
    configured: str
    code: int
    output: str

    @property
    def strangers(self) -> frozenset[str]:
        """Every address but the configured one."""
        return self.reached - {self.configured}


def can_trace() -> bool:
    """Whether this machine has strace, and lets it look."""
    strace = shutil.which("strace")
    return (
        strace is not None
        and subprocess.run([strace, "-o", os.devnull, "true"], capture_output=True, check=False).returncode
        == 0
    )


def can_unshare() -> bool:
    """Whether a process here may have a network of its own."""
    return (
        shutil.which("unshare") is not None
        and subprocess.run(["unshare", "-rn", "true"], capture_output=True, check=False).returncode == 0
    )


def addresses(trace: str) -> frozenset[str]:
    """The internet addresses in what strace wrote."""
    return frozenset(f"{each['four'] or each['six']}:{each['port']}" for each in _INTERNET.finditer(trace))


def watched(wire: str, talkers: tuple[str, ...] = ()) -> Watched:
    """Runs judge over `wire` with `talkers` imported, and gives where it connected to."""
    with tempfile.TemporaryDirectory() as name, LoopbackServer(says_its_grade) as server:
        root = Path(name)
        url = server.dashscope_url if wire.endswith(("dashscope", "tongyi")) else server.openai_url
        trace = root / "trace"
        ran = subprocess.run(
            [
                *("strace", "-f", "-qq", "-s", "64", "-e", _SYSTEM_CALLS, "-o", str(trace)),
                *(sys.executable, "-c", _CALL, ",".join(talkers), *_make_arguments(root, wire, url)),
            ],
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
            cwd=root,
            env=_environment(root),
        )
        reached = addresses(trace.read_text(encoding="utf-8", errors="replace"))
        return Watched(reached, server.url.removeprefix("http://"), ran.returncode, ran.stdout + ran.stderr)


def _make_arguments(root: Path, wire: str, url: str) -> tuple[str, ...]:
    data = write_rows(root / "data.jsonl", numbered(2, 2, 3))
    return (str(data), f"{wire}:fake", url, str(root / "runs" / "x"))


def _environment(root: Path) -> dict[str, str]:
    # No opt-outs: a run has to keep its libraries quiet by itself. Keys that they would report with.
    kept = {
        name: value for name, value in os.environ.items() if not re.search("OPT_OUT|TRACING|TELEMETRY", name)
    }
    keys = dict.fromkeys(
        ("OPENAI_API_KEY", "DASHSCOPE_API_KEY", "LANGSMITH_API_KEY", "CONFIDENT_API_KEY"), "key"
    )
    return {**kept, **keys, "HOME": str(root), "LANGSMITH_TRACING": "true", "PYTHONPATH": str(Path.cwd())}


def main() -> int:
    """Runs every wire and prints whom it connected to."""
    parser = table.parser(__doc__)
    parser.add_argument("--alone", action="store_true")
    if parser.parse_args().alone:
        within = 'ip link set lo up && exec "$@"'
        again = (
            "unshare",
            "-rn",
            "sh",
            "-c",
            within,
            "sh",
            sys.executable,
            "-m",
            "tests.fault_injection.egress",
        )
        return subprocess.run(again, check=False).returncode
    figures = []
    for wire in WIRES:
        result = watched(wire, TALKERS)
        figures.append(Figure(f"{wire}: ended with", result.code, "0", result.code == 0))
        strangers = ", ".join(sorted(result.strangers)) or "none"
        figures.append(Figure(f"{wire}: strangers", strangers, "none", not result.strangers))
        figures.append(
            Figure(f"{wire}: server", result.configured, "reached", result.configured in result.reached)
        )
    return table.report(figures)


if __name__ == "__main__":
    sys.exit(main())
