"""What dimensions have in common: their options, the count of their questions, what a question shows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from judge.dataset.clean import clean_query
from judge.dataset.label_files import Feedback
from judge.measure.numeric import Floats
from judge.records import EXPLAIN_QUERIES, Pair, Query, Snippet

if TYPE_CHECKING:
    from judge.assess.question_assessor import Answer, Asker, Name, QuestionKind

#: Most characters of a line: of a snippet, or of an earlier answer of a model.
MAX_LINE = 1_000


@dataclass(frozen=True, slots=True)
class DimensionOptions:
    """The options of the dimensions, and what asks a model.

    `explain_queries` is the number of queries to explain. `costs` are ENGINE=USD, `weights` NAME=WEIGHT.
    `embed` returns the (texts, dimensions) embeddings called `diversity_embeddings`. `feedback` is that of
    users. `asker` is None where no model is asked.
    """

    explain_queries: int = EXPLAIN_QUERIES
    costs: tuple[str, ...] = ()
    weights: tuple[str, ...] = ()
    diversity_embeddings: str | None = None
    embed: Callable[[Sequence[str]], Floats] | None = None
    feedback: Feedback | None = None
    asker: Asker | None = None

    def ask(self, kind: QuestionKind[Answer], pairs: Mapping[Name, Pair]) -> dict[Name, Answer]:
        """Return the answers to questions about `pairs`, by name, as `Asker.ask` does."""
        return self.asker.ask(kind, pairs) if self.asker else {}


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
    return Pair(query, Snippet(digest, text))


def show_snippets(snippets: Iterable[Snippet], name: str = "", start: int = 1) -> list[str]:
    """Return a line for each snippet, which begins with `name` and its number from `start`."""
    return [
        " | ".join(filter(None, (f"{name}{number}", snippet.title))) + f" | {snippet.text}"
        for number, snippet in enumerate(snippets, start)
    ]


def is_readable(text: str, max_chars: int) -> bool:
    """Return whether a text of a model has something to read, and at most `max_chars` characters."""
    return len(text) <= max_chars and bool(clean_query(text))
