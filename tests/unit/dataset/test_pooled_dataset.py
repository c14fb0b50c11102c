"""The cache of a dataset and of its keys: it gives back what was read, for the same files and code alone."""

import hashlib
import json
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import judge
from judge import pipeline, run_input
from judge.assess.assessor import Assignment
from judge.assess.assignment_plan import AssignmentPlan
from judge.config.run import Config
from judge.dataset.pool import build_pool
from judge.dataset.stored_dataset import PooledDataset, load_pooled
from judge.files.cache import FileCache, _hash_code, hash_data_files, hash_modules, make_cache_path, make_key
from judge.records import Pool
from judge.store import store_files
from judge.store.store import VerdictStore
from tests.support.cases import check_each
from tests.support.factories import make_rows, write_rows
from tests.unit.assess.test_estimate import ASSESSOR

#: What a dataset can hold: failed and empty engines, dates, changed texts, one page at two addresses.
ODD: Sequence[dict[str, Any]] = (
    {
        "query": "茶 x",
        "category": "drinks",
        "reference": "green",
        "engines": {
            "a": [
                {"snippet": "绿茶 <b>好</b>", "url": "http://a.example/x?utm_source=1", "date": "2020-01-01"},
                {"snippet": "绿茶 <b>好</b>", "url": "http://www.a.example/x", "date": "2021-01-01"},
                {"snippet": "half \ud800 pair", "title": "\u2028 T"},
                {"snippet": None, "url": "u"},
            ],
            "b": [],
            "c": {"error": "HTTP 500"},
            "d": {"results": ["绿茶 <b>好</b>"], "latency_ms": 12.5},
        },
    },
    {"query": "two words", "engines": {"d": ["x", "y", "x"], "a": {"error": "no"}}},
)


def write_large_file(path: Path, rows: Sequence[dict[str, Any]] = ODD) -> Path:
    """A file that is large enough for the cache: a blank line is not a row."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows) + " " * 1_000_000 + "\n", "utf-8")
    return path


def read(data: Path, **options: Any) -> PooledDataset:
    config = Config(data=str(data), model="lexical", out=str(data.parent / "run"), **options)
    return run_input.load_pooled_dataset(config)


def list_cached(folder: Path) -> list[Path]:
    return sorted(make_cache_path(folder / "verdicts.sqlite").glob("*"))


@pytest.mark.parametrize("as_of", [None, "2022-01-01"])
@pytest.mark.parametrize("depth", [2, 10])
def test_the_cache_gives_back_what_was_read(tmp_path: Path, as_of: str | None, depth: int) -> None:
    data = write_large_file(tmp_path / "d.jsonl")
    first, second = (read(data, as_of=as_of, depth=depth) for _ in range(2))
    assert len(list_cached(tmp_path)) == 1
    assert (second.dataset, second.pool, second.fingerprint) == (first.dataset, first.pool, first.fingerprint)
    assert second.pool.cache_key == first.pool.cache_key != ""
    assert list(second.dataset.queries) == list(first.dataset.queries)
    assert second.pool == build_pool(second.dataset, depth)
    assert list(second.dataset.rankings) == list(first.dataset.rankings)
    assert list(second.lines) == list(first.lines)
    ranking = first.dataset.rankings[0]
    assert (
        ranking.snippets[0] is first.dataset.rankings[0].snippets[0] or ranking == first.dataset.rankings[0]
    )


def test_only_the_queries_of_a_stored_dataset_are_in_memory(tmp_path: Path) -> None:
    rows = [{**row, "snippet": f"{row['snippet']} {'long' * 500}"} for row in make_rows(25, 2, 10)]
    read(write_large_file(tmp_path / "first.jsonl", rows[:20]))  # a first call imports modules
    data = write_large_file(tmp_path / "d.jsonl", rows)
    for _ in range(2):  # as it is read first, and from the cache
        tracemalloc.start()
        try:
            pooled = read(data)
            content, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert len(pooled.pool.pairs) == 500
        assert sum(len(pair.snippet.text) for pair in pooled.pool.pairs) > 1_000_000
        assert content < 250_000


def test_a_stored_dataset_can_be_read_when_its_file_is_gone(tmp_path: Path) -> None:
    data = write_large_file(tmp_path / "d.jsonl")
    first, second = read(data), read(data)
    [file] = list_cached(tmp_path)
    file.unlink()
    assert second.dataset == first.dataset


def test_a_small_dataset_and_rows_in_memory_are_not_cached(tmp_path: Path) -> None:
    assert read(write_rows(tmp_path / "d.jsonl", make_rows(2, 2, 2))).pool.cache_key == ""
    assert list_cached(tmp_path) == []


def test_another_file_or_another_option_is_read_anew(tmp_path: Path) -> None:
    data = write_large_file(tmp_path / "d.jsonl")
    first = read(data)
    assert read(data, max_chars=200).pool.cache_key != first.pool.cache_key
    write_large_file(data, ODD[:1])
    assert len(read(data).dataset.queries) == 1
    write_large_file(data)
    assert read(data).pool.cache_key == first.pool.cache_key


@check_each("damage", ["cut", "changed", "empty", "link", "other"])
def test_a_damaged_cache_is_made_again(tmp_path: Path, damage: str) -> None:
    data = write_large_file(tmp_path / "d.jsonl")
    first = read(data)
    [file] = list_cached(tmp_path)
    full_bytes = file.read_bytes()
    match damage:
        case "cut":
            file.write_bytes(full_bytes[:-100])
        case "changed":
            file.write_bytes(full_bytes.replace(b"words", b"wordy"))
        case "empty":
            file.write_bytes(b"")
        case "link":
            file.rename(tmp_path / "elsewhere")
            file.symlink_to(tmp_path / "elsewhere")
        case _:  # a valid checksum over something else
            FileCache(file.parent).write(first.pool.cache_key, ["[1, 2]\n", "{}\n"])
    second = read(data)
    assert (second.dataset, second.pool) == (first.dataset, first.pool)
    assert file.read_bytes() == full_bytes
    assert not file.is_symlink()


def name_query(query: list[Any]) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield each object of a stored query that has its id, and the key of the id."""
    yield query[0], "id"
    yield from ((ranking, "query_id") for ranking in query[1])


