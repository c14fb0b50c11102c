"""The catalogue holds a Chinese translation of every message of the code, and no other."""

from __future__ import annotations

import ast
import pickle
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from string import Formatter
from typing import TYPE_CHECKING, Any

from babel.messages.pofile import read_po
from jinja2 import Environment
from jinja2.nodes import Call, Name
from typer import Context
from typer.main import get_command

from judge.cli.main import app
from judge.cli.options import USAGE_ERRORS, split_paragraphs
from judge.collect.registry import KNOWN
from judge.messages import CHINESE, ENGLISH, NameList, make_text
from judge.messages.recognition import PLACE_PARTS
from judge.nightly.record import EXIT_CODES
from judge.selftest.probes import list_attacks, load_probes
from tests.support.cases import check_each
from tests.support.source_code import MODULES, PACKAGE, parse_module

if TYPE_CHECKING:
    from babel.messages.catalog import Message

#: Messages that the code looks up by a text that it gets as a value.
BY_VALUE = {"improvement", *EXIT_CODES, "relevant", "irrelevant", "ambiguous"}
BY_VALUE |= {attack.replace("_", " ") for attack in list_attacks(load_probes())}
BY_VALUE |= {engine.hint for engine in KNOWN.values() if engine.hint}
#: Records with a message, and the place of the message in their arguments.
RECORDS = {"MeasureKind": 5}
IN_JOIN = {", ", "{others} and {last}"} | {
    f"{{left}}{separator}{{right}}" for separator in ("; ", ", ", " or ", " nor ")
}
#: Errors whose first argument is a template.
ERRORS = {
    *("InputError", "SetupError", "RunIncomplete", "Interrupted", "LimitReached", "StoreError"),
    *("LabelConflict", "LeaseLost", "Cancelled", "make_damage_error"),
}
#: Errors of single pairs: their texts are stored in English, and recognised when they are shown.
STORED_ERRORS = {
    *("ReplyParseError", "CallError", "RetryableError", "RequestRejected", "AccountError"),
}
#: The same, with the text as their first argument.
STORED_TEXTS = {
    *("ConnectionFailed", "TimedOut", "NoResponse"),
    *("make_transport_error", "BodyRefused", "ConnectionError", "ConnectionResetError"),
}
#: Errors of the system, of tomllib, json, msgspec, SQLite, gzip and codecs.
LIBRARY_ERRORS = {
    "No such file or directory",
    "Permission denied",
    "Operation not permitted",
    "Is a directory",
    "Not a directory",
    "File exists",
    "File name too long",
    "No space left on device",
    "Disk quota exceeded",
    "Read-only file system",
    "Input/output error",
    "Too many open files",
    *("Invalid argument", "File too large", "Too many open files in system"),
    *("Device or resource busy", "Stale file handle"),
    "Too many levels of symbolic links",
    "Address already in use",
    "Cannot assign requested address",
    "Connection refused",
    "Connection reset by peer",
    "Connection timed out",
    "Broken pipe",
    "Network is unreachable",
    "No route to host",
    "Name or service not known",
    "Temporary failure in name resolution",
    "No address associated with hostname",
    "{problem} (at line {line}, column {column})",
    "{problem} (at end of document)",
    "Invalid statement",
    "Invalid value",
    "Invalid date or datetime",
    "Invalid hex value",
    "Invalid initial character for a key part",
    "Expected newline or end of document after a statement",
    "Expected '=' after a key in a key/value pair",
    "Expected ']' at the end of a table declaration",
    "Expected ']]' at the end of an array declaration",
    "Cannot overwrite a value",
    "Cannot declare {key} twice",
    "Duplicate inline table key {key}",
    "Illegal character {char}",
    "Found invalid character {char}",
    "Unclosed array",
    "Unclosed inline table",
    "Unterminated string",
    "Unescaped '\\' in a string",
    "{problem}: line {line} column {column} (char {at})",
    "Expecting value",
    "Expecting ',' delimiter",
    "Expecting ':' delimiter",
    "Expecting property name enclosed in double quotes",
    "Illegal trailing comma before end of object",
    "Illegal trailing comma before end of array",
    "Extra data",
    "Unterminated string starting at",
    "Invalid control character at",
    "Invalid \\escape",
    "Invalid \\uXXXX escape",
    "Bad magic number for {part}",
    "Error {code} while decompressing data: {problem}",
    "Object missing required field {field}",
    "Object contains unknown field {field}",
    "Expected {expected}, got {type}",
    "Expected {expected}, got {type} - at {place}",
    "Invalid enum value {value} - at {place}",
    "file is not a database",
    "database is locked",
    "database disk image is malformed",
    "database or disk is full",
    "unable to open database file",
    "attempt to write a readonly database",
    "disk I/O error",
    "Not a gzipped file ({begin})",
    "Compressed file ended before the end-of-stream marker was reached",
    "CRC check failed {sums}",
    "{codec} codec can't decode byte {byte} in position {at}: {reason}",
    "{codec} codec can't decode bytes in position {at}: {reason}",
    "invalid start byte",
    "invalid continuation byte",
    "unexpected end of data",
}
#: Texts of earlier versions that files hold.
EARLIER_TEXTS = {"the dataset does not say what the engine showed"}
HEADINGS = {"Arguments", "Options", "Commands"}


