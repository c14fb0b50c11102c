"""Owns what judging tells a bystander: a progress bar, a log, nothing."""

from __future__ import annotations

from typing import Protocol

from judge.records import Judgment


class Watch(Protocol):
    """Hears of every judgment as it becomes durable."""

    def begin(self, asked: int, known: int) -> None:
        """Judging begins: `asked` judgments are wanted, `known` of them are there already."""
        ...

    def judged(self, judgment: Judgment, usd: float | None) -> None:
        """One more judgment is there; `usd` was spent so far, None when the price is unknown."""
        ...

    def end(self) -> None:
        """Judging ended, for whatever reason."""
        ...


class Unwatched:
    """A watch that looks away."""

    def begin(self, asked: int, known: int) -> None:
        """Ignores the beginning."""

    def judged(self, judgment: Judgment, usd: float | None) -> None:
        """Ignores the judgment."""

    def end(self) -> None:
        """Ignores the end."""
