"""What judging reports while it goes on: to a progress bar, to a log, to nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

from judge.records import Judgment, RepeatProgress, Scale


class Rounds:
    """Counts the judgments of every repeat, to say when one is finished."""

    def __init__(self, repeats: int, pairs: int, scale: Scale) -> None:
        self._pairs = pairs
        self._scale = scale
        self._rounds = [RepeatProgress(number, repeats, 0, 0, 0) for number in range(1, repeats + 1)]

    def count(self, judgment: Judgment) -> RepeatProgress | None:
        """The repeat of `judgment` if this was its last one, and there are several."""
        if len(self._rounds) == 1:
            return None
        here, grade = self._rounds[judgment.repeat - 1], judgment.grade
        here = replace(
            here,
            judged=here.judged + (grade is not None),
            failed=here.failed + (grade is None),
            relevant=here.relevant + (grade is not None and grade >= self._scale.relevant_from),
        )
        self._rounds[judgment.repeat - 1] = here
        whole = here.judged + here.failed == self._pairs
        return here if whole else None


class Watch(Protocol):
    """Hears of every judgment as it becomes durable."""

    def begin(self, asked: int, known: int) -> None:
        """Judging begins: `asked` judgments are wanted, `known` of them are there already."""
        ...

    def judged(self, judgment: Judgment, usd: float | None) -> None:
        """One more judgment is there; `usd` was spent so far, None when the price is unknown."""
        ...

    def waiting(self, status: str) -> None:
        """Say every second what is waited for; `""` where answers come."""
        ...

    def finished(self, repeat: RepeatProgress) -> None:
        """The last pair of a repeat is there; asked only when there are several."""
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

    def waiting(self, status: str) -> None:
        """Ignores the status."""

    def finished(self, repeat: RepeatProgress) -> None:
        """Ignores the repeat."""

    def end(self) -> None:
        """Ignores the end."""
