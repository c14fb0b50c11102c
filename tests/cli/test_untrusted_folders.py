"""Untrusted folders: links where judge writes, stores with other objects, unusual names."""

import asyncio
import json
import os
import re
import sqlite3
import stat
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing, nullcontext, suppress
from pathlib import Path

import pytest

import judge
from judge import api, finished_run
from judge.analysis.summary import SelfTestEntry
from judge.annotate import label_log
from judge.collect.raw_log import RawLog
from judge.errors import InputError, JudgeError, StoreError
from judge.files.cache import FileCache, hash_file
from judge.files.filesystem import LineLog, make_file_name, open_for_append, write_file
from judge.nightly import job, stores
from judge.nightly.baseline import read_pointer
from judge.records import Pool
from judge.runs.export import make_trec_file_names
from judge.runs.folder import RunFolder
from judge.runs.labelling_plan import plan_labels
from judge.runs.load import find_store
from judge.selftest.stored_selftests import look_up_selftests
from judge.store.leases import Lease
from judge.store.store import VerdictStore
from tests.support.cases import check_each
from tests.support.factories import make_rows, write_rows
from tests.support.fake_engines import EngineServer
from tests.unit.collect.engine_calls import collect_results, return_three, write_queries
from tests.unit.nightly.projects import RULES, freeze, make_calls_older, make_nightly_project

TEXT = "do not touch\n"
#: Files that a command replaces, and the lock of a process that has ended.
_REPLACED = {
    *("judgments.jsonl", "qrels.txt", "report.html", "results.json", "run.engine0.trec", "run.engine1.trec"),
    *("scores.csv", "summary.json", "0123456789ab.lock"),
}
pytestmark = pytest.mark.skipif(os.name != "posix", reason="links need a privilege on Windows")


def make_run(folder: Path) -> Path:
    """Make a run with all files that commands write into it."""
    folder.mkdir(exist_ok=True)
    data = write_rows(folder / "data.jsonl", make_rows(3, 2, 2))
    out = folder / "runs" / "x"
    judge.run(data, "lexical", out=str(out))
    finished_run.rewrite_report(out)
    plan, _ = plan_labels(out, 2, 0, None)
    text = plan.read_text(encoding="utf-8-sig").splitlines()
    (folder / "graded.csv").write_text(
        "\n".join([text[0], *(line[: -len(",,")] + ",1," for line in text[1:])]), encoding="utf-8"
    )
    api.agree(out, folder / "graded.csv")
    judge.score(out)
    with label_log.open_labels(out, "me") as mine:
        mine.add(label_log.LabelDecision("0" * 16, "q0", "s", 1))
        mine.write_table(Pool(3, 0, []))
    return out


def list_files(folder: Path) -> list[Path]:
    """Return the files below `folder`, relative to it."""
    return sorted(path.relative_to(folder) for path in folder.rglob("*") if path.is_file())


def plant_link(path: Path, victim: Path, *, hard: bool = False) -> None:
    """Put a link to `victim` in the place of `path`."""
    path.unlink(missing_ok=True)
    if hard:
        path.hardlink_to(victim)
    else:
        path.symlink_to(victim)


@check_each("hard", [False, True])
def test_no_command_on_a_run_writes_through_a_link(tmp_path: Path, hard: bool) -> None:
    names = list_files(make_run(tmp_path / "first").parent)
    lone = [Path(f"verdicts.sqlite-{each}") for each in ("wal", "shm", "journal")]
    lone.append(Path("verdicts.sqlite.locks/0123456789ab.lock"))
    assert {"agreement.json", "labels.csv", "me.jsonl", ".lock", *_REPLACED} <= {
        each.name for each in (*names, *lone)
    }
    beside = [each.with_name(f".{each.name}.part") for each in names]
    if hard:  # all other files are replaced
        names = [each for each in names if each.suffix in {".lock", ".sqlite"} or each.name == "me.jsonl"]
    victim = tmp_path / "victim"
    victim.write_text(TEXT, encoding="utf-8")
    os.utime(victim, (0, 0))  # the lock of a process that has ended
    # Links beside a file and in the place of one that is replaced end no command; each of the others may.
    alone = [each for each in (*names, *lone) if each.name not in _REPLACED]
    together = [*beside, *(each for each in (*names, *lone) if each.name in _REPLACED)]
    for number, links in enumerate([together, *([name] for name in alone)]):
        folder = tmp_path / str(number)
        for link in links:
            (folder / "runs" / link).parent.mkdir(parents=True, exist_ok=True)
            plant_link(folder / "runs" / link, victim, hard=hard)
        with nullcontext() if links == together else suppress(JudgeError):
            make_run(folder)
        assert victim.read_text(encoding="utf-8") == TEXT, links


