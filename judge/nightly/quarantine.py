"""Owns keeping the verdicts of a judge that drifted apart from those that were paid for before.

A server that swaps the model behind a name answers under the old name: were its verdicts kept with the
others, every later night would mix two judges. So a night of drift works on a copy of the store.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from judge.errors import StoreError


def quarantined(store: Path, night: Path) -> Path:
    """The night's own copy of `store`, made now unless it is there; raises StoreError when it can't be."""
    own = night / "verdicts.sqlite"
    if own.exists():
        return own
    part = night / ".verdicts.sqlite.part"
    try:
        part.unlink(missing_ok=True)
        with closing(sqlite3.connect(part)) as copy:
            if store.exists():
                with closing(sqlite3.connect(store, timeout=60)) as source:
                    source.backup(copy)
        part.replace(own)
    except (sqlite3.Error, OSError) as error:
        raise StoreError(f"{own}: cannot be copied from {store}: {error}") from error
    return own
