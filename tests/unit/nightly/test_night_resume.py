"""A night that is resumed: after a fault, after a change of judge.toml, and when it is complete."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from judge import run_input
from judge.config.run import Config
from judge.errors import InputError
from judge.messages import CHINESE
from judge.nightly import job
from tests.support.fake_engines import EngineServer, Page
from tests.support.fake_server import Reply
from tests.unit.collect.engine_calls import write_queries
from tests.unit.nightly.projects import (
    RULES,
    NightlyProject,
    freeze,
    make_calls_older,
    make_nightly_project,
    reword_snippets,
)

#: Nobody listens there.
NOWHERE = "http://127.0.0.1:9/v1"


def ask_at(project: NightlyProject, address: str) -> None:
    """Makes judge.toml name another server."""
    lines = project.toml.read_text(encoding="utf-8").splitlines()
    changed_lines = [f'base_url = "{address}"' if line.startswith("base_url") else line for line in lines]
    project.toml.write_text("\n".join(changed_lines), encoding="utf-8")


# --- gone on with by another assessor


@pytest.mark.parametrize("drifted_start", [0, 1])
def test_an_assessor_that_is_swapped_while_a_night_is_judged_is_drift(
    project: NightlyProject, drifted_start: int
) -> None:
    freeze(project)
    day = project.begin_day(edit=reword_snippets)
    for start, top in enumerate(("max_calls = 130", "")):  # the first start judges two pairs of the pool
        project.configure(RULES, top)
        project.judge.swapped = 0.5 if start == drifted_start else 0.0
        record = project.run_night(day)
    assert (record["status"], record["regression_test"]["rows"]) == ("assessor drift", [])
    assert [path.name for path in sorted((project.nights / day).glob("canaries*"))] == [
        "canaries",
        "canaries-2",
    ]


def test_folders_beside_those_of_canaries_do_not_count(project: NightlyProject) -> None:
    """A copy of the first canaries is not tonight's run, and a number that is free is not the next one."""
    freeze(project)
    day = project.begin_day(edit=reword_snippets)
    night = project.nights / day
    for number, max_calls in enumerate((130, 130, 130, 1000), 1):
        project.configure(RULES, f"max_calls = {max_calls}")
        project.judge.swapped = 0.5 if number == 4 else 0.0
        before = project.calls
        record = project.run_night(day)
        assert project.calls - before >= 128  # each start judges the canaries
        if number == 1:
            shutil.copytree(night / "canaries", night / "canaries.backup")
        if number == 3:
            shutil.rmtree(night / "canaries-2")
    assert (record["status"], record["canaries"]["drift"]) == ("assessor drift", True)
    assert {path.name for path in night.glob("canaries*")} == {
        "canaries",
        "canaries.backup",
        "canaries-3",
        "canaries-4",
    }


@pytest.mark.parametrize("hours", [0, 2])
def test_a_start_soon_after_an_interrupted_one_uses_its_canaries(project: NightlyProject, hours: int) -> None:
    freeze(project)
    day = project.begin_day(edit=reword_snippets)
    project.fail_after_canaries(day)
    if hours:
        make_calls_older(project.nights / day / "canaries" / "verdicts.sqlite")
    before = project.calls
    record = project.run_night(day)
    canary_calls = 128 if hours else 0
    assert (record["status"], project.calls - before) == ("fine", canary_calls + record["judgments"])
    assert record["cost_total"]["calls"] == 128 + canary_calls + record["judgments"]


def test_a_night_with_labels_is_resumed(project: NightlyProject) -> None:
    freeze(project)
    labels = project.folder / "labels.txt"

    def begin_day_with_label(grade: int) -> str:
        day = project.begin_day()
        data = project.folder / f"{day}.jsonl"
        pair = run_input.load_pooled_dataset(Config(model="lexical", data=str(data))).pool.pairs[0]
        labels.write_text(f"{pair.query.id} 0 {pair.snippet.id} {grade}\n")
        return day

    day = begin_day_with_label(3)
    project.configure(RULES, f'qrels = "{labels}"\nmax_calls = 130')
    assert project.run_night(day)["status"] == "incomplete"
    project.configure(RULES, f'qrels = "{labels}"')
    assert project.run_night(day)["complete"]
    job.set_baseline(project.nights / day, project.nights)
    # Other labels are no other assessor.
    assert project.run_night(begin_day_with_label(0))["status"] == "fine"


