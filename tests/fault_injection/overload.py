"""Servers with limits, outages and dead accounts, through the real `judge run` over loopback.

    python -m tests.fault_injection.overload [NAME…]

Prints a table: figure, what was measured, target. All of it takes about nine minutes.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.fault_injection.servers import (
    DASHSCOPE,
    THROTTLED,
    Capacity,
    Limited,
    Say,
    as_a_date,
    as_nonsense,
    back_after,
    early,
    in_milliseconds,
    in_seconds,
)
from tests.fault_injection.table import Figure, parser, report
from tests.support.command_line import command, process
from tests.support.factories import numbered, results, says_its_grade, write_rows
from tests.support.fake_server import LoopbackServer, Reply

#: When the outage begins and ends, in seconds after the first request.
OUTAGE = (15.0, 75.0)


@dataclass(frozen=True)
class Scene:
    """A server, and what it should see of a run of `pairs` with 64 calls at once.

    `rate` is what it can answer, in pairs a second; None asks nothing of the speed. `least` is the share of
    that to use, `throttled` the share of requests that may be refused after the first second.
    """

    capacity: Capacity
    pairs: int
    rate: float | None
    latency: float = 0.05
    say: Say = in_seconds
    refusal: str = THROTTLED
    wire: str = "openai"
    most: float = 1.10
    failing: float = 0.0
    refusing: float = 0.0
    least: float = 0.9
    throttled: float = 0.05
    outage: Reply | None = None


def _ten() -> Capacity:
    return Capacity(rate=10, burst=10)


SCENES: Mapping[str, Scene] = {
    "10 a second, seconds": Scene(_ten(), 1000, 10, least=0.95, throttled=0.02),
    "10 a second by the window": Scene(Capacity(rate=10), 1000, 10, least=0.95, throttled=0.02),
    "10 a second, milliseconds": Scene(_ten(), 300, 10, say=in_milliseconds),
    "10 a second, dates": Scene(_ten(), 300, 10, say=as_a_date),
    "10 a second, nonsense": Scene(_ten(), 300, 10, say=as_nonsense),
    "8 at once": Scene(Capacity(slots=8), 500, 8 / 0.5, latency=0.5),
    "10 a second and 8 at once": Scene(Capacity(rate=10, burst=10, slots=8), 300, 10, latency=0.5),
    "100 a second": Scene(Capacity(rate=100), 2000, 100, least=0.95, throttled=0.02),
    "DashScope's Throttling": Scene(_ten(), 300, 10, refusal=DASHSCOPE, wire="dashscope"),
    "5 % 500s and resets": Scene(Capacity(), 2000, None, failing=0.025, latency=0.2),
    # 1.35 times as long as without refusals.
    "5 % 429s": Scene(Capacity(), 2000, 64 / 0.5, latency=0.5, refusing=0.05, least=1 / 1.35, throttled=0.06),
    "an outage of 60 s": Scene(_ten(), 600, 10, outage=Reply(status=503, body="down"), most=1.2),
}
REFUSALS = {
    "401": (401, '{"error": {"code": "invalid_api_key", "message": "Incorrect API key"}}'),
    "403": (403, '{"error": {"code": "access_denied", "message": "not yours"}}'),
    "insufficient_quota": (429, '{"error": {"code": "insufficient_quota", "message": "no money"}}'),
    "Arrearage": (400, '{"code": "Arrearage", "message": "Access denied, your account is overdue"}'),
    "unknown model": (404, '{"error": {"code": "model_not_found", "message": "no such model"}}'),
}


@dataclass
class Seen:
    """What came of a run: seconds from the first request to the last answer, the log, the exit code."""

    server: Limited
    returncode: int
    judged: float
    calls: int
    seconds: float = field(init=False)

    def __post_init__(self) -> None:
        self.seconds = self.server.log[-1].at


def play(scene: Scene, folder: Path) -> Seen:
    """A `judge run` against the server of `scene`."""
    server = Limited(
        scene.capacity, lambda _: scene.latency, says_its_grade, say=scene.say, refusal=scene.refusal,
        failing=scene.failing, refusing=scene.refusing, outages=[OUTAGE] if scene.outage else (),
        down=scene.outage or Reply(),
    )  # fmt: skip
    data = write_rows(folder / "d.jsonl", numbered(scene.pairs // 10, 1, 10))
    with LoopbackServer(server, record=False) as loopback:
        url = loopback.dashscope_url if scene.wire == "dashscope" else loopback.openai_url
        words = ("run", data, "-m", f"{scene.wire}:fake", "--base-url", url, "--out", folder / "r" / "x")
        done = process(*words, timeout=400, DASHSCOPE_API_KEY="sk-canary-5b1d9f")
    summary = results(folder / "r" / "x")["summary"]
    return Seen(server, done.returncode, summary["coverage"], summary["cost"]["calls"])


def figures(name: str, scene: Scene, seen: Seen) -> list[Figure]:
    """The figures of one scene."""
    requests = len(seen.server.log)
    result = [
        Figure(f"{name}: requests a pair", round(requests / scene.pairs, 3), f"<= {scene.most:g}",
               requests <= scene.most * scene.pairs),
        Figure(f"{name}: earlier than told", early(seen.server.log), "0", not early(seen.server.log)),
        Figure(f"{name}: judged", seen.judged, "1.0", seen.judged == 1.0 and seen.returncode == 0),
        Figure(f"{name}: ledger's calls", seen.calls, f"{requests}, as the server counts",
               seen.calls == requests),
    ]  # fmt: skip
    if scene.outage:
        back = back_after(seen.server.log, OUTAGE[1], scene.rate or 0)
        result.append(Figure(f"{name}: seconds until back at 90 %", back, "<= 30", back <= 30))
    elif scene.rate:
        used = scene.pairs / seen.seconds / scene.rate
        late = sum(each.what == "refused" and each.at > 1 for each in seen.server.log) / requests
        result += [
            Figure(f"{name}: share of its capacity", round(used, 3), f">= {scene.least:.2f}",
                   used >= scene.least),
            Figure(f"{name}: 429s after the first second", round(late, 4), f"<= {scene.throttled:g}",
                   late <= scene.throttled),
        ]  # fmt: skip
    return result


def refused(name: str, wire: str, folder: Path) -> list[Figure]:
    """The figures of a dead account."""
    status, body = REFUSALS[name]
    data = write_rows(folder / "d.jsonl", numbered(30, 1, 10))
    with LoopbackServer(lambda _: Reply(status=status, body=body, delay=0.2)) as server:
        url = server.dashscope_url if wire == "dashscope" else server.openai_url
        began = time.monotonic()
        words = ("run", data, "-m", f"{wire}:fake", "--base-url", url, "--out", folder / "r" / "x")
        done = command(*words, DASHSCOPE_API_KEY="sk-canary-5b1d9f")
        seconds, requests = time.monotonic() - began, len(server.requests)
    advised = done.returncode == 3 and "check" in done.stderr
    return [
        Figure(f"{wire} {name}: requests", requests, "<= 8, the calls in flight", requests <= 8),
        Figure(f"{wire} {name}: seconds", round(seconds, 1), "< 5, start included", seconds < 5),
        Figure(f"{wire} {name}: says what to do", advised, "True", advised),
    ]


def main() -> int:
    """Plays all scenes, or those that are named."""
    options = parser(__doc__)
    scenes = ", ".join(SCENES).replace("%", "%%")
    options.add_argument("names", nargs="*", metavar="NAME", help=f"of {scenes}, dead accounts")
    names = options.parse_args().names
    result: list[Figure] = []
    for name, scene in SCENES.items():
        if not names or name in names:
            with tempfile.TemporaryDirectory() as folder:
                result += figures(name, scene, play(scene, Path(folder)))
    for name in REFUSALS if not names or "dead accounts" in names else ():
        for wire in ("openai", "dashscope"):
            with tempfile.TemporaryDirectory() as folder:
                result += refused(name, wire, Path(folder))
    return report(result)


if __name__ == "__main__":
    sys.exit(main())
