"""Owns whether the judge is the one it was: the canaries' grades tonight against those at the baseline.

Were the judge the same, the grades that a pair got tonight and at the baseline could as well have been
swapped. So each pair's grades are shuffled among both nights: repeats show how steady each pair is, and
no model of flips is needed. But servers have moods that last a night, which repeats on that night don't
show: a tolerated share of the pairs is moved by a grade on top. Pure: grades in, decision out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from judge.config.nightly import NightlyConfig
from judge.measure.formulas import Floats

#: A pair: its query and its snippet. Its grades, repeat by repeat, without those that failed.
Grades = Mapping[tuple[str, str], Sequence[int]]

_SHUFFLES = 4_000
_SEED = 0
_TIE = 1e-9


@dataclass(frozen=True, slots=True)
class Steadiness:
    """How the grades of the `compared` pairs stand to those at the baseline.

    `changed` pairs have a median that moved by a grade or more, `up` or `down`. `shift` is the mean
    grade tonight less that at the baseline. `p_changed` is the chance of grades this far apart, pair by
    pair, and `p_shift` that of a shift this large, when the judge is the same.
    """

    compared: int
    before: float
    tonight: float
    changed: int
    up: int
    down: int
    p_changed: float
    p_shift: float

    @property
    def shift(self) -> float:
        """The mean grade tonight less that at the baseline."""
        return self.tonight - self.before


def steadiness(tonight: Grades, before: Grades, max_flip_rate: float) -> Steadiness | None:
    """The canaries that have a grade on both nights, compared; None when there is none.

    `max_flip_rate` is the share of pairs whose grade may move by one for a night without a reason.
    """
    shared = [pair for pair in sorted(tonight) if tonight[pair] and before.get(pair)]
    if not shared:
        return None
    now, then = ([np.array(grades[pair], float) for pair in shared] for grades in (tonight, before))
    moves = np.array([np.median(a) - np.median(b) for a, b in zip(now, then, strict=True)])
    up, down = int((moves >= 1).sum()), int((moves <= -1).sum())
    p_changed, p_shift = _shuffled(now, then, max_flip_rate)
    return Steadiness(
        compared=len(shared),
        before=float(np.mean([grades.mean() for grades in then])),
        tonight=float(np.mean([grades.mean() for grades in now])),
        changed=up + down,
        up=up,
        down=down,
        p_changed=p_changed,
        p_shift=p_shift,
    )


def drift(found: Steadiness, rules: NightlyConfig) -> tuple[str, ...]:
    """Why the judge is another one than at the baseline; empty when chance explains what changed.

    Two tests share `rules.canary_alpha`: pairs changed more than their own unsteadiness and the tolerated
    moods explain; or all of them moved one way by `rules.min_shift` or more.
    """
    level = rules.canary_alpha / 2
    reasons = []
    if found.p_changed < level:
        reasons.append(
            f"{found.changed} of {found.compared} canaries have another grade than at the baseline"
            f" ({found.up} higher, {found.down} lower)"
        )
    if found.p_shift < level and abs(found.shift) >= rules.min_shift:
        word = "more generous" if found.shift > 0 else "stricter"
        reasons.append(f"the judge has become {word}: by {abs(found.shift):.2f} grades over all canaries")
    return tuple(reasons)


def _shuffled(now: Sequence[Floats], then: Sequence[Floats], moody: float) -> tuple[float, float]:
    """The chances of the sum of all pairs' changes, and of their sum with signs, under shuffling."""
    rng = np.random.default_rng(_SEED)
    seen = np.zeros(2)
    shuffled = np.zeros((2, _SHUFFLES))
    for moves, mixed in _moves(now, then, rng):
        mood = rng.random(mixed.shape)
        mixed += (mood < moody / 2).astype(float) - (mood > 1 - moody / 2)
        seen += np.abs(moves).sum(), moves.sum()
        shuffled += np.abs(mixed).sum(1), mixed.sum(1)
    hits = (np.abs(shuffled) >= np.abs(seen)[:, None] - _TIE).sum(1)
    p_changed, p_shift = (1 + hits) / (1 + _SHUFFLES)
    return float(p_changed), float(p_shift)


def _moves(
    now: Sequence[Floats], then: Sequence[Floats], rng: np.random.Generator
) -> Iterator[tuple[Floats, Floats]]:
    """Changes of mean grade, (pairs,) as seen and (shuffles, pairs), of pairs with equally many grades."""
    sizes = [(len(a), len(b)) for a, b in zip(now, then, strict=True)]
    for size in sorted(set(sizes)):
        grades = np.array(
            [np.concatenate([now[at], then[at]]) for at, each in enumerate(sizes) if each == size]
        )
        mixed = rng.permuted(np.broadcast_to(grades, (_SHUFFLES, *grades.shape)), axis=-1)
        yield _move(grades, size[0]), _move(mixed, size[0])


def _move(grades: Floats, tonight: int) -> Floats:
    moves: Floats = grades[..., :tonight].mean(-1) - grades[..., tonight:].mean(-1)
    return moves
