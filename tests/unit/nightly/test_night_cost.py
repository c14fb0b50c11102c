"""The cost of a night: its own calls, of all its starts, and no other night's."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from judge.errors import Interrupted, StoreError
from tests.support.fake_server import ChatRequest, Reply
from tests.unit.nightly.projects import RULES, Judge, NightlyProject, freeze, reworded

#: A reply takes 100 tokens in and 10 out, so that each call costs 0.0011 dollars at these prices.
PRICES = "price = [10.0, 10.0]"


def test_every_night_pays_its_own_calls(here: NightlyProject) -> None:
    here.configure(RULES, PRICES)
    for _ in range(2):
        before = here.calls
        record = here.night(here.dawn())
        made = here.calls - before
        assert record["cost_total"]["calls"] == made
        assert record["cost_total"]["prompt_tokens"] == 100 * made
        assert record["cost_total"]["usd"] == pytest.approx(0.0011 * made)
    # Verdicts of nights before are worth more than tonight's bill.
    assert record["cost"]["calls"] > record["cost_total"]["calls"] >= 128


def test_a_night_that_was_gone_on_with_pays_for_all_of_its_starts(here: NightlyProject) -> None:
    freeze(here)
    before = here.calls
    day = here.dawn(edit=reworded)
    for most in (100, 150, 1000):
        here.configure(RULES, f"{PRICES}\nmax_calls = {most}")
        record = here.night(day)
        assert record["cost_total"]["calls"] == here.calls - before
    assert record["status"] == "fine"
    assert record["cost_total"]["usd"] == pytest.approx(0.0011 * (here.calls - before))


def test_a_start_that_ended_without_a_record_is_paid_by_the_next(here: NightlyProject) -> None:
    freeze(here)
    here.configure(RULES, PRICES)
    before = here.calls
    day = here.dawn(edit=reworded)
    in_the_way = here.nights / f".verdicts.{day}.sqlite.part"
    in_the_way.mkdir()
    with pytest.raises(StoreError):
        here.night(day)
    in_the_way.rmdir()
    lost = here.calls - before
    assert lost >= 128
    record = here.night(day)
    assert record["cost_total"]["calls"] == here.calls - before > lost


@pytest.mark.slow
def test_a_run_that_was_interrupted_is_paid_by_the_next(here: NightlyProject) -> None:
    freeze(here)
    here.configure(RULES, PRICES)
    before = here.calls
    day = here.dawn(edit=reworded)
    answer = type(here.judge).answer

    def impatient(judge: Judge, request: ChatRequest) -> Reply:
        if here.calls - before == 140:
            os.kill(os.getpid(), signal.SIGINT)
        return answer(judge, request)

    here.judge.__class__ = type("Impatient", (Judge,), {"answer": impatient})
    with pytest.raises(Interrupted):
        here.night(day)
    record = here.night(day)
    assert (record["status"], record["cost_total"]["calls"]) == ("fine", here.calls - before)


def test_a_finished_night_pays_nothing_more(small: NightlyProject) -> None:
    day = small.dawn()
    paid = small.night(day)["cost_total"]
    assert small.night(day)["cost_total"] == paid


@pytest.mark.slow
def test_drifted_judges_are_paid_on_the_night_that_asked_them(here: NightlyProject) -> None:
    freeze(here)
    here.configure(RULES, PRICES)
    here.judge.swapped = 0.5
    for _ in range(2):
        before = here.calls
        record = here.night(here.dawn())
        assert (record["status"], record["cost_total"]["calls"]) == ("assessor drift", here.calls - before)


def test_members_of_a_panel_have_prices_of_their_own(here: NightlyProject, tmp_path: Path) -> None:
    prices = tmp_path / "prices.toml"
    rows = (
        f'[[prices]]\nmodels = ["{name}"]\nendpoint = "*"\ninput = {usd}\noutput = {usd}\n'
        f'as_of = 2026-01-01\nsource = "us"\n'
        for name, usd in (("fake", 10.0), ("other", 20.0))
    )
    prices.write_text("\n".join(rows), encoding="utf-8")
    here.configure(RULES, f'panel = ["fake:other"]\nprices = "{prices}"')
    record = here.night(here.dawn())
    assert record["cost_total"]["calls"] == here.calls
    assert record["cost_total"]["usd"] == pytest.approx(0.0011 * here.calls * 1.5)