def test_a_file_is_written_beside_a_planted_part_file(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text(TEXT, encoding="utf-8")
    run = tmp_path / "run"
    run.mkdir()
    for name in (".report.html.part", "report.html"):
        plant_link(run / name, victim)
    RunFolder(run).write("report.html", ["new"])
    assert victim.read_text(encoding="utf-8") == TEXT
    assert not (run / "report.html").is_symlink()
    assert (run / "report.html").read_text(encoding="utf-8") == "new"


def test_a_file_that_fails_leaves_the_old_one_and_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    path.write_text("old", encoding="utf-8")

    def yield_and_fail() -> Iterator[str]:
        yield "new"
        raise OSError("no more")

    with pytest.raises(OSError, match="no more"):
        write_file(path, yield_and_fail())
    assert path.read_text(encoding="utf-8") == "old"
    assert list_files(tmp_path) == [Path("scores.csv")]


def test_what_a_killed_process_left_is_removed_once_it_is_old(tmp_path: Path) -> None:
    old, new, other = (tmp_path / f".{each}.part" for each in ("0" * 16, "1" * 16, "data.jsonl"))
    for path in (old, new, other):
        path.touch()
    os.utime(old, (0, 0))
    os.utime(other, (0, 0))
    with RunFolder(tmp_path).lock():
        assert (old.exists(), new.exists(), other.exists()) == (False, True, True)


def test_appending_refuses_links_devices_and_files_of_others(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text(TEXT, encoding="utf-8")
    plant_link(tmp_path / "link", victim)
    with pytest.raises(OSError, match="symbolic link"):
        open_for_append(tmp_path / "link")
    plant_link(tmp_path / "second", victim, hard=True)
    with pytest.raises(OSError, match="hard link"):
        open_for_append(tmp_path / "second")
    (tmp_path / "second").unlink()
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="no regular file"):
        open_for_append(tmp_path / "pipe")
    os.close(open_for_append(victim))
    with pytest.raises(StoreError, match="symbolic link"):
        RawLog(tmp_path / "link")


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root gives files away")
def test_appending_refuses_a_file_of_another_user() -> None:
    with tempfile.TemporaryDirectory() as name:  # others can't enter the folders of pytest
        path = Path(name) / "journal"
        path.parent.chmod(0o777)
        path.touch()
        path.chmod(0o666)
        os.chown(path, 65533, 65533)
        os.seteuid(65534)
        try:
            with pytest.raises(PermissionError, match="another user"):
                open_for_append(path)
        finally:
            os.seteuid(0)
        os.close(open_for_append(path))


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root becomes another user")
def test_a_log_is_written_below_a_folder_that_cannot_be_read() -> None:
    with tempfile.TemporaryDirectory() as name:  # as /home may be
        homes = Path(name)
        homes.chmod(0o711)
        home = homes / "user"
        home.mkdir()
        os.chown(home, 65534, 65534)
        os.seteuid(65534)
        try:
            LineLog(home / "log").append(b"line\n")
        finally:
            os.seteuid(0)
        assert (home / "log").read_bytes() == b"line\n"


def test_a_run_names_no_store_in_another_folder(tmp_path: Path) -> None:
    before = fill_other_folder(tmp_path / "elsewhere")
    folder = RunFolder(make_run(tmp_path / "mine"))
    assert find_store(folder, None) == folder.own_store
    other = folder.path.parent / "other.sqlite"
    VerdictStore(other).close()
    elsewhere = tmp_path / "elsewhere" / "verdicts.sqlite"
    for store, expected in {other: other, tmp_path / "gone": folder.own_store, elsewhere: None}.items():
        edit_json(folder.path / "config.json", {"options": {"store": str(store)}})
        if expected:
            assert find_store(folder, None) == expected
    config = re.escape(str(folder.path / "config.json"))
    refusal = f"{config}: the verdict store of the run is '{elsewhere}'; add --store {elsewhere} if judge may"
    engines = "engine0", "engine1"
    for run in (
        lambda: api.align(folder.path, "lsa"),
        lambda: api.score(folder.path, embeddings="lsa"),
        lambda: api.compare_lists(folder.path, *engines, "openai:m", base_url="http://127.0.0.1:9/v1"),
    ):
        with pytest.raises(InputError, match=refusal):
            run()
    api.score(folder.path, save=True)
    assert before == read_files(tmp_path / "elsewhere")
    assert find_store(folder, elsewhere) == elsewhere


def test_a_cache_names_no_files_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "file").write_text(TEXT, encoding="utf-8")
    cache = FileCache(tmp_path / "cache")
    for name in ("../file", str(tmp_path / "file")):
        cache.write("key", [json.dumps([hash_file(tmp_path / "file"), name]) + "\n"])
        assert not cache.has_files("key", tmp_path / "run"), name