@cache
def load_catalogue() -> dict[tuple[str, str | None], Message]:
    """Return the messages of zh.po by English text and context."""
    with (PACKAGE / "messages" / "zh.po").open("rb") as file:
        messages = read_po(file, locale="zh", abort_invalid=True)
    return {
        (message.id if isinstance(message.id, str) else message.id[0], message.context): message
        for message in messages
        if message.id
    }


def test_no_message_is_twice_in_the_catalogue() -> None:
    text = (PACKAGE / "messages" / "zh.po").read_text(encoding="utf-8")
    ids = Counter(re.findall(r'^((?:msgctxt .*\n)?msgid (?:".*"\n)+)', text, re.MULTILINE))
    assert [message for message, count in ids.items() if count > 1] == []
    assert len(ids) == len(load_catalogue()) + 1  # the header


def iter_messages(path: Path) -> Iterator[str]:
    """Yield the messages that a module passes to a translator."""
    for node in ast.walk(parse_module(path)):
        if not isinstance(node, ast.Call) or not node.args:
            continue
        function = node.func
        name = function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")
        if name == "OSError":
            texts = (each.value for each in node.args if isinstance(each, ast.Constant))
            yield from (text for text in texts if isinstance(text, str))
        if name in RECORDS:
            yield ast.literal_eval(node.args[RECORDS[name]])
        of_translator = name in {"t", "_t", "make_text", "Message", "print_message", *ERRORS}
        if of_translator or name == "translate_plural":
            for first in _iter_alternatives(node.args[0]):
                assert isinstance(first, str)
                yield first


def _iter_alternatives(node: ast.expr) -> Iterator[object]:
    """Yield the constants that a node is, or may be as a conditional expression."""
    if isinstance(node, ast.IfExp):
        yield from _iter_alternatives(node.body)
        yield from _iter_alternatives(node.orelse)
    elif isinstance(node, ast.Constant) and node.value:
        yield node.value


@check_each("path", MODULES)
def test_the_description_of_an_option_is_a_message(path: Path) -> None:
    for node in ast.walk(parse_module(path)):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Field":
            for keyword in node.keywords:
                is_text = keyword.arg == "description" and isinstance(keyword.value, ast.Constant)
                assert not is_text, f"line {node.lineno}"


def iter_stored_texts(path: Path) -> Iterator[str]:
    """Yield the texts of errors of single pairs, with `{}` in the place of each value."""
    for node in ast.walk(parse_module(path)):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute)):
            continue
        name = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
        if name in STORED_ERRORS | STORED_TEXTS:
            detail = next(iter(node.args[name in STORED_ERRORS :]), None)
            parts = detail.values if isinstance(detail, ast.JoinedStr) else [detail]
            if isinstance(detail, ast.JoinedStr | ast.Constant):
                yield "".join(str(each.value) if isinstance(each, ast.Constant) else "{}" for each in parts)


