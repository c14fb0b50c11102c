"""Nights that collect from engines: requests, engines that fail, and messages about both."""

import json
import shlex
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import pytest

from judge.errors import InputError
from judge.nightly import job
from judge.runs.record_json import to_json
from tests.support.command_line import run_judge
from tests.support.fake_engines import EngineServer, Page, SearchRequest
from tests.unit.collect.engine_calls import write_queries

QUERIES = 10
#: How the described engine calls what a result has.
FIELDS = 'title = "name", url = "href", snippet = "text"'


@dataclass
class Nights:
    """A folder where nights ask two engines, `server`, and what either answers tonight."""

    folder: Path
    server: EngineServer
    answers: dict[str, Callable[[SearchRequest], Page]] = field(default_factory=dict)

    @property
    def toml(self) -> Path:
        return self.folder / "judge.toml"

    @property
    def nights(self) -> Path:
        return self.folder / "nights"

    def configure(self, collect: str = "", tables: str = "", top: str = "") -> None:
        """Write judge.toml, with further lines of [collect], tables, and options of the run."""
        queries = write_queries(self.folder, *(f"harbour festival {number}" for number in range(QUERIES)))
        addresses = f'base_urls = {{ searxng = "{self.server.url}", tavily = "{self.server.url}" }}'
        self.toml.write_text(
            f'model = "lexical"\n{top}\n[collect]\nqueries = "{queries}"\n'
            f'engine = ["searxng", "tavily"]\nrate = 500.0\nattempts = 1\n{addresses}\n{collect}\n{tables}\n'
            f'[nightly]\nfolder = "{self.nights}"\ncanary_repeats = 0\nmin_drop = 0.02\n',
            encoding="utf-8",
        )

    def run_night(self, day: str) -> dict[str, object]:
        """Run the night of `day` and return its record."""
        return to_json(job.run_nightly(self.toml, day).record, with_defaults=True)

    def freeze(self) -> None:
        """Does a night and makes it the baseline."""
        self.run_night("2026-05-01")
        job.set_baseline(self.nights / "2026-05-01", self.nights)


def make_page(request: SearchRequest) -> Page:
    """Ten results, of which every other one is to the point."""
    long = "opens every summer beside old wooden ships"
    texts = [f"{'page' if rank % 2 else request.query} {rank} {long}" for rank in range(10)]
    return Page([(f"t{rank}", f"https://x.example/{rank}", text) for rank, text in enumerate(texts)])


def answer_some_oddly(odd: Page, *numbers: int) -> Callable[[SearchRequest], Page]:
    """Answers as ever, but `odd` to the questions with these numbers."""
    return lambda request: odd if int(request.query.split()[-1]) in numbers else make_page(request)


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Nights]:
    """Nights before the first one."""
    project: Nights

    def answer(request: SearchRequest) -> Page:
        return project.answers.get(request.engine, make_page)(request)

    with EngineServer(answer) as server:
        project = Nights(tmp_path, server)
        project.configure()
        yield project


# --- engine settings


def test_engines_that_are_asked_otherwise_are_not_blamed(project: Nights) -> None:
    project.freeze()
    project.configure("depth = 5")
    done = run_judge("nightly", project.toml, "--date", "2026-05-02")
    record = json.loads((project.nights / "2026-05-02" / "night.json").read_text())
    assert (done.returncode, record["status"], record["regression_test"]["rows"]) == (
        3,
        "engine settings changed",
        [],
    )
    (why,) = record["reasons"]
    assert why.startswith("the settings of engines differ from those at the baseline: depth was 10, now 5;")
    assert f"judge baseline set {project.nights / '2026-05-02'}" in why
    job.set_baseline(project.nights / "2026-05-02", project.nights)
    assert project.run_night("2026-05-03")["status"] == "fine"
    for at, (collect, text) in enumerate(
        (
            ('depth = 5\nlang = "zh"', "lang was not set, now 'zh'"),
            ('depth = 5\ncountry = "de"', "country was not set, now 'de'"),
        )
    ):
        project.configure(collect)
        record = project.run_night(f"2026-05-1{at}")
        assert (record["status"], text in str(record["reasons"])) == ("engine settings changed", True)


