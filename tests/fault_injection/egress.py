"""Trace every connection of a run with strace: each must go to the configured server.

    python -m tests.fault_injection.egress [--isolated]

Every wire runs with DeepEval and LangChain imported. With --isolated, it runs in a network namespace that has
only loopback, so that a run that needs another server fails.
"""

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
from tests.support.factories import make_rows, reply_with_grade, write_rows
from tests.support.fake_server import LoopbackServer

WIRES = ("openai", "dashscope", "langchain:openai", "langchain:tongyi")
#: Libraries that send telemetry; the process imports them before judge runs.
TELEMETRY_LIBRARIES = ("deepeval", "langchain", "langsmith")
_CALL = """
import importlib, sys
libraries, data, model, url, out = sys.argv[1:]
for name in filter(None, libraries.split(",")):
    importlib.import_module(name)
import judge
print(judge.run(data, model=model, base_url=url, out=out, concurrency=4).summary.judged)
"""
#: An internet address that a process connects or sends to, DNS servers included.
_INTERNET = re.compile(
    r"(?:connect|sendto|sendmsg|sendmmsg)\(.*?sa_family=AF_INET6?, sin6?_port=htons\((?P<port>\d+)\)"
    r".*?(?:inet_addr\(\"(?P<four>[^\"]+)\"\)|inet_pton\(AF_INET6, \"(?P<six>[^\"]+)\")"
)
_SYSTEM_CALLS = "trace=connect,sendto,sendmsg,sendmmsg"


@dataclass(frozen=True)
class ConnectionReport:
    """The addresses of a run's connections (`address:port`), that of its server, its exit code and output."""

    addresses: frozenset[str]
    server_address: str
    code: int
    output: str


def can_trace() -> bool:
    """Return whether strace is installed and allowed."""
    strace = shutil.which("strace")
    return (
        strace is not None
        and subprocess.run([strace, "-o", os.devnull, "true"], capture_output=True, check=False).returncode
        == 0
    )


def parse_addresses(trace: str) -> frozenset[str]:
    """Return the internet addresses in the output of strace."""
    return frozenset(f"{each['four'] or each['six']}:{each['port']}" for each in _INTERNET.finditer(trace))


def trace_run(wire: str, libraries: tuple[str, ...] = ()) -> ConnectionReport:
    """Run judge over `wire` with `libraries` imported, and return its connections."""
    with tempfile.TemporaryDirectory() as name, LoopbackServer(reply_with_grade) as server:
        root = Path(name)
        url = server.dashscope_url if wire.endswith(("dashscope", "tongyi")) else server.openai_url
        trace = root / "trace"
        completed = subprocess.run(
            [
                *("strace", "-f", "-qq", "-s", "64", "-e", _SYSTEM_CALLS, "-o", str(trace)),
                *(sys.executable, "-c", _CALL, ",".join(libraries), *_make_arguments(root, wire, url)),
            ],
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
            cwd=root,
            env=_make_environment(root),
        )
        addresses = parse_addresses(trace.read_text(encoding="utf-8", errors="replace"))
        return ConnectionReport(
            addresses,
            server.url.removeprefix("http://"),
            completed.returncode,
            completed.stdout + completed.stderr,
        )


def _make_arguments(root: Path, wire: str, url: str) -> tuple[str, ...]:
    data = write_rows(root / "data.jsonl", make_rows(2, 2, 3))
    return (str(data), f"{wire}:fake", url, str(root / "runs" / "x"))


def _make_environment(root: Path) -> dict[str, str]:
    # No opt-outs: the run itself has to turn telemetry off. The keys would let the libraries send it.
    environment = {
        name: value for name, value in os.environ.items() if not re.search("OPT_OUT|TRACING|TELEMETRY", name)
    }
    keys = dict.fromkeys(
        ("OPENAI_API_KEY", "DASHSCOPE_API_KEY", "LANGSMITH_API_KEY", "CONFIDENT_API_KEY"), "key"
    )
    return {
        **environment,
        **keys,
        "HOME": str(root),
        "LANGSMITH_TRACING": "true",
        "PYTHONPATH": str(Path.cwd()),
    }


def main() -> int:
    """Run every wire and print the figures."""
    parser = table.make_parser(__doc__)
    parser.add_argument("--isolated", action="store_true")
    if parser.parse_args().isolated:
        script = 'ip link set lo up && exec "$@"'
        command = (sys.executable, "-m", "tests.fault_injection.egress")
        return subprocess.run(["unshare", "-rn", "sh", "-c", script, "sh", *command], check=False).returncode
    figures = []
    for wire in WIRES:
        result = trace_run(wire, TELEMETRY_LIBRARIES)
        others = ", ".join(sorted(result.addresses - {result.server_address})) or "none"
        is_connected = result.server_address in result.addresses
        figures += [
            Figure.expect_equal(f"{wire}: exit code", result.code, 0),
            Figure.expect_equal(f"{wire}: other addresses", others, "none"),
            Figure(f"{wire}: server", result.server_address, "connected", is_connected),
        ]
    return table.print_figures(figures)


if __name__ == "__main__":
    sys.exit(main())
