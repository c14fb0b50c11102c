"""A month of nights: false alarms of the regression test, and the changes that it finds.

    python -m tests.fault_injection.month [--months 70] [--drops 300] [--queries 1000] [--seed N]
        [--no-loopback]

Two forms. The fast one simulates nights and puts them to the pure rules, to count rates: engines whose
results change by about a seventh a night, a judge that is off by a grade on 5 % of what it judges anew,
canaries of which a fifth waver. The whole one does 30 nights through `judge nightly`, over loopback:
quiet ones, an engine that gets worse, judge swaps, of which one is made the baseline, an outage, a night
that is killed three times.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from judge.config.nightly import NightlyConfig
from judge.nightly import job
from judge.nightly.assessor_drift import Grades, compare_grades, find_grade_drift
from judge.nightly.decision import Evidence, decide
from judge.nightly.record import RegressionOutcome
from judge.nightly.regression_test import decide_outcomes
from tests.fault_injection import table
from tests.fault_injection.table import Figure
from tests.unit.nightly import simulated
from tests.unit.nightly.projects import Judge, NightlyProject, nightly_project

NIGHTS = 30
DROP = 0.03
RULES = NightlyConfig()
#: Shares of the pairs to which the judge of a swap gives another grade than the one before.
SWAPS = np.linspace(0.25, 0.6, 30)


@dataclass
class Tally:
    """What came of the simulated nights."""

    quiet: int = 0
    regression_alarms: int = 0
    canaries: int = 0
    alarms: int = 0
    drops: int = 0
    caught: int = 0
    caught_alone: int = 0
    early: list[bool] = field(default_factory=list)
    swaps: int = 0
    turnover: float = 0.0


def rows(before: simulated.Night, now: simulated.Night, worse: float) -> tuple[RegressionOutcome, ...]:
    """The outcomes of the regression test when the first engine is `worse` tonight."""
    sides = simulated.measured(before, now, np.array([worse, 0.0, 0.0]))
    return decide_outcomes(tuple(simulated.changes(*sides)), (), RULES)


def blamed(result: tuple[RegressionOutcome, ...]) -> set[str]:
    """The engines that are called worse."""
    return {row.engine for row in result if row.verdict == "regression"}


def drifts(tonight: Grades, before: Grades) -> tuple[str, ...]:
    """Why the assessor is another one."""
    compared = compare_grades(tonight, before, RULES.max_flip_rate)
    return find_grade_drift(compared, RULES) if compared else ()


def quiet_month(rng: np.random.Generator, queries: int, tally: Tally) -> None:
    """Thirty nights on which nothing happens, against one baseline."""
    baseline = now = simulated.first(rng, queries)
    judge = simulated.grader(rng)
    before = judge.grades(rng, RULES.canary_repeats)
    for _ in range(NIGHTS):
        now = simulated.following(rng, now)
        is_alarm = bool(blamed(rows(baseline, now, 0.0)))
        changed = bool(drifts(judge.grades(rng, RULES.canary_repeats), before))
        tally.quiet += 1
        tally.regression_alarms += is_alarm
        tally.canaries += changed
        tally.alarms += is_alarm or changed
    tally.turnover = simulated.turnover(baseline, simulated.following(rng, baseline))


def drop_night(rng: np.random.Generator, queries: int, worse: float, tally: Tally) -> None:
    """A month in which the first engine gets worse on a night at random."""
    baseline = now = simulated.first(rng, queries)
    night = int(rng.integers(1, NIGHTS + 1))
    for _ in range(night):
        now = simulated.following(rng, now)
    who = blamed(rows(baseline, now, worse))
    tally.drops += 1
    tally.caught += simulated.ENGINES[0] in who
    tally.caught_alone += who == {simulated.ENGINES[0]}
    if night <= NIGHTS // 3:
        tally.early.append(simulated.ENGINES[0] in who)


def swap(rng: np.random.Generator, share: float, tally: Tally) -> bool:
    """Whether a swap is called assessor drift."""
    judge = simulated.grader(rng)
    before = judge.grades(rng, RULES.canary_repeats)
    reasons = drifts(judge.swapped(rng, share).grades(rng, RULES.canary_repeats), before)
    called = decide(Evidence(has_baseline=True, assessor_changes=reasons)).status == "assessor drift"
    tally.swaps += called
    return called


def simulate(months: int, drops: int, queries: int, seed: int) -> list[Figure]:
    """The fast form."""
    rng, tally = np.random.default_rng(seed), Tally()
    for _ in range(months):
        quiet_month(rng, queries, tally)
    worse = simulated.worsened(rng, DROP)
    for _ in range(drops):
        drop_night(rng, queries, worse, tally)
    for share in SWAPS:
        swap(rng, float(share), tally)
    weaker = {share: np.mean([swap(rng, share, Tally()) for _ in range(40)]) for share in (0.1, 0.15, 0.2)}
    least = 0.9 * tally.drops
    share_early = float(np.mean(tally.early)) if tally.early else float("nan")
    return [
        Figure("results that change a night", f"{tally.turnover:.1%}", "10-20 %", 0.1 < tally.turnover < 0.2),
        Figure("quiet nights", tally.quiet, "", ok=True),
        Figure("  alarms of the regression test", _share(tally.regression_alarms, tally.quiet), "", ok=True),
        Figure("  alarms of the canaries", _share(tally.canaries, tally.quiet), "", ok=True),
        Figure("  alarms", _share(tally.alarms, tally.quiet), "<= 2 %", tally.alarms <= 0.02 * tally.quiet),
        Figure(f"nights with a drop of {DROP} MAP", tally.drops, "", ok=True),
        Figure("  caught that night", _share(tally.caught, tally.drops), ">= 90 %", tally.caught >= least),
        Figure("  and no other engine blamed", _share(tally.caught_alone, tally.drops), "", ok=True),
        Figure("  caught in the first ten nights", f"{share_early:.1%}", "", ok=True),
        Figure("assessor swaps found", f"{tally.swaps}/{len(SWAPS)}", "all", tally.swaps == len(SWAPS)),
        *(
            Figure(f"  of swaps that change {share:.0%} of the grades", f"{rate:.0%}", "", ok=True)
            for share, rate in weaker.items()
        ),
    ]  # fmt: skip


def _share(some: int, all_: int) -> str:
    return f"{some / all_:.2%}" if all_ else "-"


#: The share of the grades that the judge changes which stays, and is made the baseline.
MOVED = 0.3
#: What happens on which night of the whole form, and what the night must come to.
EVENTS = {
    1: ("first", "no baseline"),
    8: ("drop", "regression"),
    13: ("swap", "assessor drift"),
    17: ("outage", "incomplete"),
    20: ("killed", "fine"),
    22: ("moved", "assessor drift"),
    26: ("renamed", "assessor drift"),
}


def month(folder: Path, queries: int, seed: int) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """Thirty nights through `judge nightly`: the number, what happened and the night's record."""
    moved = 0.0
    # A night of another judge becomes the baseline, so all of it is judged.
    with nightly_project(folder, {"judge_on_drift": "all"}, queries, seed, wire=True) as here:
        for number in range(1, NIGHTS + 1):
            event, _ = EVENTS.get(number, ("quiet", "fine"))
            yield number, event, one_night(here, event)
            moved = max(moved, MOVED if event == "moved" else 0.0)
            vars(here.judge).update(vars(Judge(swapped=moved)))
            if event in ("first", "moved"):
                job.set_baseline(here.nights / f"2026-05-{number:02}", here.nights)


