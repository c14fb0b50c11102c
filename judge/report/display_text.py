"""Untrusted text and numbers as a page shows them.

Text is cut, hidden characters are escaped, and names are isolated in sentences. The result is still text; the
page escapes it as HTML.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from itertools import accumulate
from typing import TYPE_CHECKING, Any, TypeVar

from markupsafe import Markup, escape

from judge.characters import HAN, count_columns, escape_controls
from judge.dataset.clean import drop_invisible
from judge.measure.numeric import TIE
from judge.messages import Translator

if TYPE_CHECKING:  # numpy takes longer to import than a command that only prints counts
    from judge.analysis.summary import Summary
    from judge.measure.compare import Outcome
    from judge.measure.intervals import CountedShare, Interval
    from judge.pricing.costs import Cost

T = TypeVar("T")
#: Unicode's own marks around a name that must not turn the direction of what is beside it.
ISOLATE, END = "\u2068", "\u2069"
_JOINERS = "\u200c\u200d"
# Blanks of other widths (Unicode's category Zs), which hide nothing.
_BLANKS = frozenset("\t\u00a0\u1680\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B))))


def escape_hidden(text: str) -> str:
    """Return `text` with every control character and hidden character as an escape.

    Line breaks, blanks of every width, the joiners that emoji and some scripts need, and emoji that are newer
    than Python stay.
    """
    plain = text.isprintable() or all(map(str.isprintable, text.split("\n")))
    if plain and (text.isascii() or drop_invisible(text)[0] == text):
        return text
    return "".join(_escape_chars(text))


def _escape_chars(text: str) -> Iterator[str]:
    """Yield every visible character, and an escape of every hidden one."""
    visible_chars = iter(drop_invisible(text)[0])
    following = next(visible_chars, "")
    for char in text:
        if char != following:
            yield f"\\x{ord(char):02x}"
            continue
        following = next(visible_chars, "")
        if char in _BLANKS:
            yield " "
        else:
            is_kept = char in _JOINERS or "\U0001f000" <= char <= "\U0001faff"
            yield char if is_kept else escape_controls(char)


def truncate(text: str, max_chars: int) -> tuple[str, int]:
    """Return the first `max_chars` characters with hidden ones escaped, and how many more there are."""
    return escape_hidden(text[:max_chars]), max(0, len(text) - max_chars)


def truncate_with_ellipsis(text: str, max_chars: int) -> str:
    """Return at most `max_chars` characters with hidden ones escaped, and an ellipsis when more follow."""
    return escape_hidden(text) if len(text) <= max_chars else f"{escape_hidden(text[:max_chars])}…"


def fit_on_line(text: str) -> str:
    """Return the name of an engine, a column or a run on one line."""
    return truncate_with_ellipsis(text, 200).replace("\n", "\\n")


def isolate(text: str) -> str:
    """Return a name for a sentence, between marks that isolate its writing direction."""
    return f"{ISOLATE}{fit_on_line(text)}{END}"


class DisplayName(str):
    """The label of an engine; sorts by the engine's own name, so that ties have one order everywhere."""

    own: str

    def __new__(cls, label: str, own: str) -> DisplayName:
        """Return a label that remembers the engine's own name."""
        name = super().__new__(cls, label)
        name.own = own
        return name

    def __lt__(self, other: str) -> bool:
        return self.own < other.own if isinstance(other, DisplayName) else str(self) < other


def make_labels(names: Iterable[str]) -> dict[str, str]:
    """Return the label of each name on the page; labels that look alike get numbers."""
    labels: dict[str, str] = {}
    for name in names:
        plain = label = fit_on_line(name)
        number = 1
        while label in labels.values():
            number += 1
            label = f"{plain} ({number})"
        labels[name] = label
    return labels


def _isolate_names(values: Mapping[str, T]) -> dict[str, T]:
    """Return the values under isolated labels. Isolating a label a second time could cut off its number."""
    return {f"{ISOLATE}{label}{END}": values[name] for name, label in make_labels(values).items()}


#: The fields of records that hold an engine, several of them, or values by engine. They are listed, because a
#: text in another field, such as the value of a segment, can be equal to the name of an engine.
_ENGINE_FIELDS = frozenset(
    {
        *("a", "b", "winner", "better", "worse", "other"),
        *("engines", "flagged", "swapped", "unchanged", "zeroed", "dropped"),
    }
)


def use_display_names(summary: Summary) -> Summary:
    """Return the summary with isolated names of engines, segments and models, for sentences and tables."""
    labels = _isolate_names({engine: engine for engine in summary.engines})
    names = {engine: DisplayName(label, engine) for label, engine in labels.items()}
    panel = summary.panel
    if panel:
        ties_high = {
            measure: _rename(means, names, holds_engines=True) for measure, means in panel.ties_high.items()
        }
        panel = replace(panel, ties_high=ties_high)
    # A model without a name has none here, too.
    served = _isolate_names(summary.served)
    served = {"" if label == ISOLATE + END else label: grades for label, grades in served.items()}
    segments = _isolate_names({column: _isolate_names(values) for column, values in summary.segments.items()})
    renamed: Summary = _rename(replace(summary, panel=panel, served=served, segments=segments), names)
    return renamed


