"""Questions that dimensions ask a model: the pair that a prompt shows, and how many questions to expect."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from judge.dataset.clean import clean_query
from judge.records import Pair, Query, Snippet

if TYPE_CHECKING:
    from judge.assess.text_assessor import QuestionKind

#: Most characters of a line: of a snippet, or of an earlier answer of a model.
MAX_LINE = 1_000


@dataclass(frozen=True, slots=True)
class QuestionCount:
    """At most `questions` of a kind, each with about this many tokens of lines and of its reply."""

    kind: QuestionKind[Any]
    questions: int
    shown_tokens: float
    reply_tokens: int


def make_question_pair(query: Query, lines: Iterable[str]) -> Pair:
    """Return the pair of a query and the lines to show, each cleaned: no text can begin another line."""
    text = "\n".join(clean_query(line, max_chars=MAX_LINE) for line in lines)
    digest = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return Pair(query, Snippet(digest, text, raw_text=text))


def show_snippet(name: object, snippet: Snippet) -> str:
    """Return a snippet as a line that begins with its name, such as a number."""
    return f"{name} | {snippet.title} | {snippet.text}" if snippet.title else f"{name} | {snippet.text}"


def is_readable(text: str, max_chars: int) -> bool:
    """Return whether a text of a model has something to read, and at most `max_chars` characters."""
    return len(text) <= max_chars and bool(clean_query(text))
