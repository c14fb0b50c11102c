"""Damage the files of a run's folder in every way that a copy, an editor or an attacker can, and read them.

    python -m tests.fault_injection.damage --cases 2000 --seed 1

Every command that reads a run must end with 0, 2 or 3 and at most one line on stderr. Ends with 1 when
one did not. The seed that it prints gives the same cases again.
"""

from __future__ import annotations

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
from pathlib import Path
from typing import Any, NamedTuple

from judge import api, pipeline
from judge.annotate import label_log, session
from judge.annotate.session import AnnotationSession
from judge.cli.main import app
from judge.config.run import Config
from judge.errors import InputError, Interrupted, JudgeError
from judge.runs import load
from judge.runs.folder import RunFolder, reading_run
from tests.fault_injection.table import Figure, parser, report
from tests.support.factories import numbered, write_rows
from tests.unit.nightly import records

_VALUES: tuple[Any, ...] = (None, True, -1, 1.5, 10**40, "text", "", [], {}, [[]], {"a": None}, "\ud800")
_DELETED = object()
_DAY = "2026-05-01"


class Case(NamedTuple):
    """One damage: to which file of a folder, what it is called, and what it makes of the file's bytes."""

    file: str
    name: str
    damage: Callable[[bytes], bytes]


class Result(NamedTuple):
    """How a command ended on a damaged folder."""

    code: int
    errors: str


def make(folder: Path) -> Path:
    """Make a labelled run with dimensions in `folder`/run and nights in `folder`/nights; return the run."""
    data, out = write_rows(folder / "d.jsonl", numbered(4, 2, 3)), folder / "run"
    store = str(folder / "s")
    config = Config(
        data=str(data), model="lexical", out=str(out), repeats=2, store=store, diversity=True, sites=True
    )
    pipeline.run(config)
    shutil.copy(out / "qrels.txt", folder / "labels.txt")
    api.agree(out, folder / "labels.txt")
    for day in (_DAY, "2026-05-02"):
        night = folder / "nights" / day
        night.mkdir(parents=True)
        (night / "night.json").write_text(json.dumps(records.night(day)), "utf-8")
    return out


def commands(run: Path) -> dict[str, Sequence[str]]:
    """Return the words of every command that reads the run or the nights."""
    nights = run.parent / "nights"
    return {
        "score": ("score", str(run)),
        "compare": ("compare", str(run)),
        "compare two": ("compare", str(run), str(run.parent / "other")),
        "show": ("show", str(run), "--query", "q0"),
        "report": ("report", str(run)),
        "agree": ("agree", str(run), "--qrels", str(run.parent / "labels.txt")),
        "plan": ("agree", str(run), "--plan", "2", "--out", str(run.parent / "plan.csv")),
        "trend": ("trend", str(nights)),
        "baseline set": ("baseline", "set", str(run), "--folder", str(run.parent / "b")),
    }


def damages(file: str, content: bytes) -> Iterator[Case]:
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


