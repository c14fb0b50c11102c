"""Owns `judge show`: one query's snippets at every engine, with grades and reasons, on the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from judge.dataset.clean import escape_controls
from judge.errors import InputError
from judge.runs.folder import RunFolder, reading_run

_INDENT = 5
_STYLES = {None: "dim", 0: "red", 1: "yellow", 2: "green", 3: "bold green"}


def find(run: Path, query_id: str) -> Mapping[str, Any]:
    """Query `query_id` as the results.json in folder `run` has it; raises InputError when it hasn't.

    Judgments that failed have the `detail` of judgments.jsonl, too.
    """
    found = RunFolder(run).read("results.json")
    with reading_run(run):
        return _entry(run, found["queries"], query_id)


def _entry(run: Path, queries: Iterable[Mapping[str, Any]], query_id: str) -> Mapping[str, Any]:
    known: dict[str, Mapping[str, Any]] = {query["query_id"]: query for query in queries}
    if query_id not in known:
        near = get_close_matches(query_id, known, n=3) or list(known)[:3]
        raise InputError(f"{run}: has no query {query_id!r}; it has {len(known)}, e.g. {', '.join(near)}")
    entry = known[query_id]
    snippets = [snippet for answer in entry["engines"].values() for snippet in answer["snippets"]]
    if any(judgment["error"] for snippet in snippets for judgment in snippet["judgments"]):
        _explain(run, query_id, snippets)
    return entry


def _explain(run: Path, query_id: str, snippets: Iterable[Mapping[str, Any]]) -> None:
    details = {
        (line["snippet_id"], line["repeat"]): line.get("detail", "")
        for line in RunFolder(run).lines("judgments.jsonl")
        if line["query_id"] == query_id and line["error"]
    }
    for snippet in snippets:
        for judgment in snippet["judgments"]:
            if judgment["error"]:
                judgment["detail"] = details.get((snippet["snippet_id"], judgment["repeat"]), "")


def show(entry: Mapping[str, Any], console: Console) -> None:
    """Prints a query: each engine's snippets best first, with grades and reasons."""
    said = escape_controls(entry["query_id"])
    console.print(Text.assemble((escape_controls(entry["query"]), "bold"), f"   {said}  {entry['lang']}"))
    if entry.get("reference"):
        console.print(Text(f"reference: {escape_controls(entry['reference'])}"))
    for engine, answer in entry["engines"].items():
        console.print()
        console.print(_engine_line(engine, answer))
        for snippet in answer["snippets"]:
            console.print(_heading(snippet))
            for line in _snippet_lines(snippet):
                console.print(Padding(line, (0, 0, 0, _INDENT), expand=False))


def _engine_line(engine: str, answer: Mapping[str, Any]) -> Text:
    line = Text(escape_controls(engine), style="bold cyan")
    for measure, value in answer["scores"].items():
        line.append(f"  {measure} {'-' if value is None else format(value, '.4f')}", style="not bold")
    if "error" in answer:
        line.append(f"  broke: {escape_controls(answer['error'])}", style="red")
    elif not answer["snippets"]:
        line.append("  returned nothing", style="yellow")
    return line


def _heading(snippet: Mapping[str, Any]) -> Text:
    title, address = escape_controls(snippet.get("shown", snippet)["title"]), escape_controls(snippet["url"])
    heading = f"{title}  {address}" if title not in ("", address) else address or "(no title)"
    return Text(f"{snippet['rank']:>{_INDENT - 2}}. {heading}", style="bold")


def _snippet_lines(snippet: Mapping[str, Any]) -> Iterable[Text]:
    yield Text(escape_controls(snippet.get("shown", snippet)["snippet"]), style="dim")
    for judgment in snippet["judgments"]:
        grade = judgment["grade"]
        said = f"failed: {judgment['error']}" if grade is None else f"{grade} {judgment['verdict']}"
        repeat = f"#{judgment['repeat']} " if len(snippet["judgments"]) > 1 else ""
        flags = f"  [{escape_controls(', '.join(judgment['flags']))}]" if judgment["flags"] else ""
        why = escape_controls(judgment["reason"] or judgment.get("detail", ""))
        yield Text.assemble(repeat, (said, _STYLES.get(grade, "")), f"  {why}", (flags, "magenta"))
        for member in judgment.get("members", ()):
            said = f"failed: {member['error']}" if member["grade"] is None else f"{member['grade']}"
            yield Text(escape_controls(f"  {member['assessor']}: {said}  {member['reason']}"), style="dim")
    if not snippet["judgments"]:
        yield Text("unjudged", style="dim italic")