def test_another_address_or_table_of_an_engine_is_another_question(project: Nights) -> None:
    table = (
        '[collect.engines.mine]\nurl = "{url}?q={{query}}"\nresults = "data.items"\n'
        'fields = {{ {fields} }}\nsecrets = {{ token = "{mark}" }}'
    )

    def ask(path: str = "/mine", region: str = "", fields: str = FIELDS, mark: str = "x") -> None:
        tables = table.format(url=f"{project.server.url}{path}", fields=fields, mark=mark)
        project.configure(tables=tables + (f'\nparams = {{ region = "{region}" }}' if region else ""))
        text = project.toml.read_text().replace('"searxng", "tavily"', '"searxng", "http:mine"')
        project.toml.write_text(text.replace(f', tavily = "{project.server.url}"', ""))

    ask()
    project.freeze()
    ask(mark="y")
    assert project.run_night("2026-05-02")["status"] == "fine"
    for day, otherwise, line in (
        ("2026-05-03", {"region": "de"}, "params changed in [collect.engines.mine]"),
        ("2026-05-04", {"fields": FIELDS + ', date = "day"'}, "fields changed in [collect.engines.mine]"),
        ("2026-05-05", {"path": "/v2/mine"}, "mine's address was "),
    ):
        ask(**otherwise)
        record = project.run_night(day)
        assert record["status"] == "engine settings changed", record
        assert line in str(record["reasons"])
    collected = (project.nights / "2026-05-02" / "collected.json").read_text()
    assert '"y"' not in collected


def test_a_baseline_that_does_not_say_how_engines_were_asked_is_taken_as_it_is(project: Nights) -> None:
    project.run_night("2026-05-01")
    path = project.nights / "2026-05-01" / "collected.json"
    path.write_text('{"remarks": []}')
    job.set_baseline(project.nights / "2026-05-01", project.nights)
    project.configure("depth = 20")
    assert project.run_night("2026-05-02")["status"] == "fine"
    path.unlink()
    job.set_baseline(project.nights / "2026-05-01", project.nights)
    assert project.run_night("2026-05-03")["status"] == "fine"


# --- answers that are missing


def test_an_engine_that_failed_on_a_few_queries_is_told_of_with_the_reason(project: Nights) -> None:
    project.freeze()
    project.answers["searxng"] = answer_some_oddly(Page(status=500, body="boom"), 3)
    record = project.run_night("2026-05-02")
    assert record["status"] == "fine"
    (text,) = [each for each in record["remarks"] if "failed on" in each]  # type: ignore[attr-defined]
    assert text.startswith("searxng: failed on 1 of 10 queries, most often ")
    assert "HTTP 500" in text
    assert "failed on 1 of 10" in (project.nights / "2026-05-02" / "summary.md").read_text()


def test_a_night_on_which_an_engine_fails_says_how_to_request_the_answers_again(project: Nights) -> None:
    project.freeze()
    project.answers["searxng"] = answer_some_oddly(Page(status=500, body="boom"), *range(10))
    record = project.run_night("2026-05-02")
    (reason,) = cast("list[str]", record["reasons"])
    command = shlex.join(["judge", "nightly", str(project.toml), "--date", "2026-05-02"])
    assert reason.endswith(f"; to request the failed queries again: {command}")
    assert "searxng" not in str(record["remarks"])


def test_an_engine_that_finds_nothing_at_all_is_told_of_and_no_baseline(project: Nights) -> None:
    project.answers["tavily"] = lambda _: Page([])
    record = project.run_night("2026-05-01")
    assert (record["status"], record["exit"]) == ("no baseline", 0)
    assert any(
        each.startswith("tavily: returned no result for any of 10 queries")
        for each in record["remarks"]  # type: ignore[attr-defined]
    )
    with pytest.raises(InputError, match="cannot be the baseline: tavily returned no result for any query"):
        job.set_baseline(project.nights / "2026-05-01", project.nights)
    assert not (project.nights / "baseline").exists()


