"""`judge nightly` and `judge baseline`, over a real server, with real processes and kill -9."""

import json
import math
import os
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from judge.errors import InputError
from judge.nightly import baseline, job
from tests.support.command_line import run_judge
from tests.support.fake_engines import EngineServer, Page, SearchRequest
from tests.unit.collect.engine_calls import write_queries
from tests.unit.nightly.projects import (
    RULES,
    Judge,
    NightlyProject,
    freeze,
    make_nightly_project,
    reword_snippets,
)


@pytest.fixture(scope="module")
def server_project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NightlyProject]:
    """Return a project whose first night is the baseline, with a model on a real server."""
    with make_nightly_project(tmp_path_factory.mktemp("nights"), RULES, wire=True) as project:
        freeze(project)
        yield project


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NightlyProject]:
    """Return a project whose first night is the baseline."""
    with make_nightly_project(tmp_path_factory.mktemp("nights"), RULES) as project:
        first = project.run_night(project.begin_day())
        assert (first["status"], first["exit"], first["regression_test"], first["baseline"]) == (
            "no baseline",
            0,
            None,
            None,
        )
        assert "judge baseline set" in first["reasons"][0]
        job.set_baseline(project.nights / "2026-05-01", project.nights)
        yield project


@pytest.fixture(autouse=True)
def _sound_judge(project: NightlyProject) -> Iterator[None]:
    """Restore the model and its options after each test."""
    yield
    vars(project.judge).update(vars(Judge()))
    project.configure(RULES)


def test_a_night_like_the_baseline_is_fine_and_doing_it_again_costs_and_changes_nothing(
    project: NightlyProject,
) -> None:
    day = project.begin_day()
    result = project.run_night(day)
    assert (result["status"], result["exit"], result["reasons"]) == ("fine", 0, [])
    assert {(row["engine"], row["measure"]) for row in result["regression_test"]["rows"]} == {
        (engine, measure) for engine in ("amber", "birch", "cedar") for measure in ("AP@10", "sDCG@10")
    }
    assert result["canaries"]["compared"] == result["canaries"]["pairs"] == 64
    assert result["cost"]["calls"] >= 128
    before = {path: path.read_bytes() for path in (project.nights / day).glob("*.*")}
    calls = project.calls
    assert project.run_night(day) == result
    assert project.calls == calls
    assert {path: path.read_bytes() for path in (project.nights / day).glob("*.*")} == before


def test_only_the_engine_that_became_worse_has_a_regression(project: NightlyProject) -> None:
    result = project.run_night(project.begin_day(worse=4.0))
    assert (result["status"], result["exit"]) == ("regression", 1)
    blamed = {row["engine"] for row in result["regression_test"]["rows"] if row["outcome"] == "regression"}
    assert blamed == {"amber"}
    assert result["reasons"][0].startswith("amber: MAP@10 fell by ")
    again = run_judge("nightly", project.toml, "--date", result["date"])
    assert again.returncode == 1
    assert "amber" in again.stdout


def test_a_swapped_assessor_is_drift_and_its_verdicts_are_kept_apart(project: NightlyProject) -> None:
    project.judge.swapped = 0.4
    shared = project.nights / "verdicts.sqlite"
    known = count_verdicts(shared)
    day = project.begin_day(worse=4.0)
    result = project.run_night(day)
    assert (result["status"], result["exit"]) == ("assessor drift", 3)
    assert (result["regression_test"]["ran"], result["regression_test"]["rows"]) == (False, [])
    assert "canaries have another grade" in result["reasons"][0]
    assert count_verdicts(shared) == known
    apart = project.nights / day / result["quarantined_store"]
    assert apart.parent.resolve() == project.nights
    # No verdict of the earlier model is among those of this one.
    assert count_verdicts(apart) == result["judged"]
    later = project.run_night(project.begin_day())
    assert (project.nights / later["date"] / later["quarantined_store"]).resolve() == apart.resolve()
    project.judge.swapped = 0.0
    back = project.run_night(project.begin_day())
    assert (back["status"], back["quarantined_store"], apart.exists()) == ("fine", None, True)


def test_an_assessor_that_is_served_by_another_name_is_drift(project: NightlyProject) -> None:
    project.judge.served = "fake-2"
    result = project.run_night(project.begin_day())
    assert result["status"] == "assessor drift"
    assert "fake-2" in result["reasons"][0]
    assert result["served"] == ["fake-2"]


@pytest.mark.slow
def test_an_assessor_with_unreadable_replies_is_drift(project: NightlyProject) -> None:
    project.judge.mumbles = True
    result = project.run_night(project.begin_day())
    assert result["status"] == "assessor drift"
    assert "replies to the canaries have no verdict" in result["reasons"][0]


