"""What may be the baseline of nights, and what follows from which one it is."""

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from judge import pipeline
from judge.config.run import Config
from judge.errors import InputError
from judge.nightly import job
from judge.nightly.baseline import find_nights_folder
from judge.nightly.trend import read_history
from judge.runs.record_json import to_json
from tests.support.command_line import run_judge
from tests.unit.nightly.projects import RULES, NightlyProject, freeze


def test_a_run_that_misses_too_much_cannot_be_the_baseline(small_project: NightlyProject) -> None:
    day = small_project.begin_day()
    run = small_project.folder / "runs" / "half"
    config = replace(
        Config.load(small_project.toml), data=str(small_project.folder / f"{day}.jsonl"), out=str(run)
    )
    pipeline.run(replace(config, max_calls=20))
    with pytest.raises(InputError, match=r"of its pairs are judged, and a baseline needs 99%"):
        job.set_baseline(run, small_project.nights)
    assert not (small_project.nights / "baseline" / "baseline.json").exists()
    # The run can have a limit of its own.
    pipeline.run(replace(config, max_calls=1, min_coverage=0.1))
    assert job.set_baseline(run, small_project.nights).name == "half"


def test_a_run_without_a_grade_cannot_be_the_baseline(small_project: NightlyProject) -> None:
    day = small_project.begin_day()
    run = small_project.folder / "runs" / "none"
    config = replace(
        Config.load(small_project.toml), data=str(small_project.folder / f"{day}.jsonl"), out=str(run)
    )
    small_project.judge.mumbles = True
    pipeline.run(replace(config, min_coverage=0.0))
    with pytest.raises(InputError, match=r"none of its pairs has a grade"):
        job.set_baseline(run, small_project.nights)


def test_a_run_that_lost_a_file_cannot_be_the_baseline(small_project: NightlyProject) -> None:
    day = small_project.begin_day()
    small_project.run_night(day)
    (small_project.nights / day / "config.json").unlink()
    with pytest.raises(InputError, match=r"config\.json: No such file"):
        job.set_baseline(small_project.nights / day, small_project.nights)


def test_the_name_of_a_baseline_may_be_no_utf8(small_project: NightlyProject) -> None:
    small_project.run_night(small_project.begin_day())
    run = (small_project.nights / "2026-05-01").rename(small_project.folder / os.fsdecode(b"caf\xe9"))
    assert ascii(job.set_baseline(run, small_project.nights).name) == r"'caf\udce9'"


def test_a_baseline_without_canaries_is_remarked_on(project: NightlyProject) -> None:
    project.configure({"canary_repeats": 0})
    freeze(project)
    project.configure(RULES)
    record = project.run_night(project.begin_day())
    assert (record["status"], record["canaries"]["compared"]) == ("fine", 0)
    assert any("pairs that both runs judged, can show assessor drift" in each for each in record["remarks"])


def remove_snippets(row: dict[str, Any]) -> None:
    for result in (result for results in row["engines"].values() for result in results):
        result["snippet"] = ""


def test_the_folder_of_nights_is_known_from_the_night_and_hints_name_both(
    small_project: NightlyProject,
) -> None:
    first = small_project.run_night(small_project.begin_day())
    place = small_project.nights / "2026-05-01"
    assert first["reasons"][0].endswith(f"to set one: judge baseline set {place}")
    done = run_judge("baseline", "set", place)
    assert (done.returncode, f"baseline of {small_project.nights}" in done.stdout) == (0, True)
    assert "replaces" not in done.stdout
    assert "--folder" not in done.stdout
    elsewhere = small_project.folder / "elsewhere"
    assert (
        f"{elsewhere} has no night yet; if the nights are in another folder, name it with --folder\n"
        in run_judge("baseline", "set", place, "--folder", elsewhere).stdout
    )
    assert small_project.run_night(small_project.begin_day())["status"] == "fine"
    assert "replaces" not in run_judge("baseline", "set", place).stdout
    done = run_judge("baseline", "set", small_project.nights / "2026-05-02")
    assert "it replaces the baseline 2026-05-01\n" in done.stdout
    assert "the last night" not in done.stdout
    # A night without texts judges nothing, so it is of no assessor.
    assert small_project.run_night(small_project.begin_day(edit=remove_snippets))["judgments"] is None
    assert "the last night" not in run_judge("baseline", "set", place).stdout
    data, run = small_project.folder / "2026-05-02.jsonl", small_project.folder / "toy"
    pipeline.run(Config(model="lexical", data=str(data), out=str(run)))
    done = run_judge("baseline", "set", run, "--folder", small_project.nights)
    assert (
        "the last night, 2026-05-02, was judged by fake:fake/graded; if the next one is, too, its status is"
        " assessor drift: " in done.stdout
    )