def _rename(value: Any, names: Mapping[str, DisplayName], *, holds_engines: bool = False) -> Any:  # noqa: ANN401
    """Return a record, or what a field holds, with display names in the fields of `_ENGINE_FIELDS`."""
    if is_dataclass(value) and not isinstance(value, type):
        parts = ((field.name, getattr(value, field.name)) for field in fields(value))
        return replace(
            value,
            **{name: _rename(part, names, holds_engines=name in _ENGINE_FIELDS) for name, part in parts},
        )
    if isinstance(value, Mapping):
        return {
            names.get(key, key) if holds_engines else key: _rename(part, names) for key, part in value.items()
        }
    if isinstance(value, tuple):
        return tuple(_rename(part, names, holds_engines=holds_engines) for part in value)
    return names.get(value, value) if holds_engines else value


_NAME = re.compile(f"{ISOLATE}(.*?){END}", re.DOTALL)
#: A hyphen that is the sign of a number: nothing, a space or a bracket is before it.
_SIGN = re.compile(r"(?<![^\s(（\[，：；])-(?=\d)")
#: An option of a command, as a group.
_OPTION = re.compile(r"(?<![\w-])(--?[a-z][a-z-]*)")


def set_minus_signs(text: str) -> str:
    """Return the text of a page, with a minus sign (U+2212) for each hyphen that is the sign of a number."""
    return _SIGN.sub("−", text)


def mark_names(sentence: str) -> Markup:
    """Return the sentence escaped, with isolated names in <bdi> elements, and with minus signs."""
    return _mark_parts(sentence, Markup("<bdi>{}</bdi>").format)


def mark_row_name(label: str) -> Markup:
    """Return the label of a row escaped: its isolated names, or all of it, as names that fit into a column.

    A short name stays on its line. A longer one can break behind a mark such as `_` and behind a Chinese
    character, never within a word. A word that is too long is shortened in the middle, and the tooltip has
    all of it.
    """
    return _mark_parts(label if ISOLATE in label else f"{ISOLATE}{label}{END}", _mark_name)


def _mark_parts(text: str, mark_name: Callable[[str], Markup]) -> Markup:
    """Return the text escaped, each isolated name by `mark_name`; ` - ` between two names is a minus."""
    # The odd parts are the names.
    parts = enumerate(_NAME.split(text))
    return Markup("").join(
        mark_name(part) if at % 2 else _mark_options(" − " if part == " - " else set_minus_signs(part))
        for at, part in parts
    )


def _mark_options(text: str) -> Markup:
    """Return the text escaped, with options such as `--save` that no line breaks behind a hyphen."""
    parts = enumerate(_OPTION.split(text))
    mark_option = Markup('<span class="whole">{}</span>').format
    return Markup("").join(mark_option(part) if at % 2 else escape(part) for at, part in parts)


def _mark_name(name: str) -> Markup:
    if count_columns(name) <= _UNBROKEN:
        return Markup('<bdi class="whole">{}</bdi>').format(name)
    mark_word = Markup('<span class="whole">{}</span>').format
    words = (mark_word(shorten_middle(word, _UNBROKEN)) for word in re.split(_WORD_ENDS, name))
    return Markup('<bdi title="{}">{}</bdi>').format(name, Markup("<wbr>").join(words))


#: In a table, names of so many columns stay on one line, and longer words are shortened.
_UNBROKEN = 20
#: `re` compiles it at the first use: few tables have such names.
_WORD_ENDS = rf"(?<=[\s_./:@+\-{HAN}])(?!\Z)"


