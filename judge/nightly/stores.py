"""Owns which verdicts a night judges with: those of one judge, never of two.

A server that swaps the model behind a name answers under the old name. So the store that nights share is
written by nights alone whose judge did not drift: a night judges in a copy, which is added to the shared
store at its end, also when it ends before all is judged. A night whose judge had drifted when it began
judges in a store that began empty; later nights of that judge go on with it, and it takes the place of
the shared one when such a night is made the baseline. Until a baseline is set it stays.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from judge.errors import InputError, StoreError
from judge.store import copy
from judge.store.copy import remove
from judge.store.store import VerdictStore

_DRIFTED = ".drifted-"


def own(nights: Path, day: str) -> Path:
    """The night's own store, in the folder of the nights: others may share the shared one."""
    return nights / f"verdicts.{day}.sqlite"


def begin(store: Path, shared: Path) -> Path:
    """Copies the shared store to `store`, or adds to it what others have shared since, and gives it.

    Raises StoreError when it can't be done.
    """
    if store.exists():
        copy.merge(store, shared)
    else:
        copy.copy(shared, store)
    return store


def drifted(nights: Path, day: str) -> Path:
    """The store of a judge that had drifted when the night of `day` began, and not before."""
    return nights / f"verdicts{_DRIFTED}{day}.sqlite"


def all_drifted(nights: Path) -> Iterator[tuple[Path, str]]:
    """The stores of judges that drifted, the last first, each with the day of the night that began it."""
    found = nights.glob(f"verdicts{_DRIFTED}*.sqlite")
    for store in sorted(found, reverse=True):
        yield store, store.stem.rpartition(_DRIFTED)[2]


def forget_drifted(nights: Path, kept: str | None) -> None:
    """Removes the stores of judges that drifted, but for the one named `kept`; raises StoreError."""
    for store, _ in list(all_drifted(nights)):
        if store.name != kept:
            remove(store)


def add(store: Path, shared: Path) -> None:
    """Adds what a night's own store holds to the shared one, which is made when absent, and removes it.

    Nothing of what other nights added meanwhile is lost. Raises StoreError when it can't be done.
    """
    if store.exists():
        copy.merge(shared, store)
        remove(store)


def check(shared: Path) -> None:
    """Raises InputError when the file can't be a store: before anything is asked."""
    try:
        with VerdictStore(shared):
            pass
    except StoreError as error:
        raise InputError(f"store: {error}") from error


def replace(shared: Path, store: Path) -> None:
    """Make what `store` holds the shared store, which is kept as `….backup-….sqlite`, and remove it.

    A kill at any moment leaves a shared store that is whole, and `store` until it is in its place. Raises
    StoreError when it can't be done.
    """
    day = store.stem.rpartition(_DRIFTED)[2]
    copy.replace(shared, store, backup=shared.with_name(f"{shared.stem}.backup-{day}.sqlite"))
