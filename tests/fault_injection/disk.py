"""Takes the disk away from `judge run` in every way and at every write, and counts what is lost.

    python -m tests.fault_injection.disk [PART …] [--step 1]

A file that may not grow any more fails the k-th frame of the store's log, for every k (`--step` takes
every n-th). Mounting small and read-only disks needs root, counting syncs needs strace: where they are
missing the line says so.
"""

from __future__ import annotations

import re
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tests.fault_injection import killing, table
from tests.fault_injection.killing import Child, RunSetup
from tests.fault_injection.provider import Provider, names_the_pair, provider
from tests.fault_injection.table import Figure, report
from tests.support.fake_server import ChatRequest, Reply

PAIRS, IN_FLIGHT = 50, 8
#: Requests that can be sent while a commit that fails is on its way.
LEASES = 2 * IN_FLIGHT
#: A log of SQLite is a header and frames: a page of 4,096 bytes with 24 in front.
HEADER, FRAME = 32, 4120
PAGE = 4096


def answer(request: ChatRequest) -> Reply:
    return Reply(text=names_the_pair(request).text, delay=0.01)


@dataclass
class Tally:
    """What came of several runs that lost their disk."""

    runs: int = 0
    failed: int = 0
    lost: int = 0
    most_unkept: int = 0
    unclear: int = 0
    wrong_ledgers: int = 0

    def figures(self, name: str) -> Iterator[Figure]:
        yield Figure(f"{name}: runs (failed)", f"{self.runs} ({self.failed})", "", self.failed > 0)
        yield Figure(f"{name}: acknowledged and lost", self.lost, "0", self.lost == 0)
        yield Figure(
            f"{name}: paid, not kept",
            self.most_unkept,
            f"<= {LEASES}, leases",
            self.most_unkept <= LEASES,
        )
        yield Figure(f"{name}: unclear ends", self.unclear, "0", self.unclear == 0)
        yield Figure(f"{name}: wrong ledgers after", self.wrong_ledgers, "0", self.wrong_ledgers == 0)


def disturb(
    here: RunSetup, questions: Provider, prepare: Callable[[], None] | None, tally: Tally
) -> Callable[[], None]:
    """A run with a disk that fails; gives what runs it to the end and checks the ledger."""
    before, child = questions.count, killing.judge(here, prepare)
    code = child.wait()
    match, paid = killing.read_store(here.store), questions.count - before
    tally.runs += 1
    tally.failed += code != 0
    tally.lost += len(child.acknowledged - match.keys.keys())
    tally.most_unkept = max(tally.most_unkept, paid - len(match.keys))
    tally.unclear += not is_clear(code, child)
    killing.check_files(here.out, {})

    def recover() -> None:
        assert killing.judge(here).wait() == 0, child.output
        cost, requests = killing.cost(here.out), questions.count - before
        right = requests <= cost["calls"] == PAIRS + cost["maybe_billed"]
        tally.wrong_ledgers += not right or requests - PAIRS > cost["maybe_billed"]

    return recover


def is_clear(code: int, child: Child) -> bool:
    """Whether a run ended well, or with one line that says what can't be written."""
    text = child.output
    return code == 0 or (code in (2, 3) and text.count("judge: ") == 1 and "Traceback" not in text)


def no_growth(folder: Path, requests: Provider, step: int) -> Iterator[Figure]:
    """Every file may grow to a size and no further, for the size of every frame of the log."""
    tally = Tally()
    for frame in range(0, frames(folder, requests) + 1, step):
        here = killing.run_setup(folder / f"growth{frame}", requests.url, PAIRS, IN_FLIGHT)
        size = HEADER + frame * FRAME - 1

        def limit(size: int = size) -> None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

        disturb(here, requests, limit, tally)()
    return tally.figures("log can't grow")


def frames(folder: Path, requests: Provider) -> int:
    """How many frames the log of an undisturbed run has."""
    here, size = killing.run_setup(folder / "whole", requests.url, PAIRS, IN_FLIGHT), 0
    child = killing.judge(here)
    log = here.store.with_name(here.store.name + "-wal")
    while not child.ended():
        with suppress(FileNotFoundError):
            size = max(size, log.stat().st_size)
        time.sleep(0.001)
    return (size - HEADER) // FRAME


