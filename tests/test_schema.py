"""The layout of the JSON files: versions, damage, and the JSON schemas."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from judge import api, finished_run
from judge.analysis.analyse_run import analyse_run
from judge.cli.show import find_query
from judge.errors import InputError
from judge.runs.folder import RunFolder
from judge.runs.load import load_agreement, load_run, load_summary
from judge.runs.record_json import summary_from_json, to_json
from tests.support.cases import check_each
from tests.support.schema_files import make_json_schemas

ROOT = Path(__file__).resolve().parents[1]
VERSION_1 = ROOT / "tests/cases/run_version_1"


def read_stored(name: str) -> Any:
    return json.loads((VERSION_1 / name).read_text(encoding="utf-8"))


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Return a copy of a run folder that was written in version 1."""
    return Path(shutil.copytree(VERSION_1, tmp_path / "run"))


def test_a_summary_of_version_1_keeps_every_value() -> None:
    summary = load_summary(RunFolder(VERSION_1))
    assert summary.schema == 2
    assert summary.dedup_saving == 0.0
    assert summary.engines["heron"].no_snippet_share == 0.0
    assert summary.flagged_sensitivity is not None
    assert summary.flagged_sensitivity.engines["magpie"].unchanged == pytest.approx(0.5005686)
    old, new = read_stored("summary.json"), to_json(summary)
    in_segments = (segment for values in old["slices"].values() for segment in values.values())
    for row in (*old["comparisons"], *(row for segment in in_segments for row in segment["comparisons"])):
        row["conclusion"] = row.pop("verdict")
    renamed = {"saved", "within_lists", "slices", "without_flagged", "kin", "engines", "stability", "cost"}
    assert {key: new[key] for key in old.keys() - renamed} == {key: old[key] for key in old.keys() - renamed}
    assert new["segments"] == old["slices"]
    assert new["stability"] == old["stability"]
    assert new["cost"] == old["cost"]
    for name, engine in old["engines"].items():
        share = engine.pop("textless")
        assert new["engines"][name] == {**engine, "no_snippet_share": share}


def test_an_agreement_of_version_1_keeps_every_value() -> None:
    agreement = load_agreement(RunFolder(VERSION_1))
    assert agreement is not None
    old = read_stored("agreement.json")
    del old["references"]  # published figures, which are in the documentation
    assert to_json(agreement) == {"schema": 2, **old}


def test_records_that_stay_in_the_folder_are_those_of_a_run_in_memory(run: Path) -> None:
    finished_run.rescore(run, save=True)  # results.json as judge writes it, a query a line
    loaded, stored_run = load_run(RunFolder(run)), load_run(RunFolder(run), in_memory=False)
    assert stored_run.dataset == loaded.dataset
    assert stored_run.pool == loaded.pool
    assert stored_run.judgments == loaded.judgments
    assert (stored_run.judgments[-1], stored_run.judgments[:2]) == (
        loaded.judgments[-1],
        loaded.judgments[:2],
    )
    assert analyse_run(stored_run).summary == analyse_run(loaded).summary
    (run / "judgments.jsonl").unlink()
    with pytest.raises(InputError, match=r"judgments\.jsonl"):
        list(stored_run.judgments)


def test_a_run_of_version_1_is_scored_compared_and_reported(run: Path) -> None:
    loaded = load_run(RunFolder(run))
    assert analyse_run(loaded).summary.grades == read_stored("summary.json")["grades"]
    assert api.compare(run).engines["heron"].measures["nDCG@2"].mean == pytest.approx(0.6841763)
    assert "heron" in finished_run.rewrite_report(run).read_text(encoding="utf-8")
    finished_run.rescore(run, save=True)
    for name in ("summary.json", "results.json"):
        assert json.loads((run / name).read_text(encoding="utf-8"))["schema"] == 2
    assert load_summary(RunFolder(run)).engines.keys() == {"heron", "magpie"}


READERS: dict[str, Callable[[Path], object]] = {
    "summary.json": api.compare,
    "results.json": api.score,
    "agreement.json": lambda run: load_agreement(RunFolder(run)),
}


@pytest.mark.parametrize("name", READERS)
def test_a_file_of_a_newer_version_is_refused(run: Path, name: str) -> None:
    (run / name).write_text(json.dumps({**read_stored(name), "schema": 3}), encoding="utf-8")
    with pytest.raises(InputError, match=rf"{name}: has schema version 3, .* reads up to 2; update judge"):
        READERS[name](run)


def test_a_query_of_a_newer_version_is_not_shown(run: Path) -> None:
    finished_run.rescore(run, save=True)
    path = run / "results.json"
    as_written = path.read_text(encoding="utf-8").replace('"schema": 2', '"schema": 3', 1)
    for text in (as_written, json.dumps(json.loads(as_written))):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(InputError, match=r"results\.json: has schema version 3"):
            find_query(run, "q1")


@check_each(
    ("path", "value", "message"),
    [
        (("engines", "heron", "judged"), [], "field 'engines.heron.judged' is \\[\\], not a number; "),
        (("comparisons", 0, "n"), None, "field 'comparisons.0.n' is None, not a whole number; "),
        (("cost", "calls"), "many", "field 'cost.calls' is 'many', not a whole number; "),
        (("slices",), 3, "field 'segments' is 3, not an object; "),
        (("schema",), "two", "field 'schema' is 'two', not a version"),
    ],
)
def test_a_damaged_summary_is_refused_with_the_field(
    path: tuple[str | int, ...], value: object, message: str
) -> None:
    summary = read_stored("summary.json")
    inner = summary
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    with pytest.raises(InputError, match=f"summary.json: {message}"):
        summary_from_json(summary, "summary.json")


def test_the_first_summaries_of_version_2_name_conclusions_otherwise(run: Path) -> None:
    finished_run.rescore(run, save=True)
    text = (run / "summary.json").read_text(encoding="utf-8")
    first = json.loads(text.replace('"conclusion": ', '"verdict": '))
    assert first != json.loads(text)
    assert summary_from_json(first, "summary.json") == summary_from_json(json.loads(text), "summary.json")


def test_a_summary_without_a_key_is_refused() -> None:
    summary = read_stored("summary.json")
    del summary["coverage"]
    with pytest.raises(InputError, match="field 'coverage' is missing"):
        summary_from_json(summary, "summary.json")


def test_the_schema_files_are_up_to_date() -> None:
    for name, schema in make_json_schemas().items():
        text = (ROOT / "docs/schema" / f"{name}.json").read_text(encoding="utf-8")
        assert json.loads(text) == schema, "run: python -m tests.support.schema_files docs/schema"


def test_the_files_of_a_run_follow_their_schemas(run: Path) -> None:
    finished_run.rescore(run, save=True)
    labels = run.parent / "labels.csv"
    pair = load_run(RunFolder(run)).pool.pairs[0]
    labels.write_text(f"query_id,snippet_id,grade\n{pair.query.id},{pair.snippet.id},2\n", encoding="utf-8")
    api.agree(run, labels)
    lines = (run / "judgments.jsonl").read_text(encoding="utf-8").splitlines()
    schemas = make_json_schemas()
    del schemas["night"]
    for name, schema in schemas.items():
        validator = jsonschema.Draft202012Validator(schema)
        validator.check_schema(schema)
        file = run / f"{name}.json"
        contents = [file.read_text(encoding="utf-8")] if file.exists() else lines
        for content in map(json.loads, contents):
            assert list(validator.iter_errors(content)) == []
            del content["schema" if file.exists() else "grade"]
            assert not validator.is_valid(content)
