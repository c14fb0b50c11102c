"""Owns which verdicts a night begins with, and whose they are when it ends (see `stores`)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from judge import factory
from judge.nightly import against, canaries, stores
from judge.nightly.baseline import ended, graded_run
from judge.nightly.canaries import CanaryCheck
from judge.nightly.tonight import Tonight
from judge.runs.folder import RunFolder


def promote(tonight: Tonight) -> None:
    """Makes the verdicts that were kept apart the shared ones, once a night of them is the baseline."""
    if tonight.baseline and tonight.baseline.apart:
        kept = tonight.nights / tonight.baseline.apart
        if kept.exists():
            stores.replace(shared(tonight), kept)


def shared(tonight: Tonight) -> Path:
    """The store that nights share."""
    return factory.store_path(tonight.config, tonight.folder)


def begin(tonight: Tonight, who: Mapping[str, Any], check: CanaryCheck | None, *, apart: bool) -> Path:
    """The store that the night judges with; `apart` is for a judge that is known to be another one."""
    nights = tonight.nights
    if not apart:
        return stores.begin(stores.own(nights, tonight.day), shared(tonight))
    for kept, day in stores.all_drifted(nights):
        if _same_judge(tonight, RunFolder(nights / day), who, check):
            return kept
    new = stores.drifted(nights, tonight.day)
    stores.remove(new)  # of a judge that changed once more while this night was at work
    return new


def _same_judge(
    tonight: Tonight, night: RunFolder, who: Mapping[str, Any], check: CanaryCheck | None
) -> bool:
    """Whether the judge of the earlier `night`, which had drifted as well, is tonight's."""
    run = night.read_if_there("config.json")
    if run is None or against.asked_otherwise(who, run["identity"]):
        return False
    asked = ended(night.path)
    if check is None or not asked:
        return check is None and not asked
    # Tonight's own store may have been begun by the judge of any round, another night's by that of its last.
    past = asked if night.path == tonight.folder.path else asked[-1:]
    return not any(
        reason
        for each in past
        for reason in canaries.another(check.graded, graded_run(RunFolder(each)), tonight.rules)
    )


def settle(tonight: Tonight, *, changed: bool) -> None:
    """Adds the night's verdicts to those that nights share, unless its judge `changed`: then they go."""
    own = stores.own(tonight.nights, tonight.day)
    if changed:
        stores.remove(own)
    else:
        stores.add(own, shared(tonight))
