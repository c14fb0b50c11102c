"""The options of a fault-injection command, and its table of figures and targets."""

import argparse
from collections.abc import Sequence
from typing import NamedTuple, Self


class Figure(NamedTuple):
    """A line of the table; without a target it only informs."""

    name: str
    value: object
    target: str = ""
    ok: bool = True

    @classmethod
    def expect_equal(cls, name: str, value: object, expected: object) -> Self:
        """Return a figure that must be equal to `expected`."""
        return cls(name, value, str(expected), value == expected)

    @classmethod
    def expect_at_most(cls, name: str, value: float, limit: float, unit: str = "") -> Self:
        """Return a figure that must not be above `limit`; `unit` follows the limit in the table."""
        return cls(name, value, f"<= {limit:g}{unit}", value <= limit)


def print_figures(figures: Sequence[Figure]) -> int:
    """Print the table and return the exit code: 1 if a figure misses its target."""
    width = max(len(figure.name) for figure in figures)
    for name, value, target, ok in figures:
        print(f"{name:{width}}  {value!s:>12}  {target:<28}  {'ok' if ok else 'MISSED'}", flush=True)
    return 0 if all(figure.ok for figure in figures) else 1


def make_parser(text: str | None) -> argparse.ArgumentParser:
    """Return the parser of the options of a fault-injection command, which its docstring describes."""
    return argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
