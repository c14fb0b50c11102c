"""A damaged run folder is refused in one line, never with a traceback: samples of `damage.py`."""

import gc
import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fault_injection import damage
from tests.support.command_line import inject_faults

#: The commands that read each file.
READERS = {
    "run/results.json": ("score", "show", "annotate", "plan", "baseline set"),
    "run/summary.json": ("compare", "report", "score"),
    "run/judgments.jsonl": ("score", "compare two", "agree"),
}
#: The message for each damage of a JSON file.
MESSAGES = {
    "utf-16": "is not UTF-8",
    "NaN": "NaN is no number of JSON",
    "deep": "it nests too deep",
    "number": "is int 3, not an object",
    "bare number on a line": "",
    "half": "",
    "999999999": "is not JSON",
}


@pytest.fixture(autouse=True)
def without_garbage_collection() -> Iterator[None]:
    """Turn off the garbage collector: a callback of Hypothesis in it fails where JSON nests too deep."""
    gc.disable()
    yield
    gc.enable()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a run and nights."""
    result = tmp_path_factory.mktemp("whole")
    damage.make_folder(result)
    return result


@pytest.mark.parametrize("file", READERS)
def test_a_file_that_is_damaged_is_named_with_what_is_wrong(folder: Path, file: str) -> None:
    damages = {case.name: case for case in damage.yield_damages(file, (folder / file).read_bytes())}
    for name, words in MESSAGES.items():
        for command, result in damage.try_case(folder, damages[name], READERS[file]).items():
            assert result.code == 2, (name, command, result)
            assert result.errors.count("\n") == 1
            assert Path(file).name in result.errors
            assert words in result.errors, (name, command, result)


@pytest.mark.parametrize(
    ("file", "field", "value", "command"),
    [
        ("run/judgments.jsonl", ("reason",), 7, "score"),
        ("run/results.json", ("queries", 0, "engines"), [], "show"),
        ("run/results.json", ("queries", 0, "engines", "engine0", "snippets"), None, "show"),
        ("run/results.json", ("summary", "measures"), {}, "score"),
        ("run/summary.json", ("engines", "engine0", "measures"), None, "report"),
        ("run/summary.json", ("comparisons",), {"a": 1}, "compare"),
        ("run/config.json", ("options",), [], "annotate"),
        ("run/config.json", ("identity",), "x", "save"),
        ("run/config.json", ("identity", "prompts", "en"), 7, "save"),
    ],
)
def test_a_wrong_type_is_refused(
    folder: Path, file: str, field: tuple[object, ...], value: object, command: str
) -> None:
    def replace_field(content: bytes) -> bytes:
        first, end, rest = content.partition(b"\n") if file.endswith("jsonl") else (content, b"", b"")
        return damage.format_json(damage.replace_value(json.loads(first), field, value), file) + end + rest

    (result,) = damage.try_case(folder, damage.Case(file, "", replace_field), [command]).values()
    assert result.code == 2, result
    assert result.errors.count("\n") == 1


@pytest.mark.parametrize("text", ["\ud800", "\u202eabc"])
def test_a_remark_that_no_page_can_show_is_escaped(folder: Path, text: str, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path / "w")
    run = tmp_path / "w" / "run"
    content = json.loads((run / "results.json").read_bytes())
    for path in (("summary", "remarks"), ("summary", "dimensions", "sites", "remarks")):
        content = damage.replace_value(content, path, [f"a remark with {text}"])
    (run / "results.json").write_bytes(damage.format_json(content, "run/results.json"))
    assert damage.run_command(("score", str(run), "--save")).code == 0
    page = (run / "report.html").read_text(encoding="utf-8")
    assert page.count(f"a remark with \\x{ord(text[0]):02x}") >= 2


@pytest.mark.parametrize("cases", [20, pytest.param(100, marks=pytest.mark.slow)])
def test_no_damage_of_a_sample_ends_in_a_traceback(cases: int) -> None:
    inject_faults("damage", "--cases", cases, "--seed", 1)
