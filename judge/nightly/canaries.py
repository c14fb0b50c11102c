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
from judge.analysis.summary import Summary
from judge.assess.watch import Watch
from judge.config.nightly import NightlyConfig
from judge.config.run import Config
from judge.errors import InputError
from judge.nightly import begun
from judge.nightly.baseline import Baseline, Graded, graded, graded_run, rounds
from judge.nightly.steadiness import Steadiness, drift, steadiness
from judge.runs.folder import RunFolder
from judge.runs.load import load_summary
from judge.runs.result import RunResult

#: The store of a round of canaries, in its folder.
STORE = "verdicts.sqlite"
#: So many canaries stand under one query; a shallower run would ask about some of them alone.
_EACH = 4


def path() -> Path:
    """The pairs, a dataset like any other; `expected` is the grade that its author would give."""
    return Path(__file__).resolve().parent / "canaries.jsonl"


def heard(folder: Path, rules: NightlyConfig) -> bool:
    """Whether the round of canaries in `folder` came to its end and the judge answered."""
    return (folder / "results.json").exists() and graded_run(RunFolder(folder)).heard(rules)


def asked(config: Config, folder: Path, repeats: int) -> Config:
    """The options of a run over the canaries in `folder`, asked as `config` asks."""
    return replace(
        config,
        data=str(path()),
        topics=None,
        docs=None,
        trec_runs=(),
        out=str(folder),
        store=str(folder / STORE),
        repeats=repeats,
        depth=max(config.depth, _EACH),
        measures=None,
    )


def judged(config: Config, folder: Path, repeats: int, watch: Watch | None) -> RunResult:
    """The run over the canaries in `folder`, asked as `config` asks."""
    own = asked(config, folder, repeats)
    if folder.is_symlink():
        raise InputError(f"{folder}: is a symbolic link; canaries have a folder of their own: remove it")
    begun.go_on(RunFolder(folder), begun.identity(own))
    return pipeline.run(own, watch=watch)


@dataclass(frozen=True, slots=True)
class CanaryCheck:
    """What tonight's canaries say: the run of the last round, and what came of it.

    `flips` is the share of pairs of repeats that differ, `steadiness` how the grades stand to those of
    the baseline, `reasons` why the judge is another one than then, by any round; empty when it is not.
    `accepted` are the new names of served models that the rules accept. `earlier` are the summaries of the
    rounds before.
    """

    run: RunResult
    earlier: tuple[Summary, ...]
    graded: Graded
    flips: float | None
    steadiness: Steadiness | None
    reasons: tuple[str, ...]
    accepted: tuple[str, ...] = ()


def check(outcome: RunResult, baseline: Baseline | None, rules: NightlyConfig) -> CanaryCheck:
    """Tonight's canaries, all rounds, against those of the baseline; without any, against the first round.

    A round that was asked otherwise, before judge.toml was mended, is of no judge that the night has.
    """
    tonight = graded(outcome.judgments, outcome.summary.judgments)
    earlier = [RunFolder(each) for each in rounds(outcome.folder.parent) if each != outcome.folder]
    who = RunFolder(outcome.folder).read("config.json")["identity"]
    past = [graded_run(each) for each in earlier if each.read("config.json")["identity"] == who]
    before = baseline.canaries if baseline else None
    if before is None and past:
        before = past[0]
    found = steadiness(tonight.grades, before.grades, rules.max_flip_rate) if before else None
    reasons = [reason for each in (*past, tonight) if before for reason in another(each, before, rules)]
    summaries = tuple(map(load_summary, earlier))
    new = tonight.served - before.served if before and before.served and not reasons else frozenset()
    return CanaryCheck(
        outcome,
        summaries,
        tonight,
        _flips(tonight),
        found,
        tuple(dict.fromkeys(reasons)),
        tuple(sorted(new)),
    )


def blind(check: CanaryCheck, baseline: Baseline) -> Iterator[str]:
    """That not one canary was graded tonight and at the baseline."""
    before = baseline.canaries.grades if baseline.canaries else {}
    if check.graded.grades and not check.graded.grades.keys() & before.keys():
        yield "no canary was graded at the baseline, too: a judge that drifts is known by its name alone"


def another(tonight: Graded, before: Graded, rules: NightlyConfig) -> Iterator[str]:
    """Why the judge that graded canaries tonight is another one than `before`."""
    found = steadiness(tonight.grades, before.grades, rules.max_flip_rate)
    moved = [*(drift(found, rules) if found else ()), *_unread(tonight, before, rules.max_missing)]
    # A name is accepted only where canaries were compared and show the same assessor.
    accepts = found is not None and not moved
    yield from _names(tonight, before, rules if accepts else None)
    yield from moved


def _names(tonight: Graded, before: Graded, rules: NightlyConfig | None) -> Iterator[str]:
    new = {name for name in tonight.served - before.served if rules is None or not rules.accepts(name)}
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
