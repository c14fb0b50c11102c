"""The modules of `judge` as syntax trees, for tests of the code itself."""

import ast
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "judge"
MODULES = tuple(sorted(PACKAGE.rglob("*.py")))


@cache
def parse_module(path: Path) -> ast.Module:
    """Return the syntax tree of a module, parsed once for all tests of a worker."""
    return ast.parse(path.read_text(encoding="utf-8"))