def shorten_middle(text: str, limit: int) -> str:
    """Return `text` in at most `limit` columns (two a Chinese character), with an ellipsis in the middle."""
    if count_columns(text) <= limit:
        return text
    widths = [count_columns(char) for char in text]
    head = bisect_right(list(accumulate(widths)), limit // 2)
    tail = bisect_right(list(accumulate(widths[::-1])), limit - 1 - sum(widths[:head]))
    return f"{text[:head]}…{text[len(text) - tail :]}"


def name_dimension(t: Translator, name: str) -> str:
    """Return the name of a dimension, which engines can follow: `sidebyside: A, B`."""
    kind, separator, engines = name.partition(": ")
    return t("{name}: {value}", name=t(kind), value=engines) if separator else t(name)


#: The text on a page where there is no value.
NOTHING = "–"
#: The sign between the engines of a pair, by the outcome.
OUTCOME_SIGNS: Mapping[Outcome, str] = {"better": ">", "not separated": "≈", "undetermined": "?"}


def translate_remark(t: Translator, remark: str) -> str:
    """Return a remark, which a file can hold in any form, as one that a page can show."""
    return escape_hidden(t(remark))


def format_query_count(t: Translator, count: int) -> str:
    """Return `1 query`, `2 queries`."""
    return t.translate_plural("{count:,} query", "{count:,} queries", count)


def format_call_count(t: Translator, count: int) -> str:
    """Return `1 call`, `2 calls`."""
    return t.translate_plural("{count:,} call", "{count:,} calls", count)


def describe_unanswered_calls(t: Translator, count: int) -> str:
    """Return the number of calls that have no answer and may be billed.

    A process that is killed leaves a lease for each call in flight and for each pair that waits for one.
    """
    return t.translate_plural(
        "{count:,} call without an answer may be billed; it may not have been sent",
        "up to {count:,} calls without an answer may be billed; some of them may not have been sent",
        count,
    )


def format_new_call_count(t: Translator, count: int) -> str:
    """Return `1 new call`, `2 new calls`: those that this command made."""
    return t.translate_plural("{count:,} new call", "{count:,} new calls", count)


def format_pair_count(t: Translator, count: int) -> str:
    """Return `1 pair`, `2 pairs`."""
    return t.translate_plural("{count:,} pair", "{count:,} pairs", count)


def format_interval(t: Translator, ends: Interval | None, format_spec: str) -> str:
    """Return ` (95%: low to high)`, by the format of the value; empty where the ends are missing or equal."""
    if not ends or ends[0] >= ends[1]:
        return ""
    return t(
        " (95%: {low} to {high})",
        low=_format_end(ends[0], format_spec),
        high=_format_end(ends[1], format_spec),
    )


def _format_end(end: float, format_spec: str) -> str:
    """Return an end of an interval; one that is not 0 does not round to 0, because its side of 0 decides."""
    text = format(0.0 if abs(end) <= TIE else end, format_spec)
    if abs(end) <= TIE or not format_spec.endswith("f") or re.search("[1-9]", text):
        return text
    return ("-" if end < 0 else text[: text.index("0")]) + text.lstrip("+-")[:-1] + "1"


def format_plain_number(value: float | None, format_spec: str = ".3f", nothing: str = "-") -> str:
    """Return a number of a text that is copied, with a hyphen as its sign; `nothing` for None.

    A number that rounds to 0 has no minus sign. The format "p" is that of a p-value.
    """
    if format_spec == "p":
        return format_p_value(value, nothing)
    if format_spec.endswith("%"):
        return format_share(value, nothing, format_spec)
    if value is None:
        return nothing
    text = format(value, format_spec)
    return format(abs(value), format_spec) if float(text.replace(",", "")) == 0 else text


def format_plain_range(t: Translator, ends: Sequence[float] | None, format_spec: str = ".3f") -> str:
    """Return `low to high` for a text that is copied; a hyphen for None."""
    if not ends:
        return "-"
    return t("{low} to {high}", low=_format_end(ends[0], format_spec), high=_format_end(ends[1], format_spec))


def format_number(value: float | None, format_spec: str = ".3f") -> str:
    """Return a number of a page, with a minus sign; a dash for None."""
    return set_minus_signs(format_plain_number(value, format_spec, NOTHING))


def format_range(ends: Sequence[float | None] | None, format_spec: str = ".3f") -> str:
    """Return both ends of a range on a page; a dash for None."""
    texts = (NOTHING if end is None else set_minus_signs(_format_end(end, format_spec)) for end in ends or ())
    return " … ".join(texts) or NOTHING


def format_share(value: float | None, nothing: str = NOTHING, format_spec: str = ".0%") -> str:
    """Return a share as a percentage, `nothing` for None; only all are 100%, and only none is 0%."""
    if value is None:
        return nothing
    text = format(value, format_spec)
    smallest = 10.0 ** -(int(format_spec[1:-1]) + 2)  # the least share that does not round to 0
    if value < 1 and text == format(1, format_spec):
        return f">{format(1 - smallest, format_spec)}"
    return f"<{format(smallest, format_spec)}" if value > 0 and text == format(0, format_spec) else text


def format_counted_share(t: Translator, share: CountedShare) -> str:
    """Return a share with its interval in brackets; empty where it is unknown."""
    if share.value is None:
        return ""
    return t(" ({share.value:.1%}; 95%: {share.ci95[0]:.1%} to {share.ci95[1]:.1%})", share=share)


def format_p_value(p: float | None, nothing: str = "-") -> str:
    """Return a p-value as text; the smallest as `< 0.0001` rather than 0, and `nothing` for None."""
    return nothing if p is None else "< 0.0001" if p < 0.0001 else f"{p:.4f}"


def format_cost(t: Translator, cost: Cost) -> str | None:
    """Return the cost of calls, such as `$0.0123`, or `at least $0.0123` where that of some is unclear.

    None where the cost is unknown; `""` where nothing was billed: no server was called, or no call was
    answered.
    """
    unclear = cost.uncounted + cost.maybe_billed
    if cost.usd is None:
        return None if cost.calls else ""
    if not cost.prompt_tokens + cost.completion_tokens:
        return None if unclear else ""
    if unclear:
        return t("at least ${usd:.4f}", usd=cost.usd)
    return t("less than $0.0001") if 0 < cost.usd < 0.0001 else t("${usd:.4f}", usd=cost.usd)
