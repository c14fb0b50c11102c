"""Records that are passed between the steps of a run, and the constants and rules that go with their values.

Records are frozen. Their methods derive values from the fields. Completion and Call
are structs: to make one takes a quarter of the CPU time, and each request makes both.

Query, Snippet ─► Ranking ─► Pool of Pairs ─► Prompt ─► Completion ─► Verdict ─► Judgment ─► Score
"""

from __future__ import annotations

import json
import reprlib
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, field
from math import isfinite
from operator import add
from typing import Any, Literal

import msgspec

Lang = Literal["zh", "en"]
#: The option for the language; `auto` takes that of the script of each query, or else of its snippets.
LangChoice = Literal["auto", "zh", "en"]


ScaleName = Literal["binary", "graded"]

#: The ids of the query and the snippet of a pair.
PairKey = tuple[str, str]
#: The engine and the id of the query of a list of results.
ListKey = tuple[str, str]
#: An object of JSON: of a file, of a line, or in one.
JsonDict = dict[str, Any]
#: The parameters of a request besides model and messages, by the names that the server's API has for them.
Params = Mapping[str, Any]
#: A schema of the JSON that a reply should be.
JsonSchema = Mapping[str, Any]

_REPR = reprlib.Repr()
_REPR.maxstring = 60


def shorten_repr(value: object) -> str:
    """Return the repr of a text or a tuple, cut where it is long, for the repr of a record in one line."""
    return _REPR.repr(value)


@dataclass(frozen=True, slots=True)
class Scale:
    """The grades of an assessor, 0 to `top`; relevant means grade >= `relevant_from`."""

    name: ScaleName
    top: int
    relevant_from: int


BINARY = Scale("binary", top=1, relevant_from=1)
#: Relevant from grade 2 is the rule of the TREC Deep Learning tracks.
GRADED = Scale("graded", top=3, relevant_from=2)
SCALES: Mapping[ScaleName, Scale] = {"binary": BINARY, "graded": GRADED}
#: The share of pairs with a grade that a run needs, unless --min-coverage says otherwise.
MIN_COVERAGE = 0.99


@dataclass(frozen=True, slots=True)
class Query:
    """A query.

    `text` is the text in prompts, `raw_text` that of the dataset; `reference` is a known answer; `extra`
    holds the other columns of the dataset, for segments; `expected` names the relevant documents, None where
    they are not known.
    """

    id: str
    text: str
    raw_text: str
    lang: Lang
    reference: str | None = None
    extra: Mapping[str, str] = field(default_factory=dict)
    expected: tuple[str, ...] | None = None

    def __repr__(self) -> str:
        return f"Query(id={shorten_repr(self.id)}, text={shorten_repr(self.text)}, lang={self.lang!r})"


@dataclass(frozen=True, slots=True)
class Snippet:
    """The text of one result: `title`, `text` and `date` as in prompts.

    `raw` are title and text as in the dataset, None where cleaning changed neither. `id` is a hash of what
    prompts show: title, text, and the date with `dates` of the dataset. `docno` is the name of the document
    in the dataset (TREC), `""` without one. `flags` are set by cleaning.
    """

    id: str
    text: str = ""
    title: str = ""
    date: str = ""
    url: str = ""
    raw: tuple[str, str] | None = None
    docno: str = ""
    flags: tuple[str, ...] = ()

    @property
    def raw_title(self) -> str:
        """The title in the dataset."""
        return self.title if self.raw is None else self.raw[0]

    @property
    def raw_text(self) -> str:
        """The text in the dataset."""
        return self.text if self.raw is None else self.raw[1]

    def __repr__(self) -> str:
        title, text = shorten_repr(self.title), shorten_repr(self.text)
        return f"Snippet(id={shorten_repr(self.id)}, title={title}, text={text})"


@dataclass(frozen=True, slots=True)
class Ranking:
    """The snippets of one engine for one query, best first.

    No snippets and no `error` means an empty result list, which scores 0. With an `error` the engine
    failed: the query is left out for this engine, and counted. `latency_ms` is the duration of the request,
    None when it was not measured. Once the results are pooled, `documents` names the document that each
    snippet down to the depth of the pool shows: snippets with the same canonical URL or the same text are one
    document.
    """

    engine: str
    query_id: str
    snippets: tuple[Snippet, ...]
    error: str | None = None
    latency_ms: float | None = None
    documents: tuple[str, ...] = ()

    @property
    def key(self) -> ListKey:
        """The engine and the id of the query, which identify the list in a dataset."""
        return self.engine, self.query_id

    def __repr__(self) -> str:
        error = f", error={shorten_repr(self.error)}" if self.error is not None else ""
        names = f"engine={shorten_repr(self.engine)}, query_id={shorten_repr(self.query_id)}"
        return f"Ranking({names}, snippets={len(self.snippets)}{error})"


