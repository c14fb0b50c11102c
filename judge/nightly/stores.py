"""The stores of nights: which verdicts a night starts with, and where its own verdicts go.

A server that swaps the model behind a name answers under the old name. So the store that nights share only
holds verdicts of nights without assessor drift: a night judges in a copy, which is merged into the shared
store at its end, also when it ends before all pairs are judged. A night whose assessor had drifted before it
began judges in an empty store; later nights of that assessor continue with it, and it replaces the shared
store when such a night becomes the baseline. Until then it stays.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from judge.errors import InputError, StoreError
from judge.store import copy
from judge.store.copy import remove
from judge.store.store import VerdictStore

_DRIFTED = ".drifted-"


def own_store_path(nights: Path, day: str) -> Path:
    """Return the path of the night's own store, in the folder of the nights."""
    return nights / f"verdicts.{day}.sqlite"


def begin_store(store: Path, shared: Path) -> Path:
    """Copy the shared store to `store`, or merge newer verdicts of it into `store`, and return `store`.

    Raises StoreError when that fails.
    """
    if store.exists():
        copy.merge(store, shared)
    else:
        copy.copy(shared, store)
    return store


def drifted_store_path(nights: Path, day: str) -> Path:
    """Return the path of the store for an assessor that had drifted when the night of `day` began."""
    return nights / f"verdicts{_DRIFTED}{day}.sqlite"


def list_drifted_stores(nights: Path) -> Iterator[tuple[Path, str]]:
    """Yield the stores of drifted assessors, the last first, each with the day of its first night."""
    paths = nights.glob(f"verdicts{_DRIFTED}*.sqlite")
    for store in sorted(paths, reverse=True):
        yield store, store.stem.rpartition(_DRIFTED)[2]


def remove_drifted_stores(nights: Path, kept: str | None) -> None:
    """Remove the stores of drifted assessors except the one named `kept`; raise StoreError."""
    for store, _ in list(list_drifted_stores(nights)):
        if store.name != kept:
            remove(store)


def merge_into_shared(store: Path, shared: Path) -> None:
    """Merge a night's own store into the shared store, which is made when absent, and remove it.

    Verdicts that other nights added meanwhile stay. Raises StoreError when that fails.
    """
    if store.exists():
        copy.merge(shared, store)
        remove(store)


def check_store(shared: Path) -> None:
    """Raise InputError when the file cannot be a store, before any request."""
    try:
        with VerdictStore(shared):
            pass
    except StoreError as error:
        raise InputError("store: {error}", error=error) from error


def replace_shared(shared: Path, store: Path) -> None:
    """Make `store` the shared store and keep the old one as `….backup-….sqlite`.

    A kill at any moment leaves a whole shared store, and `store` until it is in its place. Raises StoreError
    when that fails.
    """
    day = store.stem.rpartition(_DRIFTED)[2]
    copy.replace(shared, store, backup=shared.with_name(f"{shared.stem}.backup-{day}.sqlite"))