def test_the_id_of_a_self_test_leads_to_no_other_folder(tmp_path: Path) -> None:
    (tmp_path / "selftests" / "lexical-").mkdir(parents=True)
    (tmp_path / "notes.json").write_text('{"prompts": "secret"}', encoding="utf-8")
    results = look_up_selftests(
        tmp_path / "verdicts.sqlite", {"lexical": SelfTestEntry("/../../notes", None)}
    )
    assert results["lexical"].figures is None


def test_collecting_writes_through_no_link(tmp_path: Path) -> None:
    with EngineServer(return_three) as server:
        first = tmp_path / "first"
        first.mkdir()
        write_queries(first, "tea")
        collect_results(first, server, "brave")
        names = [each for each in list_files(first) if each.name != "queries.jsonl"]
        assert any(each.name.endswith(".raw.jsonl") for each in names)
        for number, name in enumerate([*names, *(each.with_name(f".{each.name}.part") for each in names)]):
            folder, victim = tmp_path / f"dataset{number}", tmp_path / f"victim{number}"
            folder.mkdir()
            victim.write_text(TEXT, encoding="utf-8")
            write_queries(folder, "tea")
            if not (folder / name).exists():
                plant_link(folder / name, victim)
            with suppress(JudgeError):
                collect_results(folder, server, "brave")
            assert victim.read_text(encoding="utf-8") == TEXT, name


def test_a_night_writes_through_no_link(tmp_path: Path) -> None:
    for folder in ("first", "second"):
        (tmp_path / folder).mkdir()
    with make_nightly_project(tmp_path / "first", RULES, queries=4) as here:
        freeze(here)
        here.run_night(here.begin_day())
        names = list_files(here.nights)
    assert {"night.json", "paid.json", "junit.xml", "baseline.json", "trend.html"} <= {
        each.name for each in names
    }
    victims = {}
    with make_nightly_project(tmp_path / "second", RULES, queries=4) as here:
        for number, name in enumerate(names):
            for path in (here.nights / name.with_name(f".{name.name}.part"), here.nights / name):
                # Files that are renamed into place; the tests below refuse locks and stores one by one.
                if path.name.endswith(".part") or path.suffix in (".html", ".xml", ".md", ".csv", ".trec"):
                    victim = victims[path] = tmp_path / f"victim{number}{path.suffix}"
                    victim.write_text(TEXT, encoding="utf-8")
                    path.parent.mkdir(parents=True, exist_ok=True)
                    plant_link(path, victim)
        freeze(here)
        here.run_night(here.begin_day())
    assert len(victims) > len(names)
    assert {
        path: victim for path, victim in victims.items() if victim.read_text(encoding="utf-8") != TEXT
    } == {}


