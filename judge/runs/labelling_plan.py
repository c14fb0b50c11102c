"""The pairs that people label: drawing them, and their files, which have the texts of the prompt alone.

They have no engine, rank or verdict, and the order of pairs does not depend on these.
`judge.dataset.label_files` reads the labels. Where single pairs were drawn, a JSON file beside the plan holds
the design: how they were drawn.
"""

import csv
import io
import os
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path

from judge.analysis.judged_run import JudgedRun
from judge.analysis.pair_plan import DrawOptions, PairPlan, check_plan, plan_pairs
from judge.dataset.field_values import escape_cell, protect_cell
from judge.dataset.labels import select_labellable
from judge.errors import InputError
from judge.files.json_text import dump_json, hash_parts
from judge.measure.measures import parse_measure
from judge.measure.ppi import draw_queries_to_label
from judge.records import Dataset, PairKey, Pool, Query, Snippet
from judge.runs.folder import RunFolder, translate_run_errors
from judge.runs.load import load_run, load_run_without_labels
from judge.runs.record_json import from_json, to_json

COLUMNS = ("query_id", "query", "reference", "snippet_id", "title", "date", "snippet", "grade", "comment")
# Halves of surrogate pairs have no bytes; control characters end a cell, or the file, for some readers.
_UNFIT = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ufeff\ud800-\udfff]")
#: Excel spills what is longer over the rows below.
_LONGEST = 32_000


def make_rows(
    data: Dataset,
    pool: Pool,
    query_ids: Sequence[str],
    seed: int = 0,
    keys: Collection[PairKey] | None = None,
) -> Iterator[tuple[str, ...]]:
    """Yield the cells of one row for each distinct pair of these queries, or of `keys`, named by `COLUMNS`.

    Queries come in the order given, each once; a query's snippets in an order that follows from
    `seed` and their ids alone. `grade` and `comment` are empty. Addresses are left out: the assessor
    does not see them, and some tell the engine. So are snippets without text: there is nothing to
    judge.
    """
    snippets_of: dict[str, list[Snippet]] = {query_id: [] for query_id in query_ids}
    for pair in select_labellable(pool):
        if pair.query.id in snippets_of and (keys is None or pair.key in keys):
            snippets_of[pair.query.id].append(pair.snippet)
    for query_id, snippets in snippets_of.items():
        query = data.queries[query_id]
        for snippet in sorted(
            snippets, key=lambda snippet: hash_parts([str(seed), query_id, snippet.id], 16)
        ):
            yield make_row(query, snippet)


def make_row(query: Query, snippet: Snippet, grade: str = "", comment: str = "") -> tuple[str, ...]:
    """Return the cells of one row, named by `COLUMNS`."""
    texts = (snippet.title, snippet.date, snippet.text)
    return (query.id, query.text, query.reference or "", snippet.id, *texts, grade, comment)


def write_plan(path: Path, rows: Iterable[Sequence[str]]) -> Path:
    """Write the rows of `make_rows` as `format_table` does and return the path.

    Raises InputError when `path` exists, because it may hold labels; StoreError when it cannot be written.
    """
    if os.path.lexists(path):
        raise InputError(
            "{file}: exists and may contain labels of people; name another file with --out", file=path
        )
    if not (path.parent.is_dir() and os.access(path.parent, os.W_OK)):
        raise InputError(
            "{file}: {folder!r} is not a folder that takes files; make it, or name another file with --out",
            file=path,
            folder=str(path.parent),
        )
    folder = RunFolder(path.parent)
    return folder.write(path.name, format_table(rows))


def format_table(rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the parts of a CSV with the cells of `rows` that spreadsheets open and save unchanged.

    It begins with a byte order mark, so that Excel shows Chinese; no cell is a formula.
    """
    text = io.StringIO(newline="")
    lines = csv.writer(text)
    lines.writerow(COLUMNS)
    # A date is not read back, so a spreadsheet may change how it is written.
    lines.writerows(
        [
            (escape_cell if name == "date" else protect_cell)(_UNFIT.sub("\ufffd", cell)[:_LONGEST])
            for name, cell in zip(COLUMNS, row, strict=True)
        ]
        for row in rows
    )
    return ["\ufeff", text.getvalue()]


def make_design_path(path: Path) -> Path:
    """Return the path of the design of the plan in `path`."""
    return path.parent / f"{path.stem}.json"  # `with_suffix` refuses a path without a name, such as `/`


def plan_labels(path: Path, count: int, seed: int, out: Path | None) -> tuple[Path, int]:
    """Draw `count` of the run's queries and write the file in which people grade their pairs.

    Return its path and the number of pairs. Raises InputError when the file exists already, or the run has
    fewer queries.
    """
    loaded = load_run(RunFolder(path))
    pairs = Counter(pair.query.id for pair in select_labellable(loaded.pool))
    drawn = draw_queries_to_label(list(pairs), count, seed)
    file = write_plan(out or path / "labels.csv", make_rows(loaded.dataset, loaded.pool, drawn, seed))
    return file, sum(pairs[query_id] for query_id in drawn)


def plan_pair_labels(
    path: Path, engines: Sequence[str], measure: str | None, options: DrawOptions, out: Path | None
) -> tuple[Path, PairPlan]:
    """Draw the pairs whose labels decide the order of `engines`, and write the file for people's grades.

    `measure` None takes sDCG@10, or down to the depth of the run. Raises InputError as
    `judge.analysis.pair_plan.plan_pairs`, and when the file exists already.
    """
    loaded = load_run_without_labels(RunFolder(path))
    chosen = parse_measure(measure or f"sDCG@{min(10, loaded.pool.depth)}")
    with translate_run_errors(path):
        plan = plan_pairs(loaded, engines, chosen, options)
    file = out or path / "labels.csv"
    design = make_design_path(file)
    if os.path.lexists(design):
        raise InputError("{file}: exists; name another file", file=design)
    query_ids = list(dict.fromkeys(query_id for query_id, _ in plan.drawn))
    write_plan(file, make_rows(loaded.dataset, loaded.pool, query_ids, plan.seed, set(plan.drawn)))
    RunFolder(file.parent).write(design.name, [dump_json(to_json(plan)), "\n"])
    return file, plan


def read_pair_plan(path: Path, run: JudgedRun) -> PairPlan:
    """Return the plan beside the file `path`; raise InputError when there is none that is of the `run`."""
    design = make_design_path(path)
    value = RunFolder(design.parent).read_if_there(design.name)
    if value is None:
        raise InputError(
            "{file}: no such file; judge agree --plan-pairs writes it beside the plan; labels on whole"
            " queries need no --plan",
            file=design,
        )
    plan = from_json(PairPlan, value, str(design))
    check_plan(run, plan, str(design))
    return plan