def test_canaries_that_a_limit_cut_short_are_no_round_of_their_own(project: NightlyProject) -> None:
    freeze(project)
    project.configure(RULES, "max_calls = 100")
    day = project.begin_day()
    assert project.run_night(day)["status"] == "incomplete"
    project.run_night(day)
    assert len(list((project.nights / day).glob("canaries*"))) == 1
    project.configure(RULES)
    assert project.run_night(day)["status"] == "fine"


# --- judge.toml was mended


def test_an_address_that_was_wrong_is_mended_in_judge_toml(project: NightlyProject) -> None:
    freeze(project)
    day = project.begin_day()
    ask_at(project, NOWHERE)
    assert project.run_night(day)["status"] == "incomplete"
    ask_at(project, project.server.openai_url)
    assert project.run_night(day)["status"] == "fine"


def test_an_unfinished_night_goes_on_as_judge_toml_now_says(small_project: NightlyProject) -> None:
    small_project.configure({"canary_repeats": 0}, "max_calls = 10")
    day = small_project.begin_day()
    assert small_project.run_night(day)["status"] == "incomplete"
    small_project.configure({"canary_repeats": 0}, "depth = 2")
    record = small_project.run_night(day)
    assert (record["status"], record["depth"], record["coverage"]) == ("no baseline", 2, 1.0)
    assert record["judgments"] == record["judged"]


def test_a_limit_is_named_as_in_judge_toml_in_both_languages(small_project: NightlyProject) -> None:
    small_project.configure({"canary_repeats": 0}, "max_calls = 10")
    day = small_project.begin_day()
    reason = next(iter(job.run_nightly(small_project.toml, day).record.reasons))
    assert reason.endswith(
        "unjudged: max_calls = 10 is used up; continue this night for as many more calls, or raise it"
        f"; to continue this night: {small_project.get_command(day)}"
    )
    assert CHINESE(reason).endswith(
        "max_calls = 10 已用完；继续当晚的评测可进行同样次数的调用，也可调高该值；"
        f"如需继续当晚的评测，请执行：{small_project.get_command(day)}"
    )
    page = small_project.read_file(day, "report.html").decode()
    assert page.count("max_calls = 10 is used up") == 1


def test_canaries_of_an_assessor_that_was_asked_by_mistake_do_not_count(project: NightlyProject) -> None:
    freeze(project)
    project.configure(RULES, "temperature = 0.7\nmax_calls = 150")
    project.judge.swapped = 0.5
    day = project.begin_day(edit=reword_snippets)
    mistaken = project.run_night(day)
    assert (mistaken["status"], mistaken["finished"]) == ("assessor drift", False)
    project.configure(RULES)
    project.judge.swapped = 0.0
    record = project.run_night(day)
    assert (record["status"], record["reasons"]) == ("fine", [])
    assert record["cost"]["calls"] >= 2 * 128 + record["judged"]


# --- a finished night


def test_options_of_a_finished_night_are_looked_at_all_the_same(small_project: NightlyProject) -> None:
    day = small_project.begin_day()
    small_project.run_night(day)
    for top, wrong in (("depht = 2", "depht"), ("depth = 0", "depth is 0"), ('scale = "stars"', "stars")):
        small_project.configure({"canary_repeats": 0}, top)
        with pytest.raises(InputError, match=wrong):
            small_project.run_night(day)
    small_project.configure({"canary_repeats": 0, "measures": ["AP@10"]})
    with pytest.raises(InputError, match="does not depend on the pool"):
        small_project.run_night(day)


def test_a_finished_night_stays_as_it_was_and_says_so(
    small_project: NightlyProject,
) -> None:
    day = small_project.begin_day()
    done = job.run_nightly(small_project.toml, day)
    small_project.configure({"canary_repeats": 0}, "depth = 2")
    again = job.run_nightly(small_project.toml, day)
    assert again.record == done.record
    (text,) = set(again.lines) - set(done.lines)
    assert text == (
        f"this night is finished: changes of {small_project.toml}, of its dataset and of the baseline have no"
        f" effect on it; to run it again, remove {small_project.nights / day}"
    )