@check_each(
    "name", [".lock", "verdicts.2026-05-01.sqlite", "verdicts.sqlite", "2026-05-01", "2026-05-01/canaries"]
)
def test_a_night_follows_no_link_for_locks_stores_and_folders(name: str, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    with make_nightly_project(tmp_path, RULES, queries=4) as here:
        day = here.begin_day()
        path = here.nights / name
        path.parent.mkdir(parents=True)
        is_folder = not path.suffix and path.name != ".lock"
        plant_link(path, elsewhere if is_folder else elsewhere / "victim")
        with suppress(JudgeError):  # a store of the night is renamed into the place of the link
            job.run_nightly(here.toml, day)
    assert list_files(elsewhere) == []


@pytest.mark.parametrize(
    "text",
    [
        '{"apart": "../../x.sqlite"}',
        '{"quarantined_store": "../../x.sqlite"}',
        '{"id": ".."}',
        '{"id": "../../etc"}',
    ],
)
def test_a_baseline_outside_of_its_folder_is_refused(text: str, tmp_path: Path) -> None:
    with make_nightly_project(tmp_path, RULES, queries=4) as here:
        freeze(here)
        path = here.nights / "baseline" / "baseline.json"
        output = json.loads(path.read_text(encoding="utf-8")) | json.loads(text)
        path.write_text(json.dumps(output), encoding="utf-8")
        with pytest.raises(InputError, match=r"baseline\.json: .*', not a name that judge gives"):
            read_pointer(here.nights)


def read_files(folder: Path) -> dict[Path, bytes]:
    """Return the bytes of each file below `folder`."""
    return {name: (folder / name).read_bytes() for name in list_files(folder)}


def fill_other_folder(folder: Path) -> dict[Path, bytes]:
    """Make `folder` with a store that has a lease, and return its contents."""
    folder.mkdir()
    make_store_with_lease(folder / "verdicts.sqlite", "0123456789ab")
    return read_files(folder)


def edit_json(path: Path, changes: Mapping[str, object]) -> None:
    """Change top keys of a JSON file."""
    path.write_text(json.dumps({**json.loads(path.read_text(encoding="utf-8")), **changes}), encoding="utf-8")


@check_each(
    "store",
    [
        "../../elsewhere/verdicts.sqlite",
        "{tmp_path}/elsewhere/verdicts.sqlite",
        "canaries/../../../elsewhere/verdicts.sqlite",
        "..\\\\..\\\\elsewhere\\\\verdicts.sqlite",
        "canaries-9/verdicts.sqlite",  # a link
    ],
)
def test_a_cost_ledger_names_no_store_elsewhere(store: str, tmp_path: Path) -> None:
    before = fill_other_folder(tmp_path / "elsewhere")
    store = store.format(tmp_path=tmp_path)
    with make_nightly_project(tmp_path, RULES, queries=4) as here:
        day = freeze(here)
        (here.nights / day / "night.json").unlink()
        edit_json(here.nights / day / "paid.json", {"counted": {store: 0}})
        (here.nights / day / "canaries-9").symlink_to(tmp_path / "elsewhere")
        with pytest.raises(InputError, match=r"paid\.json: field 'counted' is '|canaries-9: is a symb"):
            here.run_night(day)
    assert before == read_files(tmp_path / "elsewhere")


def test_a_night_names_no_quarantined_store_elsewhere(tmp_path: Path) -> None:
    before = fill_other_folder(tmp_path / "elsewhere")
    with make_nightly_project(tmp_path, RULES, queries=4) as here:
        day = freeze(here)
        changes = {"status": "assessor drift", "quarantined_store": "../../elsewhere/verdicts.sqlite"}
        edit_json(here.nights / day / "night.json", changes)
        with pytest.raises(
            InputError, match=r"night\.json: field 'quarantined_store' is '\.\./\.\./elsewhere"
        ):
            job.set_baseline(here.nights / day, here.nights)
    assert before == read_files(tmp_path / "elsewhere")


@check_each("store", ["../elsewhere/verdicts.sqlite", 3, None])
def test_a_night_that_is_resumed_reads_no_store_elsewhere(store: object, tmp_path: Path) -> None:
    before = fill_other_folder(tmp_path / "elsewhere")
    if isinstance(store, str):
        store = str(tmp_path / store)
    with make_nightly_project(tmp_path, RULES, queries=4) as here:
        day = freeze(here)
        (here.nights / day / "night.json").unlink()
        edit_json(here.nights / day / "config.json", {"options": {"store": store}})
        make_calls_older(here.nights / day / "canaries" / "verdicts.sqlite")
        damaged = pytest.raises(InputError, match=r"config\.json: field 'options\.store' is")
        with damaged if store == 3 else nullcontext():
            assert here.run_night(day)["complete"]
    assert before == read_files(tmp_path / "elsewhere")


def test_canaries_and_a_baseline_are_read_through_no_link(tmp_path: Path) -> None:
    with make_nightly_project(tmp_path, RULES, queries=4) as here:
        day = freeze(here)
        elsewhere = tmp_path / "elsewhere"
        canaries = here.nights / day / "canaries"
        canaries.rename(elsewhere)
        canaries.symlink_to(elsewhere)
        before = read_files(elsewhere)
        (here.nights / day / "night.json").unlink()
        with pytest.raises(InputError, match=r"canaries: is a symbolic link"):
            here.run_night(day)
        assert before == read_files(elsewhere)
        baseline = here.nights / "baseline"
        baseline.rename(tmp_path / "frozen")
        baseline.symlink_to(tmp_path / "frozen")
        with pytest.raises(InputError, match=r"baseline: is a symbolic link"):
            here.run_night(here.begin_day())


def test_a_store_of_no_day_is_no_drifted_store(tmp_path: Path) -> None:
    for name in ("verdicts.drifted-...sqlite", "verdicts.drifted-2026-05-01.sqlite"):
        (tmp_path / name).touch()
    assert [day for _, day in stores.iter_quarantined_stores(tmp_path)] == ["2026-05-01"]


def test_labels_are_private_and_a_run_is_not(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        run = make_run(tmp_path)
    finally:
        os.umask(before)
    modes = {name: stat.S_IMODE((run / name).stat().st_mode) for name in map(str, list_files(run))}
    assert {modes["labels/me.jsonl"], modes["labels/me.csv"]} == {0o600}
    assert {modes["results.json"], modes["report.html"], modes["scores.csv"]} == {0o644}


def test_labels_in_a_folder_that_is_a_link_are_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "run").mkdir()
    plant_link(tmp_path / "run" / "labels", tmp_path / "elsewhere")
    with pytest.raises(InputError, match="symbolic link"), label_log.open_labels(tmp_path / "run", "me"):
        pass
    assert list_files(tmp_path / "elsewhere") == []


def make_store_with_lease(path: Path, owner: str) -> None:
    """Make a store in which `owner` has a lease."""
    VerdictStore(path).close()
    with closing(sqlite3.connect(path)) as store, store:
        store.execute("INSERT INTO claims VALUES ('k', ?)", (owner,))


@check_each("owner", ["../../notes", "../x", "/etc/x", "", "a" * 12 + "\n", "0" * 11])
def test_an_owner_with_a_path_opens_no_file(owner: str, tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    notes = [tmp_path / "notes.lock", tmp_path / "a" / "notes.lock", folder / "x.lock", folder / "notes.lock"]
    folder.mkdir(parents=True)
    for path in notes:
        path.write_text(TEXT, encoding="utf-8")
    make_store_with_lease(folder / "v.sqlite", owner)
    with VerdictStore(folder / "v.sqlite") as store:
        assert asyncio.run(store.acquire(["k"])) == [Lease("k")]
    assert all(path.read_text(encoding="utf-8") == TEXT for path in notes)


def test_an_owner_file_that_is_a_link_harms_nothing(tmp_path: Path) -> None:
    victim, owner = tmp_path / "victim", "0123456789ab"
    victim.write_text(TEXT, encoding="utf-8")
    make_store_with_lease(tmp_path / "v.sqlite", owner)
    plant_link(tmp_path / "v.sqlite.locks" / f"{owner}.lock", victim)
    with VerdictStore(tmp_path / "v.sqlite") as store:
        assert asyncio.run(store.acquire(["k"])) == [Lease("k")]
    assert victim.read_text(encoding="utf-8") == TEXT


def test_owners_in_a_folder_that_is_a_link_are_refused(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "mine.lock").touch()
    os.utime(elsewhere / "mine.lock", (0, 0))
    (tmp_path / "v.sqlite.locks").symlink_to(elsewhere)
    with pytest.raises(InputError, match="symbolic link"):
        VerdictStore(tmp_path / "v.sqlite")
    assert list_files(elsewhere) == [Path("mine.lock")]


SCHEMAS = {
    "trigger": "CREATE TRIGGER t AFTER INSERT ON claims BEGIN DELETE FROM verdicts; END",
    "view": "CREATE VIEW w AS SELECT 1",
    "table": "CREATE TABLE more (x)",
    "index": "CREATE INDEX more ON verdicts (grade)",
    "table in the place of ours": "DROP TABLE claims; CREATE TABLE claims (key TEXT, owner TEXT)",
    "view in the place of a table": "DROP TABLE claims; CREATE VIEW claims AS SELECT '' AS key, '' AS owner",
    "no index": "DROP INDEX calls_by_key",
}


@check_each("statements", SCHEMAS.values())
def test_a_store_with_another_schema_is_refused_and_left_as_it_is(statements: str, tmp_path: Path) -> None:
    path = tmp_path / "v.sqlite"
    VerdictStore(path).close()
    with closing(sqlite3.connect(path)) as theirs:
        theirs.executescript(statements)
    before = path.read_bytes()
    with pytest.raises(InputError, match=r"v\.sqlite: is not a verdict store of judge: its "):
        VerdictStore(path)
    assert path.read_bytes() == before


def test_a_store_that_was_analysed_is_still_ours(tmp_path: Path) -> None:
    path = tmp_path / "v.sqlite"
    make_store_with_lease(path, "0" * 12)
    with closing(sqlite3.connect(path)) as analysed, analysed:
        analysed.execute("ANALYZE")
    VerdictStore(path).close()


@pytest.mark.parametrize("engine", ["a:b", 'x<y>|z?"*', "c:\\d/e"])
def test_names_of_files_hold_no_character_that_windows_refuses(engine: str) -> None:
    (name,) = make_trec_file_names([engine]).values()
    assert not set(name) & set('<>:"/\\|?*')


def test_engines_whose_names_differ_in_such_a_character_have_two_files() -> None:
    assert len(set(make_trec_file_names(["a:b", "a_b"]).values())) == 2
    assert make_file_name("a:b") == "a_b"