def remove_cedar(row: dict[str, Any]) -> None:
    del row["engines"]["cedar"]


def break_amber(row: dict[str, Any]) -> None:
    row["engines"]["amber"] = {"error": "HTTP 503"}


def test_an_engine_that_was_dropped_for_good_leaves_the_baseline_with_the_next_one(
    small_project: NightlyProject,
) -> None:
    freeze(small_project)
    day = small_project.begin_day(edit=remove_cedar)
    record = small_project.run_night(day)
    assert (record["status"], record["complete"], record["finished"]) == ("incomplete", True, False)
    assert "cedar: is in the baseline and not in this night's dataset" in record["reasons"][0]
    assert "judge baseline set" in record["reasons"][0]
    assert [*read_history(small_project.nights).resume_commands] == [day]
    job.set_baseline(small_project.nights / day, small_project.nights)
    # The night is not compared with itself.
    again = job.run_nightly(small_project.toml, day)
    assert to_json(again.record, with_defaults=True) == record
    assert again.lines[-1] == "this night is the baseline of later nights, and this start made no call"
    assert read_history(small_project.nights).resume_commands == {}
    assert small_project.run_night(small_project.begin_day(edit=remove_cedar))["status"] == "fine"


def test_a_night_with_an_engine_that_fails_cannot_be_the_baseline(
    small_project: NightlyProject,
) -> None:
    freeze(small_project)
    small_project.configure({"canary_repeats": 0}, "temperature = 0.7")
    day = small_project.begin_day(edit=break_amber)
    record = small_project.run_night(day)
    assert (record["status"], record["complete"]) == ("assessor drift", False)
    refusal = f"{day}: cannot be the baseline: the night is incomplete"
    with pytest.raises(InputError, match=refusal) as refused:
        job.set_baseline(small_project.nights / day, small_project.nights)
    assert "amber: returned results for 0% of the queries" in str(refused.value)
    assert "temperature" not in str(refused.value)
    assert "baseline set" not in str(refused.value)
    # The records of earlier versions have no "missing".
    del record["missing"]
    (small_project.nights / day / "night.json").write_text(json.dumps(record))
    with pytest.raises(InputError, match=f"{refusal}: .*amber: returned results for 0% of the queries"):
        job.set_baseline(small_project.nights / day, small_project.nights)


def test_a_first_night_on_which_an_engine_broke_is_refused_without_telling_to_set_it(
    small_project: NightlyProject,
) -> None:
    day = small_project.begin_day(edit=break_amber)
    assert small_project.run_night(day)["status"] == "incomplete"
    with pytest.raises(InputError, match="amber") as refused:
        job.set_baseline(small_project.nights / day, small_project.nights)
    assert "baseline set" not in str(refused.value)


def test_the_folder_of_nights_is_written_as_the_user_wrote_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    night = Path("nights/2026-05-01")
    night.mkdir(parents=True)
    (night / "night.json").touch()
    Path("latest").symlink_to(night)
    assert find_nights_folder(night) == Path("nights")
    assert find_nights_folder(Path("latest")) == tmp_path.resolve() / "nights"
    monkeypatch.chdir(night)
    assert find_nights_folder(Path()) == tmp_path.resolve() / "nights"
