"""What nights pay for is paid once, and never for the verdicts of two judges in one."""

from __future__ import annotations

import json
import shutil
import subprocess
import time

import pytest

from judge.nightly import job
from tests.cli.test_nightly import nightly, verdicts
from tests.unit.nightly.projects import RULES, NightlyProject, freeze, reworded


def same_again(here: NightlyProject, day: str) -> str:
    """Begin the next day, on which engines return the results of `day`."""
    next_day = here.dawn()
    shutil.copy(here.folder / f"{day}.jsonl", here.folder / f"{next_day}.jsonl")
    return next_day


# --- what an incomplete night paid for


def test_what_a_night_bought_before_its_limit_is_there_for_the_next(here: NightlyProject) -> None:
    freeze(here)
    here.configure(RULES, "max_calls = 158")
    first = here.dawn(edit=reworded)
    cut = here.night(first)
    assert (cut["status"], cut["judged"] > 0) == ("incomplete", True)
    second = same_again(here, first)
    before = here.calls
    again = here.night(second)
    assert here.calls - before == again["cost_total"]["calls"] == 158
    # 30 a night, and never the same ones.
    assert again["judged"] == cut["judged"] + 30


def test_a_night_that_goes_on_takes_what_another_has_bought_since(here: NightlyProject) -> None:
    freeze(here)
    here.configure(RULES, "max_calls = 158")
    first = here.dawn(edit=reworded)
    here.night(first)
    here.configure(RULES)
    assert here.night(same_again(here, first))["status"] == "fine"
    before = here.calls
    done = here.night(first)
    assert (done["status"], done["coverage"]) == ("fine", 1.0)
    assert here.calls == before


@pytest.mark.slow
def test_a_night_that_was_killed_takes_what_another_has_bought_since(wired: NightlyProject) -> None:
    freeze(wired)
    first = wired.dawn(edit=reworded)
    kill(wired, first, 140)
    assert wired.night(same_again(wired, first))["status"] == "fine"
    before = wired.calls
    done = wired.night(first)
    assert (done["status"], done["coverage"]) == ("fine", 1.0)
    assert wired.calls - before <= 128  # the canaries, for it has the verdicts of the judge that began it


@pytest.mark.slow
def test_a_judge_that_drifted_shares_nothing_of_a_night_that_was_cut_short(here: NightlyProject) -> None:
    freeze(here)
    known = verdicts(here.nights / "verdicts.sqlite")
    here.judge.swapped = 0.5
    here.configure(RULES, "max_calls = 158")
    record = here.night(here.dawn(edit=reworded))
    assert (record["status"], record["finished"]) == ("assessor drift", False)
    assert verdicts(here.nights / "verdicts.sqlite") == known


# --- canaries that were begun by another judge


def kill(here: NightlyProject, day: str, calls: int) -> None:
    """Starts the night of `day` as a process and kills it after so many calls."""
    before, delay = here.calls, here.judge.delay
    here.judge.delay = 0.3
    with subprocess.Popen(**nightly(here, day)) as child:
        deadline = time.monotonic() + 300
        while here.calls < before + calls:
            assert child.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.01)
        child.kill()
    here.judge.delay = delay


def test_canaries_that_another_judge_began_are_asked_anew(wired: NightlyProject) -> None:
    freeze(wired)
    day = wired.dawn()
    kill(wired, day, 120)
    wired.judge.swapped = 0.4
    before = wired.calls
    record = wired.night(day)
    assert record["status"] == "assessor drift"
    assert wired.calls - before == 128 + record["judgments"]
    # What was asked in vain was paid for, too: all that was answered before the kill.
    assert record["cost_total"]["calls"] >= 40 + 128 + record["judgments"]


@pytest.mark.slow
def test_canaries_that_a_limit_cut_short_are_asked_anew(here: NightlyProject) -> None:
    freeze(here)
    here.configure(RULES, "max_calls = 100")
    day = here.dawn()
    assert here.night(day)["status"] == "incomplete"
    here.configure(RULES)
    here.judge.swapped = 0.4
    record = here.night(day)
    assert (record["status"], record["canaries"]["judged"]) == ("assessor drift", 128)
    assert record["cost_total"]["calls"] == 100 + 128 + record["judgments"]


# --- verdicts that were kept apart


def test_what_was_kept_apart_stays_until_a_baseline_is_set(here: NightlyProject) -> None:
    freeze(here)
    here.judge.swapped = 0.4
    drifted = here.dawn()
    record = here.night(drifted)
    quarantined = here.nights / drifted / record["quarantined_store"]
    assert any(quarantined.name in each for each in record["remarks"])
    here.judge.swapped = 0.0
    assert here.night(here.dawn())["status"] == "fine"
    assert verdicts(quarantined) == record["judged"]
    job.set_baseline(here.nights / drifted, here.nights)
    here.judge.swapped = 0.4
    assert here.night(here.dawn())["status"] == "fine"
    assert not quarantined.exists()


@pytest.mark.slow
def test_what_was_kept_apart_goes_when_another_night_is_made_the_baseline(here: NightlyProject) -> None:
    freeze(here)
    here.judge.swapped = 0.4
    drifted = here.dawn()
    quarantined = here.nights / drifted / here.night(drifted)["quarantined_store"]
    here.judge.swapped = 0.0
    fine = here.dawn()
    here.night(fine)
    job.set_baseline(here.nights / fine, here.nights)
    assert not quarantined.exists()
    assert json.loads(here.file(drifted))["quarantined_store"]
