"""Damage datasets, the store and the files of a run's folder as a copy, an editor or an attacker can.

    python -m tests.fault_injection.damage --cases 2000 --seed 1

Every command that reads them must end with 0, 2 or 3 and at most one line on stderr; otherwise this
program ends with 1. The seed that it prints gives the same cases again.
"""

import copy
import io
import json
import random
import secrets
import shutil
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pandas

from judge import api, pipeline
from judge.annotate import label_log, session
from judge.annotate.session import AnnotationSession
from judge.cli.main import build_commands
from judge.config.run import Config
from judge.errors import InputError, Interrupted, JudgeError
from judge.runs import load
from judge.runs.folder import RunFolder
from tests.fault_injection.table import Figure, make_parser, print_figures
from tests.support.factories import make_rows, write_rows
from tests.unit.nightly import records

_VALUES: tuple[Any, ...] = (None, True, -1, 1.5, 10**40, "text", "", [], {}, [[]], {"a": None}, "\ud800")
_DELETED = object()
_DAY = "2026-05-01"
#: The store and the datasets, which `judge run` reads, and how many random edits each gets.
_STORE, _DATASETS, _EDITS = "s", ("d.jsonl", "d.csv", "d.tsv.gz", "d.xlsx", "d.parquet"), 200
_PIECES = (
    *(b'"', b",", b"\n", b"\r", b"\t", b"\x00", b"\xff"),
    *(b"{", b"[", b"<", b"null", b"-1", b"9" * 30, b"\\ud800"),
)


class Case(NamedTuple):
    """A damage to a file: its path in the folder, its name, and the function that changes the bytes."""

    file: str
    name: str
    damage: Callable[[bytes], bytes]


class Result(NamedTuple):
    """The exit code and the standard error of a command on a damaged folder."""

    code: int
    errors: str


def make_folder(folder: Path) -> None:
    """Make a labelled run with dimensions in `folder`/run and nights in `folder`/nights."""
    rows = make_rows(4, 2, 3)
    data, out = write_rows(folder / "d.jsonl", rows), folder / "run"
    table = pandas.DataFrame(rows)
    table.to_csv(folder / "d.csv", index=False)
    table.to_csv(folder / "d.tsv.gz", index=False, sep="\t")
    table.to_excel(folder / "d.xlsx", index=False)
    table.to_parquet(folder / "d.parquet")
    store = str(folder / _STORE)
    config = Config(
        data=str(data), model="lexical", out=str(out), repeats=2, store=store, diversity=True, sites=True
    )
    pipeline.run(config)
    shutil.copy(out / "qrels.txt", folder / "labels.txt")
    api.agree(out, folder / "labels.txt")
    for day in (_DAY, "2026-05-02"):
        night = folder / "nights" / day
        night.mkdir(parents=True)
        (night / "night.json").write_text(json.dumps(records.make_night(day)), "utf-8")


def list_commands(run: Path, file: str = "") -> dict[str, Sequence[str]]:
    """Return the words of every command that reads the run or the nights, or the dataset or store `file`."""
    nights = run.parent / "nights"
    if file in (_STORE, *_DATASETS):
        data = run.parent / (file if file in _DATASETS else _DATASETS[0])
        words = ("run", str(data), "-m", "lexical", "--out", str(run.parent / "new"))
        return {"run": (*words, "--store", str(run.parent / _STORE))}
    return {
        "score": ("score", str(run)),
        "save": ("score", str(run), "--save"),
        "compare": ("compare", str(run)),
        "compare two": ("compare", str(run), str(run.parent / "other")),
        "show": ("show", str(run), "--query", "q0"),
        "report": ("report", str(run)),
        "agree": ("agree", str(run), "--qrels", str(run.parent / "labels.txt")),
        "plan": ("agree", str(run), "--plan", "2", "--out", str(run.parent / "plan.csv")),
        "trend": ("trend", str(nights)),
        "baseline set": ("baseline", "set", str(run), "--folder", str(run.parent / "b")),
    }