def replace_names(message: str) -> str:
    """Return a message with `{}` in the place of each value."""
    parsed = Formatter().parse(message)
    return "".join(f"{literal}{'' if name is None else '{}'}" for literal, name, *_ in parsed)


def iter_help_messages(command: Any = None) -> Iterator[str]:
    """Yield the help texts of the commands and their options, and what typer adds to them."""
    if command is None:
        yield from USAGE_ERRORS.values()
        command = get_command(app)
    yield from split_paragraphs(command.help)
    for option in command.get_params(Context(command)):
        texts = (*(option.help or "").split("\n"), option.rich_help_panel)
        yield from filter(None, texts)
    for subcommand in getattr(command, "commands", {}).values():
        yield from iter_help_messages(subcommand)


def list_options(command: Any = None) -> set[str]:
    """Return the options of all commands, as they are typed."""
    command = command or get_command(app)
    options = {name for option in command.get_params(Context(command)) for name in option.opts}
    return options.union(*map(list_options, getattr(command, "commands", {}).values()))


def test_each_option_in_a_message_exists() -> None:
    # --ui-lang is read before the others; a message shows uv sync with its options.
    options = list_options() | {"--ui-lang", "--inexact", "--extra"}
    named = {
        (option, text)
        for text, _ in load_catalogue()
        for option in re.findall(r"(?<![\w-])--[a-z][a-z-]+", text)
    }
    assert [(option, text) for option, text in sorted(named) if option not in options] == []


def iter_template_messages() -> Iterator[str]:
    """Yield the messages that the templates of schedules pass to a translator."""
    for path in (PACKAGE / "nightly" / "templates" / "schedules").iterdir():
        text = re.sub(r"\[\[(.*?)\]\]", r"{{ \1 }}", path.read_text(encoding="utf-8").replace("${{", ""))
        for call in Environment().parse(text).find_all(Call):  # noqa: S701  # nothing is rendered
            if isinstance(call.node, Name) and call.node.name == "t":
                yield call.args[0].as_const()


def list_values(message: str) -> set[str]:
    """Return the names of the values that stand in a message."""
    return {name for _, name, _, _ in Formatter().parse(message) if name}


def test_every_message_is_translated_and_no_other_is_there() -> None:
    used = {message for path in MODULES for message in iter_messages(path)}
    assert len(used) > 40
    used |= {*iter_help_messages(), *iter_template_messages()} | HEADINGS | BY_VALUE | IN_JOIN
    used |= LIBRARY_ERRORS | EARLIER_TEXTS
    messages = {english for english, context in load_catalogue() if context not in ("measure", "place")}
    stored = {text for path in MODULES for text in iter_stored_texts(path) if text.strip("{}: ()")}
    assert len(stored) > 40
    assert used <= messages
    assert stored <= set(map(replace_names, messages))
    assert set(map(replace_names, messages - used)) <= stored
    assert {english for english, context in load_catalogue() if context == "place"} == PLACE_PARTS.keys()


@check_each("path", MODULES)
def test_an_error_has_a_template_and_its_values(path: Path) -> None:
    for node in ast.walk(parse_module(path)):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args):
            continue
        if node.func.id in {*ERRORS, "Message"}:
            template, values = node.args[0], {keyword.arg for keyword in node.keywords}
            assert not isinstance(template, ast.JoinedStr), f"line {node.lineno} has finished text"
            if isinstance(template, ast.Constant) and values and None not in values:
                assert isinstance(template.value, str)
                names = {name.partition(".")[0] for name in list_values(template.value)}
                assert names == values, f"line {node.lineno}"


