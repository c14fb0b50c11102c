"""Cases of a property: all of them in one test, and the number of Hypothesis's examples."""

import functools
import inspect
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest


def count_examples(count: int) -> int:
    """Return how many examples hypothesis tries: `count`, times JUDGE_EXAMPLES (`.ci/slow` sets it)."""
    return count * int(os.environ.get("JUDGE_EXAMPLES", "1"))


def check_each(
    names: str | Sequence[str], cases: Iterable[Any]
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Call the decorated test with every case; fail with all cases that fail.

    The arguments are those of `pytest.mark.parametrize`, but the cases share the fixtures of one test, which
    saves several milliseconds a case. Each case has its own folder as `tmp_path`. A case that skips fails.
    """
    keys = [name.strip() for name in names.split(",")] if isinstance(names, str) else names
    rows = [(case,) if len(keys) == 1 and isinstance(names, str) else tuple(case) for case in cases]
    assert rows

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def check(tmp_path: Path | None = None, **fixtures: Any) -> None:
            failures: list[BaseException] = []
            for number, row in enumerate(rows):
                if tmp_path is not None:
                    fixtures["tmp_path"] = tmp_path / str(number)
                    fixtures["tmp_path"].mkdir()
                try:
                    test(**fixtures, **dict(zip(keys, row, strict=True)))
                except (Exception, pytest.fail.Exception, pytest.skip.Exception) as error:  # noqa: BLE001 - raised below
                    error.add_note(f"case {number}: {dict(zip(keys, row, strict=True))!r}")
                    failures.append(error)
            if failures:
                raise BaseExceptionGroup(f"{len(failures)} of {len(rows)} cases fail", failures)

        signature = inspect.signature(test)
        fixtures = [each for name, each in signature.parameters.items() if name not in keys]
        check.__signature__ = signature.replace(parameters=fixtures)  # type: ignore[attr-defined]
        return check

    return decorate
