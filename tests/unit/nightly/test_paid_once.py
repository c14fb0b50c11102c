"""What nights pay for is paid once, and never for the verdicts of two assessors in one."""

from __future__ import annotations

import json
import shutil
import subprocess
import time

import pytest

from judge.nightly import job
from tests.cli.test_nightly import count_verdicts, make_nightly_arguments
from tests.unit.nightly.projects import RULES, NightlyProject, freeze, reword_snippets


def repeat_day(project: NightlyProject, day: str) -> str:
    """Begin the next day, on which engines return the results of `day`."""
    next_day = project.begin_day()
    shutil.copy(project.folder / f"{day}.jsonl", project.folder / f"{next_day}.jsonl")
    return next_day


# --- what an incomplete night paid for


def test_what_a_night_bought_before_its_limit_is_there_for_the_next(project: NightlyProject) -> None:
    freeze(project)
    project.configure(RULES, "max_calls = 158")
    first = project.begin_day(edit=reword_snippets)
    cut = project.run_night(first)
    assert (cut["status"], cut["judged"] > 0) == ("incomplete", True)
    second = repeat_day(project, first)
    before = project.calls
    again = project.run_night(second)
    assert project.calls - before == again["cost_total"]["calls"] == 158
    # 30 a night, and never the same ones.
    assert again["judged"] == cut["judged"] + 30


def test_a_night_that_goes_on_takes_what_another_has_bought_since(project: NightlyProject) -> None:
    freeze(project)
    project.configure(RULES, "max_calls = 158")
    first = project.begin_day(edit=reword_snippets)
    project.run_night(first)
    project.configure(RULES)
    assert project.run_night(repeat_day(project, first))["status"] == "fine"
    before = project.calls
    done = project.run_night(first)
    assert (done["status"], done["coverage"]) == ("fine", 1.0)
    assert project.calls == before


@pytest.mark.slow
def test_a_night_that_was_killed_takes_what_another_has_bought_since(served_project: NightlyProject) -> None:
    freeze(served_project)
    first = served_project.begin_day(edit=reword_snippets)
    kill(served_project, first, 140)
    assert served_project.run_night(repeat_day(served_project, first))["status"] == "fine"
    before = served_project.calls
    done = served_project.run_night(first)
    assert (done["status"], done["coverage"]) == ("fine", 1.0)
    assert (
        served_project.calls - before <= 128
    )  # the canaries, for it has the verdicts of the assessor that began it


@pytest.mark.slow
def test_an_assessor_that_drifted_shares_nothing_of_a_night_that_was_cut_short(
    project: NightlyProject,
) -> None:
    freeze(project)
    known = count_verdicts(project.nights / "verdicts.sqlite")
    project.judge.swapped = 0.5
    project.configure(RULES, "max_calls = 158")
    record = project.run_night(project.begin_day(edit=reword_snippets))
    assert (record["status"], record["finished"]) == ("assessor drift", False)
    assert count_verdicts(project.nights / "verdicts.sqlite") == known


# --- canaries that were begun by another assessor


def kill(project: NightlyProject, day: str, calls: int) -> None:
    """Starts the night of `day` as a process and kills it after this many calls."""
    before, delay = project.calls, project.judge.delay
    project.judge.delay = 0.3
    with subprocess.Popen(**make_nightly_arguments(project, day)) as child:
        deadline = time.monotonic() + 300
        while project.calls < before + calls:
            assert child.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.01)
        child.kill()
    project.judge.delay = delay


def test_canaries_that_another_assessor_began_are_asked_anew(served_project: NightlyProject) -> None:
    freeze(served_project)
    day = served_project.begin_day()
    kill(served_project, day, 120)
    served_project.judge.swapped = 0.4
    before = served_project.calls
    record = served_project.run_night(day)
    assert record["status"] == "assessor drift"
    assert served_project.calls - before == 128 + record["judgments"]
    # What was asked in vain was paid for, too: all that was answered before the kill.
    assert record["cost_total"]["calls"] >= 40 + 128 + record["judgments"]


@pytest.mark.slow
def test_canaries_that_a_limit_cut_short_are_asked_anew(project: NightlyProject) -> None:
    freeze(project)
    project.configure(RULES, "max_calls = 100")
    day = project.begin_day()
    assert project.run_night(day)["status"] == "incomplete"
    project.configure(RULES)
    project.judge.swapped = 0.4
    record = project.run_night(day)
    assert (record["status"], record["canaries"]["judged"]) == ("assessor drift", 128)
    assert record["cost_total"]["calls"] == 100 + 128 + record["judgments"]


# --- verdicts that were kept apart


def test_what_was_kept_apart_stays_until_a_baseline_is_set(project: NightlyProject) -> None:
    freeze(project)
    project.judge.swapped = 0.4
    drifted = project.begin_day()
    record = project.run_night(drifted)
    quarantined = project.nights / drifted / record["quarantined_store"]
    assert any(quarantined.name in each for each in record["remarks"])
    project.judge.swapped = 0.0
    assert project.run_night(project.begin_day())["status"] == "fine"
    assert count_verdicts(quarantined) == record["judged"]
    job.set_baseline(project.nights / drifted, project.nights)
    project.judge.swapped = 0.4
    assert project.run_night(project.begin_day())["status"] == "fine"
    assert not quarantined.exists()


@pytest.mark.slow
def test_what_was_kept_apart_goes_when_another_night_is_made_the_baseline(project: NightlyProject) -> None:
    freeze(project)
    project.judge.swapped = 0.4
    drifted = project.begin_day()
    quarantined = project.nights / drifted / project.run_night(drifted)["quarantined_store"]
    project.judge.swapped = 0.0
    fine = project.begin_day()
    project.run_night(fine)
    job.set_baseline(project.nights / fine, project.nights)
    assert not quarantined.exists()
    assert json.loads(project.read_file(drifted))["quarantined_store"]
