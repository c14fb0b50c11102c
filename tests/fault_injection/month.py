"""Measure the false alarms and the power of nightly runs over a month.

    python -m tests.fault_injection.month [--months 70] [--drops 300] [--queries 1000] [--seed N]
        [--no-loopback]

There are two parts. The simulation applies the pure rules to simulated nights and counts rates: about a
seventh of an engine's results changes each night, the assessor errs by one grade on 5% of the new pairs, and
a fifth of the canaries get varying grades. The loopback part runs 30 nights with `judge nightly`: nights
without an event, an engine that gets worse, swaps of the assessor, of which one becomes the baseline, an
outage, and a night that is killed three times.
"""

import math
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from judge.config.nightly import NightlyConfig
from judge.nightly import job
from judge.nightly.assessor_drift import AT_BASELINE, Grades, compare_grades, find_grade_drift
from judge.nightly.decision import Evidence, decide
from judge.nightly.record import RegressionOutcome
from judge.nightly.regression_test import decide_outcomes
from tests.fault_injection import table
from tests.fault_injection.table import Figure
from tests.unit.nightly import simulated
from tests.unit.nightly.projects import Judge, NightlyProject, make_nightly_project

NIGHTS = 30
DROP = 0.03
RULES = NightlyConfig()
#: Shares of the pairs to which the assessor gives another grade after a swap.
SWAPS = np.linspace(0.25, 0.6, 30)


@dataclass
class Tally:
    """Counts over the simulated nights."""

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


def make_outcomes(before: simulated.Night, now: simulated.Night, worse: float) -> Sequence[RegressionOutcome]:
    """Return the outcomes of the regression test if the first engine is `worse` tonight."""
    sides = simulated.measure_nights(before, now, np.array([worse, 0.0, 0.0]))
    return decide_outcomes(tuple(simulated.iter_changes(*sides)), (), RULES)


def list_regressions(result: Sequence[RegressionOutcome]) -> set[str]:
    """Return the engines with a regression."""
    return {row.engine for row in result if row.outcome == "regression"}


def find_drift(tonight: Grades, before: Grades) -> tuple[str, ...]:
    """Return the reasons for which the assessor counts as another one."""
    compared = compare_grades(tonight, before, RULES.max_flip_rate)
    return tuple(find_grade_drift(compared, RULES, AT_BASELINE))


def simulate_quiet_month(rng: np.random.Generator, queries: int, tally: Tally) -> None:
    """Simulate thirty nights without an event against one baseline, and add them to `tally`."""
    baseline = now = simulated.draw_first_night(rng, queries)
    judge = simulated.make_grader(rng)
    before = judge.draw_grades(rng, RULES.canary_repeats)
    for _ in range(NIGHTS):
        now = simulated.draw_next_night(rng, now)
        is_alarm = bool(list_regressions(make_outcomes(baseline, now, 0.0)))
        changed = bool(find_drift(judge.draw_grades(rng, RULES.canary_repeats), before))
        tally.quiet += 1
        tally.regression_alarms += is_alarm
        tally.canaries += changed
        tally.alarms += is_alarm or changed
    tally.turnover = simulated.measure_turnover(baseline, simulated.draw_next_night(rng, baseline))


def drop_night(rng: np.random.Generator, queries: int, worse: float, tally: Tally) -> None:
    """Simulate nights until the first engine gets worse at a random night, and add that to `tally`."""
    baseline = now = simulated.draw_first_night(rng, queries)
    night = int(rng.integers(1, NIGHTS + 1))
    for _ in range(night):
        now = simulated.draw_next_night(rng, now)
    regressions = list_regressions(make_outcomes(baseline, now, worse))
    tally.drops += 1
    tally.caught += simulated.ENGINES[0] in regressions
    tally.caught_alone += regressions == {simulated.ENGINES[0]}
    if night <= NIGHTS // 3:
        tally.early.append(simulated.ENGINES[0] in regressions)


def swap(rng: np.random.Generator, share: float, tally: Tally) -> bool:
    """Swap the assessor, add the result to `tally` and return whether the rules find assessor drift."""
    judge = simulated.make_grader(rng)
    before = judge.draw_grades(rng, RULES.canary_repeats)
    reasons = find_drift(judge.swap_grades(rng, share).draw_grades(rng, RULES.canary_repeats), before)
    is_drift = decide(Evidence(has_baseline=True, assessor_changes=reasons)).status == "assessor drift"
    tally.swaps += is_drift
    return is_drift


def simulate(months: int, drops: int, queries: int, seed: int) -> list[Figure]:
    """Simulate nights and return the figures."""
    rng, tally = np.random.default_rng(seed), Tally()
    for _ in range(months):
        simulate_quiet_month(rng, queries, tally)
    worse = simulated.find_noise(rng, DROP)
    for _ in range(drops):
        drop_night(rng, queries, worse, tally)
    for share in SWAPS:
        swap(rng, float(share), tally)
    weaker = {share: np.mean([swap(rng, share, Tally()) for _ in range(40)]) for share in (0.1, 0.15, 0.2)}
    least = 0.9 * tally.drops
    share_early = float(np.mean(tally.early)) if tally.early else float("nan")
    return [
        Figure("results that change a night", f"{tally.turnover:.1%}", "10-20%", 0.1 < tally.turnover < 0.2),
        Figure("nights without an event", tally.quiet),
        Figure("  alarms of the regression test", _format(tally.regression_alarms, tally.quiet)),
        Figure("  alarms of the canaries", _format(tally.canaries, tally.quiet)),
        Figure("  alarms", _format(tally.alarms, tally.quiet), "<= 2%", tally.alarms <= 0.02 * tally.quiet),
        Figure(f"nights with a drop of {DROP} MAP", tally.drops),
        Figure("  caught that night", _format(tally.caught, tally.drops), ">= 90%", tally.caught >= least),
        Figure("  without an alarm for another engine", _format(tally.caught_alone, tally.drops)),
        Figure("  caught in the first ten nights", f"{share_early:.1%}"),
        Figure("assessor swaps found", f"{tally.swaps}/{len(SWAPS)}", "all", tally.swaps == len(SWAPS)),
        *(
            Figure(f"  of swaps that change {share:.0%} of the grades", f"{rate:.0%}")
            for share, rate in weaker.items()
        ),
    ]  # fmt: skip


