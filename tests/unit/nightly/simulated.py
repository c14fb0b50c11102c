"""Simulated nights: engines that rank a set of documents, and an assessor with random errors.

A query has 40 documents with true grades. An engine ranks them by true grade and its own noise, which
moves a little every night, so that results come and go and no engine gets better or worse. A document's
snippet changes now and then and is judged again; the assessor is off by one grade now and then. Everything
is stationary: two nights differ by chance alone, unless an engine is made worse or the assessor is swapped.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from judge.measure.numeric import Bools, Floats, Ints
from judge.measure.resampling import compute_randomisation_p
from judge.nightly.assessor_drift import Grades
from judge.nightly.record import RegressionOutcome
from judge.nightly.regression_test import compute_one_sided_p

ENGINES = ("amber", "birch", "cedar")
MEASURES = ("AP@10", "sDCG@10")
_NOISE = (1.1, 1.3, 1.5)
_DOCUMENTS, _DEPTH, _TOP, _RELEVANT = 40, 10, 3, 2
#: Shares a night: of an engine's noise that is new, of snippets judged again, of verdicts off by one.
_MOVES, _REJUDGED, _FLIPS = 0.09, 0.1, 0.05
_DISCOUNT = 1 / np.log2(np.arange(2, _DEPTH + 2))


@dataclass(frozen=True)
class Night:
    """True grades and tonight's (queries, documents), the engines' noise (engines, queries, documents)."""

    true: Ints
    grade: Ints
    noise: Floats

    def rank_documents(self, worse: Floats) -> Ints:
        """Return (engines, queries, 10) documents in rank order; `worse` is added to each engine's noise."""
        spread = (np.array(_NOISE) + worse)[:, None, None]
        return np.argsort(-(self.true + spread * self.noise), axis=-1)[..., :_DEPTH]


def draw_first_night(rng: np.random.Generator, queries: int) -> Night:
    """Return the night of the baseline."""
    ease = rng.normal(0, 0.7, (queries, 1))
    latent = ease + rng.normal(0, 1, (queries, _DOCUMENTS))
    true = np.digitize(latent, [0.6, 1.2, 1.9])
    noise = rng.normal(0, 1, (len(ENGINES), queries, _DOCUMENTS))
    return Night(true, _judge_pairs(rng, true), noise)


def draw_next_night(rng: np.random.Generator, night: Night) -> Night:
    """Return the next night, which differs by chance only."""
    fresh = rng.normal(0, 1, night.noise.shape)
    anew: Bools = rng.random(night.true.shape) < _REJUDGED
    return replace(
        night,
        noise=np.sqrt(1 - _MOVES) * night.noise + np.sqrt(_MOVES) * fresh,
        grade=np.where(anew, _judge_pairs(rng, night.true), night.grade),
    )


def _judge_pairs(rng: np.random.Generator, true: Ints) -> Ints:
    off = np.where(rng.random(true.shape) < _FLIPS, rng.choice([-1, 1], true.shape), 0)
    return np.clip(true + off, 0, _TOP)


def measure_nights(before: Night, now: Night, worse: Floats) -> tuple[Floats, Floats]:
    """Return (engines, queries, measures) at the baseline and tonight, on one pool; NaN without relevant."""
    lists = before.rank_documents(np.zeros(len(ENGINES))), now.rank_documents(worse)
    pooled = np.zeros(before.true.shape, bool)
    for night, ranked in zip((before, now), lists, strict=True):
        for engine in ranked:
            rows = np.arange(len(engine))[:, None]
            pooled[rows, engine] |= night.grade[rows, engine] >= _RELEVANT
    relevant = pooled.sum(1).astype(float)
    one, two = (
        _compute_values(night, ranked, relevant) for night, ranked in zip((before, now), lists, strict=True)
    )
    return one, two


