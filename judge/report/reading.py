"""Owns `judge show`: one query's snippets at every engine, with grades and reasons, on the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from judge.dataset.clean import visible
from judge.errors import InputError
from judge.report.rundir import RunFolder

_STYLES = {None: "dim", 0: "red", 1: "yellow", 2: "green", 3: "bold green"}


def show(run: Path, query_id: str, console: Console) -> None:
    """Prints query `query_id` of the run in folder `run`; raises InputError when it has none such."""
    results = RunFolder(run).read("results.json")
    entry = _find(results["queries"], query_id, run)
    console.print(Text.assemble((visible(entry["query"]), "bold"), f"   {query_id}  {entry['lang']}"))
    if entry.get("reference"):
        console.print(Text(f"reference: {visible(entry['reference'])}"))
    for engine, answer in entry["engines"].items():
        console.print()
        console.print(_engine_line(engine, answer))
        for snippet in answer["snippets"]:
            for line in _snippet_lines(snippet):
                console.print(line)


def _find(queries: Iterable[Mapping[str, Any]], query_id: str, run: Path) -> Mapping[str, Any]:
    known = {query["query_id"]: query for query in queries}
    if query_id not in known:
        near = get_close_matches(query_id, known, n=3) or list(known)[:3]
        raise InputError(f"{run}: has no query {query_id!r}; it has {len(known)}, e.g. {', '.join(near)}")
    return known[query_id]


def _engine_line(engine: str, answer: Mapping[str, Any]) -> Text:
    line = Text(visible(engine), style="bold cyan")
    for measure, value in answer["scores"].items():
        line.append(f"  {measure} {'-' if value is None else format(value, '.4f')}", style="not bold")
    if "error" in answer:
        line.append(f"  broke: {visible(answer['error'])}", style="red")
    elif not answer["snippets"]:
        line.append("  returned nothing", style="yellow")
    return line


def _snippet_lines(snippet: Mapping[str, Any]) -> Iterable[Text]:
    shown = snippet.get("shown", snippet)
    title = visible(shown["title"])
    address = visible(snippet["url"])
    heading = f"{title}  {address}" if title not in ("", address) else address or "(no title)"
    yield Text(f"{snippet['rank']:>3}. {heading}", style="bold")
    yield Text("     " + visible(shown["snippet"]).replace("\n", "\n     "), style="dim")
    for judgment in snippet["judgments"]:
        grade = judgment["grade"]
        said = f"failed: {judgment['error']}" if grade is None else f"{grade} {judgment['verdict']}"
        repeat = f"#{judgment['repeat']} " if len(snippet["judgments"]) > 1 else ""
        flags = f"  [{', '.join(judgment['flags'])}]" if judgment["flags"] else ""
        yield Text.assemble(
            f"     {repeat}",
            (said, _STYLES.get(grade, "")),
            f"  {visible(judgment['reason'])}",
            (flags, "magenta"),
        )
    if not snippet["judgments"]:
        yield Text("     unjudged", style="dim italic")
