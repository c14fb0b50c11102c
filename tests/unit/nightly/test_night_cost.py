"""The cost of a night: its calls, of all its starts, paid once and never for verdicts of two assessors."""

import json
import math
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from judge.errors import Interrupted
from judge.nightly import job
from tests.cli.test_nightly import count_verdicts, make_nightly_arguments
from tests.support.fake_server import ChatRequest, Reply
from tests.unit.nightly.projects import (
    RULES,
    Judge,
    NightlyProject,
    freeze,
    make_calls_older,
    reword_snippets,
)

#: A reply takes 100 tokens in and 10 out, so that each call costs 0.0011 dollars at these prices.
PRICES = "price = [10.0, 10.0]"


def test_every_night_pays_its_own_calls(project: NightlyProject) -> None:
    project.configure(RULES, PRICES)
    for _ in range(2):
        before = project.calls
        record = project.run_night(project.begin_day())
        made = project.calls - before
        assert record["cost_total"]["calls"] == made
        assert record["cost_total"]["prompt_tokens"] == 100 * made
        assert record["cost_total"]["usd"] == pytest.approx(0.0011 * made)
    # Verdicts of nights before are worth more than tonight's bill.
    assert record["cost"]["calls"] > record["cost_total"]["calls"] >= 128


def test_a_night_that_was_gone_on_with_pays_for_all_of_its_starts(project: NightlyProject) -> None:
    freeze(project)
    before = project.calls
    day = project.begin_day(edit=reword_snippets)
    for most in (100, 150, 1000):
        project.configure(RULES, f"{PRICES}\nmax_calls = {most}")
        record = project.run_night(day)
        assert record["cost_total"]["calls"] == project.calls - before
    assert record["status"] == "fine"
    assert record["cost_total"]["usd"] == pytest.approx(0.0011 * (project.calls - before))


def test_a_start_that_ended_without_a_record_is_paid_by_the_next(project: NightlyProject) -> None:
    freeze(project)
    project.configure(RULES, PRICES)
    before = project.calls
    day = project.begin_day(edit=reword_snippets)
    project.fail_after_canaries(day)
    lost = project.calls - before
    assert lost >= 128
    record = project.run_night(day)
    assert record["cost_total"]["calls"] == project.calls - before > lost


@pytest.mark.slow
def test_a_run_that_was_interrupted_is_paid_by_the_next(project: NightlyProject) -> None:
    freeze(project)
    project.configure(RULES, PRICES)
    before = project.calls
    day = project.begin_day(edit=reword_snippets)
    answer = type(project.judge).answer

    def interrupt_once(judge: Judge, request: ChatRequest) -> Reply:
        if project.calls - before == 140:
            os.kill(os.getpid(), signal.SIGINT)
        return answer(judge, request)

    project.judge.__class__ = type("Impatient", (Judge,), {"answer": interrupt_once})
    with pytest.raises(Interrupted) as interrupted:
        project.run_night(day)
    assert str(interrupted.value) == (
        "interrupted; all answers and judgments are saved; to continue this night: "
        + project.get_command(day)
    )
    record = project.run_night(day)
    assert (record["status"], record["cost_total"]["calls"]) == ("fine", project.calls - before)


def test_a_finished_night_pays_nothing_more(small_project: NightlyProject) -> None:
    day = small_project.begin_day()
    paid = small_project.run_night(day)["cost_total"]
    assert small_project.run_night(day)["cost_total"] == paid


@pytest.mark.slow
def test_drifted_judges_are_paid_on_the_night_that_asked_them(project: NightlyProject) -> None:
    freeze(project)
    project.configure(RULES, PRICES)
    project.judge.swapped = 0.5
    for _ in range(2):
        before = project.calls
        record = project.run_night(project.begin_day())
        assert (record["status"], record["cost_total"]["calls"]) == ("assessor drift", project.calls - before)


def test_members_of_a_panel_have_prices_of_their_own(project: NightlyProject, tmp_path: Path) -> None:
    prices = tmp_path / "prices.toml"
    rows = (
        f'[[prices]]\nmodels = ["{name}"]\nendpoint = "*"\ninput = {usd}\noutput = {usd}\n'
        f'as_of = 2026-01-01\nsource = "us"\n'
        for name, usd in (("fake", 10.0), ("other", 20.0))
    )
    prices.write_text("\n".join(rows), encoding="utf-8")
    project.configure(RULES, f'panel = ["fake:other"]\nprices = "{prices}"')
    record = project.run_night(project.begin_day())
    assert record["cost_total"]["calls"] == project.calls
    assert record["cost_total"]["usd"] == pytest.approx(0.0011 * project.calls * 1.5)


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
    """Starts the night of `day` as a process and kills it after this many calls, the last without a reply."""
    before = project.calls
    project.judge.last = before + calls - 1
    with subprocess.Popen(**make_nightly_arguments(project, day)) as child:
        deadline = time.monotonic() + 300
        while project.calls < before + calls:
            assert child.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.01)
        child.kill()
    project.judge.last = math.inf


def test_canaries_that_another_assessor_began_are_asked_anew(served_project: NightlyProject) -> None:
    freeze(served_project)
    day = served_project.begin_day()
    kill(served_project, day, 120)
    make_calls_older(served_project.nights / day / "canaries" / "verdicts.sqlite")
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