def _compute_values(night: Night, lists: Ints, relevant: Floats) -> Floats:
    grades = np.take_along_axis(night.grade[None], lists, axis=-1)
    hit = grades >= _RELEVANT
    precision = hit.cumsum(-1) / np.arange(1, _DEPTH + 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        average = (precision * hit).sum(-1) / np.where(relevant > 0, relevant, np.nan)
    scaled = grades @ _DISCOUNT / (_TOP * _DISCOUNT.sum())
    return np.stack([average, scaled], axis=-1)


def iter_changes(before: Floats, now: Floats) -> Iterator[RegressionOutcome]:
    """Yield the changes to test, engine by engine; nothing is unjudged, so bounds are the change."""
    moved = (now - before).transpose(1, 0, 2).reshape(before.shape[1], -1)
    chances = compute_randomisation_p(moved)
    for at, p in enumerate(chances):
        known = moved[~np.isnan(moved[:, at]), at]
        engine, measure = divmod(at, len(MEASURES))
        both = before[engine, :, measure], now[engine, :, measure]
        means = [float(np.nanmean(np.where(np.isnan(moved[:, at]), np.nan, side))) for side in both]
        change = float(known.mean())
        yield RegressionOutcome(
            ENGINES[engine], MEASURES[measure], len(known), means[0], means[1], change,
            None, None, change, change, compute_one_sided_p(float(p), change), outcome="incomplete",
        )  # fmt: skip


def measure_turnover(before: Night, now: Night) -> float:
    """Return the share of the ten results of all engines that were not there on the night before."""
    nothing = np.zeros(len(ENGINES))
    old, new = before.rank_documents(nothing), now.rank_documents(nothing)
    stays = (new[..., :, None] == old[..., None, :]).any(-1)
    return float(1 - stays.mean())


def find_noise(rng: np.random.Generator, drop: float, queries: int = 20_000) -> float:
    """Return how much noise added to the first engine lowers its true MAP by `drop`."""
    before = draw_first_night(rng, queries)
    now = draw_next_night(rng, before)
    low, high = 0.0, 5.0
    for _ in range(20):
        middle = (low + high) / 2
        one, two = measure_nights(before, now, np.array([middle, 0, 0]))
        if np.nanmean(one[0, :, 0]) - np.nanmean(two[0, :, 0]) < drop:
            low = middle
        else:
            high = middle
    return high


@dataclass(frozen=True)
class Grader:
    """A judge of canaries: the grade that each pair usually gets, and how often it gets another."""

    usual: Ints
    unsteady: Floats

    def draw_grades(self, rng: np.random.Generator, repeats: int, error_share: float = 0.01) -> Grades:
        """Return a night's grades; `error_share` of the pairs get another grade for this night alone."""
        usual = np.where(
            rng.random(self.usual.shape) < error_share, _step_beside(rng, self.usual), self.usual
        )
        off = rng.random((repeats, len(usual))) < self.unsteady
        grades = np.where(off, _step_beside(rng, np.broadcast_to(usual, off.shape)), usual)
        return {("q", f"{pair:03}"): column.tolist() for pair, column in enumerate(grades.T)}

    def swap_grades(self, rng: np.random.Generator, share: float) -> Grader:
        """Return an assessor that usually gives that share of the pairs another grade."""
        chosen = rng.permutation(len(self.usual)) < round(share * len(self.usual))
        return replace(self, usual=np.where(chosen, _step_beside(rng, self.usual), self.usual))


def make_grader(rng: np.random.Generator, pairs: int = 64) -> Grader:
    """Return an assessor that changes 2% of most grades, and 25% of those of a fifth of the pairs."""
    return Grader(np.arange(pairs) % 4, np.where(rng.permutation(pairs) < pairs // 5, 0.25, 0.02))


def _step_beside(rng: np.random.Generator, grades: Ints) -> Ints:
    """Return for each grade one next to it."""
    step = rng.choice([-1, 1], grades.shape)
    moved: Ints = np.where((grades + step < 0) | (grades + step > _TOP), grades - step, grades + step)
    return moved
