"""The record of a night: written once, read back the same, and read from version 1."""

import json
from copy import deepcopy
from dataclasses import fields
from datetime import date
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from judge.config.run import Config
from judge.errors import InputError
from judge.messages import Bilingual
from judge.nightly.baseline import read_pointer
from judge.nightly.night_dataset import CollectionInfo, read_collection
from judge.nightly.record import (
    NIGHT_FILE,
    EngineSettings,
    EngineSource,
    read_record,
    record_from_json,
)
from judge.nightly.spending import count_night_calls
from judge.runs.folder import RunFolder
from judge.runs.record_json import to_json
from tests.support.cases import check_each
from tests.unit.nightly.records import make_drift, make_month, make_night, make_regression, parse_record

HERE = Path(__file__).resolve().parent
SCHEMA = HERE.parents[2] / "docs" / "schema" / "night.json"


@check_each("values", [make_night("2026-05-02"), make_regression(), make_drift(), *make_month()[:2]])
def test_a_record_is_written_and_read_back_the_same(tmp_path: Path, values: dict[str, Any]) -> None:
    record = parse_record(values)
    written = to_json(record, with_defaults=True)
    RunFolder(tmp_path).write_json(NIGHT_FILE, written)
    assert read_record(RunFolder(tmp_path)) == record
    stored = json.loads((tmp_path / "night.json").read_text(encoding="utf-8"))
    assert stored == written
    # The first files of version 2 name the outcomes of the regression test otherwise.
    first = json.loads(json.dumps(written).replace('"outcome": ', '"verdict": '))
    assert record_from_json(first, "night.json") == record
    assert stored.keys() == {field.name for field in fields(record)}
    jsonschema.validate(stored, json.loads(SCHEMA.read_text(encoding="utf-8")))
    for name in ("date", "status", "exit", "reasons", "remarks", "served", "queries", "judged", "coverage"):
        assert stored[name] == values[name]


def test_the_path_of_a_store_from_windows_leads_to_it_on_every_system() -> None:
    store = "..\\verdicts.drifted-2026-05-09.sqlite"
    record = parse_record({**make_drift(), "quarantined_store": store})
    assert record.quarantined_store == "../verdicts.drifted-2026-05-09.sqlite"


def test_a_record_of_version_1_is_read_with_the_words_of_version_2() -> None:
    values = json.loads((HERE / "night_version_1.json").read_text(encoding="utf-8"))
    record = record_from_json(deepcopy(values), "night.json")
    assert (record.schema, record.date, record.status) == (2, date(2026, 5, 9), "assessor drift")
    assert record.reasons == tuple(values["because"])
    assert (record.complete, record.finished, record.stopped) == (True, True, False)
    assert record.quarantined_store == "../verdicts.drifted-2026-05-09.sqlite"
    assert record.banner == (Bilingual(en="2026-05-09: judge drift.", zh="2026-05-09：评测员漂移。"),)
    assert record.cost_total is not None
    assert (record.cost_total.calls, record.cost_total.usd, record.cost.calls) == (240, 0.0412, 3240)
    assert record.canaries is not None
    assert record.canaries.reasons == ("29 of 60 canaries changed",)
    assert record.regression_test is not None
    assert [(row.engine, row.change, row.detectable) for row in record.outcomes] == [("bing", -0.031, 0.02)]
    assert [row.outcome for row in record.outcomes] == ["regression"]
    assert record.engine_settings is None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("different queries", "queries changed"),
        ("asked otherwise", "engine settings changed"),
        ("no baseline", "no baseline"),
    ],
)
def test_status_words_of_version_1_are_mapped(old: str, new: str) -> None:
    values = json.loads((HERE / "night_version_1.json").read_text(encoding="utf-8"))
    assert record_from_json({**values, "status": old}, "night.json").status == new