@contextmanager
def disk(place: Path, pages: int) -> Iterator[Callable[[str], None]]:
    """A disk of so many pages at `place`; what it gives mounts it again with other options."""
    place.mkdir(parents=True)

    def mount(options: str) -> None:
        subprocess.run(
            ["mount", "-t", "tmpfs", "-o", options, "tmpfs", place], check=True, capture_output=True
        )

    mount(f"size={pages * PAGE}")
    try:
        yield lambda options: mount(f"remount,{options}")
    finally:
        subprocess.run(["umount", "--lazy", place], check=True)


def small_disk(folder: Path, requests: Provider, step: int) -> Iterator[Figure]:
    """The whole disk is full after so many pages, until a run fits."""
    tally, pages, fits = Tally(), 4, False
    while not fits:
        with disk(folder / f"small{pages}", pages) as remount:
            here = outside(folder / f"small{pages}", requests)
            failed = tally.failed
            recover = disturb(here, requests, None, tally)
            fits = tally.failed == failed
            remount("size=64m")
            recover()
        pages += step
    return tally.figures("disk full")


def outside(place: Path, requests: Provider) -> RunSetup:
    """A command whose dataset is beside the disk and whose runs are on it."""
    beside = killing.run_setup(place.with_name(place.name + "-data"), requests.url, PAIRS, IN_FLIGHT)
    return RunSetup(beside.data, place / "x" / "runs" / "one", requests.url, IN_FLIGHT)


def read_only(folder: Path, requests: Provider) -> Iterator[Figure]:
    """The folder of the run can't be written to from the start."""
    with disk(folder / "ro", 4096) as remount:
        here = outside(folder / "ro", requests)
        assert killing.judge(here).wait() == 0
        before = requests.count
        remount("ro")
        child = killing.command(here, prepare=None)
        code, output = child.wait(), child.output
    paid = requests.count - before
    yield Figure("read-only folder: exit code", code, "2", code == 2)
    yield Figure("read-only folder: calls", paid, "0", paid == 0)
    yield Figure("read-only folder: lines said", output.count("\n"), "1, naming it", str(here.out) in output)


def vanish(folder: Path, requests: Provider, what: str) -> Iterator[Figure]:
    """The store, its log or the whole folder is moved away in the middle of a run."""
    here = killing.run_setup(folder / f"vanish {what}", requests.url, 200, IN_FLIGHT)
    before, child = requests.count, killing.judge(here)
    while requests.count < before + 60 and not child.ended():
        time.sleep(0.001)
    away = here.out.parent.with_name("away")
    moved = here.out.parent if what == "folder" else here.store.with_name(here.store.name + what)
    moved.rename(away)
    at = requests.count
    code, output, acknowledged = child.wait(), child.output, child.acknowledged
    if what == "folder":
        content = killing.read_store(away / here.store.name)
    else:
        away.rename(moved)
        content = killing.read_store(here.store)
    lost = len(acknowledged - content.keys.keys())
    name = f"{what or 'store'} moved away"
    yield Figure(f"{name}: exit code", code, "3", code == 3 and is_clear(code, child) and bool(output))
    yield Figure(f"{name}: acknowledged and lost", lost, "0", lost == 0)
    yield Figure(f"{name}: calls after", requests.count - at, f"<= {LEASES}", requests.count - at <= LEASES)


