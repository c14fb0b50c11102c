"""A night when something changes while it is at work, or between it and the baseline."""

import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from judge import pipeline, run_input
from judge.config.run import Config
from judge.errors import InputError, SetupError
from judge.nightly import job
from tests.support.command_line import run_judge
from tests.support.fake_engines import EngineServer, Page, SearchRequest
from tests.support.fake_server import ChatRequest, LoopbackServer, Reply
from tests.unit.collect.engine_calls import write_queries
from tests.unit.nightly.projects import RULES, NightlyProject, freeze, make_nightly_project, reword_snippets
from tests.unit.nightly.test_notifications_github import read_printed


def read_keys(store: Path) -> set[str]:
    with closing(sqlite3.connect(store)) as connection:
        return {key for (key,) in connection.execute("SELECT key FROM verdicts")}


def list_blamed(record: dict[str, Any]) -> set[str]:
    return {row["engine"] for row in record["regression_test"]["rows"] if row["outcome"] == "regression"}


def test_labels_are_of_the_dataset_and_not_of_the_canaries(project: NightlyProject) -> None:
    day = project.begin_day()
    data = project.folder / f"{day}.jsonl"
    pair = run_input.load_pooled_dataset(Config(model="lexical", data=str(data))).pool.pairs[0]
    labels = project.folder / "labels.txt"
    labels.write_text(f"{pair.query.id} 0 {pair.snippet.id} 3\n")
    project.configure(RULES, f'qrels = "{labels}"')
    assert project.run_night(day)["complete"]
    assert json.loads(project.read_file(day, "summary.json"))["labels"]["pairs"] == 1


def test_options_of_the_dataset_and_of_dimensions_are_not_for_the_canaries(project: NightlyProject) -> None:
    def rename_snippets(row: dict[str, Any]) -> None:
        for result in (result for results in row["engines"].values() for result in results):
            result["text"] = result.pop("snippet")

    project.configure(RULES, 'columns = { snippet = "text" }\ndiversity = true')
    day = project.begin_day(edit=rename_snippets)
    assert project.run_night(day)["complete"]
    assert "diversity" in json.loads(project.read_file(day, "summary.json"))["dimensions"]
    assert "dimensions" not in json.loads(project.read_file(day, "canaries/summary.json"))


# --- one assessor in one store


def test_a_night_of_drift_that_becomes_the_baseline_is_all_of_one_assessor(project: NightlyProject) -> None:
    freeze(project)
    project.judge.swapped = 0.5
    day = project.begin_day()
    drifted = project.run_night(day)
    assert drifted["status"] == "assessor drift"
    quarantined_keys = read_keys(project.nights / day / drifted["quarantined_store"])
    assert len(quarantined_keys) == drifted["judged"]
    job.set_baseline(project.nights / day, project.nights)
    for _ in range(2):
        night = project.run_night(project.begin_day())
        assert (night["status"], list_blamed(night)) == ("fine", set())
    shared = read_keys(project.nights / "verdicts.sqlite")
    assert quarantined_keys < shared
    assert not read_keys(project.nights / f"verdicts.backup-{day}.sqlite") <= shared


def test_an_earlier_baseline_of_another_assessor_needs_the_backup_of_its_store(
    project: NightlyProject,
) -> None:
    first = freeze(project)
    project.judge.swapped = 0.5
    day = project.begin_day()
    project.run_night(day)
    assert "backup" not in run_judge("baseline", "set", project.nights / day).stdout
    project.run_night(project.begin_day())
    # Its verdicts are the shared ones now, and it can become the baseline again.
    again = run_judge("baseline", "set", project.nights / day)
    assert (again.returncode, "backup" in again.stdout) == (0, False), again.stderr
    project.judge.swapped = 0.0  # the vendor takes the change back
    printed = run_judge("baseline", "set", project.nights / first).stdout
    backup, shared = project.nights / f"verdicts.backup-{day}.sqlite", project.nights / "verdicts.sqlite"
    assert f"before the next night, rename {backup} to {shared}" in printed
    backup.replace(shared)
    assert "backup" not in run_judge("baseline", "set", project.nights / first).stdout
    assert project.run_night(project.begin_day())["status"] == "fine"


