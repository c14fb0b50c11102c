"""Write the JSON schemas of summary.json, results.json, agreement.json, night.json and judgments.jsonl.

Run `python -m tests.support.schema_files DIR`. The schemas are generated from the records, and are kept in
docs/schema.
"""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from judge.analysis.label_agreement import LabelAgreement
from judge.analysis.summary import SCHEMA_VERSION, Summary
from judge.nightly.record import NightRecord
from judge.records import Judgment
from judge.runs.record_json import build_adapter
from judge.runs.results_file import Results

_RECORDS: Mapping[str, type] = {
    f"summary.json, version {SCHEMA_VERSION}": Summary,
    f"results.json, version {SCHEMA_VERSION}": Results,
    f"agreement.json, version {SCHEMA_VERSION}": LabelAgreement,
    f"night.json, version {SCHEMA_VERSION}": NightRecord,
    "judgments.jsonl, one line": Judgment,
}


def make_json_schemas() -> dict[str, dict[str, Any]]:
    """Return the JSON schema of each file by its name without suffix."""
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return {
        title.partition(".")[0]: {**head, "title": title, **_drop_titles(build_adapter(kind).json_schema())}
        for title, kind in _RECORDS.items()
    }


def _drop_titles(schema: Any) -> Any:  # any JSON value
    """Return the schema without the titles that repeat the names of the fields."""
    if isinstance(schema, dict):
        return {
            key: _drop_titles(value)
            for key, value in schema.items()
            if not (key == "title" and isinstance(value, str))
        }
    return [_drop_titles(value) for value in schema] if isinstance(schema, list) else schema


def main(folder: Path) -> None:
    """Write the schema files into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, schema in make_json_schemas().items():
        text = json.dumps(schema, indent=2, ensure_ascii=False) + "\n"
        (folder / f"{name}.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