@check_each(
    "change",
    [
        lambda query: query.pop(),
        lambda query: query[0].update(lang="la"),
        lambda query: query[1][0]["snippets"][0].update(text=7),
        lambda query: query[1][0]["snippets"][0].update(flags="ab"),
        lambda query: query[1][0]["snippets"].pop(),
        lambda query: query[1][0]["documents"].pop(),
        lambda query: query[1][0].update(query_id="q1"),
        lambda query: query[1].append(query[1][0]),
        lambda query: [values.update({name: "q1"}) for values, name in name_query(query)],
    ],
)
def test_a_cache_with_wrong_values_is_made_again(tmp_path: Path, change: Callable[[Any], object]) -> None:
    data = write_large_file(tmp_path / "d.jsonl", make_rows(2, 2, 3))
    first = read(data)
    [file] = list_cached(tmp_path)
    full_bytes = file.read_bytes()
    query, *others = first.lines
    values = json.loads(query)
    change(values)
    line = json.dumps(values) + "\n"
    FileCache(file.parent).write(first.pool.cache_key, [line, *others])
    second = read(data)
    assert (second.dataset, second.pool) == (first.dataset, first.pool)
    assert file.read_bytes() == full_bytes


def test_a_folder_that_takes_no_file_is_no_error(tmp_path: Path) -> None:
    data = write_large_file(tmp_path / "d.jsonl")
    (tmp_path / "verdicts.sqlite.cache").write_text("a file where the folder should be")
    assert read(data).pool == read(data).pool


def list_assignments(pool: Pool, repeats: int, cache: FileCache | None = None) -> list[Assignment]:
    plan = AssignmentPlan(pool.pairs, ASSESSOR, repeats, cache, pool.cache_key)
    return [assignment for block in plan.read_blocks() for assignment in block.for_model]


def test_keys_are_the_same_from_the_cache(tmp_path: Path) -> None:
    pool = read(write_large_file(tmp_path / "d.jsonl")).pool
    cache = FileCache(make_cache_path(tmp_path / "verdicts.sqlite"))
    plain = list_assignments(pool, 2)
    for _ in range(2):
        assert list_assignments(pool, 2, cache) == plain
    assert len(list_cached(tmp_path)) == 2
    # Fewer repeats, and the pool of another dataset, have keys of their own.
    assert list_assignments(pool, 1, cache) == list_assignments(pool, 1)
    other = load_pooled(read(write_large_file(tmp_path / "e.jsonl", ODD[1:])).lines, 10, "other").pool
    assert list_assignments(other, 2, cache) == list_assignments(other, 2)


@check_each("line", ["zz\n", "ab\n", "\u00e9\n"])
def test_cached_keys_of_another_form_are_made_again(tmp_path: Path, line: str) -> None:
    pool = read(write_large_file(tmp_path / "d.jsonl")).pool
    cache = FileCache(make_cache_path(tmp_path / "verdicts.sqlite"))
    plain = list_assignments(pool, 2, cache)
    cache.write(ASSESSOR.make_cache_key(pool.cache_key, 2), [line])
    for _ in range(2):
        assert list_assignments(pool, 2, cache) == plain