@dataclass(frozen=True, slots=True)
class Dataset:
    """The input of a run: queries by id in the order of the input, one ranking per (engine, query).

    With `dates` prompts show dates, so snippets with different dates are different pairs. In a judged run,
    `warnings` are also about its labels and assessors.
    """

    queries: Mapping[str, Query]
    rankings: Sequence[Ranking]
    engines: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    dates: bool = False

    def __repr__(self) -> str:
        counts = f"queries={len(self.queries)}, rankings={len(self.rankings)}"
        return f"Dataset(engines={shorten_repr(self.engines)}, {counts})"


@dataclass(frozen=True, slots=True)
class Pair:
    """A query and a snippet to judge, without engine and rank.

    The snippet has a `date` only if prompts show dates; otherwise results with different dates are one pair.
    """

    query: Query
    snippet: Snippet

    @property
    def key(self) -> PairKey:
        """The ids of the query and the snippet, which identify the pair in a run."""
        return self.query.id, self.snippet.id


@dataclass(frozen=True, slots=True)
class Pool:
    """The distinct pairs of all engines down to `depth`.

    `results` is the number of results before duplicates are merged. Under `cache_key`, which depends on the
    files and options that the pool was made from, caches have what follows from it; `""` where it was not
    made from files.
    """

    depth: int
    results: int
    pairs: Sequence[Pair]
    cache_key: str = field(default="", compare=False)

    def __repr__(self) -> str:
        return f"Pool(depth={self.depth}, pairs={len(self.pairs)}, results={self.results})"


@dataclass(frozen=True, slots=True)
class Sampling:
    """Sampling parameters of every request.

    None leaves a parameter out of the request; `thinking` False turns off the thinking of reasoning models.
    """

    temperature: float | None
    max_tokens: int
    top_p: float | None = None
    seed: int | None = None
    thinking: bool = False


@dataclass(frozen=True, slots=True)
class Example:
    """A pair that prompts show with the grade of a person, and the reason for it."""

    pair: Pair
    grade: int
    reason: str


@dataclass(frozen=True, slots=True)
class Prompt:
    """What one request to a model contains.

    A language model sends `system` and `user`, and can restrict the reply to `schema` (JSON schema).
    Rerankers and the lexical baseline take `query` and `snippet` as the prompt shows them; the reply to a
    question is parsed with `snippet`. `version` names the template and its hash.
    """

    system: str
    user: str
    schema: JsonSchema
    version: str
    query: str
    snippet: str
    lang: Lang
    scale: Scale


@dataclass(frozen=True, slots=True)
class Usage:
    """Billed tokens of one call; cached tokens are prompt tokens, reasoning tokens completion tokens."""

    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    reasoning_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(*map(add, astuple(self), astuple(other)))


#: The outcome of a call that brought an answer, readable or not.
ANSWERED = "answered"
#: The outcome of a call without an observed end: its process was killed, or ended at once.
LOST = "lost"
#: The outcome of a call that the content filter of the provider refused.
CONTENT_FILTER = "content_filter"


class Call(msgspec.Struct, frozen=True):
    """The outcome of one request to a model: `outcome` is `ANSWERED`, an error kind or `LOST`.

    `maybe_billed` marks a request that the server may have charged for although no answer arrived. A call
    `in_batch` was one request of a batch. `detail` is the message of a content filter, "" of other calls.
    """

    outcome: str
    usage: Usage | None = None
    maybe_billed: bool = False
    in_batch: bool = False
    detail: str = ""


#: Finish reasons of a complete reply. After any other reason (`length`, `max_tokens`, or a new
#: one) the reply may be incomplete.
_COMPLETE = frozenset(
    (
        " stop stop_sequence end_turn end_of_turn eos eos_token endoftext end normal null none complete"
        " completed finish finished done success tool_calls tool_call tool_use function_call"
    ).split(" ")
)


def is_complete_reply(finish_reason: str | None) -> bool:
    """Return True when the finish reason means a complete reply, or the server gives none."""
    return finish_reason is None or finish_reason.casefold() in _COMPLETE


