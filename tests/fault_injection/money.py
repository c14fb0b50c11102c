"""Check estimates, limits of cost and the ledger, and print the figures.

    python -m tests.fault_injection.money [--pairs 1000]

Each run of `judge` calls a loopback provider that records what it charges (`tests.support.billing_server`)
and counts tokens with Qwen's own tokenizer. The exit code is 1 if a figure misses its target.
"""

import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from judge import Config, pipeline
from judge.client.progress import ProgressListener
from judge.records import Usage
from judge.runs.record_json import to_json
from judge.runs.run_result import RunResult
from tests.fault_injection.table import Figure, make_parser, print_figures
from tests.support.billing_server import (
    BillingServer,
    fail_first_attempts,
    hash_prompt,
    load_qwen_tokenizer,
    reply_with_reasons,
    yield_snippet_rows,
)
from tests.support.factories import make_rows, write_rows
from tests.support.fake_server import ChatRequest, LoopbackServer, Reply

_PRICE = (1.0, 10.0)
_BUDGET, _MOST = 0.1, 50
#: Seconds that a call of the estimated runs takes.
_LATENCY = 0.25


def main() -> int:
    """Print every figure beside its target."""
    arguments = make_parser(__doc__)
    arguments.add_argument("--pairs", type=int, default=1000, help="pairs of a run (default 1000)")
    pairs = arguments.parse_args().pairs
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory() as folder:
        for measure in (measure_estimates, measure_limits, measure_ledger):
            figures += measure(Path(folder) / measure.__name__, pairs)
    return print_figures(figures)


def _run(out: Path, data: Path, url: str, **options: object) -> RunResult:
    return pipeline.run(_make_config(out, data, url, **options))


def _make_config(out: Path, data: Path, url: str, **options: object) -> Config:
    shared: dict[str, Any] = {"model": "openai:fake", "measures": ("P@5",), "price": _PRICE, "out": str(out)}
    return Config.load(data=str(data), base_url=url, **{**shared, **options})


def measure_estimates(folder: Path, pairs: int) -> Iterator[Figure]:
    """Compare estimates with the runs that follow: one by default values, one by earlier calls."""
    folder.mkdir()
    datasets = [
        write_rows(folder / f"{name}.jsonl", yield_snippet_rows(size, seed=seed))
        for seed, (name, size) in enumerate((("first", pairs // 2), ("next", pairs)))
    ]
    billing = BillingServer(_answer_slowly(reply_with_reasons), load_qwen_tokenizer())
    with LoopbackServer(billing, record=False) as server:
        for data, basis in zip(datasets, ("rule of thumb", "earlier calls"), strict=True):
            out = folder / "runs" / data.stem
            config = _make_config(out, data, server.openai_url, depth=pairs, concurrency=8)
            [guess] = pipeline.estimate(config).assessors.values()
            watch = _Stopwatch()
            spent = to_json(pipeline.run(config, progress=watch).summary)["cost"]
            estimated = {**asdict(guess), "calls": guess.calls + guess.retry_calls}
            yield from _compare_estimate(estimated, {**spent, "seconds": watch.seconds}, basis)


def _compare_estimate(guess: Mapping[str, Any], spent: Mapping[str, Any], basis: str) -> Iterator[Figure]:
    """Yield a figure for each quantity; time and completion tokens are unknown before the first calls."""
    for name in ("calls", "prompt_tokens", "completion_tokens", "usd", "seconds"):
        error = guess[name] / spent[name] - 1
        promised = basis == "earlier calls" or name in ("calls", "prompt_tokens")
        target = "within 10%" if promised else "no promise"
        yield Figure(f"{name} by {basis}", f"{error:+.1%}", target, not promised or abs(error) <= 0.10)


class _Stopwatch(ProgressListener):
    """A progress that measures the seconds of judging."""

    seconds = 0.0

    def begin(self, total: int, done: int, subject: str = "", title: str = "") -> None:
        self._began = time.monotonic()

    def end(self) -> None:
        self.seconds = time.monotonic() - self._began


def measure_limits(folder: Path, pairs: int) -> Iterator[Figure]:
    """Measure the calls and the cost beyond the limits, with one call in flight and with many."""
    folder.mkdir()
    data = write_rows(folder / "d.jsonl", make_rows(pairs // 10, 1, 10))
    billing = BillingServer(_reply_with_uneven_length, lambda text: len(text))
    with LoopbackServer(billing, record=False) as server:
        for concurrency in (1, 8, 64):
            before = billing.calls
            _run(
                folder / f"calls{concurrency}" / "x",
                data,
                server.openai_url,
                concurrency=concurrency,
                max_calls=_MOST,
            )
            calls_beyond = billing.calls - before - _MOST
            yield Figure(
                f"calls beyond --max-calls, {concurrency} at once", str(calls_beyond), "0", calls_beyond == 0
            )
            money = _run(folder / f"usd{concurrency}" / "x", data, server.openai_url, concurrency=concurrency,
                         budget=_BUDGET)  # fmt: skip
            most = _PRICE[0] * 2500 + _PRICE[1] * 500
            spent = to_json(money.summary)["cost"]["usd"]
            beyond = (spent - _BUDGET) / (most / 1e6)
            yield Figure(f"calls' worth beyond --budget, {concurrency} at once", f"{beyond:.2f}",
                         "at most 1", beyond <= 1)  # fmt: skip


def measure_ledger(folder: Path, pairs: int) -> Iterator[Figure]:
    """Compare the cost in summary.json with the count of the provider, on both wires."""
    folder.mkdir()
    data = write_rows(folder / "d.jsonl", make_rows(pairs // 10, 1, 10))
    for wire in ("openai", "dashscope"):
        billing = BillingServer(fail_first_attempts)
        with LoopbackServer(billing, record=False) as server:
            url = server.openai_url if wire == "openai" else server.dashscope_url
            result = to_json(_run(folder / wire / "x", data, url, model=f"{wire}:m", attempts=20).summary)[
                "cost"
            ]
        expected = {
            "calls": billing.calls,
            "prompt_tokens": billing.usage.prompt_tokens,
            "completion_tokens": billing.usage.completion_tokens,
            "uncounted": billing.requests["uncounted"],
            "maybe_billed": billing.requests["lost"],
        }
        for name, count in expected.items():
            yield Figure(
                f"{wire}: {name}", f"{result[name]:,}", f"{count:,} by the server", result[name] == count
            )


def _answer_slowly(answer: Callable[[ChatRequest], Reply]) -> Callable[[ChatRequest], Reply]:
    """Delay `answer`; one first reply in fifty can't be parsed, so that the client asks again."""

    def answer_slowly(request: ChatRequest) -> Reply:
        is_unreadable = request.attempt == 1 and not hash_prompt(request) % 50
        return Reply(text="hm" if is_unreadable else answer(request).text, delay=_LATENCY)

    return answer_slowly


def _reply_with_uneven_length(request: ChatRequest) -> Reply:
    return Reply(text='{"reason": "' + "w" * (hash_prompt(request) % 400) + '", "grade": 1}', usage=Usage())


if __name__ == "__main__":
    sys.exit(main())
