"""The stores of nights: which verdicts a night starts with, and where its own verdicts go.

A server that swaps the model behind a name answers under the old name. So the store that nights share only
holds verdicts of nights without assessor drift: a night judges in a copy, which is merged into the shared
store at its end, also when it ends before all pairs are judged. A night whose assessor had drifted before it
began judges in an empty store; later nights of that assessor continue with it, and it replaces the shared
store when such a night becomes the baseline. Until then it stays.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from judge import run_identity
from judge.errors import InputError, StoreError
from judge.nightly.assessor_drift import CanaryCheck, find_assessor_changes
from judge.nightly.baseline import finished_canary_runs, load_canary_grades
from judge.nightly.context import NightContext
from judge.nightly.decision import find_assessor_setting_changes
from judge.runs.folder import RunFolder
from judge.store import copy
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
            copy.remove(store)


def merge_into_shared(store: Path, shared: Path) -> None:
    """Merge a night's own store into the shared store, which is made when absent, and remove it.

    Verdicts that other nights added meanwhile stay. Raises StoreError when that fails.
    """
    if store.exists():
        copy.merge(shared, store)
        copy.remove(store)


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


def shared_store(context: NightContext) -> Path:
    """Return the store that nights share."""
    return run_identity.store_path(context.config, context.folder)


def promote_quarantined_store(context: NightContext) -> None:
    """Make the verdicts of a drifted assessor the shared ones, once a night of it is the baseline."""
    if context.baseline and context.baseline.quarantined_store:
        store = context.nights / context.baseline.quarantined_store
        if store.exists():
            replace_shared(shared_store(context), store)


def choose_store(
    context: NightContext, identity: Mapping[str, Any], check: CanaryCheck | None, *, drifted: bool
) -> Path:
    """Return the store that the night judges with: the quarantined one of its assessor when that `drifted`.

    A later night of the same drifted assessor continues with the store of the earlier one.
    """
    nights = context.nights
    if not drifted:
        return begin_store(own_store_path(nights, context.day), shared_store(context))
    for store, day in list_drifted_stores(nights):
        if _has_same_assessor(context, RunFolder(nights / day), identity, check):
            return store
    new = drifted_store_path(nights, context.day)
    copy.remove(new)  # of an assessor that changed once more during this night
    return new


def _has_same_assessor(
    context: NightContext, night: RunFolder, identity: Mapping[str, Any], check: CanaryCheck | None
) -> bool:
    """Return whether the assessor of the earlier `night`, which had drifted too, is this night's."""
    config = night.read_if_there("config.json")
    if config is None or find_assessor_setting_changes(identity, config["identity"]):
        return False
    runs = finished_canary_runs(night.path)
    if check is None or not runs:
        return check is None and not runs
    # This night's own store may be of the assessor of any canary run, another night's is of that of its last.
    past = runs if night.path == context.folder.path else runs[-1:]
    return not any(
        reason
        for run in past
        for reason in find_assessor_changes(
            check.canary_grades, load_canary_grades(RunFolder(run)), context.rules
        )
    )


def merge_store(context: NightContext, *, changed: bool) -> None:
    """Add the night's verdicts to the shared store; remove them when its assessor `changed` meanwhile."""
    own = own_store_path(context.nights, context.day)
    if changed:
        copy.remove(own)
    else:
        merge_into_shared(own, shared_store(context))