def test_another_assessor_in_the_options_is_drift_that_says_how_to_go_on(project: NightlyProject) -> None:
    project.configure(RULES, "temperature = 0.7")
    result = project.run_night(project.begin_day())
    assert result["status"] == "assessor drift"
    assert "temperature was 0.0, now 0.7" in result["reasons"][0]
    assert "judge baseline set" in result["reasons"][0]


def test_an_engine_that_broke_is_incomplete_and_not_worse(project: NightlyProject) -> None:
    def break_amber(row: dict[str, Any]) -> None:
        if row["query_id"] != "q0":
            row["engines"]["amber"] = {"error": "HTTP 503"}

    day = project.begin_day(edit=break_amber)
    result = project.run_night(day)
    assert (result["status"], result["exit"]) == ("incomplete", 3)
    assert result["reasons"][0].startswith(
        "amber: returned results for 8% of the queries, 100% at the baseline (0 empty, 0 without a row, 11"
        " failed, most often HTTP 503); correct the dataset, then: judge nightly "
    )
    assert "amber" not in str(result["remarks"])  # the reason says it all
    outcomes_of = {row["outcome"] for row in result["regression_test"]["rows"] if row["engine"] == "amber"}
    assert outcomes_of == {"incomplete"}
    assert not any(row["outcome"] == "regression" for row in result["regression_test"]["rows"])
    calls = project.calls
    assert (project.run_night(day), project.calls) == (result, calls)


def test_the_exit_code_is_that_of_the_night_when_the_output_is_a_closed_pipe(
    server_project: NightlyProject,
) -> None:
    day = "2026-05-01"
    ours, theirs = os.pipe()
    os.close(ours)
    with subprocess.Popen(**{**make_nightly_arguments(server_project, day), "stdout": theirs}) as child:
        os.close(theirs)
        assert child.wait() == json.loads(server_project.read_file(day))["exit"] == 0


def test_other_queries_are_not_compared(project: NightlyProject) -> None:
    def reword_query(row: dict[str, Any]) -> None:
        if row["query_id"] not in ("q0", "q1", "q2"):
            row["query"] += " in another way"

    result = project.run_night(project.begin_day(worse=4.0, edit=reword_query))
    assert (result["status"], result["exit"]) == ("queries changed", 3)
    assert (result["query_drift"]["shared"], result["query_drift"]["new"], result["query_drift"]["gone"]) == (
        3,
        9,
        9,
    )
    assert result["regression_test"]["rows"] == []
    # Reworded queries are similar to those of the baseline.
    assert (result["query_drift"]["coverage"], result["query_drift"]["uncovered"]) == (1.0, [])


def test_a_night_whose_model_is_unreachable_can_be_continued(project: NightlyProject) -> None:
    project.judge.down = True
    day = project.begin_day()
    away = project.run_night(day)
    assert (away["status"], away["exit"], away["coverage"]) == ("incomplete", 3, None)
    with pytest.raises(InputError, match=day):
        job.set_baseline(project.nights / day, project.nights)
    project.judge.down = False
    assert project.run_night(day)["status"] == "fine"


def test_the_baseline_outlasts_its_run_and_changes_only_by_command(
    project: NightlyProject, tmp_path: Path
) -> None:
    before = baseline.show_baseline(project.nights)
    moved_night = tmp_path / "kept"
    shutil.move(project.nights / "2026-05-01", moved_night)
    try:
        assert project.run_night(project.begin_day())["status"] == "fine"
    finally:
        shutil.move(moved_night, project.nights / "2026-05-01")
    assert baseline.show_baseline(project.nights) == before


def test_bad_input_costs_nothing(project: NightlyProject) -> None:
    day = project.begin_day(edit=lambda row: row.pop("query"))
    calls = project.calls
    with pytest.raises(InputError, match="query"):
        project.run_night(day)
    with pytest.raises(InputError, match="2026-5-1"):
        project.run_night("2026-5-1")
    project.configure({"min_drop": "much"})
    with pytest.raises(InputError, match=r"min_drop is 'much'"):
        project.run_night(day)
    project.configure({"measures": ["AP@10"]})
    with pytest.raises(InputError, match="does not depend on the pool"):
        project.run_night(day)
    assert project.calls == calls
    assert not (project.nights / day / "night.json").exists()