def paths(value: Any, prefix: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every field in `value`; of a list, of its first item alone."""
    items = (
        value.items() if isinstance(value, dict) else enumerate(value[:1]) if isinstance(value, list) else ()
    )
    for key, inner in items:
        yield (*prefix, key)
        yield from paths(inner, (*prefix, key))


def replaced(value: Any, path: tuple[Any, ...], by: Any) -> Any:
    """Return a copy of `value` with another one at `path`, or with none."""
    result = changed = copy.deepcopy(value)
    for key in path[:-1]:
        result = result[key]
    if by is _DELETED:
        del result[path[-1]]
    else:
        result[path[-1]] = by
    return changed


def wrong_values(file: str, content: bytes) -> Iterator[Case]:
    """Yield a case for every field of a JSON file (of JSON lines, of the first) by every wrong value."""
    first, end, rest = content.partition(b"\n") if file.endswith(".jsonl") else (content, b"", b"")
    value = json.loads(first)
    for path in paths(value):
        for wrong in (*_VALUES, _DELETED):
            name = f"{'.'.join(map(str, path))} = {'deleted' if wrong is _DELETED else repr(wrong)}"
            yield Case(
                file,
                name,
                lambda _, path=path, wrong=wrong: (  # type: ignore[misc]
                    laid_out(replaced(value, path, wrong), file) + end + rest
                ),
            )


def laid_out(value: Any, file: str) -> bytes:
    """Return `value` as JSON the way judge lays the file out, where it has to be: results.json."""
    if file != "run/results.json" or not isinstance(value.get("queries"), list) or "summary" not in value:
        return json.dumps(value).encode()
    entries = ",\n".join(json.dumps(query) for query in value["queries"])
    head = f'{{"run": {json.dumps(value.get("run"))},\n"summary": {json.dumps(value["summary"])},\n'
    return f'{head}"queries": [\n{entries}\n]}}\n'.encode()


def cases(folder: Path) -> list[Case]:
    """Return all cases for the files in `folder`."""
    files = (
        *("run/config.json", "run/results.json", "run/summary.json", "run/judgments.jsonl"),
        *("run/scores.csv", "run/qrels.txt", "run/agreement.json", "labels.txt"),
        f"nights/{_DAY}/night.json",
    )
    every: list[Case] = []
    for file in files:
        content = (folder / file).read_bytes()
        every += damages(file, content)
        if ".json" in file:
            every += wrong_values(file, content)
    return every


def run_command(words: Sequence[str]) -> Result:
    """Run a command in this process and return its exit code and what it writes to stderr."""
    errors = io.StringIO()
    with redirect_stdout(io.StringIO()), redirect_stderr(errors):
        code = _code(lambda: app(list(words), standalone_mode=False))
    return Result(code, errors.getvalue())


def start_annotating(run: Path) -> Result:
    """Do what `judge annotate` does before it listens, and show the first pair."""

    def start() -> None:
        loaded = load.load_run(RunFolder(run))
        keys = session.draw_pairs_to_label(loaded.pool)
        with reading_run(run):
            today = RunFolder(run).read("config.json").get("options", {}).get("as_of")
        with label_log.open_labels(run, "me") as own:
            ordered = session.order_pairs(loaded.pool, keys, own.who)
            AnnotationSession(run, loaded, ordered, own, today).state()

    errors = io.StringIO()
    with redirect_stderr(errors):
        code = _code(start)
    return Result(code, errors.getvalue())


def _code(start: Callable[[], object]) -> int:
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


def bad(result: Result) -> bool:
    """Whether a command ended as none may."""
    return result.code not in (0, 2, 3) or result.errors.count("\n") > (result.code != 0)


def try_case(whole: Path, case: Case, names: Sequence[str] | None = None) -> dict[str, Result]:
    """Return how each command ends on a copy of the folder `whole` that is damaged by `case`."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "w"
        shutil.copytree(whole, folder)
        shutil.copytree(whole / "run", folder / "other")
        path = folder / case.file
        path.write_bytes(case.damage(path.read_bytes()))
        words = commands(folder / "run")
        results = {name: run_command(words[name]) for name in names or words if name in words}
        if names is None or "annotate" in names:
            results["annotate"] = start_annotating(folder / "run")
        return results


def main() -> int:
    """Try as many cases as asked for, each on one command, and print what ended badly."""
    options = parser(__doc__)
    options.add_argument("--cases", type=int, default=1000)
    options.add_argument("--seed", type=int, default=secrets.randbits(32))
    arguments = options.parse_args()
    print(f"seed {arguments.seed}")
    chance = random.Random(arguments.seed)
    with tempfile.TemporaryDirectory() as place:
        whole = Path(place)
        make(whole)
        every = cases(whole)
        names = [*commands(whole / "run"), "annotate"]
        wholes = [case for case in every if "=" not in case.name]
        half = arguments.cases // 2
        drawn = [*chance.sample(wholes, min(half, len(wholes))), *chance.sample(every, min(half, len(every)))]
        codes: Counter[int] = Counter()
        worst: Counter[str] = Counter()
        for case in drawn:
            for name, result in try_case(whole, case, [chance.choice(names)]).items():
                codes[result.code] += 1
                if bad(result):
                    last = result.errors.strip().splitlines()[-1:] or [""]
                    worst[f"{name} {case.file} {case.name[:60]}: {result.code} {last[0][:120]}"] += 1
        for line in sorted(worst)[:60]:
            print("  ", line)
    total = sum(codes.values())
    return report(
        [
            Figure("cases", total, "", True),
            Figure("exit codes", str(dict(sorted(codes.items()))), "0, 2 or 3", codes[70] == 0),
            Figure("bad endings", sum(worst.values()), "0", not worst),
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