def test_stored_verdicts_of_another_assessor_are_put_away_as_the_night_says(tmp_path: Path) -> None:
    with make_nightly_project(tmp_path, RULES) as project:
        first = freeze(project)
        sound = type(project.judge)
        become_stricter(project)
        day = project.begin_day()
        project.run_night(day)
        job.set_baseline(project.nights / day, project.nights)
        project.run_night(project.begin_day())
        project.judge.__class__ = sound
        job.set_baseline(project.nights / first, project.nights)  # and the backup is forgotten
        shared = project.nights / "verdicts.sqlite"
        for _ in range(2):  # to do nothing does not help
            record = project.run_night(project.begin_day())
            assert (record["status"], record["canaries"]["drift"]) == ("assessor drift", False)
            assert record["reasons"][-1].endswith(
                f"if it reports the same, verdicts of earlier nights in {shared} are of another assessor:"
                " rename this file, so that the next night judges all pairs again"
            )
            assert str(shared) in record["banner"][1]["zh"]
        shared.rename(shared.with_suffix(".other"))
        assert project.run_night(project.begin_day())["status"] == "fine"


def test_a_night_that_lacks_answers_is_completed_before_it_is_made_the_baseline(
    project: NightlyProject,
) -> None:
    def break_amber(row: dict[str, Any]) -> None:
        row["engines"]["amber"] = {"error": "HTTP 503"}

    freeze(project)
    project.configure(RULES, "temperature = 0.7")
    day = project.begin_day(edit=break_amber)
    drift, broken = project.run_night(day)["reasons"]
    command = f"judge baseline set {project.nights / day}"
    assert drift.endswith(
        f"to accept the change: run {project.get_command(day)} until no judgment or answer is missing, then"
        f" {command}"
    )
    assert broken.startswith("amber: ")
    with pytest.raises(InputError, match="cannot be the baseline: the night is incomplete"):
        job.set_baseline(project.nights / day, project.nights)


def test_canaries_that_a_kill_cut_short_on_an_earlier_night_end_no_later_one(project: NightlyProject) -> None:
    freeze(project)
    project.judge.swapped = 0.5
    day = project.begin_day()
    drifted = project.run_night(day)
    cut_short = project.nights / day / "canaries-2"
    cut_short.mkdir()
    (cut_short / "config.json").write_bytes((project.nights / day / "canaries" / "config.json").read_bytes())
    assert project.run_night(project.begin_day())["quarantined_store"] == drifted["quarantined_store"]


@pytest.mark.slow
def test_a_drift_to_yet_another_assessor_has_a_store_of_its_own(project: NightlyProject) -> None:
    freeze(project)
    stores = []
    for name in ("fake-2", "fake-2", "fake-3"):
        project.judge.served = name
        record = project.run_night(project.begin_day())
        assert (record["status"], record["served"]) == ("assessor drift", [name])
        stores.append(Path(record["quarantined_store"]).name)
    assert stores == [f"verdicts.drifted-2026-05-{day:02}.sqlite" for day in (2, 2, 4)]


def test_a_name_that_changes_after_the_canaries_leaves_nothing_behind(project: NightlyProject) -> None:
    freeze(project)
    known = read_keys(project.nights / "verdicts.sqlite")
    day = project.begin_day(edit=reword_snippets)
    answer = type(project.judge).answer

    class Renamed(type(project.judge)):  # type: ignore[misc]
        """Has another name for all that is not a canary."""

        def answer(self, requests: Any) -> Any:
            self.served = "fake-2" if "grade=" in requests.prompt else "fake"
            return answer(self, requests)

    project.judge.__class__ = Renamed
    record = project.run_night(day)
    assert (record["status"], record["quarantined_store"], record["finished"]) == (
        "assessor drift",
        None,
        True,
    )
    assert read_keys(project.nights / "verdicts.sqlite") == known
    assert record["reasons"][-1].endswith("; to accept the new assessor: make the next night the baseline")
    with pytest.raises(InputError, match=r"can be of two assessors: .* make the next night the baseline$"):
        job.set_baseline(project.nights / day, project.nights)
    project.judge.__class__ = Renamed.__base__
    project.judge.served = "fake"
    assert project.run_night(project.begin_day())["status"] == "fine"


def rename_after_canaries(project: NightlyProject, name: str, later: str) -> None:
    """Give the assessor another name from the third snippet on that is not a canary."""
    answer = type(project.judge).answer

    class Renamed(type(project.judge)):  # type: ignore[misc]
        snippets = 0

        def answer(self, requests: Any) -> Any:
            self.snippets += "grade=" in requests.prompt
            self.served = later if self.snippets > 2 else name
            return answer(self, requests)

    project.judge.__class__ = Renamed