@check_each("message", load_catalogue().values())
def test_a_translation_holds_the_values_of_the_message(message: Message) -> None:
    english, chinese = (
        value if isinstance(value, str) else list(value or [""])[-1] for value in (message.id, message.string)
    )
    assert chinese
    if english == "{names} and {more} more":
        assert list_values(chinese) == {"names", "total"}
    else:
        assert list_values(chinese) == list_values(english)
        assert list_conversions(chinese) == list_conversions(english)


#: Values that are names or places, most of them in Latin letters.
_NAMES = "a|b|best|pair.a|pair.b|engine|engines|name|names|place|assessor|model|measure|file|folder|column"
#: Such a value beside a Chinese character without a space. Where the value is Chinese, the space is left out.
_RUN_IN = re.compile(
    rf"[\u4e00-\u9fff]\{{(?:{_NAMES})[:!}}][^{{}}]*\}}?|\{{(?:{_NAMES})(?:[:!][^{{}}]*)?\}}[\u4e00-\u9fff]"
)
_UNNATURAL = re.compile("等级制|构件|产物|评分员|评分者|评审员")


@check_each("message", load_catalogue().values())
def test_names_stand_apart_from_chinese_and_terms_are_those_of_the_docs(message: Message) -> None:
    chinese = message.string if isinstance(message.string, str) else "".join(message.string or ())
    assert _RUN_IN.findall(chinese) == []
    assert _UNNATURAL.findall(chinese) == []


def test_the_chinese_pages_have_these_terms() -> None:
    for path in (PACKAGE.parent / "docs" / "zh").glob("*.md"):
        assert _UNNATURAL.findall(path.read_text(encoding="utf-8")) == [], path


def list_conversions(text: str) -> set[tuple[str, str]]:
    """Return the values that a message shows by `!r` or `!s`."""
    return {(name, how) for _, name, _, how in Formatter().parse(text) if name and how}


def test_counts_and_lists_follow_the_language() -> None:
    assert [ENGLISH.translate_plural("{count:,} query", "{count:,} queries", n) for n in (1, 1200)] == [
        "1 query",
        "1,200 queries",
    ]
    assert CHINESE.translate_plural("{count:,} query", "{count:,} queries", 1200) == "1,200 条查询"
    assert [ENGLISH.join(names) for names in ("a", "ab")] == ["a", "a and b"]
    assert [t.join(["a", "b", "c"]) for t in (ENGLISH, CHINESE)] == ["a, b and c", "a、b 和 c"]
    assert [t.list_names(["a", "b", "c"]) for t in (ENGLISH, CHINESE)] == ["a, b, c", "a、b、c"]
    assert [t.join(["a", "b", "c"], "clauses") for t in (ENGLISH, CHINESE)] == ["a, b and c", "a，b，c"]
    names = pickle.loads(pickle.dumps(NameList(["a", "b", "c"])))  # noqa: S301 - of this test
    assert (names, CHINESE(names)) == ("a, b and c", "a、b 和 c")
    assert make_text("not separated") == ("not separated", "差异不显著")


def test_measures_of_dimensions_have_the_names_that_their_page_gives() -> None:
    page = (PACKAGE.parent / "docs" / "zh" / "dimensions.md").read_text(encoding="utf-8")
    named = dict(re.findall(r"`([^`@]+)(?:@\w+)?`（([^（），]+)）", page.replace("（期望 nDCG 等）", "")))
    names = {english for english, context in load_catalogue() if context == "measure"}
    assert names - named.keys() == {"expected"}
    for english in names & named.keys():
        assert CHINESE.name_measure(f"{english}@5") == f"{named[english]}@5"
        assert ENGLISH.name_measure(f"{english}@5") == f"{english}@5"
    shown = (
        "expected nDCG(dcg='exp-log2')@5",
        "MMR nDCG@5",
        "r(nDCG@10)",
        "alpha_nDCG@5",
        "USD/1000 queries",
    )
    assert [*map(CHINESE.name_measure, shown)] == [
        *("期望 nDCG(dcg='exp-log2')@5", "MMR nDCG@5", "r(nDCG@10)", "alpha_nDCG@5", "美元/千次查询")
    ]
