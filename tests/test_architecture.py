"""The house stands as drawn: imports go one way, and only where they may."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
#: Each room and what it may import, besides itself.
ROOMS = {
    "errors": set(),
    "records": set(),
    "han": set(),
    "config": {"records", "errors"},
    "dataset": {"records", "errors", "han"},
    "models": {"records", "errors", "han"},
    "measure": {"records", "errors"},
    "assess": {"records", "errors", "han", "models"},
    "report": {"records", "errors", "measure", "dataset"},
    "annotate": {"records", "errors", "measure", "dataset", "report"},
    "example": set[str](),
    "identity": {"records", "config", "assess"},
    "setup": {"records", "errors", "config", "dataset", "models", "measure", "assess", "report", "identity"},
}
ROOMS["pipeline"] = {*ROOMS, "identity"}
ROOMS["finished"] = {*ROOMS}
ROOMS["api"] = {"pipeline", "finished", "config", "report", "assess", "errors", "records"}
ROOMS["commands"] = {*ROOMS}
ROOMS["cli"] = {"commands", "identity", "errors"}


def imports(path: Path) -> set[str]:
    """The rooms that a module names in imports, at its top or inside functions."""
    rooms = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "judge":
            parts = node.module.split(".")
            rooms |= {parts[1]} if len(parts) > 1 else {alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            rooms |= {alias.name.split(".")[1] for alias in node.names if alias.name.startswith("judge.")}
    return rooms


@pytest.mark.parametrize(
    "path", sorted((ROOT / "judge").rglob("*.py")), ids=lambda path: str(path.relative_to(ROOT))
)
def test_imports_go_one_way(path: Path) -> None:
    room = path.relative_to(ROOT / "judge").parts[0].removesuffix(".py")
    if room in ROOMS:
        assert imports(path) - {room} <= ROOMS[room]


def test_nobody_imports_the_integrations_and_only_config_reads_the_environment() -> None:
    for path in (ROOT / "judge").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if "integrations" not in path.parts:
            assert "integrations" not in imports(path), path
        if path.name != "config.py":
            assert "os.environ" not in text, path
            assert "getenv" not in text, path


def test_nothing_unpickles_or_evaluates() -> None:
    for path in (ROOT / "judge").rglob("*.py"):
        names = {
            node.id
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(node, ast.Name)
        }
        assert not names & {"eval", "exec", "pickle", "marshal", "shelve", "dill"}, path
