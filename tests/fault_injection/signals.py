"""Send SIGTERM, SIGINT and SIGHUP to `judge run` while it judges, and measure how it ends.

    python -m tests.fault_injection.signals [--signals 200] [--at-any-moment 60] [--seed N] [--max-delay 0.1]

No call may start after a signal, and the answers to calls in flight must be stored.
"""

import random
import signal
import sys
import tempfile
import time
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from tests.fault_injection import killing, table
from tests.fault_injection.killing import RunSetup
from tests.fault_injection.provider import Provider, reply_with_pair, start_provider
from tests.fault_injection.table import Figure, print_figures
from tests.support.fake_server import ChatRequest, Reply

PAIRS, IN_FLIGHT, SHUTDOWN_TIMEOUT = 200, 16, 5.0
NUMBERS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


@dataclass
class Tally:
    """Counts and times (in seconds) over all signals."""

    max_delay: float
    sent: int = 0
    codes: set[int] = field(default_factory=set)
    late_calls: int = 0
    latest_call: float = 0.0
    unsaved: int = 0
    slowest: float = 0.0
    without_message: int = 0
    codes_at_any_moment: list[int] = field(default_factory=list)


def answer(request: ChatRequest) -> Reply:
    """Reply after 50 to 305 ms, by the hash of the prompt."""
    rng = sha256(request.prompt.encode()).digest()[0]
    return Reply(text=reply_with_pair(request).text, delay=0.05 + rng / 1000)


def send_signal_while_judging(setup: RunSetup, provider: Provider, rng: random.Random, tally: Tally) -> None:
    """Start a run, send it a signal after some of its requests, and count how it ends."""
    before, child = provider.count, killing.start_command(setup)
    after = rng.randint(1, PAIRS * 3 // 4)
    while provider.count < before + after:
        assert not child.has_ended(), child.output
        time.sleep(0.001)
    time.sleep(rng.uniform(0, 0.05))
    sent = time.monotonic()
    child.send(NUMBERS[tally.sent % len(NUMBERS)])
    tally.sent += 1
    tally.codes.add(child.wait(SHUTDOWN_TIMEOUT + 20))
    tally.slowest = max(tally.slowest, time.monotonic() - sent)
    tally.without_message += "all judgments are saved" not in child.output
    requests = provider.list_requests(before)
    tally.late_calls += sum(request.at > sent + tally.max_delay for request in requests)
    tally.latest_call = max(tally.latest_call, *(request.at - sent for request in requests))
    content = killing.read_store(setup.store)
    tally.unsaved += len({request.pair for request in requests} - content.keys.keys()) + len(content.leases)


def send_signal_at_any_moment(setup: RunSetup, delay: float, tally: Tally) -> None:
    """Send a signal `delay` seconds after a run locked its folder: while it judges or writes its files."""
    child = killing.start_command(setup)
    while not (setup.out / ".lock").exists():
        time.sleep(0.001)
    time.sleep(delay)
    child.send(NUMBERS[len(tally.codes_at_any_moment) % len(NUMBERS)])
    tally.codes_at_any_moment.append(child.wait(SHUTDOWN_TIMEOUT + 20))
    assert "Traceback" not in child.output, child.output
    killing.check_files(setup.out, {})


def list_figures(tally: Tally) -> list[Figure]:
    allowed, codes = SHUTDOWN_TIMEOUT + 1, {*tally.codes_at_any_moment}
    return [
        Figure("signals", tally.sent, "> 0", tally.sent > 0),
        Figure("codes at any moment", sorted(codes), "0 or 130", codes <= {0, 130}),
        Figure.expect_equal("exit codes", sorted(tally.codes), [130]),
        Figure.expect_equal("calls after a signal", tally.late_calls, 0),
        Figure(
            "last call, s after a signal",
            f"{tally.latest_call:.3f}",
            f"<= {tally.max_delay}",
            tally.latest_call <= tally.max_delay,
        ),
        Figure.expect_equal("answers in flight that were not stored", tally.unsaved, 0),
        Figure("slowest end, s", f"{tally.slowest:.2f}", f"<= {allowed:g}", tally.slowest <= allowed),
        Figure.expect_equal("ends without a message", tally.without_message, 0),
    ]


def main() -> int:
    """Send as many signals as the options say and print the figures; return 1 if one misses its target."""
    parser = table.make_parser(__doc__)
    parser.add_argument("--signals", type=int, default=200)
    parser.add_argument("--at-any-moment", type=int, default=60)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    parser.add_argument("--max-delay", type=float, default=0.1, help="seconds that a busy machine may take")
    arguments = parser.parse_args()
    for each in NUMBERS:
        signal.signal(each, signal.SIG_DFL)  # a background job inherits SIG_IGN, which judge keeps
    rng, tally = random.Random(arguments.seed), Tally(arguments.max_delay)
    with tempfile.TemporaryDirectory() as name, start_provider(answer, Path(name)) as provider:
        killing.warm_up(Path(name) / "warm")
        for number in range(arguments.signals):
            setup = killing.make_run_setup(Path(name) / f"run{number}", provider.url, PAIRS, IN_FLIGHT)
            send_signal_while_judging(setup, provider, rng, tally)
        for number in range(arguments.at_any_moment):
            setup = killing.make_run_setup(Path(name) / f"any{number}", provider.url, 20, IN_FLIGHT)
            send_signal_at_any_moment(setup, rng.uniform(0, 1), tally)
    print(f"seed {arguments.seed}")
    return print_figures(list_figures(tally))


if __name__ == "__main__":
    sys.exit(main())
