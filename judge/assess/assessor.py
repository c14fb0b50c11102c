"""Assessing one pair: send the prompt, parse the reply, and re-ask once if it cannot be read.

This module does not use engines and ranks. Every error about a pair becomes a `Judgment` with an `error`;
only errors about all pairs (account, budget, store) stop the run.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from judge.assess.desk import Seat
from judge.assess.prompts import Prompts
from judge.assess.store import Source, Stored, plain
from judge.errors import AccountError, CallError, ReplyParseError
from judge.models import Model
from judge.parsing.verdict import parse_verdict
from judge.records import Completion, Judgment, Lang, Pair, Prompt, Scale, Verdict

#: Thinking that does not end.
_UNENDED_THINKING = re.compile(r"<think(?:ing)?>(?!.*</think)", re.DOTALL | re.IGNORECASE)
#: With at least this `max_tokens` a model has room to think.
_THINKING_MAX_TOKENS = 2048
#: Kinds of unreadable replies that can contain yes or no instead of a grade.
_NO_GRADE_KINDS = frozenset({"malformed", "missing_key", "not_a_grade", "not_integer"})
_YES_OR_NO = re.compile(
    r"\W{0,20}(?:yes|no|是|否|不?相关)\b|.{0,400}[\"'](?:yes|no|是|否)[\"']", re.I | re.DOTALL
)
#: A reason with this many characters of the instructions in a row repeats them.
_ECHO_LENGTH = 40
#: Reasons for leaving a snippet with one of these flags unjudged.
_MISSING_TEXT_REASONS = {
    "no_text": "the dataset does not say what the engine showed",
    "text_cut": "nothing can be read in the part of the text that max_chars leaves; raise max_chars",
}
_EMPTY_REASONS: Mapping[Lang, str] = {
    "zh": "摘要为空，没有可读的内容。",
    "en": "The snippet is empty: there is nothing to read.",
}


@dataclass(frozen=True, slots=True)
class Question:
    """One pair to judge in one repeat; `key` is the key of its verdict in the store."""

    key: str
    pair: Pair
    repeat: int
    prompt_version: str


@dataclass(frozen=True, slots=True)
class AssessorAnswer:
    """The result of asking: a verdict to store, or the kind of an error with `detail` and the last reply.

    `advice` says what helps against an unreadable reply; `thinking` is True when the model returned thinking
    and no answer.
    """

    stored: Stored | None
    error: str | None
    reply: str
    detail: str = ""
    advice: str = ""
    thinking: bool = False


class Assessor:
    """A model, its prompts and a scale, which turn a pair into a judgment."""

    def __init__(
        self, model: Model, prompts: Prompts, scale: Scale, as_of: str | None = None, reader: str = ""
    ) -> None:
        self.model = model
        self.scale = scale
        self.name = f"{model.name}/{scale.name}"
        self._prompts = prompts
        self._as_of = as_of
        key_parts = [model.name, model.endpoint, dict(model.params), scale.name]
        # Another parser of replies than that of judge makes other keys.
        key_parts += [reader] if reader else []
        self._key = hashlib.sha256(json.dumps(key_parts, sort_keys=True).encode())

    def make_questions(self, pair: Pair, repeats: int) -> list[Question]:
        """Return the questions about `pair`, one per repeat."""
        prompt = self.render_prompt(pair)
        digest = self._key.copy()
        for text in (prompt.system, prompt.user):
            digest.update(f"\n{len(text)}\n{text}".encode())
        return [
            Question(_hash_repeat(digest, repeat), pair, repeat, prompt.version)
            for repeat in range(1, repeats + 1)
        ]

    def render_prompt(self, pair: Pair) -> Prompt:
        """Return the prompt about `pair`; it has the same bytes every time."""
        return self._prompts.render(pair, self._as_of)

    @property
    def prompt_versions(self) -> dict[str, str]:
        """Return the version of the prompt of each language."""
        return self._prompts.versions

    def source(self, question: Question) -> Source:
        """Return the fields that describe the key of `question` in the store."""
        return Source(self.model.name, question.prompt_version, question.repeat)

    async def ask(self, question: Question, seat: Seat) -> AssessorAnswer:
        """Ask the model, and once more for the verdict alone when the reply cannot be read.

        Raise AccountError, RunIncomplete or Stopped, which concern all pairs.
        """
        completions: list[Completion] = []
        flags: tuple[str, ...] = ()
        error: ReplyParseError | CallError | None = None
        for render in (self._prompts.render, self._prompts.render_reask):
            prompt = render(question.pair, self._as_of)

            async def complete(prompt: Prompt = prompt) -> Completion:
                completions.append(await seat.complete(prompt))
                return completions[-1]

            try:
                verdict = await self._verdict(prompt, complete)
            except ReplyParseError as parse_error:
                error, flags = parse_error, ("re_asked",)
            except AccountError:
                raise
            except CallError as call_error:
                error = call_error
                break
            else:
                seat.confirm()
                all_flags = (*verdict.flags, *flags, *self._oddities(verdict, completions[-1], prompt))
                return AssessorAnswer(
                    _make_stored(verdict, completions[-1], all_flags), None, completions[-1].text
                )
        reply = completions[-1].text if completions else ""
        if not isinstance(error, ReplyParseError):
            return AssessorAnswer(None, error.kind if error else None, reply, error.detail if error else "")
        thinking = _is_only_thinking(completions[-1])
        advice = self._advice(error.kind, completions[-1], thinking=thinking)
        is_cut = thinking or "--max-tokens" in advice
        detail = f"{error.detail} ({advice})" if is_cut else error.detail
        return AssessorAnswer(None, error.kind, reply, detail, advice, thinking)

    def _advice(self, kind: str, completion: Completion, *, thinking: bool) -> str:
        """Return what helps against a reply that is unreadable in the way `kind`."""
        sent = completion.params or self.model.params
        most = sent.get("max_tokens") or sent.get("max_completion_tokens")
        tokens = f"the {most:,} of --max-tokens" if isinstance(most, int) else "the limit of tokens"
        if thinking and isinstance(most, int) and most >= _THINKING_MAX_TOKENS:
            return f"the model used {tokens} for thinking and gave no answer: raise --max-tokens"
        if thinking:
            return (
                "the model gave no answer beside its thinking: add --thinking, which raises --max-tokens to"
                " 8192, or use another model"
            )
        if completion.finish_reason == "length":
            return f"the reply was cut off: raise --max-tokens{f' (now {most})' if most else ''}"
        if (
            self.scale.name == "graded"
            and kind in _NO_GRADE_KINDS
            and _YES_OR_NO.match(completion.text.strip())
        ):
            return "the model answers yes or no instead of a grade: add --scale binary, or use another model"
        if kind in ("refusal", "empty"):
            return "use another model"
        return "use another model; this one does not keep to the answer's format"

    async def _verdict(self, prompt: Prompt, complete: Callable[[], Awaitable[Completion]]) -> Verdict:
        """Return the verdict of the reply; raise ReplyParseError, and what `complete` raises."""
        completion = await complete()
        return parse_verdict(completion.text, self.scale, completion.finish_reason)

    def _oddities(self, verdict: Verdict, completion: Completion, prompt: Prompt) -> Sequence[str]:
        flags = []
        requested, served = self.model.name, completion.model
        if served and not (requested.endswith(served) or served.startswith(requested.rpartition(":")[2])):
            flags.append(f"served_by:{completion.model}")
        if not _instruction_substrings(prompt.system).isdisjoint(_list_substrings(verdict.reason)):
            flags.append("prompt_echo")
        return flags

    def make_judgment(self, question: Question, answer: Stored | AssessorAnswer) -> Judgment:
        """Return the judgment of `question` from a stored verdict or the result of asking."""
        stored = answer if isinstance(answer, Stored) else answer.stored
        error = None if isinstance(answer, Stored) else answer.error
        return Judgment(
            query_id=question.pair.query.id,
            snippet_id=question.pair.snippet.id,
            repeat=question.repeat,
            grade=stored.grade if stored else None,
            reason=stored.reason if stored else "",
            error=error,
            assessor=self.name,
            prompt_version=question.prompt_version,
            params=stored.params if stored else plain(self.model.params),
            reply=answer.reply,
            usage=stored.usage if stored else None,
            flags=(*question.pair.snippet.flags, *(stored.flags if stored else ())),
            served_model=stored.served_model if stored else None,
            detail="" if isinstance(answer, Stored) else answer.detail,
        )

    def judge_by_rule(self, question: Question) -> Judgment | None:
        """Return the judgment by rule of a snippet without readable text, None for any other snippet.

        An empty snippet has grade 0. A snippet with a missing text stays unjudged, and so does one without
        readable text in its first `max_chars` characters.
        """
        for kind, why in _MISSING_TEXT_REASONS.items():
            if kind in question.pair.snippet.flags:
                unjudged = self.make_judgment(question, AssessorAnswer(None, kind, "", why))
                return replace(unjudged, assessor=f"rule:{kind}", params={})
        if "empty_snippet" not in question.pair.snippet.flags:
            return None
        rule = Stored(
            grade=0,
            reason=_EMPTY_REASONS[question.pair.query.lang],
            flags=(),
            reply="",
            params={},
            usage=None,
            served_model="",
            request_id=None,
        )
        return replace(self.make_judgment(question, rule), assessor="rule:empty_snippet", served_model=None)


def _is_only_thinking(completion: Completion) -> bool:
    """Return True when the model returned thinking and no answer."""
    text = completion.text.strip()
    return (completion.reasoning and not text) or _UNENDED_THINKING.search(text) is not None


def _list_substrings(text: str) -> Iterator[str]:
    return (text[start : start + _ECHO_LENGTH] for start in range(len(text) - _ECHO_LENGTH + 1))


@lru_cache(maxsize=8)
def _instruction_substrings(system: str) -> frozenset[str]:
    """Return all substrings of `_ECHO_LENGTH` characters of the instructions, which all pairs share."""
    return frozenset(_list_substrings(system))


def _hash_repeat(digest: hashlib._Hash, repeat: int) -> str:
    key = digest.copy()
    key.update(f"\n{repeat}".encode())
    return key.hexdigest()


def _make_stored(verdict: Verdict, completion: Completion, flags: tuple[str, ...]) -> Stored:
    return Stored(
        grade=verdict.grade,
        reason=verdict.reason,
        flags=flags,
        reply=completion.text,
        params=plain(completion.params),
        usage=completion.usage,
        served_model=completion.model,
        request_id=completion.request_id,
    )
