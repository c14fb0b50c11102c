"""The cost of a night: its own calls, of all its starts, and no other night's."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from judge.errors import Interrupted, StoreError
from tests.support.fake_server import ChatRequest, Reply
from tests.unit.nightly.projects import RULES, Judge, NightlyProject, freeze, reword_snippets

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
    in_the_way = project.nights / f".verdicts.{day}.sqlite.part"
    in_the_way.mkdir()
    with pytest.raises(StoreError):
        project.run_night(day)
    in_the_way.rmdir()
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
    with pytest.raises(Interrupted):
        project.run_night(day)
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
