"""Let the disk of `judge run` fail in several ways and at every write, and count lost verdicts.

    python -m tests.fault_injection.disk [PART …] [--step 1]

A limit of the file size fails the k-th frame of the store's log, for every k (with `--step`, for every
n-th). Small and read-only disks need root, counts of syncs need strace: without them, the table says
what was skipped.
"""

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
from tests.fault_injection.provider import Provider, reply_with_pair, start_provider
from tests.fault_injection.table import Figure, print_figures
from tests.support.factories import delay_reply

PAIRS, IN_FLIGHT = 50, 8
#: Requests that can be sent during a commit that fails.
LEASES = 2 * IN_FLIGHT
#: A log of SQLite has a header and frames; a frame is 24 bytes and a page of 4,096 bytes.
HEADER, FRAME = 32, 4120
PAGE = 4096


answer = delay_reply(reply_with_pair, 0.01)


@dataclass
class Tally:
    """Counts over several runs whose disk failed."""

    runs: int = 0
    failed: int = 0
    lost: int = 0
    max_unsaved: int = 0
    unclear: int = 0
    wrong_ledgers: int = 0

    def iter_figures(self, name: str) -> Iterator[Figure]:
        """Yield the figures of these runs."""
        yield Figure(f"{name}: runs (failed)", f"{self.runs} ({self.failed})", "> 0 failed", self.failed > 0)
        yield Figure.expect_equal(f"{name}: acknowledged and lost", self.lost, 0)
        yield Figure.expect_at_most(f"{name}: paid, not stored", self.max_unsaved, LEASES, ", leases")
        yield Figure.expect_equal(f"{name}: unclear messages", self.unclear, 0)
        yield Figure.expect_equal(f"{name}: wrong ledgers afterwards", self.wrong_ledgers, 0)


def run_with_failing_disk(
    setup: RunSetup, provider: Provider, prepare: Callable[[], None] | None, tally: Tally
) -> Callable[[], None]:
    """Run with a failing disk; return a function that runs to the end and checks the ledger."""
    before, child = provider.count, killing.start_judge(setup, prepare)
    code = child.wait()
    match, paid = killing.read_store(setup.store), provider.count - before
    tally.runs += 1
    tally.failed += code != 0
    tally.lost += len(child.acknowledged_pairs - match.keys.keys())
    tally.max_unsaved = max(tally.max_unsaved, paid - len(match.keys))
    tally.unclear += not is_clear(code, child)
    killing.check_files(setup.out, {})

    def recover() -> None:
        assert killing.start_judge(setup).wait() == 0, child.output
        cost, requests = killing.read_cost(setup.out), provider.count - before
        right = requests <= cost["calls"] == PAIRS + cost["maybe_billed"]
        tally.wrong_ledgers += not right or requests - PAIRS > cost["maybe_billed"]

    return recover


def is_clear(code: int, child: Child) -> bool:
    """Return whether a run succeeded, or ended with one line that says what can't be written."""
    text = child.output
    return code == 0 or (code == 3 and text.count("judge: ") == 1 and "Traceback" not in text)


def measure_full_log(folder: Path, provider: Provider, step: int) -> Iterator[Figure]:
    """Limit the size of every file, once to the end of each frame of the log."""
    tally = Tally()
    for frame in range(0, count_frames(folder, provider) + 1, step):
        setup = killing.make_run_setup(folder / f"growth{frame}", provider.url, PAIRS, IN_FLIGHT)
        size = HEADER + frame * FRAME - 1

        def limit(size: int = size) -> None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

        run_with_failing_disk(setup, provider, limit, tally)()
    return tally.iter_figures("log can't grow")


def count_frames(folder: Path, provider: Provider) -> int:
    """Return the number of frames in the log of a run without faults."""
    setup, size = killing.make_run_setup(folder / "whole", provider.url, PAIRS, IN_FLIGHT), 0
    child = killing.start_judge(setup)
    log = setup.store.with_name(setup.store.name + "-wal")
    while not child.has_ended():
        with suppress(FileNotFoundError):
            size = max(size, log.stat().st_size)
        time.sleep(0.001)
    return (size - HEADER) // FRAME


