"""The type check of the scripts (`npm run check`) reads what the pages hold."""

import json
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

import pytest

from judge.annotate import app
from judge.nightly import trend_page
from judge.report import html

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize(
    ("name", "scripts"),
    [
        ("annotate", app.LABELLING_SCRIPTS),
        ("report", html.REPORT_SCRIPTS),
        ("trend", trend_page.TREND_SCRIPTS),
    ],
)
def test_the_type_check_lists_the_scripts_of_the_page_in_their_order(
    name: str, scripts: Sequence[tuple[str, str]]
) -> None:
    config = ROOT / ".ci" / "javascript" / f"{name}.json"
    listed = [(config.parent / path).resolve() for path in json.loads(config.read_text("utf-8"))["files"]]
    assert listed == [Path(str(files(package) / "templates" / script)) for package, script in scripts]


def test_the_type_check_lists_every_script() -> None:
    configs = (ROOT / ".ci" / "javascript").glob("*.json")
    texts = "".join(path.read_text("utf-8") for path in configs)
    assert [path.name for path in (ROOT / "judge").rglob("*.js") if f'/{path.name}"' not in texts] == []
