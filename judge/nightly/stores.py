"""The stores of nights: which verdicts a night starts with, and where its own verdicts go.

In the folder of the nights, each name of a file says what is in it:

    verdicts.sqlite              shared: the verdicts of all nights without assessor drift
    verdicts.DAY.sqlite          own: the copy of the shared store in which the night of DAY judges
    verdicts.drifted-DAY.sqlite  quarantined: the verdicts of an assessor that drifted on DAY
    verdicts.backup-DAY.sqlite   what was shared until the assessor that drifted on DAY became the baseline

A server can replace a model and keep its name, so a night does not judge in the shared store. The comparison
of its canaries with those of the baseline decides where it judges (`choose_store`). The whole night decides
where its verdicts go (`keep_verdicts`):

    canaries                  store of the pool                     without drift   with drift
    no drift, none tonight    own                                   to shared       nowhere
    no baseline               own                                   to shared       to quarantined
    none at the baseline      quarantined of this assessor, or own  to shared       to quarantined
    drift, or other settings  quarantined of this assessor, or new                  they stay

A new quarantined store begins with the shared verdicts where these answer the same requests of the same
assessor (`_can_copy_shared`): the settings that differ are in no request, such as relevant_from.

They go nowhere where it is unknown which are of the assessor that changed. `NightStores.promote` makes
a quarantined store the shared one when a night that judged in it is the baseline.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from judge.config.option_types import is_day
from judge.nightly.assessor_drift import (
    CanaryCheck,
    find_assessor_changes,
    list_finished_canary_runs,
    load_canary_grades,
)
from judge.nightly.baseline import BaselinePointer, make_backup_path
from judge.nightly.context import NightContext, find_assessor_setting_changes, has_same_requests
from judge.nightly.record import BACKUP, DRIFTED, QUARANTINED_STORE, NightRecord
from judge.run_identity import choose_store_path
from judge.runs.folder import RunFolder
from judge.runs.load import RunIdentity, read_config_if_there
from judge.runs.run_result import RunResult
from judge.store import store_files


@dataclass(frozen=True, slots=True)
class JudgedNight:
    """What a night judged: the `canaries`, then the pool (`run`); each is None where it was not judged.

    `setting_changes` say how the assessor is configured differently than at the baseline, `missing` why
    judgments are missing. The verdicts of the `run` are in `store`, and the night paid for those of the
    models `served`.
    """

    setting_changes: Sequence[str]
    missing: Sequence[str]
    canaries: CanaryCheck | None = None
    run: RunResult | None = None
    store: Path | None = None
    served: Collection[str] = ()

    @property
    def early_changes(self) -> list[str]:
        """Why the assessor had changed before the pool was judged."""
        return [*self.setting_changes, *(self.canaries.results.reasons if self.canaries else ())]

    @property
    def quarantined_store(self) -> Path | None:
        """The store of the pool, if it is that of an assessor that had drifted."""
        return self.store if self.store and QUARANTINED_STORE.fullmatch(self.store.name) else None


@dataclass(frozen=True, slots=True)
class NightStores:
    """The stores of the night of `day` in the folder `nights`; `shared` is the path of the shared one."""

    nights: Path
    day: str
    shared: Path

    @classmethod
    def from_context(cls, context: NightContext) -> Self:
        """Return the stores of the night of `context`."""
        return cls(context.nights, context.day, choose_store_path(context.config))

    @property
    def own(self) -> Path:
        """The path of the night's own store."""
        return self.nights / f"verdicts.{self.day}.sqlite"

    @property
    def quarantined(self) -> Path:
        """The path of the store for an assessor that had drifted when the night began."""
        return self.nights / f"verdicts.{DRIFTED}{self.day}.sqlite"

    def find_latest(self, record: NightRecord | None) -> Path:
        """Return the store that has the verdicts of earlier starts of the night; `record` is theirs."""
        name = record.quarantined_store if record else self.quarantined.name
        candidates = [self.own, *([self.nights / Path(name).name] if name else [])]
        return next((store for store in candidates if store.exists()), self.shared)

    def begin_own(self) -> Path:
        """Copy the shared store to the own one, or merge newer verdicts of it into that; return its path."""
        (store_files.merge_store if self.own.exists() else store_files.copy_store)(self.shared, self.own)
        return self.own

    def end_own(self) -> None:
        """Merge the own store into the shared one, which keeps verdicts of other nights, and remove it."""
        store_files.merge_store(self.own, self.shared)
        store_files.remove_store(self.own)

    def quarantine_own(self) -> None:
        """Make a quarantined store of the verdicts that the own store has and the shared one has not."""
        store_files.copy_store(self.own, self.quarantined, without=self.shared)

    def promote(self, name: str) -> None:
        """Make the quarantined store `name`, if it is there, the shared one, with the old one as a backup.

        A kill at any moment leaves a whole shared store, and the quarantined one until it is in its place.
        """
        store = self.nights / name
        if store.exists():
            store_files.replace_store(store, self.shared, backup=make_backup_path(store))