@contextmanager
def mount_disk(place: Path, pages: int) -> Iterator[Callable[[str], None]]:
    """Mount a disk of this many pages at `place`; yield a function that remounts it with other options."""
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


def measure_small_disk(folder: Path, provider: Provider, step: int) -> Iterator[Figure]:
    """Run on disks of more and more pages, until one is large enough for a whole run."""
    tally, pages, fits = Tally(), 4, False
    while not fits:
        with mount_disk(folder / f"small{pages}", pages) as remount:
            setup = make_setup_on_disk(folder / f"small{pages}", provider)
            failed = tally.failed
            recover = run_with_failing_disk(setup, provider, None, tally)
            fits = tally.failed == failed
            remount("size=64m")
            recover()
        pages += step
    return tally.iter_figures("disk full")


def make_setup_on_disk(place: Path, provider: Provider) -> RunSetup:
    """Return a setup whose dataset is outside the disk and whose runs are on it."""
    setup = killing.make_run_setup(place.with_name(place.name + "-data"), provider.url, PAIRS, IN_FLIGHT)
    return RunSetup(setup.data, place / "x" / "runs" / "one", provider.url, IN_FLIGHT)


def measure_read_only_disk(folder: Path, provider: Provider) -> Iterator[Figure]:
    """Start a run in a folder that is read-only."""
    with mount_disk(folder / "ro", 4096) as remount:
        setup = make_setup_on_disk(folder / "ro", provider)
        assert killing.start_judge(setup).wait() == 0
        before = provider.count
        remount("ro")
        child = killing.start_command(setup, prepare=None)
        code, output = child.wait(), child.output
    paid = provider.count - before
    yield Figure.expect_equal("read-only folder: exit code", code, 2)
    yield Figure.expect_equal("read-only folder: calls", paid, 0)
    lines = output.count("\n")
    yield Figure("read-only folder: lines on stderr", lines, "1, with its path", str(setup.out) in output)


def measure_moved_file(folder: Path, provider: Provider, what: str) -> Iterator[Figure]:
    """Move the store, its log or the whole folder in the middle of a run."""
    setup = killing.make_run_setup(folder / f"vanish {what}", provider.url, 200, IN_FLIGHT)
    before, child = provider.count, killing.start_judge(setup)
    while provider.count < before + 60 and not child.has_ended():
        time.sleep(0.001)
    new_path = setup.out.parent.with_name("away")
    moved = setup.out.parent if what == "folder" else setup.store.with_name(setup.store.name + what)
    moved.rename(new_path)
    count_before = provider.count
    code, output, acknowledged = child.wait(), child.output, child.acknowledged_pairs
    if what == "folder":
        content = killing.read_store(new_path / setup.store.name)
    else:
        new_path.rename(moved)
        content = killing.read_store(setup.store)
    lost = len(acknowledged - content.keys.keys())
    name = f"{what or 'store'} moved"
    yield Figure(f"{name}: exit code", code, "3", code == 3 and is_clear(code, child) and bool(output))
    yield Figure.expect_equal(f"{name}: acknowledged and lost", lost, 0)
    yield Figure.expect_at_most(f"{name}: calls afterwards", provider.count - count_before, LEASES)