def one_night(here: NightlyProject, event: str) -> dict[str, Any]:
    """The record of a night on which `event` happens."""
    if event in ("swap", "moved"):
        here.judge.swapped = 0.35 if event == "swap" else MOVED
    here.judge.served = "fake-2026-05" if event == "renamed" else "fake"
    day = here.dawn(worse=2.0 if event == "drop" else 0.0, edit=_outage if event == "outage" else None)
    if event == "killed":
        here.judge.delay = 0.05
        for calls in (30, 120, 60):
            kill(here, day, here.calls + calls)
        here.judge.delay = 0.0
    return here.night(day)


def kill(here: NightlyProject, day: str, calls: int) -> None:
    """Starts the night in a process of its own and kills it once the judge got so many requests."""
    words = [sys.executable, "-m", "judge", "nightly", str(here.toml), "--date", day]
    environ = {**os.environ, "OPENAI_API_KEY": "sk-none"}
    with subprocess.Popen(words, env=environ, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as child:
        while here.calls < calls:
            if child.poll() is not None:
                raise RuntimeError(f"the night was over before it was killed: exit code {child.returncode}")
            time.sleep(0.01)
        child.kill()


def _outage(row: dict[str, Any]) -> None:
    row["engines"]["birch"] = {"error": "HTTP 503"}


def whole(queries: int, seed: int) -> list[Figure]:
    """The whole form."""
    came: Counter[str] = Counter()
    wrong, innocent = [], 0
    with tempfile.TemporaryDirectory() as folder:
        for number, event, record in month(Path(folder), queries, seed):
            expected = EVENTS.get(number, ("quiet", "fine"))[1]
            came[record["status"]] += 1
            named = {
                row["engine"]
                for row in (record["regression_test"] or {"rows": ()})["rows"]
                if row["verdict"] == "regression"
            }
            innocent += named != ({simulated.ENGINES[0]} if event == "drop" else set())
            if record["status"] != expected:
                wrong.append(f"{number} ({event}): {record['status']}")
    return [
        Figure("nights through judge nightly", came.total(), str(NIGHTS), came.total() == NIGHTS),
        *(Figure(f"  {status}", count, "", ok=True) for status, count in sorted(came.items())),
        Figure("  that came to something else", "; ".join(wrong) or 0, "0", not wrong),
        Figure("  that blamed an innocent engine", innocent, "0", innocent == 0),
    ]


def main() -> int:
    """Lets the month pass and prints the figures; exit code 1 when one is missed."""
    parser = table.parser(__doc__)
    parser.add_argument("--months", type=int, default=70)
    parser.add_argument("--drops", type=int, default=300)
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--no-loopback", action="store_true")
    arguments = parser.parse_args()
    figures = simulate(arguments.months, arguments.drops, arguments.queries, arguments.seed)
    if not arguments.no_loopback:
        figures += whole(60, arguments.seed)
    return table.report(figures)


if __name__ == "__main__":
    sys.exit(main())
