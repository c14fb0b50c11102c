"""The figures of `throughput`: their records, their file, and the check against an earlier file."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from pydantic import TypeAdapter

from tests.benchmarks.clients import PROBE, RUN

#: How much worse a ratio may get before the check fails.
TOLERANCE = 0.20


@dataclass(frozen=True)
class Cell:
    """What a client goes through: `pairs` pairs, `concurrency` calls at once, `latency` seconds each."""

    pairs: int
    concurrency: int
    latency: float

    @property
    def ideal(self) -> float:
        """The seconds of a client without overhead that makes one call per pair."""
        return math.ceil(self.pairs / self.concurrency) * self.latency

    @property
    def name(self) -> str:
        """Concurrency and milliseconds, as on the command line."""
        return f"{self.concurrency}x{self.latency * 1000:g}"


@dataclass(frozen=True)
class Measurement:
    """One run of a client: seconds, megabytes, calls, and the characters of all prompts."""

    wall: float
    cpu: float
    process_cpu: float
    import_cpu: float
    peak_rss: float
    calls: int
    characters: int


@dataclass(frozen=True)
class Figures:
    """Medians over the rounds of a client in a cell.

    `eff` is the ideal time divided by the time from the first request to the last grade; `cpu_ms` is the
    CPU time of that, and `all_in_ms` that of the whole process, in milliseconds a pair; tokens are
    characters / 4; `peak_rss` is in MiB; `import_s` is the CPU seconds of importing the library.
    """

    eff: float
    cpu_ms: float
    all_in_ms: float
    calls: float
    tokens: float
    peak_rss: float
    import_s: float


#: For the check: the figures of judge, and whether more is better. All are divided by those of the probe.
_CHECKED = {
    "eff": True, "cpu_ms": False, "all_in_ms": False, "calls": False, "tokens": False,
    "peak_rss": False, "import_s": False,
}  # fmt: skip


@dataclass(frozen=True)
class CellFigures:
    """The figures of each client in a cell."""

    cell: Cell
    clients: dict[str, Figures]


@dataclass(frozen=True)
class Machine:
    """Where and when: the processor, its cores, Python, the day, and the load before and after the run."""

    processor: str
    cores: int
    python: str
    day: str
    load_before: float
    load_after: float


@dataclass(frozen=True)
class Results:
    """A whole run. `absent` says why a peer has no figures."""

    machine: Machine
    rounds: int
    versions: dict[str, str]
    absent: dict[str, str]
    cells: tuple[CellFigures, ...]


_FILE = TypeAdapter(Results)


def summarise(cell: Cell, measurements: Sequence[Measurement]) -> Figures:
    """Return the medians of the rounds."""

    def compute_median(name: str) -> float:
        return float(median(getattr(each, name) for each in measurements))

    return Figures(
        eff=round(cell.ideal / compute_median("wall"), 4),
        cpu_ms=round(1000 * compute_median("cpu") / cell.pairs, 4),
        all_in_ms=round(1000 * compute_median("process_cpu") / cell.pairs, 4),
        calls=round(compute_median("calls") / cell.pairs, 4),
        tokens=round(compute_median("characters") / 4 / cell.pairs, 1),
        peak_rss=round(compute_median("peak_rss"), 1),
        import_s=round(compute_median("import_cpu"), 3),
    )


def write_results(results: Results, path: Path) -> None:
    path.write_bytes(_FILE.dump_json(results, indent=1) + b"\n")


def load_results(path: Path) -> Results:
    return _FILE.validate_json(path.read_bytes())


def find_regressions(stored: Results, results: Results) -> Iterator[str]:
    """Yield a line for each ratio of judge to the probe that is worse than the stored one by over 20%.

    Raises:
        ValueError: the runs have no cell in common with figures of both clients.

    """
    before = {each.cell: each.clients for each in stored.cells if {RUN, PROBE} <= each.clients.keys()}
    now = {each.cell: each.clients for each in results.cells if {RUN, PROBE} <= each.clients.keys()}
    if not before.keys() & now.keys():
        raise ValueError(
            "nothing to check: no cell of this run is in the stored file with the same number of pairs"
        )
    for cell in before.keys() & now.keys():
        for name, more_is_better in _CHECKED.items():
            first, second = (
                getattr(clients[RUN], name) / getattr(clients[PROBE], name)
                for clients in (before[cell], now[cell])
            )
            factor = first / second if more_is_better else second / first
            if factor > 1 + TOLERANCE:
                yield (
                    f"{cell.name}: {name} of judge divided by that of the {PROBE} was {first:.3f} and is now "
                    f"{second:.3f}: worse by {factor - 1:.0%}"
                )
