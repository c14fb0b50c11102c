"""The upgrade of a store of an earlier format keeps its rows."""

import asyncio
import sqlite3
from contextlib import closing
from itertools import accumulate
from pathlib import Path

import pytest

from judge.errors import InputError, StoreError
from judge.records import ANSWERED, Call, Usage
from judge.store.leases import Lease
from judge.store.store import StoredVerdict, VerdictStore
from tests.support.cases import check_each
from tests.support.stores import INFO, make_verdict

VERDICT = make_verdict()
CALL = Call(ANSWERED, Usage(1, 0, 2))
#: The statements of format 1, as earlier versions of judge ran them.
FORMAT_1 = """
PRAGMA journal_mode=WAL;
BEGIN IMMEDIATE;
PRAGMA application_id=1786078311;
PRAGMA user_version=1;
CREATE TABLE IF NOT EXISTS verdicts (
    key TEXT PRIMARY KEY, model TEXT NOT NULL, prompt_version TEXT NOT NULL, repeat INTEGER NOT NULL,
    grade INTEGER NOT NULL, body TEXT NOT NULL, checksum TEXT NOT NULL, judged_at TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS claims (key TEXT PRIMARY KEY, owner TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS calls (
    id INTEGER PRIMARY KEY, key TEXT NOT NULL, outcome TEXT NOT NULL, maybe_billed INTEGER NOT NULL,
    prompt_tokens INTEGER, cached_tokens INTEGER, completion_tokens INTEGER, reasoning_tokens INTEGER,
    made_at TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS calls_by_key ON calls (key);
COMMIT;
"""
#: The statements that changed it to format 2.
FORMAT_2 = """
BEGIN IMMEDIATE;
PRAGMA user_version=2;
ALTER TABLE calls ADD COLUMN in_batch INTEGER NOT NULL DEFAULT 0;
CREATE TABLE batches (
    id TEXT PRIMARY KEY, owner TEXT NOT NULL, params TEXT NOT NULL, file_id TEXT NOT NULL,
    server_id TEXT NOT NULL, changed_at TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE batch_requests (key TEXT PRIMARY KEY, batch TEXT NOT NULL) WITHOUT ROWID;
CREATE INDEX batch_requests_by_batch ON batch_requests (batch);
COMMIT;
"""


#: The statements that changed it to format 3.
FORMAT_3 = """
BEGIN IMMEDIATE;
PRAGMA user_version=3;
ALTER TABLE verdicts RENAME TO verdicts_by_key;
CREATE TABLE verdicts (
    key TEXT NOT NULL PRIMARY KEY, model TEXT NOT NULL, prompt_version TEXT NOT NULL, repeat INTEGER NOT NULL,
    grade INTEGER NOT NULL, body TEXT NOT NULL, checksum TEXT NOT NULL, judged_at TEXT NOT NULL
);
INSERT INTO verdicts SELECT * FROM verdicts_by_key;
DROP TABLE verdicts_by_key;
COMMIT;
"""


#: The statements that changed it to format 4.
FORMAT_4 = """
BEGIN IMMEDIATE;
PRAGMA user_version=4;
ALTER TABLE calls ADD COLUMN detail TEXT NOT NULL DEFAULT '';
COMMIT;
"""


def save_verdict(store: VerdictStore, key: str, verdict: StoredVerdict) -> None:
    asyncio.run(store.acquire([key]))
    asyncio.run(store.save(Lease(key), INFO, verdict, [CALL]))


def make_old_store(path: Path, statements: str) -> None:
    """Make a store of an earlier format at `path` with the verdict and the call of the key `k`."""
    new = path.with_name("new.sqlite")
    with VerdictStore(new) as store:
        save_verdict(store, "k", VERDICT)
    with closing(sqlite3.connect(path)) as old:
        old.executescript(statements)
        old.execute("ATTACH ? AS new", (str(new),))
        columns = "key, model, prompt_version, repeat, grade, body, checksum, judged_at"
        old.execute(f"INSERT INTO verdicts ({columns}) SELECT {columns} FROM new.verdicts")  # noqa: S608  # fixed names
        columns = "id, key, outcome, maybe_billed, prompt_tokens, cached_tokens, completion_tokens"
        columns += ", reasoning_tokens, made_at"
        old.execute(f"INSERT INTO calls ({columns}) SELECT {columns} FROM new.calls")  # noqa: S608  # fixed names
        old.commit()


@check_each("statements", list(accumulate([FORMAT_1, FORMAT_2, FORMAT_3, FORMAT_4])))
def test_a_store_of_an_earlier_format_keeps_its_rows_and_accepts_more(
    statements: str, tmp_path: Path
) -> None:
    path = tmp_path / "v.sqlite"
    make_old_store(path, statements)
    with VerdictStore(path) as store:
        save_verdict(store, "later", VERDICT)
    with VerdictStore(path) as store:
        assert store.find_verdicts(["k", "later"]) == {"k": VERDICT, "later": VERDICT}
        assert list(store.read_calls(["k"])) == [CALL]
        assert store.batches.find(["k"]) == {}


def test_a_store_of_format_2_is_not_changed_by_a_failed_upgrade(tmp_path: Path) -> None:
    path = tmp_path / "v.sqlite"
    make_old_store(path, FORMAT_1 + FORMAT_2)
    with closing(sqlite3.connect(path)) as old:
        schema = old.execute("SELECT * FROM sqlite_schema").fetchall()
        [(page, size)] = old.execute(
            "SELECT rootpage, page_size FROM sqlite_schema, pragma_page_size WHERE name = 'verdicts'"
        ).fetchall()
    with path.open("r+b") as file:  # the first byte of a page is its type
        file.seek((page - 1) * size)
        file.write(b"\xff")
    with pytest.raises(StoreError, match="malformed; restore a copy of it"):
        VerdictStore(path)
    with closing(sqlite3.connect(path)) as old:
        assert old.execute("SELECT * FROM sqlite_schema").fetchall() == schema
        assert old.execute("PRAGMA user_version").fetchone() == (2,)


def test_a_store_of_format_1_with_a_trigger_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "v.sqlite"
    with closing(sqlite3.connect(path)) as old:
        old.executescript(FORMAT_1)
        old.execute("CREATE TRIGGER t AFTER INSERT ON claims BEGIN DELETE FROM verdicts; END")
    with pytest.raises(InputError, match="its trigger 't' is unknown, changed or missing"):
        VerdictStore(path)


def test_a_store_is_little_larger_than_its_verdicts(tmp_path: Path) -> None:
    """In format 2, a verdict of 1,000 bytes took 5 kB."""
    path, verdict = tmp_path / "v.sqlite", make_verdict(reason="r" * 800)

    async def save_all(store: VerdictStore) -> None:
        leases = [Lease(f"{number:064}") for number in range(400)]
        await store.acquire([lease.key for lease in leases])
        await asyncio.gather(*(store.save(lease, INFO, verdict, [CALL]) for lease in leases))

    with VerdictStore(path) as store:
        asyncio.run(save_all(store))
    assert path.stat().st_size < 2 * 400 * 1000