@pytest.mark.parametrize(("rules", "has_baseline"), [({"accept_names": ["fake-*"]}, True), ({}, False)])
def test_a_name_that_is_new_since_the_canaries_is_noticed_that_night(
    project: NightlyProject, rules: dict[str, object], *, has_baseline: bool
) -> None:
    if has_baseline:
        freeze(project)
    project.configure({**RULES, **rules})
    rename_after_canaries(project, "fake", "fake-2")
    day = project.begin_day(edit=reword_snippets)
    record = project.run_night(day)
    assert (record["status"], record["served"]) == ("assessor drift", ["fake", "fake-2"])
    assert record["reasons"][0].startswith(
        "the served model changed after the canaries: the server names fake-2 in later replies, fake in those"
        " to the canaries; "
    )
    assert record["reasons"][0].endswith("make the next night the baseline")
    with pytest.raises(InputError, match="can be of two assessors"):
        job.set_baseline(project.nights / day, project.nights)
    # The next night is of one assessor.
    status = "fine" if has_baseline else "no baseline"
    assert project.run_night(project.begin_day())["status"] == status


def test_a_night_of_drift_with_a_name_that_is_new_since_the_canaries_is_no_baseline(
    project: NightlyProject,
) -> None:
    freeze(project)
    sound = type(project.judge)
    rename_after_canaries(project, "fake-2", "fake-3")
    day = project.begin_day()
    record = project.run_night(day)
    assert (record["status"], record["served"]) == ("assessor drift", ["fake-2", "fake-3"])
    assert "names fake-3 in later replies" in record["reasons"][-1]
    store = project.nights / day / record["quarantined_store"]
    with pytest.raises(
        InputError, match=r"of two assessors: the server named fake-3 in .* remove \S+, run a later"
    ):
        job.set_baseline(project.nights / day, project.nights)
    store.unlink()
    project.judge.__class__ = sound
    project.judge.served = "fake-3"
    day = project.begin_day()
    project.run_night(day)
    job.set_baseline(project.nights / day, project.nights)
    assert project.run_night(project.begin_day())["status"] == "fine"


def test_a_change_on_a_night_without_a_baseline_is_since_its_first_start(project: NightlyProject) -> None:
    project.configure(RULES, "max_calls = 150")
    day = project.begin_day()
    assert project.run_night(day)["status"] == "incomplete"
    project.configure(RULES)
    project.judge.swapped, project.judge.served = 0.5, "fake-2"
    record = project.run_night(day)
    assert (record["status"], record["baseline"]) == ("assessor drift", None)
    changes = (
        "the served model changed: the server names fake-2 now, fake at the first start of this night",
        "of 64 canaries have another grade than at the first start of this night",
    )
    for change, reason in zip(changes, record["reasons"], strict=False):
        assert change in reason
    assert "at the baseline" not in "".join(record["reasons"])


def test_a_night_that_another_assessor_goes_on_with_is_drift(project: NightlyProject) -> None:
    freeze(project)
    known = read_keys(project.nights / "verdicts.sqlite")
    project.configure(RULES, "max_calls = 150")
    day = project.begin_day(edit=reword_snippets)
    first = project.run_night(day)
    assert (first["status"], first["finished"]) == ("incomplete", False)
    # The judge was sound until then, so what it said is shared.
    known, before = read_keys(project.nights / "verdicts.sqlite"), known
    assert len(known - before) == first["judged"] == 150 - 128
    project.configure(RULES)
    project.judge.swapped = 0.5
    again = project.run_night(day)
    assert (again["status"], again["finished"], again["judged"]) == (
        "assessor drift",
        True,
        first["judgments"],
    )
    assert "canaries have another grade" in again["reasons"][0]
    assert read_keys(project.nights / "verdicts.sqlite") == known
    # As a baseline it is all of the assessor that ended it, and so are its canaries.
    job.set_baseline(project.nights / day, project.nights)
    assert project.run_night(project.begin_day())["status"] == "fine"


@pytest.mark.parametrize("strict", [True, False])
def test_pairs_that_are_judged_again_in_another_way_are_drift(tmp_path: Path, *, strict: bool) -> None:
    with make_nightly_project(tmp_path, {"canary_repeats": 0}) as project:
        day, run = project.begin_day(), tmp_path / "runs" / "base"
        config = replace(Config.load(project.toml), data=str(tmp_path / f"{day}.jsonl"), out=str(run))
        pipeline.run(replace(config, measures=("AP@10", "sDCG@10")))
        job.set_baseline(run, project.nights)
        if strict:
            project.judge.__class__ = type("Strict", (type(project.judge),), {"answer": answer_stricter})
        record = project.run_night(project.begin_day(worse=4.0))
    # It flips now and then on what it judges again, which is noise and hides no engine.
    status, engines = ("assessor drift", set()) if strict else ("regression", {"amber"})
    assert (record["status"], list_blamed(record)) == (status, engines)
    assert any("cannot be distinguished from an engine" in each for each in record["remarks"]) != strict
    assert ("become stricter" in record["reasons"][0]) == strict