def synced(folder: Path, questions: Provider, _: int) -> Iterator[Figure]:
    """One call at a time under strace: no request leaves before its own lease is on disk."""
    if not shutil.which("strace"):
        yield Figure("syncs", "skipped", "needs strace", ok=True)
        return
    here, pairs = killing.run_setup(folder / "synced", questions.url, 20, concurrency=1), 20
    trace = folder / "trace"
    subprocess.run(
        ["strace", "-f", "-y", "-s", str(2 * PAGE), "-e", "trace=pwrite64,fdatasync,fsync,sendto,write",
         "-o", trace, sys.executable, "-m", "judge", *here.words],
        check=True, capture_output=True, timeout=300,
    )  # fmt: skip
    keys = killing.read_store(here.store).keys
    # A pair waits while the next one is leased, so its request may leave during another's commit.
    written, durable, syncing = set[str](), set[str](), dict[str, set[str]]()
    requests = syncs = early = 0
    for line in trace.read_text(errors="replace").splitlines():
        thread = line.split()[0]
        if re.search(r"pwrite64\(\d+<[^>]*-wal>", line):
            written |= set(re.findall(r"[0-9a-f]{64}", line))
        elif re.search(r"f(data)?sync\(\d+<[^>]*-wal>", line):
            syncs += 1
            syncing[thread] = set(written)
        elif '"POST ' in line and (pair := re.search(r"text (\d+\.\d+\.\d+)", line)):
            requests += 1
            early += keys[pair[1]] not in durable
        if "sync" in line and "<unfinished" not in line:
            durable |= syncing.pop(thread, set())
    yield Figure("requests under strace", requests, f"{pairs}", requests == pairs)
    yield Figure("syncs of the log", syncs, f">= {2 * pairs}, one a batch", syncs >= 2 * pairs)
    yield Figure("requests before a sync", early, "0", early == 0)


def damaged(folder: Path, requests: Provider, _: int) -> Iterator[Figure]:
    """A hundred rows are edited: grades, replies, and keys that change places."""
    here = killing.run_setup(folder / "damaged", requests.url, 200, IN_FLIGHT)
    assert killing.judge(here).wait() == 0
    with closing(sqlite3.connect(here.store)) as store, store:
        keys = [key for (key,) in store.execute("SELECT key FROM verdicts ORDER BY key LIMIT 100")]
        for key in keys[:40]:
            store.execute("UPDATE verdicts SET grade = (grade + 1) % 4 WHERE key = ?", (key,))
        for key in keys[40:70]:
            store.execute(
                "UPDATE verdicts SET body = replace(body, 'stop', 'spot') || ' ' WHERE key = ?", (key,)
            )
        for one, other in zip(keys[70:100:2], keys[71:100:2], strict=True):
            for old, new in ((one, "x"), (other, one), ("x", other)):
                store.execute("UPDATE verdicts SET key = ? WHERE key = ?", (new, old))
    before = requests.count
    child = killing.command(here)
    code, output = child.wait(), child.output
    listed = "100 verdicts no longer match" in output
    again = requests.count - before
    yield Figure("damaged rows asked for again", again, "100", again == 100 and code == 0)
    yield Figure("damaged rows listed", "yes" if listed else "no", "yes", listed)


def mounted(folder: Path, requests: Provider, step: int) -> Iterator[Figure]:
    """What needs disks of its own."""
    if can_mount(folder):
        yield from small_disk(folder, requests, 4 * step)
        yield from read_only(folder, requests)
    else:
        yield Figure("small and read-only disks", "skipped", "needs root", ok=True)


def can_mount(folder: Path) -> bool:
    """Whether this process may mount a disk."""
    try:
        with disk(folder / "try", 4):
            return True
    except (OSError, subprocess.CalledProcessError):
        return False


def vanishing(folder: Path, requests: Provider, _: int) -> Iterator[Figure]:
    """The folder, the store or its log is moved away, each in a run of its own."""
    for what in ("folder", "", "-wal"):
        yield from vanish(folder, requests, what)


PARTS: Mapping[str, Callable[[Path, Provider, int], Iterator[Figure]]] = {
    "growth": no_growth,
    "vanishing": vanishing,
    "damaged": damaged,
    "mounted": mounted,
    "synced": synced,
}


def main() -> int:
    """Takes the disk away in every way and prints the figures; exit code 1 when one is missed."""
    parser = table.parser(__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; all by default")
    parser.add_argument("--step", type=int, default=1)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, provider(answer, Path(name)) as requests:
        killing.warm_up(Path(name) / "warm")
        parts = [PARTS[part](Path(name), requests, chosen.step) for part in chosen.parts or PARTS]
        return report([figure for part in parts for figure in part])


if __name__ == "__main__":
    sys.exit(main())