def test_an_old_night_that_does_not_say_whether_it_is_complete_is_so_when_it_is_finished() -> None:
    values = json.loads((HERE / "night_version_1.json").read_text(encoding="utf-8"))
    del values["whole"]
    assert record_from_json(values, "night.json").complete
    assert not record_from_json({**values, "finished": False}, "night.json").complete


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"schema": 3},
            "night.json: has schema version 3, and this version of judge reads up to 2; update judge",
        ),
        ({"status": "well"}, "night.json: field 'status' is 'well', not 'fine', "),
        ({"coverage": "all"}, "field 'coverage' is 'all', not a number"),
        ({"regression_test": {"rows": [{"engine": "bing"}]}}, "regression_test"),
    ],
)
def test_a_damaged_record_is_refused_with_the_key(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as refused:
        record_from_json({**make_night("2026-05-02"), **given}, "runs/night.json")
    assert message in str(refused.value)


def test_a_folder_without_a_record_has_none(tmp_path: Path) -> None:
    assert read_record(RunFolder(tmp_path)) is None


def test_the_settings_of_engines_are_read_under_their_old_name(tmp_path: Path) -> None:
    settings = {
        "depth": 10,
        "lang": None,
        "country": "de",
        "engines": {"mine": {"address": "x", "table": {}}},
    }
    (tmp_path / "collected.json").write_text(json.dumps({"remarks": ["slow"], "asked": settings}))
    assert read_collection(RunFolder(tmp_path)) == CollectionInfo(
        ("slow",),
        EngineSettings(
            depth=10, lang=None, country="de", engines={"mine": EngineSource(address="x", table={})}
        ),
    )
    (tmp_path / "collected.json").write_text('{"engine_settings": {"depth": "many"}}')
    with pytest.raises(
        InputError, match=r"collected\.json: field 'engine_settings\.depth' is 'many', not a whole number"
    ):
        read_collection(RunFolder(tmp_path))


def test_a_baseline_of_version_1_names_its_store(tmp_path: Path) -> None:
    folder = tmp_path / "baseline"
    folder.mkdir()
    values = {
        "id": "2026-05-01-ab12cd34",
        "name": "2026-05-01",
        "assessor": "openai:fake/graded",
        "queries": 9,
    }
    stored = {**values, "engines": ["bing"], "canaries": True, "apart": "verdicts.drifted-2026-05-01.sqlite"}
    (folder / "baseline.json").write_text(json.dumps(stored))
    pointer = read_pointer(tmp_path)
    assert pointer is not None
    assert (pointer.id, pointer.canaries, pointer.engines) == ("2026-05-01-ab12cd34", True, ("bing",))
    assert pointer.quarantined_store == "verdicts.drifted-2026-05-01.sqlite"
    (folder / "baseline.json").write_text(json.dumps(values))
    with pytest.raises(
        InputError, match=r"baseline\.json: field 'canaries' is missing; set the baseline again"
    ):
        read_pointer(tmp_path)


COST = {
    "calls": 5, "prompt_tokens": 50, "cached_tokens": 0, "completion_tokens": 9, "usd": 0.5, "lost": 1
}  # fmt: skip


def test_the_cost_of_a_night_that_an_older_version_began_is_added_up(tmp_path: Path) -> None:
    # Version 2 wrote a count that version 1 does not have as null.
    (tmp_path / "paid.json").write_text(json.dumps({"paid": {**COST, "uncounted": None}, "counted": {}}))
    cost = count_night_calls(RunFolder(tmp_path), Config(model="lexical"), []).cost_total
    assert (cost.calls, cost.usd, cost.lost) == (5, 0.5, 1)
    assert (cost.uncounted, cost.maybe_billed) == (0, 0)


@check_each(
    ("content", "problem"),
    [
        ({"counted": {}}, "field 'cost_total' is missing"),
        (
            {"cost_total": {"calls": "many"}, "counted": {}},
            r"field 'cost_total\.calls' is 'many', not a whole number",
        ),
        ({"paid": {}}, r"field 'cost_total\.calls' is missing"),
        ({"paid": COST}, "field 'counted' is missing"),
    ],
)
def test_a_damaged_file_of_costs_is_named(content: object, problem: str, tmp_path: Path) -> None:
    (tmp_path / "paid.json").write_text(json.dumps(content))
    with pytest.raises(InputError, match=rf"paid\.json: {problem}"):
        count_night_calls(RunFolder(tmp_path), Config(model="lexical"), [])