def iter_quarantined_stores(nights: Path) -> Iterator[tuple[Path, str]]:
    """Yield the stores of drifted assessors, the last first, each with the day of its first night."""
    for store in sorted(nights.glob(f"verdicts.{DRIFTED}*.sqlite"), reverse=True):
        if QUARANTINED_STORE.fullmatch(store.name):
            yield store, store.stem.rpartition(DRIFTED)[2]


def find_backup(nights: Path, pointer: BaselinePointer) -> Path | None:
    """Return the store to go back to with a baseline of an earlier assessor, None where none is needed."""
    if pointer.quarantined_store or not is_day(pointer.name):
        return None
    paths = nights.glob(f"verdicts.{BACKUP}*.sqlite")
    return min((path for path in paths if path.stem.rpartition(BACKUP)[2] > pointer.name), default=None)


def choose_store(context: NightContext, identity: RunIdentity, judged_night: JudgedNight) -> Path:
    """Return the store that the pool of the night is judged with, as the docstring of this module says."""
    night, canaries = NightStores.from_context(context), judged_night.canaries
    if judged_night.early_changes or (canaries and context.baseline and not canaries.compares_with_baseline):
        for store, day in iter_quarantined_stores(night.nights):
            # A night that was killed after it had copied its verdicts has more of them in its own store.
            is_copied = day == night.day and night.own.exists()
            if not is_copied and _has_same_assessor(
                context, RunFolder(night.nights / day), identity, canaries
            ):
                return store
    if not judged_night.early_changes:
        return night.begin_own()
    store_files.remove_store(night.quarantined)  # of an assessor that changed once more during this night
    if _can_copy_shared(context, identity, canaries):
        store_files.copy_store(night.shared, night.quarantined)
    return night.quarantined


def _can_copy_shared(context: NightContext, identity: RunIdentity, canaries: CanaryCheck | None) -> bool:
    """Return whether the shared verdicts are of this night's assessor, though its settings differ.

    A quarantined store with verdicts of several served models is no baseline.
    """
    baseline = context.baseline
    if baseline is None or not has_same_requests(identity, baseline.identity):
        return False
    if canaries is None or canaries.results.reasons or context.options.accept_names:
        return False
    return canaries.tonight.served >= {*baseline.reference.served}


def keep_verdicts(night: NightStores, judged_night: JudgedNight, *, has_drifted: bool) -> None:
    """Put the verdicts in the night's own store where the docstring of this module says.

    `has_drifted` says whether the night shows assessor drift. It can be incomplete: its verdicts were paid.
    """
    if judged_night.store != night.own:
        return
    if not has_drifted:
        night.end_own()
    elif judged_night.canaries and not judged_night.canaries.compares_with_baseline:
        night.quarantine_own()


def _has_same_assessor(
    context: NightContext, night: RunFolder, identity: RunIdentity, canaries: CanaryCheck | None
) -> bool:
    """Return whether the assessor of the earlier `night`, which had drifted too, is this night's."""
    config = read_config_if_there(night)
    if config is None or find_assessor_setting_changes(identity, config.identity):
        return False
    runs = list_finished_canary_runs(night.path)
    if canaries is None or not runs:
        return canaries is None and not runs
    # This night's own store may be of the assessor of any canary run, another night's is of that of its last.
    compared_runs = runs if night.path == context.folder.path else runs[-1:]
    grades = map(load_canary_grades, map(RunFolder, compared_runs))
    return not any(find_assessor_changes(canaries.tonight, one, context.options)[1] for one in grades)
