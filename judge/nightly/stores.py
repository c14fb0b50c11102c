"""Owns which verdicts a night judges with: those of one judge, never of two.

A server that swaps the model behind a name answers under the old name. So the store that nights share is
written by nights alone whose judge did not drift: a night judges in a copy, which is added to the shared
store at its end, also when it ends before all is judged. A night whose judge had drifted when it began
judges in a store that began empty; later nights of that judge go on with it, and it takes the place of
the shared one when such a night is made the baseline. Until a baseline is set it stays.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from judge.assess.file import connect
from judge.assess.store import Store
from judge.errors import InputError, StoreError

_DRIFTED = ".drifted-"
#: Seconds that another process may keep a store busy.
_WAIT = 60.0
#: The verdicts and calls of one store that the other doesn't have.
_ADD = (
    "INSERT OR REPLACE INTO main.verdicts SELECT * FROM night.verdicts AS new WHERE NOT EXISTS ("
    "SELECT 1 FROM main.verdicts AS old WHERE old.key = new.key AND old.grade = new.grade"
    " AND old.body = new.body AND old.checksum = new.checksum)",
    "INSERT INTO main.calls (key, outcome, maybe_billed, prompt_tokens, cached_tokens, completion_tokens,"
    " reasoning_tokens, made_at) SELECT key, outcome, maybe_billed, prompt_tokens, cached_tokens,"
    " completion_tokens, reasoning_tokens, made_at FROM night.calls AS new WHERE NOT EXISTS ("
    "SELECT 1 FROM main.calls AS old WHERE old.key = new.key AND old.outcome = new.outcome"
    " AND old.made_at = new.made_at)",
)


def own(nights: Path, day: str) -> Path:
    """The night's own store, in the folder of the nights: others may share the shared one."""
    return nights / f"verdicts.{day}.sqlite"


def begin(store: Path, shared: Path) -> Path:
    """Copies the shared store to `store`, or adds to it what others have shared since, and gives it.

    Raises StoreError when it can't be done.
    """
    if store.exists():
        _merge(store, shared)
        return store
    part = store.with_name(f".{store.name}.part")
    remove(part)
    _copy(shared, part)
    part.replace(store)
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
        _merge(shared, store)
        remove(store)


def check(shared: Path) -> None:
    """Raises InputError when the file can't be a store: before anything is asked."""
    try:
        with Store(shared):
            pass
    except StoreError as error:
        raise InputError(f"store: {error}") from error


def _merge(target: Path, source: Path) -> None:
    """Adds to `target`, which is made when absent, what `source` holds, if it is there."""
    if not source.exists():
        return
    for each in (target, source):
        with Store(each):
            pass  # one that was begun from nothing has no tables yet
    try:
        with closing(connect(target, _WAIT)) as connection:
            connection.execute("ATTACH ? AS night", (str(source),))
            connection.execute("BEGIN IMMEDIATE")
            for statement in _ADD:
                connection.execute(statement)
            connection.execute("COMMIT")
    except (sqlite3.Error, OSError) as error:
        raise StoreError(f"{target}: cannot take the verdicts of {source}: {error}") from error


def replace(shared: Path, store: Path) -> None:
    """Makes what `store` holds the shared store, which is kept as `….before-….sqlite`, and removes it.

    A kill at any moment leaves a shared store that is whole, and `store` until it is in its place. Raises
    StoreError when it can't be done.
    """
    aside = shared.with_name(f"{shared.stem}.before-{store.stem.rpartition(_DRIFTED)[2]}.sqlite")
    if not aside.exists():
        part = aside.with_name(f".{aside.name}.part")
        remove(part)
        _copy(shared, part)
        part.replace(aside)
    _copy(store, shared)
    remove(store)


def _copy(source: Path, target: Path) -> None:
    """Makes `target` hold what `source` does, in one transaction; nothing where there is no `source`."""
    try:
        with closing(connect(target, _WAIT)) as copy:
            if source.exists():
                with closing(connect(source, _WAIT)) as original:
                    original.backup(copy)
    except (sqlite3.Error, OSError) as error:
        raise StoreError(f"{target}: cannot be copied from {source}: {error}") from error


def remove(store: Path) -> None:
    """Removes a store, if it is there, with the files that SQLite and its owners keep beside it."""
    try:
        for name in (store.name, f"{store.name}-wal", f"{store.name}-shm"):
            store.with_name(name).unlink(missing_ok=True)
        shutil.rmtree(store.with_name(f"{store.name}.owners"), ignore_errors=True)
    except OSError as error:
        raise StoreError(f"{store}: cannot be removed: {error.strerror or error}") from error
