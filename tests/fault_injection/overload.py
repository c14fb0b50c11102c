"""Run the real `judge run` over loopback against servers with limits, outages and errors of the account.

    python -m tests.fault_injection.overload [NAME…]

Print a table with each figure, its measured value and its target. All scenarios take about nine minutes.
"""

import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.fault_injection.servers import (
    DASHSCOPE_RATE_LIMIT_ERROR,
    RATE_LIMIT_ERROR,
    Capacity,
    LimitedServer,
    RetryAfterFormat,
    count_early_requests,
    format_as_date,
    format_as_milliseconds,
    format_as_seconds,
    format_unreadably,
    measure_recovery,
)
from tests.fault_injection.table import Figure, make_parser, print_figures
from tests.support.command_line import run_judge, run_process
from tests.support.factories import make_rows, read_results, reply_with_grade, write_rows
from tests.support.fake_server import LoopbackServer, Reply

#: Start and end of the outage, in seconds after the first request.
OUTAGE = (15.0, 75.0)


@dataclass(frozen=True)
class Scenario:
    """A server, and the targets of a run of `pairs` with up to 64 calls at once.

    `rate` is the number of pairs that the server can answer in a second; None sets no target for the speed.
    The run must use `min_rate_share` of it; the server may refuse `max_throttled_share` of the requests after
    the first second.
    """

    capacity: Capacity
    pairs: int
    rate: float | None
    latency: float = 0.05
    retry_after_format: RetryAfterFormat = format_as_seconds
    refusal_body: str = RATE_LIMIT_ERROR
    wire: str = "openai"
    max_requests_per_pair: float = 1.10
    failure_share: float = 0.0
    refusal_share: float = 0.0
    min_rate_share: float = 0.9
    max_throttled_share: float = 0.05
    outage: Reply | None = None


def _make_capacity() -> Capacity:
    return Capacity(rate=10, burst=10)


SCENARIOS: Mapping[str, Scenario] = {
    "10 a second, seconds": Scenario(
        _make_capacity(), 1000, 10, min_rate_share=0.95, max_throttled_share=0.02
    ),
    "10 a second by the window": Scenario(
        Capacity(rate=10), 1000, 10, min_rate_share=0.95, max_throttled_share=0.02
    ),
    "10 a second, milliseconds": Scenario(
        _make_capacity(), 300, 10, retry_after_format=format_as_milliseconds
    ),
    "10 a second, dates": Scenario(_make_capacity(), 300, 10, retry_after_format=format_as_date),
    "10 a second, nonsense": Scenario(_make_capacity(), 300, 10, retry_after_format=format_unreadably),
    "8 at once": Scenario(Capacity(slots=8), 500, 8 / 0.5, latency=0.5),
    "10 a second and 8 at once": Scenario(Capacity(rate=10, burst=10, slots=8), 300, 10, latency=0.5),
    "100 a second": Scenario(Capacity(rate=100), 2000, 100, min_rate_share=0.95, max_throttled_share=0.02),
    "DashScope's Throttling": Scenario(
        _make_capacity(), 300, 10, refusal_body=DASHSCOPE_RATE_LIMIT_ERROR, wire="dashscope"
    ),
    "5% 500s and resets": Scenario(Capacity(), 2000, None, failure_share=0.025, latency=0.2),
    # 1.35 times as long as without refusals.
    "5% 429s": Scenario(
        Capacity(),
        2000,
        64 / 0.5,
        latency=0.5,
        refusal_share=0.05,
        min_rate_share=1 / 1.35,
        max_throttled_share=0.06,
    ),
    "an outage of 60 s": Scenario(
        _make_capacity(), 600, 10, outage=Reply(status=503, body="down"), max_requests_per_pair=1.2
    ),
}
ACCOUNT_ERRORS = {
    "401": (401, '{"error": {"code": "invalid_api_key", "message": "Incorrect API key"}}'),
    "403": (403, '{"error": {"code": "access_denied", "message": "not yours"}}'),
    "insufficient_quota": (429, '{"error": {"code": "insufficient_quota", "message": "no money"}}'),
    "Arrearage": (400, '{"code": "Arrearage", "message": "Access denied, your account is overdue"}'),
    "unknown model": (404, '{"error": {"code": "model_not_found", "message": "no such model"}}'),
}


@dataclass
class ScenarioResult:
    """The result of a run; `seconds` is the time between the first and the last request."""

    server: LimitedServer
    returncode: int
    coverage: float
    calls: int
    seconds: float = field(init=False)

    def __post_init__(self) -> None:
        self.seconds = self.server.log[-1].at


