"""Owns the canaries: fixed pairs that are judged anew every night, to tell a changed judge from an engine.

64 pairs, half Chinese and half English, four to a query, from a full answer to what has nothing to do
with it; some lie between two grades on purpose, for there a change shows first. Verdicts that other runs
paid for must not answer for tonight's judge, so the canaries are a run of their own, with its own store.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from judge import pipeline
from judge.assess.watch import Watch
from judge.config import Config
from judge.nightly.baseline import CANARIES, Baseline, Graded, graded
from judge.nightly.rules import Rules
from judge.nightly.steadiness import Steadiness, drift, steadiness
from judge.report.outcome import Outcome


def path() -> Path:
    """The pairs, a dataset like any other; `expected` is the grade that its author would give."""
    return Path(__file__).resolve().parent / "canaries.jsonl"


def judged(config: Config, night: Path, repeats: int, watch: Watch | None) -> Outcome:
    """The run over the canaries in the folder of `night`, asked as `config` asks; gone on with if begun."""
    folder = night / CANARIES
    own = replace(
        config,
        data=str(path()),
        topics=None,
        docs=None,
        trec_runs=(),
        out=str(folder),
        store=str(folder / "verdicts.sqlite"),
        repeats=repeats,
        measures=None,
    )
    return pipeline.run(own, watch=watch)


@dataclass(frozen=True, slots=True)
class CanaryCheck:
    """What tonight's canaries say: their run, and what came of it.

    `flips` is the share of pairs of repeats that differ, `steadiness` how the grades stand to those of
    the baseline, `reasons` why the judge is another one than then; empty when it is not.
    """

    run: Outcome
    graded: Graded
    flips: float | None
    steadiness: Steadiness | None
    reasons: tuple[str, ...]


def check(outcome: Outcome, baseline: Baseline | None, rules: Rules) -> CanaryCheck:
    """Tonight's canaries against those of the baseline, where it has any."""
    tonight = graded(outcome.judgments, outcome.summary["judgments"])
    before = baseline.canaries if baseline else None
    found = steadiness(tonight.grades, before.grades, rules.max_flip_rate) if before else None
    reasons = list(drift(found, rules)) if found else []
    if before:
        reasons += _names(tonight, before)
        reasons += _unread(tonight, before, rules.max_missing)
    return CanaryCheck(outcome, tonight, _flips(tonight), found, tuple(reasons))


def _names(tonight: Graded, before: Graded) -> Iterator[str]:
    new = tonight.served - before.served
    if new and before.served:
        yield (
            f"another model answers: the server calls it {', '.join(sorted(new))}, at the baseline"
            f" {', '.join(sorted(before.served))}"
        )


def _unread(tonight: Graded, before: Graded, margin: float) -> Iterator[str]:
    """Replies that fail, where the server does answer, are the judge's own."""
    share, was = (side.unreadable / side.asked if side.asked else 0.0 for side in (tonight, before))
    if share - was > margin:
        yield f"{share:.0%} of the canaries' replies hold no verdict, {was:.0%} at the baseline"


def _flips(tonight: Graded) -> float | None:
    """The share of pairs of repeats, over all canaries, that differ."""
    differing = pairs = 0
    for grades in tonight.grades.values():
        for at, grade in enumerate(grades):
            pairs += at
            differing += sum(grade != other for other in grades[:at])
    return differing / pairs if pairs else None