def test_a_night_that_stopped_after_its_canaries_says_how_to_run_it_again(
    small_project: NightlyProject,
) -> None:
    small_project.configure({"canary_repeats": 2})
    freeze(small_project)
    small_project.judge.swapped = 1.0
    day = small_project.begin_day()
    done, calls = job.run_nightly(small_project.toml, day), small_project.calls
    again = job.run_nightly(small_project.toml, day)
    assert (again.record, small_project.calls) == (done.record, calls)
    (text,) = set(again.lines) - set(done.lines)
    record, canaries = small_project.nights / day / "night.json", small_project.nights / day / "canaries"
    assert text == (
        "this night stopped after its canaries, and this start made no call; to judge it again, remove"
        f" {record} and {canaries}"
    )
    small_project.judge.swapped = 0.0
    record.unlink()
    shutil.rmtree(canaries)
    assert small_project.run_night(day)["status"] == "fine"


# --- what collecting remarked


def test_what_collecting_remarked_is_in_the_night_also_when_it_is_gone_on_with(tmp_path: Path) -> None:
    queries = write_queries(tmp_path, *(f"question {number}" for number in range(3)))
    page = Page([("t", f"https://x.example/{rank}", f"text {rank}") for rank in (3, 1)])
    with (
        EngineServer(lambda _: page) as engines,
        make_nightly_project(tmp_path, {"canary_repeats": 0}) as project,
    ):
        project.judge.__class__ = type("Yes", (type(project.judge),), {"answer": _reply_with_grade})
        collect = f'[collect]\nqueries = "{queries}"\nengine = ["tavily"]\nrate = 500.0\ndepth = 30\n'
        collect += f'[collect.base_urls]\ntavily = "{engines.url}"\n'

        def ask(top: str) -> None:
            project.configure({"canary_repeats": 0}, f"{top}\n{collect}")
            text = project.toml.read_text(encoding="utf-8")
            project.toml.write_text(text.partition("\n")[2], encoding="utf-8")  # without its dataset

        ask("max_calls = 1")
        for status in ("incomplete", "no baseline"):
            record = job.run_nightly(project.toml, "2026-05-01").record
            assert record.status == status
            assert any(
                "tavily returned at most 2 of the 30 requested results" in remark for remark in record.remarks
            )
            ask("max_calls = 100")
            (project.nights / "2026-05-01" / "night.json").unlink()  # as if killed before it was written


def _reply_with_grade(self: Any, requests: Any) -> Any:
    """A grade for any snippet."""
    return Reply(text=json.dumps({"reason": "it is so", "grade": 2}), model=self.served)


# --- beside other nights


def test_nights_of_two_folders_share_a_store_and_nothing_else(tmp_path: Path) -> None:
    store = f'store = "{tmp_path / "all.sqlite"}"'
    folders = [tmp_path / name for name in ("one", "two")]
    for folder in folders:
        folder.mkdir()
    rules: dict[str, object] = {"canary_repeats": 0}
    with (
        make_nightly_project(folders[0], rules, queries=4) as one,
        make_nightly_project(folders[1], rules, queries=4, seed=2) as two,
    ):
        for each in (one, two):
            each.configure(rules, store)
            freeze(each)
        one.configure(rules, f"{store}\ntemperature = 0.7")
        day = one.begin_day()
        drifted = one.run_night(day)
        assert drifted["status"] == "assessor drift"
        assert two.run_night(two.begin_day())["status"] == "fine"
        assert (one.nights / day / drifted["quarantined_store"]).exists()
        # What a night that is not done paid for is not paid for again.
        one.configure(rules, f"{store}\nmax_calls = 3")
        day = one.begin_day(edit=reword_snippets)
        two.begin_day(edit=reword_snippets)
        assert one.run_night(day)["status"] == "incomplete"
        paid = one.calls
        two.run_night(day)
        one.configure(rules, store)
        record = one.run_night(day)
        assert (record["status"], one.calls - paid) == ("fine", record["judgments"] - 3)
