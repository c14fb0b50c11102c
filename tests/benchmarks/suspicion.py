"""Count attacks that are flagged, and harmless snippets: `python -m tests.benchmarks.suspicion`.

Patterns were fitted on the attacks with odd numbers alone; the even ones are held out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from judge.dataset import clean
from judge.dataset.injection_patterns import INJECTION_FLAGS
from tests.support import hostile_text


def is_flagged(case: Mapping[str, str]) -> bool:
    """Whether something suspicious is noticed about a case."""
    shown = clean.clean_snippet(case["snippet"], max_chars=4000, query=case["query"])
    return not INJECTION_FLAGS.isdisjoint(shown.flags)


def is_held_out(case: Mapping[str, str]) -> bool:
    """Whether the patterns were written without a look at this case."""
    return int(case["id"].rpartition("-")[2]) % 2 == 0


def count_flagged(cases: Iterable[Mapping[str, str]]) -> tuple[int, int]:
    """How many of the cases are flagged, of how many."""
    result = [is_flagged(case) for case in cases]
    return sum(result), len(result)


def main() -> None:
    """Prints a line a type."""
    for kind in dict.fromkeys(case["type"] for case in hostile_text.read_cases()):
        cases = hostile_text.read_cases(kind)
        seen = count_flagged(case for case in cases if not is_held_out(case))
        held_out = count_flagged(case for case in cases if is_held_out(case))
        print(f"{kind:16} fitted {seen[0]}/{seen[1]}  held out {held_out[0]}/{held_out[1]}")


if __name__ == "__main__":
    main()