def measure_syncs(folder: Path, provider: Provider, _: int) -> Iterator[Figure]:
    """Run under strace with one call at a time; a request must not leave before its lease is on disk."""
    if not shutil.which("strace"):
        yield Figure("syncs", "skipped", "needs strace", ok=True)
        return
    setup, pairs = killing.make_run_setup(folder / "synced", provider.url, 20, concurrency=1), 20
    trace = folder / "trace"
    subprocess.run(
        ["strace", "-f", "-y", "-s", str(2 * PAGE), "-e", "trace=pwrite64,fdatasync,fsync,sendto,write",
         "-o", trace, sys.executable, "-m", "judge", *setup.words],
        check=True, capture_output=True, timeout=300,
    )  # fmt: skip
    keys = killing.read_store(setup.store).keys
    # A request may leave during the commit of the next pair's lease.
    written_keys, durable_keys, keys_by_thread = set[str](), set[str](), dict[str, set[str]]()
    requests = syncs = early = 0
    for line in trace.read_text(errors="replace").splitlines():
        thread = line.split()[0]
        if re.search(r"pwrite64\(\d+<[^>]*-wal>", line):
            written_keys |= set(re.findall(r"[0-9a-f]{64}", line))
        elif re.search(r"f(data)?sync\(\d+<[^>]*-wal>", line):
            syncs += 1
            keys_by_thread[thread] = set(written_keys)
        elif '"POST ' in line and (pair := re.search(r"text (\d+\.\d+\.\d+)", line)):
            requests += 1
            early += keys[pair[1]] not in durable_keys
        if "sync" in line and "<unfinished" not in line:
            durable_keys |= keys_by_thread.pop(thread, set())
    yield Figure.expect_equal("requests under strace", requests, pairs)
    # Leases may share a commit; with one call at a time, verdicts do not.
    yield Figure("syncs of the log", syncs, f"> {pairs}, one per verdict", syncs > pairs)
    yield Figure.expect_equal("requests before a sync", early, 0)


def measure_damaged_rows(folder: Path, provider: Provider, _: int) -> Iterator[Figure]:
    """Edit the grades, replies or keys of a hundred rows; the next run must ask for all of them again."""
    setup = killing.make_run_setup(folder / "damaged", provider.url, 200, IN_FLIGHT)
    assert killing.start_judge(setup).wait() == 0
    with closing(sqlite3.connect(setup.store)) as store, store:
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
    before = provider.count
    child = killing.start_command(setup)
    code, output = child.wait(), child.output
    is_listed = "100 verdicts no longer match" in output
    again = provider.count - before
    yield Figure("requests for damaged rows", again, "100", again == 100 and code == 0)
    yield Figure("damaged rows listed", "yes" if is_listed else "no", "yes", is_listed)


def measure_mounted_disks(folder: Path, provider: Provider, step: int) -> Iterator[Figure]:
    """Measure what needs disks of its own, if this process can mount them."""
    if can_mount(folder):
        yield from measure_small_disk(folder, provider, 4 * step)
        yield from measure_read_only_disk(folder, provider)
    else:
        yield Figure("small and read-only disks", "skipped", "needs root", ok=True)


def can_mount(folder: Path) -> bool:
    """Return whether this process can mount a disk."""
    try:
        with mount_disk(folder / "try", 4):
            return True
    except (OSError, subprocess.CalledProcessError):
        return False


def measure_moved_files(folder: Path, provider: Provider, _: int) -> Iterator[Figure]:
    """Move the folder, the store and its log, each in a run of its own."""
    for what in ("folder", "", "-wal"):
        yield from measure_moved_file(folder, provider, what)


PARTS: Mapping[str, Callable[[Path, Provider, int], Iterator[Figure]]] = {
    "growth": measure_full_log,
    "moved": measure_moved_files,
    "damaged": measure_damaged_rows,
    "mounted": measure_mounted_disks,
    "syncs": measure_syncs,
}


def main() -> int:
    """Run the parts and print the figures; return 1 if one misses its target."""
    parser = table.make_parser(__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; all by default")
    parser.add_argument("--step", type=int, default=1)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, start_provider(answer, Path(name)) as provider:
        killing.warm_up(Path(name) / "warm")
        parts = [PARTS[part](Path(name), provider, arguments.step) for part in arguments.parts or PARTS]
        return print_figures([figure for part in parts for figure in part])


if __name__ == "__main__":
    sys.exit(main())
