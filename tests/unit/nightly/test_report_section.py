"""The section of a night at the top of its report, also when the report is written again."""

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from markupsafe import escape

from judge import finished_run
from judge.client.progress import ProgressListener
from judge.errors import StoreError
from judge.nightly import job
from judge.nightly.night_texts import make_banner
from tests.unit.nightly import records
from tests.unit.nightly.projects import RULES, NightlyProject, freeze, make_nightly_project


@pytest.fixture
def project(tmp_path: Path) -> Iterator[NightlyProject]:
    """A project of nights of as many queries as an alarm takes."""
    with make_nightly_project(tmp_path, {**RULES, "canary_repeats": 0}, queries=20) as made:
        yield made


def test_the_band_stays_however_the_report_is_written_again(project: NightlyProject) -> None:
    freeze(project)
    worse = project.begin_day(worse=4.0)
    assert project.run_night(worse)["status"] == "regression"
    folder = project.nights / worse
    before = project.read_file(worse, "report.html")
    (text, *reasons, comparison) = json.loads(project.read_file(worse))["banner"]
    assert text["en"] == f"{worse}: regression of \u2068amber\u2069."
    assert [each["en"] for each in reasons] == json.loads(project.read_file(worse))["reasons"]
    assert comparison["en"] == "compared with the baseline \u20682026-05-01\u2069"
    assert f"{worse}: regression of <bdi>amber</bdi>.".encode() in before
    assert str(escape(reasons[0]["en"])).encode() in before
    for again in (
        lambda: job.run_nightly(project.toml, worse),
        lambda: finished_run.rescore(folder, save=True),
        lambda: finished_run.rewrite_report(folder),
    ):
        again()
        assert project.read_file(worse, "report.html") == before
    record = json.loads(project.read_file(worse))
    record["band"] = record.pop("banner")  # as in version 1
    (folder / "night.json").write_text(json.dumps(record), encoding="utf-8")
    finished_run.rewrite_report(folder)
    assert project.read_file(worse, "report.html") == before
    (folder / "report.html").unlink()  # as if killed before it was written
    job.run_nightly(project.toml, worse)
    assert project.read_file(worse, "report.html") == before
    (folder / "summary.json").unlink()
    result = job.run_nightly(project.toml, worse)
    assert result.record.status == "regression"
    (line,) = (line for line in result.lines if line.startswith("report: not written: "))
    assert "summary.json" in line
    advice = f"to let the night write its files again, remove {folder / 'night.json'}"
    assert line.endswith(f" again, which writes the file anew without a call ({advice})")
    calls = project.calls
    (folder / "night.json").unlink()
    job.run_nightly(project.toml, worse)
    assert (project.read_file(worse, "report.html"), project.calls) == (before, calls)


@dataclass
class WrittenReports:
    """The reports written in `folder`, each time that one gets its name; Python calls it as an audit hook."""

    folder: Path
    paths: list[Path] = field(default_factory=list)

    def __call__(self, event: str, arguments: tuple[object, ...]) -> None:
        if event == "os.rename" and str(arguments[1]).endswith("report.html"):
            path = Path(str(arguments[1]))
            self.paths += [path] if path.is_relative_to(self.folder) else []


def test_a_night_writes_one_report_and_its_canaries_none(tmp_path: Path) -> None:
    written = WrittenReports(tmp_path)
    sys.addaudithook(written)
    with make_nightly_project(tmp_path, RULES, queries=4) as project:
        day = project.begin_day()
        project.run_night(day)
        report = project.nights / day / "report.html"
        assert written.paths == [report]
        assert f"{day}: no baseline".encode() in report.read_bytes()
        canaries = project.nights / day / "canaries"
        assert (canaries / "results.json").exists()
        assert finished_run.rewrite_report(canaries).stat().st_size > 0


class Obstacle(ProgressListener):
    """A listener that makes a folder at `path` when the pairs are judged."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def end(self) -> None:
        """Make the folder."""
        self.path.mkdir()


def test_a_night_that_ends_before_its_decision_has_its_report_when_it_is_resumed(
    project: NightlyProject,
) -> None:
    day = project.begin_day()
    folder = project.nights / day
    with pytest.raises(StoreError, match=r"night\.json"):
        job.run_nightly(project.toml, day, progress=Obstacle(folder / "night.json"))
    assert (folder / "results.json").exists()
    assert not (folder / "report.html").exists()
    (folder / "night.json").rmdir()
    calls = project.calls
    assert (project.run_night(day)["status"], project.calls) == ("no baseline", calls)
    assert f"{day}: no baseline".encode() in project.read_file(day, "report.html")


def test_a_fine_night_says_what_was_compared() -> None:
    night = records.make_night("2026-05-02")
    # An interval of one comparison excludes 0, but the test is one of six.
    night["regression_test"]["rows"][1] |= {"change": -0.018, "low": -0.03, "high": -0.006, "p_holm": 0.054}
    # This one is significant, and smaller than `min_drop`.
    night["regression_test"]["rows"][2] |= {"change": -0.004, "low": -0.005, "high": -0.003, "p_holm": 0.001}
    headline, *lines, canaries = (text.en for text in make_banner(records.parse_record(night)))
    assert headline == (
        "2026-05-02: fine: no significant drop. Look at \u2068bing\u2069: sDCG@10 -0.018, p (Holm) 0.0540; an"
        " alarm needs p below 0.01, the option [nightly] alpha."
    )
    assert lines[0].startswith("compared with the baseline")
    assert not any("0.054" in line for line in lines)
    assert canaries.startswith("canaries: 60 pairs")