def answer_stricter(self: Any, requests: Any) -> Any:
    """An answer with a grade less than the sound judge would give."""
    reply = super(type(self), self).answer(requests)
    output = json.loads(reply.text)
    return replace(reply, text=json.dumps({**output, "grade": max(0, output["grade"] - 1)}))


def freeze_run_without_canaries(project: NightlyProject) -> None:
    """Make a run of the first day's dataset the baseline."""
    day, run = project.begin_day(), project.folder / "runs" / "base"
    config = replace(Config.load(project.toml), data=str(project.folder / f"{day}.jsonl"), out=str(run))
    pipeline.run(replace(config, measures=("AP@10", "sDCG@10")))
    job.set_baseline(run, project.nights)


def become_stricter(project: NightlyProject) -> None:
    project.judge.__class__ = type("Strict", (type(project.judge),), {"answer": answer_stricter})


def test_an_assessor_that_changed_after_a_run_without_canaries_can_be_accepted(tmp_path: Path) -> None:
    """The first night shows it by its pairs; the next one continues with its verdicts, as a baseline can."""
    with make_nightly_project(tmp_path, {"canary_repeats": 2}) as project:
        freeze_run_without_canaries(project)
        become_stricter(project)
        first = project.run_night(project.begin_day())
        assert (first["status"], first["quarantined_store"]) == ("assessor drift", None)
        assert first["reasons"][-1].endswith("make the next night the baseline")
        with pytest.raises(InputError, match="can be of two assessors"):
            job.set_baseline(project.nights / "2026-05-02", project.nights)
        before = project.calls
        second = project.run_night(project.begin_day())
        assert (second["status"], second["coverage"]) == ("assessor drift", 1.0)
        assert Path(second["quarantined_store"]).name == "verdicts.drifted-2026-05-02.sqlite"
        # The rest was paid for on the first night.
        assert project.calls - before - 2 * 64 < first["judgments"] / 2
        job.set_baseline(project.nights / "2026-05-03", project.nights)
        assert project.run_night(project.begin_day())["status"] == "fine"


@pytest.mark.parametrize("canary_repeats", [0, 2])
def test_an_assessor_of_one_night_leaves_nothing_to_the_next_ones(
    tmp_path: Path, canary_repeats: int
) -> None:
    with make_nightly_project(tmp_path, {"canary_repeats": canary_repeats}) as project:
        freeze_run_without_canaries(project)
        sound = type(project.judge)
        become_stricter(project)
        drifted = project.run_night(project.begin_day())
        project.judge.__class__ = sound
        nights = [project.run_night(project.begin_day()) for _ in range(2)]
    assert drifted["status"] == "assessor drift"
    assert drifted["reasons"][-1].endswith("baseline")
    assert [(night["status"], night["quarantined_store"]) for night in nights] == [("fine", None)] * 2


# --- what is missing is asked for again


@pytest.mark.slow
def test_drift_while_the_assessor_is_away_is_gone_on_with(project: NightlyProject) -> None:
    freeze(project)
    project.configure(RULES, "temperature = 0.7")
    project.judge.down = True
    day = project.begin_day()
    away = project.run_night(day)
    assert (away["status"], away["finished"], away["coverage"]) == ("assessor drift", False, None)
    project.judge.down = False
    record = project.run_night(day)
    assert (record["finished"], record["coverage"]) == (True, 1.0)