# --- what stands under every night


def test_a_night_without_anything_to_say_has_no_remarks(project: Nights) -> None:
    project.freeze()
    record = project.run_night("2026-05-02")
    assert (record["status"], record["remarks"]) == ("fine", [])


def test_short_lists_are_named_once_for_a_baseline(project: Nights) -> None:
    """The numbers of results can differ from night to night."""
    project.configure("depth = 20")
    project.freeze()
    first = json.loads((project.nights / "2026-05-01" / "night.json").read_text(encoding="utf-8"))
    remark = "tavily returned at most 10 of the 20 requested results; lower the depth"
    assert remark in first["remarks"]
    project.answers["tavily"] = lambda request: Page(make_page(request).results[:9])
    record = project.run_night("2026-05-02")
    assert "returned at most" not in str(record["remarks"])


def test_a_night_names_a_path_that_no_response_has(project: Nights) -> None:
    table = f'url = "{project.server.url}/find?q={{query}}"\nresults = "data.item"\nproof = "data"'
    project.configure(tables=f"[collect.engines.mine]\n{table}\n")
    text = project.toml.read_text(encoding="utf-8").replace('"tavily"]', '"tavily", "http:mine"]')
    project.toml.write_text(text, encoding="utf-8")
    record = project.run_night("2026-05-01")
    text = "no response of mine has 'data.item' (results); the first one has the keys"
    assert text in str(record["remarks"])


def test_a_night_requests_no_response_again_that_its_table_cannot_read(project: Nights) -> None:
    """So the advice is to correct the table; a new request for each query would be the same."""
    table = f'[collect.engines.mine]\nurl = "{project.server.url}/find?q={{query}}"\nresults = "data.item"\n'
    project.configure(tables=f'{table}proof = "data"\n')
    text = project.toml.read_text(encoding="utf-8").replace('"tavily"]', '"tavily", "http:mine"]')
    project.toml.write_text(text, encoding="utf-8")
    (reason,) = cast("list[str]", project.run_night("2026-05-01")["reasons"])
    requests = len(project.server.searched)
    command = shlex.join(["judge", "nightly", str(project.toml), "--date", "2026-05-01"])
    folder = project.nights / "2026-05-01"
    assert reason.endswith(
        f"; correct the settings of the engine, or remove {folder} to request all results again, then:"
        f" {command}"
    )
    project.run_night("2026-05-01")
    assert len(project.server.searched) == requests


def test_a_night_whose_engine_was_empty_for_a_time_is_run_again_as_it_says(project: Nights) -> None:
    project.freeze()
    project.answers["searxng"] = answer_some_oddly(Page([]), *range(5))
    (reason,) = cast("list[str]", project.run_night("2026-05-02")["reasons"])
    assert "(5 empty" in reason
    project.answers.clear()
    # An empty list is an answer, and no request is made for it again.
    assert project.run_night("2026-05-02")["status"] == "incomplete"
    folder = project.nights / "2026-05-02"
    assert f"or remove {folder} to request all results again, then: judge nightly" in reason
    shutil.rmtree(folder)
    assert project.run_night("2026-05-02")["status"] == "fine"


def test_a_fine_night_tells_of_its_power_everywhere(project: Nights) -> None:
    def answer(request: SearchRequest) -> Page:
        results = make_page(request).results
        return Page(results[::-1] if int(request.query.split()[-1]) < 6 else results)

    project.freeze()
    project.answers["searxng"] = answer
    result = job.run_nightly(project.toml, "2026-05-02")
    summary = (project.nights / "2026-05-02" / "summary.md").read_text()
    for text in ("\n".join(result.lines), summary.replace("\\", "")):
        assert "on these 10 queries the test detects a drop" in text
        assert "sDCG@10 " in text
    # Six queries of one engine differ; the other answers as at the baseline.
    assert {row.engine for row in result.record.outcomes if row.detectable is not None} == {"searxng"}
