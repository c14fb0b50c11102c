"""The records that flow through judge: frozen, with no behaviour beyond what they derive.

Query, Snippet ─► Ranking ─► Pool of Pairs ─► Prompt ─► Completion ─► Verdict ─► Judgment ─► Score
"""

from __future__ import annotations

import reprlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Lang = Literal["zh", "en"]
#: What a user may ask for; `auto` goes by each query's script, and where it has none by its snippets.
LangChoice = Literal["auto", "zh", "en"]


ScaleName = Literal["binary", "graded"]

_REPR = reprlib.Repr()
_REPR.maxstring = 60


def shorten_repr(value: object) -> str:
    """Return the repr of a text or a tuple, cut where it is long: a record's repr is one short line."""
    return _REPR.repr(value)


@dataclass(frozen=True, slots=True)
class Scale:
    """What an assessor may answer: `grades` 0..top; relevant means grade >= `relevant_from`."""

    name: ScaleName
    top: int
    relevant_from: int


BINARY = Scale("binary", top=1, relevant_from=1)
#: Relevant from grade 2 is the rule of the TREC Deep Learning tracks.
GRADED = Scale("graded", top=3, relevant_from=2)


@dataclass(frozen=True, slots=True)
class Query:
    """What was asked.

    `text` is what a prompt shows, `raw_text` what the dataset said; `reference` is a known answer;
    `extra` holds the dataset's further columns, for slices.
    """

    id: str
    text: str
    raw_text: str
    lang: Lang
    reference: str | None = None
    extra: Mapping[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"Query(id={shorten_repr(self.id)}, text={shorten_repr(self.text)}, lang={self.lang!r})"


@dataclass(frozen=True, slots=True)
class Snippet:
    """One result's text: `title`, `text` and `date` as the assessor may see them, `raw_*` as given.

    `id` is a hash of what prompts show: title, text, and the date where the dataset's `dates` is set.
    `docno` is the dataset's
    own name for the document (TREC), `""` when it has none. `flags` say what cleaning noticed.
    """

    id: str
    text: str
    title: str
    date: str
    url: str
    raw_text: str
    raw_title: str
    docno: str = ""
    flags: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Snippet(id={shorten_repr(self.id)}, title={shorten_repr(self.title)}, text={shorten_repr(self.text)})"


@dataclass(frozen=True, slots=True)
class Ranking:
    """One engine's snippets for one query, best first.

    No snippets and no `error` means the engine answered with nothing (scores 0); an `error` means
    it broke (the query is left out for this engine, and counted). `latency_ms` is how long the engine
    took, None when nobody measured it.
    """

    engine: str
    query_id: str
    snippets: tuple[Snippet, ...]
    error: str | None = None
    latency_ms: float | None = None

    def __repr__(self) -> str:
        error = f", error={shorten_repr(self.error)}" if self.error is not None else ""
        whose = f"engine={shorten_repr(self.engine)}, query_id={shorten_repr(self.query_id)}"
        return f"Ranking({whose}, snippets={len(self.snippets)}{error})"


@dataclass(frozen=True, slots=True)
class Dataset:
    """Everything that was read: queries by id in reading order, one ranking per (engine, query).

    `dates` says that prompts show dates, so that snippets with different dates are different pairs.
    """

    queries: Mapping[str, Query]
    rankings: tuple[Ranking, ...]
    engines: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    dates: bool = False

    def __repr__(self) -> str:
        counts = f"queries={len(self.queries)}, rankings={len(self.rankings)}"
        return f"Dataset(engines={shorten_repr(self.engines)}, {counts})"


@dataclass(frozen=True, slots=True)
class Pair:
    """What is judged: a query and a snippet. Engine and rank are forgotten here on purpose.

    The snippet has a `date` only where prompts show dates: results with different dates are one pair
    otherwise, and each keeps its own date.
    """

    query: Query
    snippet: Snippet


@dataclass(frozen=True, slots=True)
class Pool:
    """The distinct pairs of all engines down to `depth`.

    `documents[engine, query_id]` names, in rank order down to `depth`, the document that each
    snippet shows: snippets with one canonical URL or one text are one document. `results` counts
    the rows before pairs were merged.
    """

    depth: int
    results: int
    pairs: tuple[Pair, ...]
    documents: Mapping[tuple[str, str], tuple[str, ...]]

    def __repr__(self) -> str:
        return f"Pool(depth={self.depth}, pairs={len(self.pairs)}, results={self.results})"


@dataclass(frozen=True, slots=True)
class Sampling:
    """How a model is asked to answer: the parameters that every request carries.

    None leaves a parameter out of the request; `thinking` False asks reasoning models not to.
    """

    temperature: float | None
    max_tokens: int
    top_p: float | None = None
    seed: int | None = None
    thinking: bool = False


@dataclass(frozen=True, slots=True)
class Prompt:
    """One request to a model.

    A model that reads language sends `system` and `user`, and may hold the answer to `schema` (JSON
    schema). A model that doesn't (the lexical floor) takes `query` and `snippet` as they were shown.
    `version` names the template and its hash.
    """

    system: str
    user: str
    schema: Mapping[str, Any]
    version: str
    query: str
    snippet: str
    lang: Lang
    scale: Scale


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens that one call was billed for; `cached` and `reasoning` are parts of the other two."""

    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    reasoning_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            reasoning_tokens=self.reasoning_tokens + other.reasoning_tokens,
        )


#: The outcome of a call that brought an answer, readable or not.
ANSWERED = "answered"
#: The outcome of a call without an observed end: its process died or was ended at once.
LOST = "lost"


@dataclass(frozen=True, slots=True)
class Call:
    """One request to a model: `outcome` is `ANSWERED`, an error kind or `LOST`.

    `maybe_billed` marks a request that the server may have charged for although no answer arrived.
    """

    outcome: str
    usage: Usage | None = None
    maybe_billed: bool = False


#: Finish reasons of an answer that the model ended itself. After any other reason (`length`,
#: `max_tokens`, `abort`, `network_error`, or a new one) the answer may be incomplete.
_COMPLETE = frozenset(
    ("stop stop_sequence end_turn end_of_turn eos eos_token endoftext end normal null none").split()
    + ("complete completed finish finished done success").split()
    + ["tool_calls", "tool_call", "tool_use", "function_call", ""]
)


def is_complete_reply(finish_reason: str | None) -> bool:
    """Return True when the model ended its answer itself, or the server gives no finish reason."""
    return finish_reason is None or finish_reason.casefold() in _COMPLETE


@dataclass(frozen=True, slots=True)
class Completion:
    """What a model answered: the final text only, never its reasoning.

    `finish_reason` is the server's word in lower case, `length` when the answer was cut or broken off.
    `model` is the name the server says it served, `params` the parameters as sent on the wire,
    `usage` is None when the server did not say, `reasoning` whether the model put out reasoning as well.
    """

    text: str
    model: str
    finish_reason: str | None
    params: Mapping[str, Any]
    usage: Usage | None = None
    request_id: str | None = None
    reasoning: bool = False


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one reply says. `flags` tell of repairs and oddities (e.g. `reason_truncated`)."""

    grade: int
    reason: str
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Judgment:
    """The durable record of judging one pair once.

    Exactly one of `grade` and `error` is None; a failed judgment keeps the unreadable `reply`, and in
    `detail` what the server, or whoever read the reply, said of it.
    `served_model` is the name that the server gave the model which graded (`""`: it gave none), None
    where no model did, or the run was written before names were kept.
    """

    query_id: str
    snippet_id: str
    repeat: int
    grade: int | None
    reason: str
    error: str | None
    assessor: str
    prompt_version: str
    params: Mapping[str, Any]
    reply: str
    usage: Usage | None
    flags: tuple[str, ...] = ()
    served_model: str | None = None
    detail: str = ""

    def __repr__(self) -> str:
        pair = f"query_id={shorten_repr(self.query_id)}, snippet_id={shorten_repr(self.snippet_id)}"
        came = f"grade={self.grade}" if self.error is None else f"error={shorten_repr(self.error)}"
        return f"Judgment({pair}, repeat={self.repeat}, {came}, reason={shorten_repr(self.reason)})"


@dataclass(frozen=True, slots=True)
class RepeatProgress:
    """One repeat of `repeats` that is finished: repeat `number` (from 1) and what came of its pairs."""

    number: int
    repeats: int
    judged: int
    failed: int
    relevant: int


@dataclass(frozen=True, slots=True)
class Score:
    """The value of one measure for one engine on one query in one repeat.

    `value` is None where the measure is undefined (no snippet known to be relevant in the pool), the
    list has no grade at all, or the engine broke. `low` and `high` bound it over all grades that
    unjudged snippets could have had; `judged` is the share of the engine's snippets, down to the
    measure's cutoff, with a grade.
    """

    engine: str
    query_id: str
    repeat: int
    measure: str
    value: float | None
    low: float | None
    high: float | None
    judged: float | None
