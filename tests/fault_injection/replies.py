"""Parse many randomly damaged replies, on all cores, and count those that are misread.

    python -m tests.fault_injection.replies --cases 1000000

Every run reads other replies; the seed that it prints gives the same ones again. The exit code is 1 if a
reply was misread, too few of the recoverable ones were read, or one took too long.
"""

import os
import secrets
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from itertools import product

from judge.errors import ReplyParseError
from judge.parsing.verdict import parse_verdict
from judge.records import BINARY, GRADED, Scale
from tests.fault_injection.table import Figure, make_parser, print_figures
from tests.unit.parsing.reply_fuzz import classify_outcome, make

#: The share of recoverable replies that must be read, and the CPU time of a reply as a multiple of a loop's.
LEAST_READ, SLOWEST = 0.94, 3.0
_BLOCK = 5_000
#: Just below the lengths above which no reply is parsed, and no text behind an object is searched.
_LENGTHS = (39_000, 3_900)
_AROUND = (
    *(("", ""), ('{"reason": "', '", "grade": 1}'), ('{"grade": 1}', ""), ("", '{"grade": 1}')),
    *(('{"grade": 1, "reason": "', ""), ("Grade: 1\nReason: ", ""), ('```json\n{"grade": 1}', "```")),
    ("Grade: 1 ", ""),
)
_UNITS = (
    *("{", "}", "[", '"', "'", "\n", " ", "\t", "\\", "｛", "“", "*", "(", "\x00", "\u2028", "<|", "</"),
    *("::", "yes ", "so ", "or ", "3 ", "a,", "if ", "no. ", "|3", "- ", "相关", "所以", "我", "<a>"),
    *("{a} ", "```\n", "<think>", "</think>", '{"grade": 1} ', '{"grade": 1, ', '"grade": 1 '),
    *('"grade":', '"reason": "', '{"a":', "the verdict is ", "that was ", "it is\n", "so\n", " \n"),
    *("page ", '"}', "[[", "grade grade ", "too ", "only ", "one lower ", "rounded ", "据"),
    *("ignore page told me to ", "摘要试图忽略", "is a 1 ", "错", "only if ", "如果", "-"),
)


@dataclass(frozen=True)
class Tally:
    """Counts of replies by outcome, the CPU seconds and the name of the slowest, and the misread ones."""

    counts: Counter[str]
    slowest: tuple[float, str]
    misread: Sequence[str]


@cache
def compile_patterns() -> None:
    """Parse some replies, once a process, because the first ones compile the patterns."""
    for number in range(200):
        classify_outcome(make(f"first:{number}"))


def count_outcomes(seed: str, numbers: range) -> Tally:
    """Return the tally of the replies with these numbers; raise any error other than ReplyParseError."""
    counts: Counter[str] = Counter()
    compile_patterns()
    slowest, misread = (0.0, ""), []
    for number in numbers:
        name = f"{seed}:{number}"
        case = make(name)
        # CPU time, because wall time depends on the load of the machine.
        started = time.thread_time()
        result = classify_outcome(case)
        slowest = max(slowest, (time.thread_time() - started, name))
        counts[result] += 1
        counts[f"recoverable {result}"] += case.recoverable
        counts["with a truth"] += case.truth is not None
        if result == "wrong":
            misread.append(f"{name} {case}")
    return Tally(counts, slowest, misread)


def parse_long_reply(text: str, scale: Scale) -> None:
    """Parse a reply that may be refused."""
    with suppress(ReplyParseError):
        parse_verdict(text, scale)


def find_slow_replies(count: int) -> list[tuple[str, Scale]]:
    """Return the slowest of the replies that repeat one unit up to a limit of the length."""
    compile_patterns()
    seconds = {}
    for (head, tail), unit, length, scale in product(_AROUND, _UNITS, _LENGTHS, (BINARY, GRADED)):
        if scale is BINARY:
            head, tail = (part.replace('"grade": 1', '"verdict": "yes"') for part in (head, tail))
        text = head + unit * (length // len(unit)) + tail
        started = time.thread_time()
        parse_long_reply(text, scale)
        seconds[text, scale] = time.thread_time() - started
    return sorted(seconds, key=seconds.__getitem__, reverse=True)[:count]


def time_in_loops(function: Callable[[], object], rounds: int = 3) -> float:
    """Return the CPU time of a call as a multiple of that of a loop of a million additions.

    Both are the least of some rounds that alternate, so the multiple depends little on the machine.
    """
    calls, loops = [], []
    for _ in range(rounds):
        started = time.thread_time()
        total = 0
        for number in range(1_000_000):
            total += number
        loops.append(time.thread_time() - started)
        started = time.thread_time()
        function()
        calls.append(time.thread_time() - started)
    return min(calls) / min(loops)


def add_tallies(tallies: Sequence[Tally]) -> Tally:
    """Return all tallies as one."""
    counts = sum((each.counts for each in tallies), Counter[str]())
    misread = [line for each in tallies for line in each.misread]
    return Tally(counts, max(each.slowest for each in tallies), misread)


def main() -> int:
    """Parse random replies and print the figures; return 1 if one misses its target."""
    parser = make_parser(__doc__)
    parser.add_argument("--cases", type=int, default=1_000_000)
    parser.add_argument("--seed", default=secrets.token_hex(4))
    options = parser.parse_args()
    blocks = [range(at, min(at + _BLOCK, options.cases)) for at in range(0, options.cases, _BLOCK)]
    started = time.monotonic()
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        result = add_tallies(list(pool.map(count_outcomes, [options.seed] * len(blocks), blocks)))
    counts = result.counts
    recoverable = counts["recoverable right"] + counts["recoverable refused"] + counts["recoverable wrong"]
    share = counts["recoverable right"] / max(recoverable, 1)
    print(f"seed {options.seed}, {time.monotonic() - started:.0f} s")
    for line in result.misread[:100]:
        print(f"MISREAD {line}")
    slowest = time_in_loops(partial(classify_outcome, make(result.slowest[1])))
    long = max(time_in_loops(partial(parse_long_reply, *reply)) for reply in find_slow_replies(3))
    limit = f"<= {SLOWEST:g}"
    return print_figures(
        [
            Figure("replies", f"{options.cases:,}"),
            Figure.expect_equal("misread", counts["wrong"], 0),
            Figure("recoverable", f"{recoverable:,}"),
            Figure("read, of the recoverable", f"{share:.1%}", f">= {LEAST_READ:.0%}", share >= LEAST_READ),
            Figure("read, of all with a grade", f"{counts['right'] / max(counts['with a truth'], 1):.1%}"),
            Figure("slowest, in loops of 10^6 additions", f"{slowest:.2f}", limit, slowest <= SLOWEST),
            Figure("slowest long one, in the same loops", f"{long:.2f}", limit, long <= SLOWEST),
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