class Completion(msgspec.Struct, frozen=True):
    """The reply of a model: the final text only, without its thinking.

    `finish_reason` is that of the server in lower case, `length` when a limit of tokens cut the reply.
    `model` is the model name that the server returned, `params` the parameters as sent, `usage` None when
    the server did not return it; `has_thinking` is True when the model returned thinking, too. `logprobs` are
    the log-probabilities as the server returned them.
    """

    text: str
    model: str
    finish_reason: str | None
    params: Params
    usage: Usage | None = None
    request_id: str | None = None
    has_thinking: bool = False
    logprobs: object = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """The grade and the reason in a reply; `flags` mark repairs and unusual replies (`reason_truncated`)."""

    grade: int
    reason: str
    flags: tuple[str, ...] = ()


#: What the names of rerankers and of decision models begin with.
RERANKER, DECISION_MODEL = "rerank:", "decision:"
#: Prefix of `Judgment.assessor` when a rule graded; the flag of the snippet follows.
RULE = "rule:"
#: The name of the model that compares terms, and of the one that grades by the expected documents.
LEXICAL, EXPECTED = "lexical", "expected"
#: What a weighted total can consist of: its names, and the dimension that each takes its value from.
RELEVANCE = "relevance"
WEIGHTED_DIMENSIONS = {RELEVANCE: "", "recall": "points", "quality": "site_grades", "diversity": "diversity"}
#: The number of queries that --explain explains, unless another is chosen.
EXPLAIN_QUERIES = 20


@dataclass(frozen=True, slots=True)
class Judgment:
    """The stored result of judging one pair in one repeat.

    Exactly one of `grade` and `error` is None. A failed judgment has the unreadable `reply`, and in `detail`
    the message of the server or of the parser. `served_model` is the model name that the server returned
    (`""` for none), None where no model graded, or in runs of older versions. A near-duplicate takes the
    judgment of another snippet, whose id is `judged_snippet_id`.
    """

    query_id: str
    snippet_id: str
    repeat: int
    grade: int | None
    reason: str
    error: str | None
    assessor: str
    prompt_version: str
    params: Params
    reply: str
    usage: Usage | None
    flags: tuple[str, ...] = ()
    served_model: str | None = None
    detail: str = ""
    judged_snippet_id: str | None = None

    @property
    def key(self) -> PairKey:
        """The ids of the query and the snippet: the key of the pair."""
        return self.query_id, self.snippet_id

    @property
    def is_by_rule(self) -> bool:
        """Whether no assessor was asked: the snippet has no readable text."""
        return self.assessor.startswith(RULE)

    @property
    def score(self) -> float | None:
        """The relevance score of a reranker, None for other assessors."""
        return parse_score(self.reply) if self.assessor.startswith(RERANKER) else None

    @property
    def probabilities(self) -> tuple[float, ...]:
        """The probability of each grade by a decision model; empty for other assessors."""
        if not self.assessor.startswith(DECISION_MODEL):
            return ()
        try:
            values = json.loads(self.reply)["probabilities"]
            shares = tuple(map(float, values)) if isinstance(values, list) else ()
        except (ValueError, TypeError, LookupError, ArithmeticError, RecursionError):
            return ()
        # The file can come from another person.
        is_distribution = all(share >= 0 for share in shares) and abs(sum(shares) - 1) < _ROUNDING
        return shares if is_distribution else ()

    def __repr__(self) -> str:
        pair = f"query_id={shorten_repr(self.query_id)}, snippet_id={shorten_repr(self.snippet_id)}"
        result = f"grade={self.grade}" if self.error is None else f"error={shorten_repr(self.error)}"
        return f"Judgment({pair}, repeat={self.repeat}, {result}, reason={shorten_repr(self.reason)})"


#: How far probabilities of grades may be from adding up to 1.
_ROUNDING = 1e-6


def parse_score(reply: str) -> float | None:
    """Return the relevance score in the reply of a reranker, None when it holds none."""
    try:
        score = float(reply)
    except ValueError:
        return None
    return score if isfinite(score) else None


@dataclass(frozen=True, slots=True)
class Score:
    """The value of one measure for one engine on one query in one repeat.

    `value` is None where the measure is undefined (no relevant snippet in the pool), no snippet of the list
    has a grade, or the engine failed. `low` and `high`, named as in scores.csv, bound it over all grades of
    unjudged snippets; `judged` is the share of the snippets of the engine down to the cutoff with a grade.
    """

    engine: str
    query_id: str
    repeat: int
    measure: str
    value: float | None
    low: float | None
    high: float | None
    judged: float | None
