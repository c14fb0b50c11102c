"""Nights that end early: at drift, at a limit, at a renamed field, at a day before the baseline."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from judge.cli.main import app
from judge.config.nightly import NightlyConfig
from judge.errors import InputError
from judge.nightly import baseline, job
from judge.nightly.assessor_drift import CanaryGrades, find_assessor_changes
from tests.unit.nightly.projects import RULES, NightlyProject, freeze, make_nightly_project, reword_snippets

STOP = {**RULES, "judge_on_drift": "stop"}
#: 64 canaries, each twice.
CANARY_CALLS = 128


def test_a_night_of_drift_pays_for_its_canaries_alone(project: NightlyProject) -> None:
    freeze(project)
    project.configure(STOP)
    project.judge.swapped = 0.5
    day, before = project.begin_day(edit=reword_snippets), project.calls
    record = project.run_night(day)
    assert (record["status"], record["exit"], record["stopped"]) == ("assessor drift", 3, True)
    assert (record["finished"], record["complete"], record["missing"]) == (True, False, [])
    assert (project.calls - before, record["cost_total"]["calls"], record["judged"]) == (
        CANARY_CALLS,
        CANARY_CALLS,
        None,
    )
    assert (
        f'set judge_on_drift = "all" in [nightly], run {project.get_command(day)}, then judge baseline set'
        in record["reasons"][-1]
    )
    refusal = (
        r"stopped after the canaries.*judge_on_drift = .all.*, run judge nightly with its --date, and set"
    )
    with pytest.raises(InputError, match=refusal):
        job.set_baseline(project.nights / day, project.nights)
    # So the advice about a lost baseline names another night.
    pointer = project.nights / "baseline" / "baseline.json"
    saved = pointer.read_bytes()
    pointer.unlink()
    with pytest.raises(InputError, match=f"baseline set {re.escape(str(project.nights))}/(?!{day})[0-9]"):
        baseline.show_baseline(project.nights)
    pointer.write_bytes(saved)
    # The same command again costs nothing, and with the other rule judges the rest of the night.
    again = job.run_nightly(project.toml, day)
    assert (again.record.status, project.calls - before) == ("assessor drift", CANARY_CALLS)
    assert not any("is finished" in line for line in again.lines)
    project.configure(RULES)
    final = project.run_night(day)
    assert (final["status"], final["coverage"]) == ("assessor drift", 1.0)
    assert (final["finished"], final["complete"], final["stopped"]) == (True, True, False)
    job.set_baseline(project.nights / day, project.nights)
    assert project.run_night(project.begin_day())["status"] == "fine"


def test_the_canaries_of_the_start_that_judges_the_night_decide(project: NightlyProject) -> None:
    freeze(project)
    project.configure(STOP)
    project.judge.swapped = 0.5
    day, before = project.begin_day(), project.calls
    assert project.run_night(day)["status"] == "assessor drift"
    project.judge.swapped = 0.0
    project.configure(RULES)
    record = project.run_night(day)
    assert (record["status"], record["canaries"]["drift"], record["reasons"]) == ("fine", False, [])
    assert project.calls - before == record["cost_total"]["calls"] > 2 * CANARY_CALLS


def test_the_report_of_an_earlier_start_has_the_status_of_the_night(project: NightlyProject) -> None:
    freeze(project)
    project.configure(STOP, f"max_calls = {CANARY_CALLS + 2}")
    day = project.begin_day(edit=reword_snippets)
    early = project.run_night(day)
    assert (early["status"], early["judged"]) == ("incomplete", 2)
    assert early["reasons"][0].endswith(
        f"or raise it; each start judges the canaries again, with {CANARY_CALLS} calls"
        f"; to continue this night: {project.get_command(day)}"
    )
    project.configure(STOP)
    project.judge.swapped = 0.5
    record = project.run_night(day)
    assert (record["status"], record["stopped"]) == ("assessor drift", True)
    assert f"{day}: assessor drift.".encode() in project.read_file(day, "report.html")


def test_other_options_are_judged_in_full_for_they_are_to_be_the_baseline(project: NightlyProject) -> None:
    freeze(project)
    project.configure(STOP, "temperature = 0.7")
    project.judge.served = "fake-2"
    record = project.run_night(project.begin_day())
    assert (record["status"], record["coverage"], record["stopped"]) == ("assessor drift", 1.0, False)
    # To accept the name would not end the drift.
    change = "the served model changed: the server names fake-2 now, fake at the baseline"
    named = [reason for reason in record["reasons"] if "fake-2" in reason]
    assert [reason.partition("; to accept")[0] for reason in named] == [change]


def test_a_new_name_of_the_model_is_accepted_by_rule_while_no_canary_moves(project: NightlyProject) -> None:
    freeze(project)
    project.configure({**STOP, "accept_names": ["fake-2", "fake-2026-*"]})
    for name, status in (("fake-2026-05", "fine"), ("fake-3", "assessor drift")):
        project.judge.served = name
        record = project.run_night(project.begin_day(edit=reword_snippets))
        assert (record["status"], record["served"]) == (status, [name])
        assert any("accept_names" in each for each in record["remarks"]) == (status == "fine")
    project.judge.served, project.judge.swapped = "fake-2", 0.5
    record = project.run_night(project.begin_day())
    assert "the served model changed: the server names fake-2" in record["reasons"][0]


def test_a_name_is_accepted_only_when_canaries_were_compared() -> None:
    rules = NightlyConfig(accept_names=("new-*",))
    grades = {("q", str(at)): [at % 4] * 3 for at in range(64)}
    before = CanaryGrades(grades, frozenset({"old"}), 192, 192, 0)
    same = replace(before, served=frozenset({"new-1"}))
    assert find_assessor_changes(same, before, rules)[1] == []
    for accepted, names in (((), '"new-1"'), (("old-*",), '"old-*", "new-1"')):
        _, [change] = find_assessor_changes(same, before, NightlyConfig(accept_names=accepted))
        assert f"to accept the name, set accept_names = [{names}] in [nightly]" in change
    assert len(find_assessor_changes(replace(same, grades={}), before, rules)[1]) == 1
    assert len(find_assessor_changes(replace(same, unreadable=96), before, rules)[1]) == 2


@pytest.mark.parametrize(
    ("limit", "problem"),
    [
        (
            "max_calls = 100",
            f"is too small for the canaries (100 of {CANARY_CALLS} judged); raise it",
        ),
        (
            f"max_calls = {CANARY_CALLS}",
            "covers the canaries alone, which each start judges again; raise it",
        ),
        (  # a call costs 110 tokens
            f"budget = {CANARY_CALLS * 0.00011}\nprice = [1.0, 1.0]",
            "covers the canaries alone, which each start judges again; raise it",
        ),
    ],
)
def test_a_limit_that_is_used_up_is_not_an_assessor_that_is_away(
    limit: str, problem: str, small_project: NightlyProject
) -> None:
    small_project.configure(RULES, limit)
    day = small_project.begin_day()
    record = small_project.run_night(day)
    assert (record["status"], record["exit"]) == ("incomplete", 3)
    text = record["reasons"][0]
    assert "did not answer" not in text
    assert text == (
        f"max_calls or budget in {small_project.toml} {problem}, or lower canary_repeats in [nightly];"
        f" to continue this night: {small_project.get_command(day)}"
    )


def test_a_renamed_field_ends_a_night_before_anything_is_judged(project: NightlyProject) -> None:
    freeze(project)

    def lose_texts(row: dict[str, Any]) -> None:
        for result in row["engines"]["birch"]:
            result |= {"title": f"title of {result['snippet']}", "snippet": ""}

    before = project.calls
    day = project.begin_day(edit=lose_texts)
    record = project.run_night(day)
    assert (record["status"], record["exit"], project.calls) == ("incomplete", 3, before)
    assert record["reasons"][0].startswith("birch: 100% of its results have an empty snippet")
    project.configure({**RULES, "max_empty_snippets": 1.0})
    assert project.run_night(day)["coverage"] == 1.0


def test_a_day_before_the_baseline_is_refused(small_project: NightlyProject) -> None:
    earlier = small_project.begin_day()
    day = small_project.begin_day()
    small_project.run_night(day)
    job.set_baseline(small_project.nights / day, small_project.nights)
    calls = small_project.calls
    with pytest.raises(InputError, match="--date is '2026-05-01', before the baseline's night 2026-05-02"):
        small_project.run_night(earlier)
    assert small_project.calls == calls


def test_the_command_that_sets_a_baseline_names_the_run(small_project: NightlyProject) -> None:
    day = small_project.begin_day()
    run = small_project.nights / day
    assert f"to set one: judge baseline set {run}" in small_project.run_night(day)["reasons"][0]
    with pytest.raises(InputError, match=f"to set one: judge baseline set {run}$"):
        baseline.show_baseline(small_project.nights)
    done = CliRunner().invoke(app, ["baseline", "set", str(run)])
    assert done.stdout.startswith(f"baseline of {small_project.nights}: {run} (4 queries, ")


def test_progress_says_what_is_judged(project: NightlyProject) -> None:
    done = CliRunner().invoke(app, ["nightly", str(project.toml), "--date", project.begin_day()])
    lines = [line for line in done.stderr.splitlines() if " to do" in line]
    assert [line.partition(";")[0] for line in lines] == [
        f"judging canary pairs: {CANARY_CALLS} to do",
        f"judging pairs: {json.loads(project.read_file('2026-05-01'))['judgments']} to do",
    ]


def test_drift_with_a_large_drop_of_one_engine_is_possible_and_not_certain(tmp_path: Path) -> None:
    with make_nightly_project(tmp_path, RULES, queries=24) as project:
        project.judge.flips = 0.0
        freeze(project)
        project.judge.swapped = 0.4
        record = project.run_night(project.begin_day(worse=9.0))
    assert (record["status"], record["exit"], record["regression_test"]["rows"]) == ("assessor drift", 3, [])
    possible = [each for each in record["reasons"] if each.startswith("possible: ")]
    assert [each.split(" became worse: ")[0] for each in possible] == ["possible: amber"] * 2
    assert [each.split(" became worse: ")[1].split()[0] for each in possible] == ["MAP@10", "sDCG@10"]
    assert "corrected" in possible[0]
