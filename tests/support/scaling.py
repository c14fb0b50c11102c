"""Measure how CPU time grows with size: ratios of CPU time have the same bound on any machine."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

#: Between 4, what a linear step takes for four times the input, and 16, what a quadratic one takes.
MOST = 9.0
#: Steps that take fewer seconds than this are not compared.
NOISE = 0.05


def measure_growth(step: Callable[[T], object], make: Callable[[int], T], most: int) -> float:
    """Return how many times as long `step` takes for `make(most)` as for `make(most // 4)`.

    It is 1 where the larger input takes less than `NOISE` seconds.
    """
    large = _measure_seconds(step, make(most))
    if large < NOISE:
        return 1.0
    # The longest of few small ones and the shortest of few large ones: a pause of the machine is not growth.
    for _ in range(3):
        small = max(_measure_seconds(step, make(most // 4)) for _ in range(2))
        if large / small <= MOST:
            break
        large = min(large, _measure_seconds(step, make(most)))
    else:
        # Memory beyond a cache of the processor costs more once; quadratic growth continues.
        return min(large / small, (_measure_seconds(step, make(2 * most)) / large) ** 2)
    return large / small


def _measure_seconds(step: Callable[[T], object], value: T) -> float:
    """Return the CPU seconds that `step` takes for `value`."""
    started = time.process_time()
    step(value)
    return time.process_time() - started