def run_scenario(scenario: Scenario, folder: Path) -> ScenarioResult:
    """Run `judge run` against the server of `scenario` and return the result."""
    server = LimitedServer(
        scenario.capacity,
        lambda _: scenario.latency,
        reply_with_grade,
        scenario.retry_after_format,
        scenario.refusal_body,
        outages=[OUTAGE] if scenario.outage else (),
        outage_reply=scenario.outage or Reply(),
        failure_share=scenario.failure_share,
        refusal_share=scenario.refusal_share,
    )
    data = write_rows(folder / "d.jsonl", make_rows(scenario.pairs // 10, 1, 10))
    with LoopbackServer(server, record=False) as loopback:
        url = loopback.dashscope_url if scenario.wire == "dashscope" else loopback.openai_url
        words = ("run", data, "-m", f"{scenario.wire}:fake", "--base-url", url, "--out", folder / "r" / "x")
        completed = run_process(*words, timeout=400, DASHSCOPE_API_KEY="sk-canary-5b1d9f")
    summary = read_results(folder / "r" / "x")["summary"]
    return ScenarioResult(server, completed.returncode, summary["coverage"], summary["cost"]["calls"])


def list_figures(name: str, scenario: Scenario, result: ScenarioResult) -> list[Figure]:
    """Return the figures of a scenario."""
    requests, log = len(result.server.log), result.server.log
    figures = [
        Figure(f"{name}: requests a pair", round(requests / scenario.pairs, 3),
               f"<= {scenario.max_requests_per_pair:g}",
               requests <= scenario.max_requests_per_pair * scenario.pairs),
        Figure.expect_equal(f"{name}: requests before Retry-After", count_early_requests(log), 0),
        Figure(f"{name}: coverage", result.coverage, "1.0",
               result.coverage == 1.0 and result.returncode == 0),
        Figure(f"{name}: ledger's calls", result.calls, f"{requests}, the server's count",
               result.calls == requests),
    ]  # fmt: skip
    if scenario.outage:
        seconds = measure_recovery(log, OUTAGE[1], scenario.rate or 0)
        figures.append(Figure.expect_at_most(f"{name}: seconds until 90% of the rate", seconds, 30))
    elif scenario.rate:
        rate_share = scenario.pairs / result.seconds / scenario.rate
        throttled = sum(each.outcome == "refused" and each.at > 1 for each in log) / requests
        figures += [
            Figure(f"{name}: share of its capacity", round(rate_share, 3),
                   f">= {scenario.min_rate_share:.2f}", rate_share >= scenario.min_rate_share),
            Figure(f"{name}: 429s after the first second", round(throttled, 4),
                   f"<= {scenario.max_throttled_share:g}", throttled <= scenario.max_throttled_share),
        ]  # fmt: skip
    return figures


def measure_account_error(name: str, wire: str, folder: Path) -> list[Figure]:
    """Return the figures of a run whose account the server refuses."""
    status, body = ACCOUNT_ERRORS[name]
    data = write_rows(folder / "d.jsonl", make_rows(30, 1, 10))
    with LoopbackServer(lambda _: Reply(status=status, body=body, delay=0.2)) as server:
        url = server.dashscope_url if wire == "dashscope" else server.openai_url
        started = time.monotonic()
        words = ("run", data, "-m", f"{wire}:fake", "--base-url", url, "--out", folder / "r" / "x")
        completed = run_judge(*words, DASHSCOPE_API_KEY="sk-canary-5b1d9f")
        seconds, requests = time.monotonic() - started, len(server.requests)
    advised = completed.returncode == 3 and "check" in completed.stderr
    return [
        Figure.expect_at_most(f"{wire} {name}: requests", requests, 8, ", the calls in flight"),
        Figure(f"{wire} {name}: seconds", round(seconds, 1), "< 5, start included", seconds < 5),
        Figure(f"{wire} {name}: says what to do", advised, "True", advised),
    ]


def main() -> int:
    """Run all scenarios, or those of the command line, and print the figures."""
    options = make_parser(__doc__)
    scenarios = ", ".join(SCENARIOS).replace("%", "%%")
    options.add_argument("names", nargs="*", metavar="NAME", help=f"of {scenarios}, account errors")
    names = options.parse_args().names
    result: list[Figure] = []
    for name, scenario in SCENARIOS.items():
        if not names or name in names:
            with tempfile.TemporaryDirectory() as folder:
                result += list_figures(name, scenario, run_scenario(scenario, Path(folder)))
    for name in ACCOUNT_ERRORS if not names or "account errors" in names else ():
        for wire in ("openai", "dashscope"):
            with tempfile.TemporaryDirectory() as folder:
                result += measure_account_error(name, wire, Path(folder))
    return print_figures(result)


if __name__ == "__main__":
    sys.exit(main())