@pytest.mark.parametrize(
    ("status", "code", "min_coverage", "is_refused", "advice"),
    [
        (
            401,
            "invalid_api_key",
            0.99,
            lambda request: True,
            "; correct this, then continue this night: all judgments are saved",
        ),
        (
            400,
            "content_filter",
            0.99,
            lambda request: "grade=" in request.prompt,
            "the refusal of a content filter is final: lower min_coverage",
        ),
        (
            400,
            "odd",
            0.99,
            lambda request: request.number % 4 == 0,  # so a quarter of the canaries
            "if the server refuses these again, raise max_missing in [nightly]",
        ),
        *[
            (
                400,
                "odd",
                min_coverage,
                lambda request: request.number % 4 == 0,
                "the canaries: more than max_missing 10% of the requests failed (32 of 128 failed: the server"
                " rejected the request as malformed: HTTP 400 odd: not this); continue this night to"
                " get the rest; if the server refuses these again, raise max_missing in [nightly]",
            )
            for min_coverage in (0.5, 0.99)
        ],
    ],
)
def test_a_night_with_refused_pairs_is_not_told_to_change_its_assessor(
    status: int,
    code: str,
    min_coverage: float,
    is_refused: Callable[[ChatRequest], bool],
    advice: str,
    tmp_path: Path,
) -> None:
    refusal = Reply(status=status, body=json.dumps({"error": {"code": code, "message": "not this"}}))
    rules = {**RULES, "min_coverage": min_coverage}
    with make_nightly_project(tmp_path, rules, queries=2, wire=True) as project:
        assert isinstance(project.server, LoopbackServer)
        project.server.make_reply = lambda request: (
            refusal if is_refused(request) else project.judge.answer(request)
        )
        day = project.begin_day()
        record = project.run_night(day)
    assert record["status"] == "incomplete"
    assert record["reasons"][0].endswith(f"{advice}; to continue this night: {project.get_command(day)}")


@pytest.mark.parametrize(
    ("amber", "advice"),
    [
        ({"error": "HTTP 503"}, "correct the dataset, then: judge nightly "),
        (
            [{"snippet": None, "url": "https://x.example"}],
            "less than min_coverage 99% (4 of 43 failed: the text is missing: the dataset has no text"
            " for this result); add the missing texts to the dataset and continue this night:"
            " stored judgments are not paid again",
        ),
    ],
)
def test_a_dataset_that_was_mended_is_taken_and_what_was_paid_is_kept(
    small_project: NightlyProject, amber: object, advice: str
) -> None:
    freeze(small_project)
    rng = small_project.rng.bit_generator.state

    def break_amber(row: dict[str, Any]) -> None:
        row["engines"]["amber"] = amber

    tonight, days = small_project.tonight, small_project.days
    day = small_project.begin_day(edit=break_amber)
    away = small_project.run_night(day)
    assert (away["status"], away["finished"]) == ("incomplete", False)
    assert advice in away["reasons"][0]
    small_project.tonight, small_project.days, small_project.rng.bit_generator.state = tonight, days, rng
    small_project.begin_day()
    before = small_project.calls
    record = small_project.run_night(day)
    assert (record["status"], record["coverage"]) == ("fine", 1.0)
    # Two engines were judged before.
    assert 0 < small_project.calls - before <= 4 * 5


def test_engines_that_were_away_are_asked_again(tmp_path: Path) -> None:
    away = set[str]()

    def find(request: SearchRequest) -> Page:
        if away:
            return Page(status=503)
        return Page([("t", f"https://x.example/{rank}", f"{request.query} {rank} text") for rank in (3, 1)])

    queries = write_queries(tmp_path, *(f"question {number}" for number in range(5)))
    with EngineServer(find) as engines:
        toml = tmp_path / "judge.toml"
        toml.write_text(
            f'model = "lexical"\n[collect]\nqueries = "{queries}"\nengine = ["searxng"]\nrate = 500.0\n'
            f'attempts = 1\n[collect.base_urls]\nsearxng = "{engines.url}"\n'
            f'[nightly]\nfolder = "{tmp_path / "nights"}"\ncanary_repeats = 0\n'
        )
        job.run_nightly(toml, "2026-05-01")
        job.set_baseline(tmp_path / "nights" / "2026-05-01", tmp_path / "nights")
        away.add("searxng")
        assert job.run_nightly(toml, "2026-05-02").record.status == "incomplete"
        away.clear()
        requests = len(engines.searched)
        record = job.run_nightly(toml, "2026-05-02").record
        assert (record.status, len(engines.searched) - requests) == ("fine", 5)
        assert any(
            "no drop can be significant: 5 queries are compared" in remark for remark in record.remarks
        )


# --- limits, options, files


def test_canaries_and_run_share_one_limit_of_calls(project: NightlyProject) -> None:
    project.configure(RULES, "max_calls = 150")
    day = project.begin_day()
    record = project.run_night(day)
    assert (record["status"], project.calls) == ("incomplete", 150)
    assert "max_calls = 150 is used up; continue this night for as many more calls" in record["reasons"][0]
    assert "--" not in record["reasons"][0].removesuffix(project.get_command(day))


