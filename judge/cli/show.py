"""`judge show`: the snippets of one query at every engine, with grades and reasons."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from itertools import starmap
from pathlib import Path
from unicodedata import normalize

from msgspec.structs import replace
from rich.console import Console
from rich.text import Text

from judge.characters import make_natural_key
from judge.cli.render.tables import escape_line
from judge.cli.terminal import t
from judge.errors import JUDGMENT_ERRORS, InputError
from judge.flags import FLAGS, UNKNOWN_TEXT
from judge.messages import SeparatedNames
from judge.report.display_text import escape_hidden, format_plain_number
from judge.runs.folder import RunFolder, translate_run_errors
from judge.runs.results_file import (
    CleanedText,
    EngineEntry,
    JudgmentEntry,
    QueryEntry,
    SnippetEntry,
    read_query_entries,
)

_INDENT = 5
#: Marks an engine that is in the run and has no row for the query.
_NO_ROW = EngineEntry(scores={}, snippets=())
_STYLES = {None: "dim", 0: "red", 1: "yellow", 2: "green", 3: "bold green"}


def find_query(run: Path, query: str) -> tuple[QueryEntry, list[str]]:
    """Return the query with the id `query`, else with that text, of a run, and the names of all its engines.

    They are in the results.json in the folder `run`. Raise InputError when it has no such query, or several
    with that text, or `query` is empty. Failed judgments have the `detail` of judgments.jsonl.
    """
    query = normalize("NFC", query)  # as ids are; the names of files on macOS are not
    with translate_run_errors(run):
        entry, texts, engines = _search(read_query_entries(run / "results.json"), query, run)
        if entry is not None:
            return _add_details(RunFolder(run), entry), engines
    raise InputError(
        "{run}: has no query {query!r:.80}; it has {count}, e.g. {examples}"
        if query
        else "{run}: name one of its queries with --query; it has {count}, e.g. {examples}",
        run=run,
        query=query,
        count=len(texts),
        examples=SeparatedNames(_find_similar(query, texts)),
    )


def _find_similar(query: str, texts: Mapping[str, str]) -> list[str]:
    """Return up to three ids or quoted texts like `query`, else the first ids; `texts` are by id."""
    if ids := get_close_matches(query, texts, n=3):
        return ids
    longer = [text for text in texts.values() if query.casefold() in text.casefold()]
    similar = longer[:3] or get_close_matches(query, texts.values(), n=3)
    return [repr(text[:80]) for text in similar] or list(texts)[:3]


def _search(
    entries: Iterable[QueryEntry], query: str, run: Path
) -> tuple[QueryEntry | None, dict[str, str], list[str]]:
    """Return the query with this id, else the one with this text; the texts of all queries by id; engines."""
    by_id, by_text, texts, ids_of_text = None, None, {}, []
    engines = set[str]()
    for entry in entries:
        texts[entry.query_id] = entry.query
        engines |= entry.engines.keys()
        if entry.query_id == query:
            by_id = entry
        elif normalize("NFC", entry.query) == query:
            by_text = by_text or entry
            ids_of_text.append(entry.query_id)
    if by_id is None and len(ids_of_text) > 1:
        raise InputError(
            "{run}: {count} queries have the text {query!r:.80}; name one by its id, e.g. {examples}",
            run=run,
            count=len(ids_of_text),
            query=query,
            examples=SeparatedNames(ids_of_text[:3]),
        )
    return by_id or by_text, texts, sorted(engines, key=make_natural_key)


def _add_details(folder: RunFolder, entry: QueryEntry) -> QueryEntry:
    snippets = [snippet for engine in entry.engines.values() for snippet in engine.snippets]
    if not any(judgment.error for snippet in snippets for judgment in snippet.judgments):
        return entry
    details = {
        (line["snippet_id"], line["repeat"]): str(line.get("detail", ""))
        for line in starmap(folder.parse_object, folder.read_texts("judgments.jsonl"))
        if line["query_id"] == entry.query_id and line["error"]
    }

    def explain(snippet: SnippetEntry) -> SnippetEntry:
        explained = (
            replace(judgment, detail=details.get((snippet.snippet_id, judgment.repeat), ""))
            for judgment in snippet.judgments
        )
        return replace(snippet, judgments=tuple(explained))

    engines = {
        name: replace(engine, snippets=tuple(map(explain, engine.snippets)))
        for name, engine in entry.engines.items()
    }
    return replace(entry, engines=engines)


def print_query(entry: QueryEntry, engines: Iterable[str], console: Console) -> None:
    """Print a query: the snippets of each of the `engines` best first, with grades and reasons."""
    query_id = escape_hidden(entry.query_id)
    console.print(Text.assemble((escape_hidden(entry.query), "bold"), f"   {query_id}  {entry.lang}"))
    if entry.reference:
        console.print(Text(t("reference: {reference}", reference=escape_hidden(entry.reference))))
    for name in engines:
        console.print()
        console.print(_format_engine(name, engine := entry.engines.get(name, _NO_ROW)))
        for dimension, note in engine.notes.items():
            console.print(escape_line(t("{name}: {value}", name=t(dimension), value=t(note))))
        for snippet in engine.snippets:
            text = snippet.shown or CleanedText(snippet.title, snippet.snippet)
            title, address = escape_hidden(text.title), escape_hidden(snippet.url)
            heading = f"{title}  {address}" if title not in ("", address) else address or t("(no title)")
            first, *others = Text(heading, style="bold").wrap(
                console, max(1, console.width - _INDENT), overflow="fold"
            )
            first.rstrip()
            console.print(Text.assemble((f"{snippet.rank:>{_INDENT - 2}}. ", "bold"), first))
            body = Text(escape_hidden(text.snippet), style="dim")
            for line in (*others, body, *_format_judgments(snippet.judgments)):
                console.print(Text(" " * _INDENT).append(line))


def _format_engine(name: str, engine: EngineEntry) -> Text:
    line = Text(escape_hidden(name), style="bold cyan")
    for measure, value in engine.scores.items():
        line.append(f"  {measure} {format_plain_number(value, '.4f')}", style="not bold")
    if engine is _NO_ROW:
        line.append("  " + t("no row for this query"), style="yellow")
    elif engine.error is not None:
        line.append("  " + t("error: {error}", error=escape_hidden(engine.error)), style="red")
    elif not engine.snippets:
        line.append("  " + t("returned nothing"), style="yellow")
    return line


def _describe_outcome(grade: int | None, error: str | None, verdict: str | None = None) -> str:
    """Return the grade with its verdict, or the kind of the failure with its text, where they have one."""
    if grade is not None:
        return f"{grade} {t(verdict)}" if verdict else f"{grade}"
    why = _explain(error, JUDGMENT_ERRORS) if error else error
    return t("unjudged: {error}" if error in UNKNOWN_TEXT else "failed: {error}", error=why)


def _explain(name: str, texts: Mapping[str, str]) -> str:
    """Return `name` with its text in brackets, if it has one; `name` can have a detail after a colon."""
    text = texts.get(name.partition(":")[0])
    return t("{name} ({text})", name=name, text=t(text)) if text else name


def _format_judgments(judgments: tuple[JudgmentEntry, ...]) -> Iterable[Text]:
    for judgment in judgments:
        outcome = _describe_outcome(judgment.grade, judgment.error, judgment.verdict)
        style = _STYLES.get(judgment.grade, "")
        repeat = f"#{judgment.repeat} " if len(judgments) > 1 else ""
        flags = [escape_hidden(_explain(flag, FLAGS)) for flag in judgment.flags if flag != judgment.error]
        marks = f"  [{t.list_names(flags)}]" if flags else ""
        reason = escape_line(judgment.reason or t(judgment.detail))
        other = judgment.judged_snippet_id
        source = "  " + t("(judgment of snippet {id})", id=escape_hidden(other)) if other else ""
        yield Text.assemble(repeat, (outcome, style), "  ", reason, (marks, "magenta"), (source, "dim"))
        for member in judgment.members:
            outcome = _describe_outcome(member.grade, member.error)
            line = f"  {member.assessor}: {outcome}  {member.reason}"
            yield Text.assemble(escape_line(line), style="dim")
    if not judgments:
        yield Text(t("unjudged"), style="dim italic")