def yield_damages(file: str, content: bytes) -> Iterator[Case]:
    """Yield damages to a whole file."""
    deep = b"[" * 100_000 + b"]" * 100_000
    whole = {
        "empty": b"",
        "blank": b"\n\n",
        "half": content[: len(content) // 2],
        "all but a byte": content[:-2],
        "utf-16": content.decode().encode("utf-16"),
        "byte order mark": b"\xef\xbb\xbf" + content,
        "not utf-8": content[:40] + b"\xff\xfe" + content[40:],
        "NUL": content[:40] + b"\x00" * 9 + content[40:],
        "deep": deep,
        "deep value": content.replace(b": ", b": " + deep + b", ", 1),
        "number": b"3\n",
        "null": b"null\n",
        "list": b"[]\n",
        "object": b"{}\n",
        "text": b'"text"\n',
        "twice": content + content,
        "bare number on a line": content.replace(b"\n", b"\n3\n", 1),
    }
    for number in (b"NaN", b"-Infinity", b"1e999", b"9" * 5000):
        whole[number[:9].decode()] = content.replace(b": 1", b": " + number, 1)
    for name, damaged in whole.items():
        yield Case(file, name, lambda _, damaged=damaged: damaged)  # type: ignore[misc]


def edit_bytes(content: bytes, seed: int) -> bytes:
    """Return the content with one to four random edits."""
    rng, edited = random.Random(seed), bytearray(content)
    for _ in range(rng.randint(1, 4)):
        place, size = rng.randrange(len(edited) + 1), rng.choice((0, 1, 5, 400))
        edited[place : place + size] = rng.choice((b"", bytes(size), *_PIECES))
    return bytes(edited)


def yield_paths(value: Any, prefix: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every field in `value`; in a list, of the first item only."""
    items = (
        value.items() if isinstance(value, dict) else enumerate(value[:1]) if isinstance(value, list) else ()
    )
    for key, inner in items:
        yield (*prefix, key)
        yield from yield_paths(inner, (*prefix, key))


def replace_value(value: Any, path: tuple[Any, ...], by: Any) -> Any:
    """Return a copy of `value` with `by` at `path`, or without the field if `by` is `_DELETED`."""
    result = changed = copy.deepcopy(value)
    for key in path[:-1]:
        result = result[key]
    if by is _DELETED:
        del result[path[-1]]
    else:
        result[path[-1]] = by
    return changed


def yield_wrong_values(file: str, content: bytes) -> Iterator[Case]:
    """Yield a case for every field of a JSON file (of the first JSON line) and every wrong value."""
    first, end, rest = content.partition(b"\n") if file.endswith(".jsonl") else (content, b"", b"")
    value = json.loads(first)
    for path in yield_paths(value):
        for wrong in (*_VALUES, _DELETED):
            name = f"{'.'.join(map(str, path))} = {'deleted' if wrong is _DELETED else repr(wrong)}"
            yield Case(
                file,
                name,
                lambda _, path=path, wrong=wrong: (  # type: ignore[misc]
                    format_json(replace_value(value, path, wrong), file) + end + rest
                ),
            )


def format_json(value: Any, file: str) -> bytes:
    """Return `value` as JSON, in the layout of judge for results.json, which it reads by lines."""
    if file != "run/results.json" or not isinstance(value.get("queries"), list) or "summary" not in value:
        return json.dumps(value).encode()
    entries = ",\n".join(json.dumps(query) for query in value["queries"])
    head = f'{{"run": {json.dumps(value.get("run"))},\n"summary": {json.dumps(value["summary"])},\n'
    return f'{head}"queries": [\n{entries}\n]}}\n'.encode()


def list_cases(folder: Path, rng: random.Random) -> list[Case]:
    """Return all cases for the files in `folder`; `rng` chooses the edits of the store and of datasets."""
    files = (
        *("run/config.json", "run/results.json", "run/summary.json", "run/judgments.jsonl"),
        *("run/scores.csv", "run/qrels.txt", "run/agreement.json", "labels.txt"),
        f"nights/{_DAY}/night.json",
    )
    result = [
        Case(file, f"edit {seed}", partial(edit_bytes, seed=seed))
        for file in (_STORE, *_DATASETS)
        for seed in rng.sample(range(1 << 32), _EDITS)
    ]
    for file in files:
        content = (folder / file).read_bytes()
        result += yield_damages(file, content)
        if ".json" in file:
            result += yield_wrong_values(file, content)
    return result


def run_command(words: Sequence[str]) -> Result:
    """Run a command in this process and return its exit code and what it writes to stderr."""
    errors = io.StringIO()
    with redirect_stdout(io.StringIO()), redirect_stderr(errors):
        code = _run_for_exit_code(lambda: build_commands()(list(words), standalone_mode=False))
    progress = ("making ", "repeat ")
    lines = errors.getvalue().splitlines(keepends=True)
    return Result(code, "".join(line for line in lines if not line.startswith(progress)))


def start_annotating(run: Path) -> Result:
    """Do what `judge annotate` does before it listens, and show the first pair."""

    def start() -> None:
        loaded = load.load_run(RunFolder(run))
        keys = session.draw_pairs_to_label(loaded.pool)
        today = load.read_config(RunFolder(run)).options.as_of
        with label_log.open_labels(run, "me") as own:
            ordered = session.order_pairs(loaded.pool, keys, own.who)
            AnnotationSession(run, loaded, ordered, own, today).describe_state()

    errors = io.StringIO()
    with redirect_stderr(errors):
        code = _run_for_exit_code(start)
    return Result(code, errors.getvalue())


def _run_for_exit_code(start: Callable[[], object]) -> int:
    try:
        start()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0
    except JudgeError as error:
        print(error, file=sys.stderr)
        return 2 if isinstance(error, InputError) else 130 if isinstance(error, Interrupted) else 3
    except Exception:  # noqa: BLE001  # what would be a traceback and exit code 70
        traceback.print_exc()
        return 70
    return 0


def is_bad(result: Result) -> bool:
    """Return whether a command ended with a wrong exit code or too many lines on stderr.

    An edit can leave a valid dataset with other pairs: the line about their judging is none too many.
    """
    lines = [line for line in result.errors.splitlines() if not line.startswith("judging pairs: ")]
    return result.code not in (0, 2, 3) or len(lines) > (result.code != 0)


def try_case(folder: Path, case: Case, names: Sequence[str] | None = None) -> dict[str, Result]:
    """Return how each command ends on a copy of `folder` that is damaged by `case`."""
    with tempfile.TemporaryDirectory() as directory:
        damaged_folder = Path(directory) / "w"
        run = damaged_folder / "run"
        shutil.copytree(folder, damaged_folder)
        shutil.copytree(folder / "run", damaged_folder / "other")
        path = damaged_folder / case.file
        path.write_bytes(case.damage(path.read_bytes()))
        words = list_commands(run, case.file)
        results = {name: run_command(words[name]) for name in names or words if name in words}
        if "score" in words and (names is None or "annotate" in names):
            results["annotate"] = start_annotating(run)
        return results


def main() -> int:
    """Try as many cases as the options say, each with one command, and print the bad results."""
    options = make_parser(__doc__)
    options.add_argument("--cases", type=int, default=1000)
    options.add_argument("--seed", type=int, default=secrets.randbits(32))
    arguments = options.parse_args()
    print(f"seed {arguments.seed}")
    rng = random.Random(arguments.seed)
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory)
        make_folder(folder)
        all_cases = list_cases(folder, rng)
        names = [*list_commands(folder / "run"), "annotate"]
        file_cases = [case for case in all_cases if "=" not in case.name]
        half = arguments.cases // 2
        sample = [
            *rng.sample(file_cases, min(half, len(file_cases))),
            *rng.sample(all_cases, min(half, len(all_cases))),
        ]
        codes: Counter[int] = Counter()
        bad_results: Counter[str] = Counter()
        for case in sample:
            chosen = None if "run" in list_commands(folder / "run", case.file) else [rng.choice(names)]
            for name, result in try_case(folder, case, chosen).items():
                codes[result.code] += 1
                if is_bad(result):
                    last = result.errors.strip().splitlines()[-1:] or [""]
                    bad_results[f"{name} {case.file} {case.name[:60]}: {result.code} {last[0][:120]}"] += 1
        for line in sorted(bad_results)[:60]:
            print("  ", line)
    total = sum(codes.values())
    return print_figures(
        [
            Figure("cases", total),
            Figure("exit codes", str(dict(sorted(codes.items()))), "0, 2 or 3", codes[70] == 0),
            Figure("bad results", sum(bad_results.values()), "0", not bad_results),
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