def test_a_night_collects_what_it_judges_once(project: NightlyProject, tmp_path: Path) -> None:
    def find(request: SearchRequest) -> Page:
        shown = [
            ("title", f"https://x.example/{rank}", f"{request.query} {rank} grade={rank}") for rank in (3, 1)
        ]
        return Page(shown) if request.engine == "searxng" else Page(status=403)

    queries = write_queries(tmp_path, "one", "two")
    with EngineServer(find) as engines:
        collect = {"queries": str(queries), "engine": ["searxng"], "rate": 500.0}
        lines = [f"{name} = {json.dumps(value)}" for name, value in collect.items()]
        lines = ["[collect]", *lines, "[collect.base_urls]", f'searxng = "{engines.url}"', "[nightly]"]
        options = [
            line for line in project.toml.read_text().split("[nightly]")[0].splitlines() if "data" not in line
        ]
        rules = [f'folder = "{tmp_path / "nights"}"', "canary_repeats = 0"]
        toml = tmp_path / "judge.toml"
        toml.write_text("\n".join([*options, *lines, *rules]))
        record = job.run_nightly(toml, "2026-05-01").record
        assert (record.status, record.queries, record.judged, record.canaries) == (
            ("no baseline", 2, 4, None)
        )
        requests = len(engines.searched)
        assert job.run_nightly(toml, "2026-05-01").record == record
        assert len(engines.searched) == requests == 2
    assert (tmp_path / "nights" / "2026-05-01" / "data.jsonl").exists()


def test_the_file_of_options_is_judge_toml_of_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "judge.toml").write_text('model = "lexical"\n', encoding="utf-8")
    first, second = run_judge("nightly", "--date", "2026-05-01").stderr.splitlines()
    assert first == "no file is named, so this night has the options in judge.toml"
    assert second.startswith("judge: judge.toml: no dataset was named; ")


def test_a_second_process_gets_the_id_of_the_running_one(server_project: NightlyProject) -> None:
    day = server_project.begin_day()
    server_project.judge.last = 0
    with subprocess.Popen(**make_nightly_arguments(server_project, day)) as first:
        while not (server_project.nights / ".lock-owner").exists():
            assert first.poll() is None
            time.sleep(0.02)
        with pytest.raises(InputError, match=rf"judge nightly --date {day} \(process {first.pid} on "):
            server_project.run_night(day)
        assert first.poll() is None
        first.kill()
    server_project.judge.last = math.inf


@pytest.mark.parametrize(
    "kills",
    [pytest.param((140,), id="once"), pytest.param((20, 140, 180), marks=pytest.mark.slow, id="thrice")],
)
def test_a_night_that_is_killed_ends_as_one_night(
    server_project: NightlyProject, kills: tuple[int, ...]
) -> None:
    day = server_project.begin_day(edit=reword_snippets)
    before = server_project.calls
    for requests in kills:
        server_project.judge.last = before + requests - 1
        with subprocess.Popen(**make_nightly_arguments(server_project, day)) as child:
            deadline = time.monotonic() + 300
            while server_project.calls < before + requests:
                assert child.poll() is None
                assert time.monotonic() < deadline
                time.sleep(0.01)
            child.kill()
        assert not (server_project.nights / day / "night.json").exists()
    server_project.judge.last = math.inf
    result = run_judge("nightly", server_project.toml, "--date", day)
    assert result.returncode == 0, result.stderr
    record = json.loads(server_project.read_file(day))
    assert record["status"] == "fine"
    assert record["canaries"]["judged"] == 128
    # A kill can lose the leases: at most twice the concurrency, which is 64.
    # Canaries are judged again after each kill, because another model may continue the night.
    asked_for = 128 * len(list((server_project.nights / day).glob("canaries*"))) + record["judgments"]
    asked_for += 128 * len(kills)
    paid = record["cost_total"]
    assert server_project.calls - before <= paid["calls"] <= asked_for
    # Answered calls are known; the others were in flight or not sent yet.
    assert paid["calls"] - paid["lost"] <= server_project.calls - before
    assert 0 <= paid["lost"] <= 128 * len(kills)


def make_nightly_arguments(project: NightlyProject, day: str) -> dict[str, Any]:
    """Return the arguments of a process that runs `judge nightly`."""
    return {
        "args": [sys.executable, "-m", "judge", "nightly", str(project.toml), "--date", day],
        "env": {**os.environ, "OPENAI_API_KEY": "sk-canary-5b1d9f"},
        "stdout": subprocess.DEVNULL,
        "stderr": subprocess.DEVNULL,
    }


def count_verdicts(store: Path) -> int:
    with closing(sqlite3.connect(store)) as connection:
        return int(connection.execute("SELECT count(*) FROM verdicts").fetchone()[0])
