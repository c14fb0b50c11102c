"""Owns the rules of the nights: what the table [nightly] of judge.toml may say, and the defaults."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from fnmatch import fnmatchcase
from math import inf
from pathlib import Path
from typing import Any, Self

from judge.config.run import did_you_mean, toml_repr
from judge.errors import InputError

#: Where nights are kept unless [nightly] says otherwise.
NIGHTS_FOLDER = "runs/nights"
#: The command that makes a run the baseline.
SET_BASELINE_COMMAND = "judge baseline set RUN"
#: Smaller shares than these can't be told: by the resamples that are affordable, by the canaries' shuffles.
_LEAST = {"alpha": 0.0001, "canary_alpha": 0.001}
#: With a larger one canaries can't tell a judge that gives half of them another grade.
_MOST = {"max_flip_rate": 0.25}
_SHARES = (
    "alpha",
    "min_drop",
    "min_coverage",
    "min_shared",
    "max_missing",
    "max_empty_snippets",
    "canary_alpha",
    "max_flip_rate",
)
ON_DRIFT = ("stop", "all")


@dataclass(frozen=True, slots=True, kw_only=True)
class NightlyConfig:
    """How the nights of one folder are decided.

    `folder` holds the nights. `measures` are those of the gate; None takes AP@10 and sDCG@10. A drop is a
    regression when it is `min_drop` or more and chance an unlikely reason: on a night of nothing but
    chance some engine is blamed, by any measure, with a chance of at most `alpha`. Unjudged snippets that
    could turn a drop leave the night incomplete; those that could hide one of `min_drop` are remarked on.
    `min_coverage` of the pairs must be judged; None takes the run's own. `min_shared` of the baseline's
    queries must be asked tonight. An engine has broken down, and a judge is away, when the share of
    queries that it answered, or of canaries, is lower by more than `max_missing` than at the baseline, or
    than all of them. A night ends before anything is judged when an engine returns empty snippets in more
    than `max_empty_snippets` of its results: a field of its answers was renamed.

    `canary_repeats` is how often each canary is judged a night (0: there are none, and a judge that was
    swapped can't be told from an engine that became worse). The judge of a night
    like the baseline's is called another one with a chance of at most `canary_alpha` by its canaries, and
    again by pairs that it judged on both nights. `max_flip_rate` is the share of canaries that may move
    by a grade from night to night for a reason that repeats within one night don't show, `min_shift` the
    least change of their mean grade, in grades, that counts as a stricter or more generous judge.
    `judge_on_drift` says what a night does once the canaries show another assessor: "stop" pays for nothing
    more, "all" judges the engines' results as well, so that the night can become the baseline.
    `accept_names` holds names of served models, or patterns such as "qwen-plus-*": a model that answers
    under such a name is no drift as long as no canary shows one. `webhook` says whom to tell (see
    `notices`).
    """

    folder: str = NIGHTS_FOLDER
    measures: tuple[str, ...] | None = None
    alpha: float = 0.01
    min_drop: float = 0.005
    min_coverage: float | None = None
    min_shared: float = 0.8
    max_missing: float = 0.1
    max_empty_snippets: float = 0.5
    canary_repeats: int = 3
    canary_alpha: float = 0.005
    max_flip_rate: float = 0.02
    min_shift: float = 0.1
    judge_on_drift: str = "stop"
    accept_names: tuple[str, ...] = ()
    webhook: Mapping[str, Any] = field(default_factory=dict)

    def accepts(self, name: str) -> bool:
        """Return whether `accept_names` holds the name of a served model."""
        return any(fnmatchcase(name, pattern) for pattern in self.accept_names)

    @property
    def to_set(self) -> str:
        """The command that makes a run the baseline of these nights."""
        return (
            SET_BASELINE_COMMAND
            if Path(self.folder) == Path(NIGHTS_FOLDER)
            else f"{SET_BASELINE_COMMAND} --folder {shlex.quote(self.folder)}"
        )

    def sets(self, run: Path) -> str:
        """The command that makes `run`, a night, the baseline of these nights."""
        return SET_BASELINE_COMMAND.replace("RUN", shlex.quote(str(run)))

    @classmethod
    def load(cls, table: Mapping[str, Any], place: object = "[nightly]") -> Self:
        """The rules of a table in TOML; raises InputError that names `place`, the rule and its value."""
        known = {each.name for each in fields(cls)}
        for name, value in table.items():
            if name not in known:
                raise InputError(f"{place}: unknown rule {name!r}{did_you_mean(name, known)}")
            if not _fits(name, value):
                raise InputError(f"{place}: {name} is {toml_repr(value)}; {_MEANT.get(name, _share(name))}")
        found: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in table.items()
        }
        return cls(**found)


def _share(name: str) -> str:
    return f"it is a share from {_LEAST.get(name, 0)} to {_MOST.get(name, 1)}"


_MEANT = {
    "folder": "it is a path in quotes",
    "measures": 'it is a list of measures, e.g. ["AP@10", "sDCG@10"]',
    "canary_repeats": "it is 2 or more: one grade does not say how steady it is (0: no canaries, and then"
    " nothing tells a judge that was swapped from an engine that became worse)",
    "min_shift": "it is a number of grades, 0 or more",
    "judge_on_drift": f"it is {' or '.join(ON_DRIFT)}",
    "accept_names": 'it is a list of names or patterns, e.g. ["qwen-plus-*"]',
    "webhook": 'it is a table, e.g. {kind = "slack", url_env = "JUDGE_WEBHOOK"}',
}


def _fits(name: str, value: object) -> bool:
    if name == "folder":
        return isinstance(value, str) and bool(value)
    if name in ("measures", "accept_names"):
        texts = isinstance(value, list) and all(isinstance(each, str) and each for each in value)
        return texts and (bool(value) or name == "accept_names")
    if name == "judge_on_drift":
        return value in ON_DRIFT
    if name == "webhook":
        return isinstance(value, Mapping)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    if name == "canary_repeats":
        return isinstance(value, int) and (value == 0 or value >= 2)
    return _LEAST.get(name, 0) <= value <= _MOST.get(name, 1) if name in _SHARES else 0 <= value < inf
