"""`judge align`: the table, the files and refused input."""

import json
import shutil
from pathlib import Path
from unicodedata import east_asian_width

import numpy as np
import pytest

from tests.support.command_line import run_judge
from tests.support.factories import write_rows


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a run of 12 queries with one relevant and three other snippets."""
    folder = tmp_path_factory.mktemp("align")
    words = ("tea", "rain", "gold", "moss", "iron", "lamp", "rope", "sand", "wool", "milk", "corn", "fish")
    rows = [
        {
            "query_id": word,
            "query": f"what is {word}",
            "engine": "a",
            "snippet": f"{other} number {at} is known",
        }
        for place, word in enumerate(words)
        for at, other in enumerate([word, *(words[(place + step) % 12] for step in (1, 2, 3))])
    ]
    result = run_judge("run", write_rows(folder / "d.jsonl", rows), "-m", "lexical", "--out", folder / "run")
    assert result.returncode == 0, result.stderr
    return folder / "run"


@pytest.mark.parametrize(("language", "word"), [("en", "held-out queries"), ("zh", "未参与训练的查询")])
def test_the_table_fits_a_terminal_and_the_files_hold_the_map(run: Path, language: str, word: str) -> None:
    result = run_judge("align", run, "--embeddings", "lsa", "--ui-lang", language)
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    table = next(at for at, line in enumerate(lines) if line.startswith(word))
    for line in lines[table : table + 3]:
        assert sum(2 if east_asian_width(each) in "WF" else 1 for each in line.rstrip()) <= 80
    summary = json.loads((run / "alignment.json").read_text())
    matrix = np.load(run / "alignment.npy", allow_pickle=False)
    assert matrix.shape == (summary["dimensions"], summary["dimensions"])
    assert (summary["queries"], summary["embeddings"], summary["seed"]) == (12, "lsa", 0)
    assert set(summary["measures"]) == {"RR", "Success@4"}


def test_json_is_the_file(run: Path) -> None:
    result = run_judge("align", run, "--embeddings", "lsa", "--seed", "3", "--json")
    assert json.loads(result.stdout) == json.loads((run / "alignment.json").read_text())
    assert json.loads(result.stdout)["seed"] == 3


def test_too_few_queries_and_unknown_embeddings_are_refused(tmp_path: Path, run: Path) -> None:
    rows = [
        {"query": "tea", "engine": "a", "snippet": text} for text in ("tea is a drink", "iron is a metal")
    ]
    data = write_rows(tmp_path / "d.jsonl", rows)
    assert run_judge("run", data, "-m", "lexical", "--out", tmp_path / "run").returncode == 0
    result = run_judge("align", tmp_path / "run", "--embeddings", "lsa")
    assert (result.returncode, "an alignment needs 10" in result.stderr) == (2, True)
    result = run_judge("align", run, "--embeddings", "word2vec")
    assert (result.returncode, "there are no embeddings 'word2vec'" in result.stderr) == (2, True)
    result = run_judge("align", run, "--embeddings", "lsa", "--seed", -1)
    assert (result.returncode, "it must be at least 0" in result.stderr) == (2, True)


def test_a_damaged_folder_is_refused(tmp_path: Path, run: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(run, copy)
    (copy / "config.json").write_text('{"options": [1]}')
    result = run_judge("align", copy, "--embeddings", "lsa")
    assert result.returncode == 2
    assert f"{copy / 'config.json'}: field 'options' is [1], not an object; remove" in result.stderr
