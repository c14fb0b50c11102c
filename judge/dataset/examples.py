"""Examples for a prompt: pairs with the grade of a person and the reason for it, read from a file."""

from __future__ import annotations

from pathlib import Path

from judge.characters import detect_query_language, find_majority_language
from judge.dataset import clean
from judge.dataset.injection_patterns import INJECTION_FLAGS
from judge.dataset.labels import parse_label
from judge.dataset.parsed_rows import ParsedRow, parse_row
from judge.dataset.readers import read_rows
from judge.dataset.textfile import Warn
from judge.dataset.validation import unescape_candidates
from judge.errors import InputError
from judge.messages import Message, SeparatedNames
from judge.records import BINARY, Example, LangChoice, Pair, Query, Scale


def read_examples(
    path: Path, scale: Scale, *, lang: LangChoice, max_chars: int, dates: bool, warn: Warn | None = None
) -> tuple[Example, ...]:
    """Return the examples in a file like a dataset that also has the fields `grade` and `reason`.

    The file of `judge agree --plan` has `comment` instead of `reason`. Rows without a grade or a reason are
    left out, those that repeat a pair with its grade, and those with a snippet that may be an attack on the
    assessor. Texts are cleaned as in a dataset with the same options. `warn` gets remarks: those of
    `read_rows`, and the number of possible attacks. Raise InputError with file, line, field and value for a
    row that is not an example of `scale`, for two grades of one pair, and for a file without an example.
    """
    examples: dict[tuple[str, str], tuple[Example, str]] = {}
    attacks: list[tuple[str, str]] = []
    for number, row in enumerate(read_rows(path, {}, warn)):
        parsed = parse_row(number, row)
        example = _read_example(parsed, scale, lang, max_chars, dates=dates)
        if example is None:
            continue
        if flags := INJECTION_FLAGS.intersection(example.pair.snippet.flags):
            attacks.append((parsed.locate_field("snippet"), SeparatedNames(sorted(flags))))
            continue
        key = example.pair.query.text, example.pair.snippet.id
        first, place = examples.setdefault(key, (example, parsed.location))
        if first.grade != example.grade:
            raise InputError(
                "{place}: field 'grade' is {grade} here and {other_grade} at {other_place}, for the same"
                " query and snippet; keep one",
                place=parsed.location,
                grade=example.grade,
                other_grade=first.grade,
                other_place=place,
            )
    if attacks:
        place, kinds = attacks[0]
        remark = Message(
            "examples that are left out because their snippet may attack the assessor: {count:,}, first"
            " {place} ({flags})",
            count=len(attacks),
            place=place,
            flags=kinds,
        )
        if not examples:
            raise InputError("{remark}; no other example is in the file", remark=remark)
        if warn:
            warn(remark)
    if not examples:
        raise InputError(
            "{file}: contains no example; fill in query, snippet, grade and reason in each row", file=path
        )
    return tuple(example for example, _ in examples.values())


def _read_example(
    row: ParsedRow, scale: Scale, lang: LangChoice, max_chars: int, *, dates: bool
) -> Example | None:
    """Return the example in a row, None where it lacks a grade or a reason."""
    label = next(parse_label(row.location, row.query_id, "", row.extra.get("grade", "")), None)
    if label is None:
        return None
    if label.grade > scale.top or (label.word and scale != BINARY):
        raise InputError(
            "{place}: field 'grade' is {value!r}; the {scale} scale has the grades 0 to {top}",
            place=row.location,
            value=row.extra["grade"],
            scale=scale.name,
            top=scale.top,
        )
    reason = clean.clean_query(row.extra.get("reason") or row.extra.get("comment", ""))
    return Example(_make_pair(row, lang, max_chars, dates=dates), label.grade, reason) if reason else None


def _make_pair(row: ParsedRow, lang: LangChoice, max_chars: int, *, dates: bool) -> Pair:
    """Return the pair of a row; raise InputError where it has no text."""
    query = clean.clean_query(unescape_candidates(row.query)[0])
    text, title, url, date, docno = (unescape_candidates(each)[0] for each in row.fields or [""] * 5)
    snippet = clean.clean_snippet(
        text, title=title, url=url, date=date, docno=docno, max_chars=max_chars, query=query, dates=dates
    )
    if not (query and snippet.text):
        raise InputError(
            "{place} has no readable text; an example needs a query and a snippet",
            place=row.locate_field("snippet" if query else "query"),
        )
    language = lang if lang != "auto" else detect_query_language(query) or find_majority_language([snippet])
    return Pair(Query(row.query_id, query, row.query, language, row.reference), snippet)
