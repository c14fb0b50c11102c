"""The options of a fault-injection command, and its table of figures and targets."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import NamedTuple


class Figure(NamedTuple):
    """A line of the table."""

    name: str
    value: object
    target: str
    ok: bool


def report(figures: Sequence[Figure]) -> int:
    """Prints the table and gives the exit code."""
    width = max(len(figure.name) for figure in figures)
    for name, value, target, ok in figures:
        print(f"{name:{width}}  {value!s:>12}  {target:<28}  {'ok' if ok else 'MISSED'}", flush=True)
    return 0 if all(figure.ok for figure in figures) else 1


def parser(text: str | None) -> argparse.ArgumentParser:
    """Return the parser of the options of a fault-injection command, which its docstring describes."""
    return argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