def run_again(data: Path, **options: Any) -> tuple[dict[str, bytes], set[str]]:
    """The files of the run after one more `judge run`, and the names of those that it wrote."""
    out = data.parent / "run"
    before = {path.name: path.stat().st_ino for path in out.glob("*")}
    pipeline.run(Config(data=str(data), model="lexical", out=str(out), **options))
    written = {path.name for path in out.iterdir() if before.get(path.name) != path.stat().st_ino}
    return {path.name: path.read_bytes() for path in out.iterdir()}, written


def test_a_run_again_writes_what_is_not_there_yet(tmp_path: Path) -> None:
    data = write_large_file(tmp_path / "d.jsonl")
    first, _ = run_again(data)
    second, written = run_again(data)
    assert second == first
    assert written == {"config.json", "judgments.jsonl"}
    assert len(list_cached(tmp_path)) == 3  # the dataset, the keys, and what the files are


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("results.json", "changed"),
        ("summary.json", "changed"),
        ("report.html", "link"),
        ("run.a.trec", "missing"),
    ],
)
def test_a_run_again_writes_damaged_files_anew(tmp_path: Path, name: str, damage: str) -> None:
    data, path = write_large_file(tmp_path / "d.jsonl"), tmp_path / "run" / name
    first, _ = run_again(data)
    full_bytes = path.read_bytes()
    path.unlink()
    match damage:
        case "changed":
            path.write_bytes(full_bytes[:-1])
        case "link":
            (tmp_path / "copy").write_bytes(full_bytes)
            path.symlink_to(tmp_path / "copy")
    assert run_again(data)[0] == first
    assert not path.is_symlink()


def test_a_summary_that_is_read_again_comes_with_the_same_scores(tmp_path: Path) -> None:
    data = write_large_file(
        tmp_path / "d.jsonl", [*ODD, {"query": "茶 y", "engines": {"a": ["茶"], "d": ["茶 y", "z"]}}]
    )
    config = Config(data=str(data), model="lexical", out=str(tmp_path / "run"), repeats=2)
    first, second = pipeline.run(config), pipeline.run(config)
    assert second.summary == first.summary
    for name in ("value", "lowest", "highest", "judged_share"):
        np.testing.assert_array_equal(getattr(second.scores, name), getattr(first.scores, name))
    assert judge.score(tmp_path / "run").summary == first.summary


def test_a_run_again_writes_what_other_options_change(tmp_path: Path) -> None:
    data = write_large_file(tmp_path / "d.jsonl")
    first, _ = run_again(data)
    second, written = run_again(data, measures=["P@1"])
    assert {"scores.csv", "report.html", "results.json"} <= written
    assert b"nDCG@10" not in second["results.json"]
    assert run_again(data)[0] == first


def test_only_the_keys_of_computed_values_depend_on_the_code() -> None:
    of_answer = hashlib.sha256(b'["embeddings", 1]').hexdigest()[:32]
    assert make_key("embeddings", 1, is_computed=False) == of_answer != make_key("embeddings", 1)


def test_a_key_depends_on_the_versions_of_libraries(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for kind, name in (("dist-info", "METADATA"), ("egg-info", "PKG-INFO")):
        hashes = set()
        for version in ("1.0", "2.0"):
            path = tmp_path / kind / version
            file = path / f"numpy-{version}.{kind}" / name
            file.parent.mkdir(parents=True)
            file.write_text(f"Name: numpy\nVersion: {version}\n")
            with monkeypatch.context() as patch:
                patch.syspath_prepend(path)
                hashes.add(_hash_code.__wrapped__())
        assert len(hashes) == 2, kind


@pytest.mark.parametrize(
    ("name", "is_code", "is_data"),
    [("run.py", True, False), ("messages/zh.mo", False, True), ("run.cpython-311.pyc", False, False)],
)
def test_a_translation_changes_the_hash_of_data_and_not_that_of_code(
    tmp_path: Path, name: str, is_code: bool, is_data: bool
) -> None:
    (tmp_path / "messages").mkdir()
    for file in ("run.py", "messages/zh.mo", "run.cpython-311.pyc"):
        (tmp_path / file).write_text("1")
    code, data = hash_modules(tmp_path), hash_data_files(tmp_path)
    (tmp_path / name).write_text("2")
    assert (hash_modules(tmp_path) != code) == is_code
    assert (hash_data_files(tmp_path) != data) == is_data


def test_old_files_leave_the_cache(tmp_path: Path) -> None:
    cache = FileCache(tmp_path)
    for number in range(30):
        cache.write(f"{number:02}", [f"{number}\n"])
    assert len(list(tmp_path.iterdir())) == 24
    assert list(cache.read("29") or ()) == [b"29\n"]


def test_the_cache_goes_with_its_store(tmp_path: Path) -> None:
    path = tmp_path / "verdicts.sqlite"
    VerdictStore(path).close()
    FileCache(make_cache_path(path)).write("a", ["b\n"])
    store_files.remove_store(path)
    assert list(tmp_path.iterdir()) == []
