"""Owns the rules of the nights: what the table [nightly] of judge.toml may say, and the defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from typing import Any, Self

from judge.errors import InputError

_SHARES = ("alpha", "min_drop", "min_coverage", "min_shared", "max_missing", "canary_alpha", "max_flip_rate")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """How the nights of one folder are decided.

    `measures` are those of the gate; None takes AP@10 and sDCG@10. A drop is a regression when it is
    `min_drop` or more and chance an unlikely reason: over all engines and measures, chance raises an
    alarm on `alpha` of the nights at most. `min_coverage` of the pairs must be judged; None takes the
    run's own. `min_shared` of the baseline's queries must be asked tonight. An engine that answered
    `max_missing` fewer of the queries than at the baseline has broken down. `canary_repeats` is how often
    canaries are judged a night (0: there are none), `canary_alpha` how often they may raise an alarm for
    nothing, `max_flip_rate` the share of them that may change from night to night for no reason that
    repeats on one night show, `min_shift` the least change of their mean grade that counts as a stricter
    or more generous judge. `webhook` is for the notices.
    """

    folder: str = "runs/nights"
    measures: tuple[str, ...] | None = None
    alpha: float = 0.01
    min_drop: float = 0.005
    min_coverage: float | None = None
    min_shared: float = 0.8
    max_missing: float = 0.1
    canary_repeats: int = 3
    canary_alpha: float = 0.005
    max_flip_rate: float = 0.02
    min_shift: float = 0.1
    webhook: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def load(cls, table: Mapping[str, Any], place: object = "[nightly]") -> Self:
        """The rules of a table in TOML; raises InputError that names `place`, the rule and its value."""
        known = {each.name for each in fields(cls)}
        for name, value in table.items():
            if name not in known:
                hint = get_close_matches(name, known, n=1)
                raise InputError(
                    f"{place}: unknown rule {name!r}" + (f"; did you mean {hint[0]!r}?" if hint else "")
                )
            if not _fits(name, value):
                raise InputError(f"{place}: {name} is {value!r}; {_MEANT.get(name, _SHARE)}")
        found: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in table.items()
        }
        return cls(**found)


_SHARE = "it is a share from 0 to 1"
_MEANT = {
    "folder": "it is a path in quotes",
    "measures": 'it is a list of measures, e.g. ["AP@10", "sDCG@10"]',
    "canary_repeats": "it is 2 or more: one grade does not say how steady it is (0: no canaries)",
    "min_shift": "it is a number of grades, 0 or more",
    "webhook": 'it is a table, e.g. {kind = "slack", url_env = "JUDGE_WEBHOOK"}',
}


def _fits(name: str, value: object) -> bool:
    if name == "folder":
        return isinstance(value, str) and bool(value)
    if name == "measures":
        return isinstance(value, list) and bool(value) and all(isinstance(each, str) for each in value)
    if name == "webhook":
        return isinstance(value, Mapping)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    if name == "canary_repeats":
        return isinstance(value, int) and (value == 0 or value >= 2)
    return 0 <= value <= 1 if name in _SHARES else value >= 0