@pytest.mark.slow
def test_canaries_and_run_share_one_budget(project: NightlyProject) -> None:
    # A reply takes 100 tokens in and 10 out, so 110 dollars at these prices; and each call 0.0011.
    project.configure(RULES, "budget = 0.165\nprice = [10.0, 10.0]\nconcurrency = 8")
    record = project.run_night(project.begin_day())
    assert record["status"] == "incomplete"
    assert 128 < project.calls <= 150
    assert record["cost"]["usd"] == pytest.approx(0.0011 * project.calls)
    (_, reason, *_) = record["banner"]
    assert "budget = 0.165 USD is used up" in reason["en"]
    assert "budget = 0.165 美元已用完" in reason["zh"]


def test_all_canaries_are_asked_at_any_depth(project: NightlyProject) -> None:
    project.configure(RULES, "depth = 1")
    record = project.run_night(project.begin_day())
    assert (record["depth"], record["canaries"]["pairs"]) == (1, 64)


def test_another_depth_is_no_other_assessor_and_pays_for_no_verdict_again(project: NightlyProject) -> None:
    freeze(project)
    project.configure(RULES, "depth = 3")
    known = read_keys(project.nights / "verdicts.sqlite")
    before = project.calls
    record = project.run_night(project.begin_day())
    assert (record["status"], record["quarantined_store"]) == ("engine settings changed", None)
    assert record["reasons"][0].startswith(
        "the settings of engines differ from those at the baseline: depth was 10, now 3"
    )
    new = read_keys(project.nights / "verdicts.sqlite") - known
    assert project.calls - before == 2 * 64 + len(new)
    assert len(new) < record["judged"] / 2


def test_another_lowest_relevant_grade_pays_for_no_verdict_again(project: NightlyProject) -> None:
    freeze(project)
    day = project.begin_day()
    project.run_night(day)
    shutil.rmtree(project.nights / day)  # so that the same dataset is judged once more
    project.configure(RULES, "relevant_from = 1")
    before = project.calls
    record = project.run_night(day)
    assert (record["status"], record["judged"]) == ("assessor drift", record["judgments"])
    assert project.calls - before == 2 * 64
    job.set_baseline(project.nights / day, project.nights)
    following = project.run_night(project.begin_day())
    assert (following["status"], following["relevant_from"]) == ("fine", 1)
    assert project.calls - before < 4 * 64 + following["judged"] / 2


@pytest.mark.slow
def test_a_panel_may_be_the_baseline(project: NightlyProject) -> None:
    project.configure(RULES, 'panel = ["fake:fake2"]')
    freeze(project)
    assert project.run_night(project.begin_day())["status"] == "fine"


def test_a_key_that_is_missing_is_said_before_engines_are_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    queries = write_queries(tmp_path, "one")
    with EngineServer(lambda _: Page()) as engines:
        toml = tmp_path / "judge.toml"
        toml.write_text(
            f'model = "openai:fake"\n[collect]\nqueries = "{queries}"\nengine = ["searxng"]\n'
            f'[collect.base_urls]\nsearxng = "{engines.url}"\n[nightly]\nfolder = "{tmp_path / "nights"}"\n'
        )
        with pytest.raises(SetupError, match="OPENAI_API_KEY"):
            job.run_nightly(toml, "2026-05-01")
        with pytest.raises(InputError, match="2026-W19-5"):
            job.run_nightly(toml, "2026-W19-5")
        assert engines.searched == []


def test_a_trend_that_cannot_be_drawn_is_a_line_and_people_are_told(small_project: NightlyProject) -> None:
    freeze(small_project)
    (small_project.nights / "trend.html").unlink()
    (small_project.nights / "trend.html").mkdir()
    day = small_project.begin_day()
    result = job.run_nightly(small_project.toml, day)
    assert (result.record.status, result.record.exit) == ("fine", 0)
    assert result.lines[-1].startswith("trend: not written: ")
    assert (small_project.nights / day / "summary.md").exists()


def test_a_line_about_the_trend_is_no_command_of_github(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "##[error]forged"
    folder.mkdir()
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    with make_nightly_project(folder, {"canary_repeats": 0}, queries=2) as project:
        (project.nights / "trend.html").mkdir(parents=True)
        result = job.run_nightly(project.toml, project.begin_day())
    assert result.lines[-1].startswith("trend: not written: ")
    printed = read_printed(result.lines, result.commands)
    assert any(line.startswith("trend: not written: ") and "# #[error]forged" in line for line in printed)
    assert not any("##[" in line for line in printed if not line.startswith("::"))