def _format(some: int, all_: int) -> str:
    return f"{some / all_:.2%}" if all_ else "-"


#: The share of the grades that the swap changes whose night becomes the baseline.
BASELINE_SWAP = 0.3
#: The event of a night of the loopback part, and the status that the night must have.
EVENTS = {
    1: ("first", "no baseline"),
    8: ("drop", "regression"),
    13: ("swap", "assessor drift"),
    17: ("outage", "incomplete"),
    20: ("killed", "fine"),
    22: ("moved", "assessor drift"),
    26: ("renamed", "assessor drift"),
}


def run_month(folder: Path, queries: int, seed: int) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """Run thirty nights with `judge nightly`; yield the number, the event and the record of each."""
    swapped = 0.0
    # A night of another assessor becomes the baseline, so all of its pairs are judged.
    with make_nightly_project(folder, {"judge_on_drift": "all"}, queries, seed, wire=True) as project:
        for number in range(1, NIGHTS + 1):
            event, _ = EVENTS.get(number, ("quiet", "fine"))
            yield number, event, run_night(project, event)
            swapped = max(swapped, BASELINE_SWAP if event == "moved" else 0.0)
            vars(project.judge).update(vars(Judge(swapped=swapped)))
            if event in ("first", "moved"):
                job.set_baseline(project.nights / f"2026-05-{number:02}", project.nights)


def run_night(project: NightlyProject, event: str) -> dict[str, Any]:
    """Run a night with `event` and return its record."""
    if event in ("swap", "moved"):
        project.judge.swapped = 0.35 if event == "swap" else BASELINE_SWAP
    project.judge.served = "fake-2026-05" if event == "renamed" else "fake"
    day = project.begin_day(
        worse=2.0 if event == "drop" else 0.0, edit=_add_outage if event == "outage" else None
    )
    if event == "killed":
        for calls in (30, 120, 60):
            kill(project, day, project.calls + calls)
        project.judge.last = math.inf
    return project.run_night(day)


def kill(project: NightlyProject, day: str, calls: int) -> None:
    """Start the night in a process of its own and kill it as soon as the model got this many requests.

    The model does not answer the last of them, so that the night does not end before.
    """
    project.judge.last = calls - 1
    words = [sys.executable, "-m", "judge", "nightly", str(project.toml), "--date", day]
    environ = {**os.environ, "OPENAI_API_KEY": "sk-none"}
    with subprocess.Popen(words, env=environ, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as child:
        while project.calls < calls:
            if child.poll() is not None:
                raise RuntimeError(f"the night ended before the kill with exit code {child.returncode}")
            time.sleep(0.01)
        child.kill()


def _add_outage(row: dict[str, Any]) -> None:
    row["engines"]["birch"] = {"error": "HTTP 503"}


def run_nightly_commands(queries: int, seed: int) -> list[Figure]:
    """Run the loopback part and return the figures."""
    statuses: Counter[str] = Counter()
    wrong, wrong_regressions = [], 0
    with tempfile.TemporaryDirectory() as folder:
        for number, event, record in run_month(Path(folder), queries, seed):
            expected = EVENTS.get(number, ("quiet", "fine"))[1]
            statuses[record["status"]] += 1
            regressions = {
                row["engine"]
                for row in (record["regression_test"] or {"rows": ()})["rows"]
                if row["outcome"] == "regression"
            }
            wrong_regressions += regressions != ({simulated.ENGINES[0]} if event == "drop" else set())
            if record["status"] != expected:
                wrong.append(f"{number} ({event}): {record['status']}")
    return [
        Figure.expect_equal("nights of judge nightly", statuses.total(), NIGHTS),
        *(Figure(f"  {status}", count) for status, count in sorted(statuses.items())),
        Figure("  with another status than expected", "; ".join(wrong) or 0, "0", not wrong),
        Figure.expect_equal("  with a wrong list of regressions", wrong_regressions, 0),
    ]


def main() -> int:
    """Run both parts and print the figures; return 1 if one misses its target."""
    parser = table.make_parser(__doc__)
    parser.add_argument("--months", type=int, default=70)
    parser.add_argument("--drops", type=int, default=300)
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--no-loopback", action="store_true")
    arguments = parser.parse_args()
    figures = simulate(arguments.months, arguments.drops, arguments.queries, arguments.seed)
    if not arguments.no_loopback:
        figures += run_nightly_commands(60, arguments.seed)
    return table.print_figures(figures)


if __name__ == "__main__":
    sys.exit(main())
