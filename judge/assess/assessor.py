"""Judging one pair: ask, parse, re-ask once when the reply cannot be parsed.

This module depends on neither engines nor ranks. An error on one pair becomes a `Judgment` with an `error`;
only an error that concerns all pairs (account, budget, store) stops the run.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Self

import msgspec

from judge.assess.prompts import Prompts
from judge.errors import AccountError, CallError, ReplyParseError
from judge.files.cache import make_key
from judge.flags import (
    EMPTY_SNIPPET,
    PROMPT_ECHO,
    RE_ASKED,
    SERVED_BY,
    SHOWN_AS_EXAMPLE,
    TEXT_CUT,
    TEXT_MISSING,
)
from judge.messages import Message
from judge.models.negotiation import find_max_tokens
from judge.models.providers import Model, strip_provider
from judge.parsing.verdict import parse_verdict
from judge.records import (
    CONTENT_FILTER,
    RULE,
    Completion,
    Judgment,
    Lang,
    Pair,
    PairKey,
    Params,
    Prompt,
    Scale,
    Verdict,
    is_complete_reply,
)
from judge.store.store import Failure, StoredVerdict, VerdictKeyInfo, VerdictOrFailure, normalise_params

#: Thinking that does not end.
_UNENDED_THINKING = re.compile(r"<think(?:ing)?>(?!.*</think)", re.DOTALL | re.IGNORECASE)
#: From this `max_tokens` on, a model has room for thinking.
_THINKING_MAX_TOKENS = 2048
#: This many letters of the instructions in a reason are not a coincidence.
_ECHO_LENGTH = 40
#: The flags of snippets without readable text, and why one with such a flag is unjudged.
_NO_TEXT_FLAGS = {
    TEXT_MISSING: Message("the dataset has no text for this result"),
    TEXT_CUT: Message("nothing can be read in the part of the text that max_chars leaves; raise max_chars"),
    EMPTY_SNIPPET: "",
}
#: The verdict of a reply that gives no grade but an answer in words: a row of the store needs one.
NO_VERDICT = Verdict(0, "")
_EMPTY_REASONS: Mapping[Lang, str] = {
    "zh": "摘要为空，没有可读的内容。",
    "en": "The snippet is empty: there is nothing to read.",
}
#: Sends one prompt and returns its completion; raises CallError.
SendPrompt = Callable[[Prompt], Awaitable[Completion]]


class Assignment(msgspec.Struct, frozen=True):
    """One pair that an assessor judges in one repeat.

    `index` is its number in a plan, `key` the key of its verdict in the store.
    """

    index: int
    key: str
    pair: Pair
    repeat: int


class Assessor:
    """A model, a prompt and a scale, which turn a pair into a judgment.

    `reader` names what reads the replies where it is not judge. `key_parts` are what the keys of verdicts
    depend on besides the prompt. Where there are none, the keys depend on all settings.
    """

    #: What it answers questions for, "" where it grades.
    subject = ""

    def __init__(
        self,
        model: Model,
        prompts: Prompts,
        scale: Scale,
        reader: str = "",
        warnings: Sequence[str] = (),
        *,
        name: str = "",
        key_parts: Sequence[object] = (),
    ) -> None:
        self.model = model
        self.scale = scale
        self.name = name or f"{model.name}/{scale.name}"
        self._server_name = strip_provider(model.name)
        self.prompts = prompts
        self._warnings = warnings
        #: The queries and snippets that the prompt shows with their grades.
        self._example_ids = frozenset(
            (example.pair.query.text, example.pair.snippet.id) for example in prompts.examples
        )
        #: The parameters of the last reply, and the same as the store gives them back.
        self._sent_params: Params | None = None
        self._stored_params: Params = {}
        settings = [model.name, model.endpoint, dict(model.params), scale.name, *([reader] if reader else [])]
        #: The hash of the model, its server, the parameters, the scale and the reader.
        self.settings_digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:16]
        self._key = json.dumps(key_parts or settings, sort_keys=True)
        #: The hash of what the keys begin with in each language.
        self._key_starts = {
            lang: hashlib.sha256(f"{self._key}\n{len(template.system)}\n{template.system}\n".encode())
            for lang, template in prompts.templates.items()
        }

    def make_cache_key(self, pool_key: str, repeats: int) -> str:
        """Return the key under which a cache holds the keys of the assignments of a pool."""
        templates = {
            lang: (template.digest, template.as_of) for lang, template in self.prompts.templates.items()
        }
        return make_key("keys", pool_key, repeats, self._key, templates)

    def make_keys(self, pair: Pair, repeats: int) -> list[bytes]:
        """Return the keys of the verdicts on `pair`, one for each repeat."""
        # With their lengths, texts of other pairs never give the same joined text.
        user = self.prompts.templates[pair.query.lang].render_pair(pair)
        start = self._key_starts[pair.query.lang].copy()
        start.update(f"{len(user)}\n{user}\n".encode())
        keys = []
        for repeat in range(1, repeats + 1):
            key = start.copy()
            key.update(str(repeat).encode())
            keys.append(key.digest())
        return keys

    def make_key_info(self, assignment: Assignment) -> VerdictKeyInfo:
        """Return what the store shows beside the key of `assignment`."""
        version = self.prompts.templates[assignment.pair.query.lang].version
        return VerdictKeyInfo(self.model.name, version, assignment.repeat, self.settings_digest)

    async def ask(self, pair: Pair, send: SendPrompt) -> VerdictOrFailure:
        """Ask for a verdict on `pair` by `send`; after a reply that cannot be parsed, ask once more.

        Raises AccountError, and what `send` raises besides CallError: these concern all pairs.
        """
        # The reply that cannot be parsed, for a failure of the second request.
        reply = ""
        prompt = self.prompts.render(pair)
        try:
            completion = await send(prompt)
            reply = completion.text
            answer = await self._read_answer(completion, prompt)
            if isinstance(answer, Failure):
                prompt = self.prompts.render_reask(pair)
                completion = await send(prompt)
                answer = await self._read_answer(completion, prompt, (RE_ASKED,))
        except AccountError:
            raise
        except CallError as error:
            advice = Message("use another model") if error.kind == "refusal" else ""
            # The store has no reply for a content filter, and gives the same judgment later.
            return Failure(error.kind, error.detail, "" if error.kind == CONTENT_FILTER else reply, advice)
        return answer

    async def _read_answer(
        self, completion: Completion, prompt: Prompt, flags: Sequence[str] = ()
    ) -> VerdictOrFailure:
        """Return the verdict in the reply to `prompt`, with `flags`; a failure where it cannot be parsed."""
        try:
            verdict = await self._read_verdict(completion, prompt)
        except ReplyParseError as error:
            return self._describe_parse_error(error, completion)
        flags = (*verdict.flags, *flags, *self._list_flags(verdict, completion, prompt))
        return self.make_stored_verdict(verdict, completion, flags)

    def _describe_parse_error(self, error: ReplyParseError, completion: Completion) -> Failure:
        text = completion.text.strip()
        thinking = (completion.has_thinking and not text) or _UNENDED_THINKING.search(text) is not None
        advice = self._choose_advice(error.kind, completion, thinking=thinking)
        is_cut = thinking or completion.finish_reason == "length"
        kind, detail = error.kind, f"{error.detail} ({advice})" if is_cut else error.detail
        if kind == "truncated" and not is_cut and not is_complete_reply(completion.finish_reason):
            # An unknown finish reason does not say that a limit of tokens cut the reply.
            kind, detail = "malformed", str(advice)
        return Failure(kind, detail, completion.text, advice, thinking)

    def _choose_advice(self, kind: str, completion: Completion, *, thinking: bool) -> str:
        """Return what helps against a reply with the parse error `kind`."""
        max_tokens = find_max_tokens(completion.params or self.model.params)
        if thinking and max_tokens and max_tokens >= _THINKING_MAX_TOKENS:
            return Message(
                "the model used the {tokens:,} of --max-tokens for thinking and gave no answer: raise"
                " --max-tokens",
                tokens=max_tokens,
            )
        if thinking:
            return Message(
                "the reply has thinking and no answer: add --thinking, which raises --max-tokens to"
                " 8192, or use another model"
            )
        if completion.finish_reason == "length" and max_tokens:
            return Message("the reply was cut off: raise --max-tokens (now {tokens})", tokens=max_tokens)
        if completion.finish_reason == "length":
            return Message("the reply was cut off: raise --max-tokens")
        if kind == "truncated" and not is_complete_reply(completion.finish_reason):
            return Message(
                "the server ended the answer as {reason!r}, and it holds no complete verdict: use another"
                " model",
                reason=completion.finish_reason,
            )
        if kind in ("refusal", "empty"):
            return Message("use another model")
        return Message("use another model; this one does not follow the format of the answer")

    async def _read_verdict(self, completion: Completion, prompt: Prompt) -> Verdict:
        """Return the verdict in the reply to `prompt`; raise ReplyParseError."""
        return parse_verdict(completion.text, self.scale, completion.finish_reason)

    def _list_flags(self, verdict: Verdict, completion: Completion, prompt: Prompt) -> Sequence[str]:
        flags = []
        name, served = self._server_name, completion.model
        # A server can add a date, and leave out a path or a variant: owner/name:free is served as name.
        ends = name, name.rpartition(":")[0]
        if served and not served.startswith(name) and not any(end.endswith(served) for end in ends):
            flags.append(f"{SERVED_BY}:{served}")
        if _is_echo(verdict.reason, prompt.system):
            flags.append(PROMPT_ECHO)
        return flags

    def make_stored_verdict(
        self, verdict: Verdict, completion: Completion, flags: tuple[str, ...]
    ) -> StoredVerdict:
        """Return the row of the store for a verdict and the completion that it was read from."""
        if completion.params is not self._sent_params:  # an adapter sends one object again and again
            self._sent_params, self._stored_params = completion.params, normalise_params(completion.params)
        return StoredVerdict(
            grade=verdict.grade,
            reason=verdict.reason,
            flags=flags,
            reply=completion.text,
            params=self._stored_params,
            usage=completion.usage,
            served_model=completion.model,
            request_id=completion.request_id,
        )

    def make_judgment(self, assignment: Assignment, answer: VerdictOrFailure) -> Judgment:
        """Return the record of `assignment` with its answer, of the model or of the store."""
        verdict, failure = (answer, None) if isinstance(answer, StoredVerdict) else (None, answer)
        pair = assignment.pair
        is_example = bool(self._example_ids) and (pair.query.text, pair.snippet.id) in self._example_ids
        return Judgment(
            query_id=pair.query.id,
            snippet_id=pair.snippet.id,
            repeat=assignment.repeat,
            grade=verdict.grade if verdict else None,
            reason=verdict.reason if verdict else "",
            error=failure.kind if failure else None,
            assessor=self.name,
            prompt_version=self.prompts.templates[pair.query.lang].version,
            params=verdict.params if verdict else normalise_params(self.model.params),
            reply=answer.reply,
            usage=verdict.usage if verdict else None,
            flags=(
                *pair.snippet.flags,
                *(verdict.flags if verdict else ()),
                *((SHOWN_AS_EXAMPLE,) if is_example else ()),
            ),
            served_model=verdict.served_model if verdict else None,
            detail=failure.detail if failure else "",
        )

    @property
    def warnings(self) -> Sequence[str]:
        """Warnings about the grades for the reader of the report."""
        counts = Counter(example.pair.query.lang for example in self.prompts.examples)
        if not counts:
            return ()
        return (
            *self._warnings,
            Message(
                "The prompts show labelled examples: {english} in English and {chinese} in Chinese.",
                english=counts["en"],
                chinese=counts["zh"],
            ),
        )

    def fit(self, judgments: Sequence[Judgment], labels: Mapping[PairKey, int]) -> Self:
        """Return the assessor whose grades follow from all `judgments` and from `labels` by pair."""
        return self

    def regrade(self, judgments: Sequence[Judgment]) -> Sequence[Judgment]:
        """Return the judgments with the grades of this assessor."""
        return judgments

    def judge_by_rule(self, assignment: Assignment) -> Judgment | None:
        """Return the judgment of a snippet without readable text, flagged; None when there is text.

        A snippet that the engine showed empty has grade 0. A snippet with missing text is unjudged, and so is
        one whose text is empty after the length limit.
        """
        if not assignment.pair.snippet.flags:
            return None
        for kind, why in _NO_TEXT_FLAGS.items():
            if kind in assignment.pair.snippet.flags:
                judgment = self.make_judgment(assignment, Failure(kind, str(why)))
                judgment = replace(judgment, assessor=f"{RULE}{kind}", params={})
                if kind == EMPTY_SNIPPET:
                    reason = _EMPTY_REASONS[assignment.pair.query.lang]
                    judgment = replace(judgment, grade=0, reason=reason, error=None)
                return judgment
        return None


def _is_echo(reason: str, system: str) -> bool:
    """Return whether `reason` repeats 40 characters of the instructions."""
    half = _ECHO_LENGTH // 2
    # Every repetition of 40 characters holds 20 that begin at a multiple of 20.
    if not any(reason[start : start + half] in system for start in range(0, len(reason) - half + 1, half)):
        return False
    starts = range(len(reason) - _ECHO_LENGTH + 1)
    return any(reason[start : start + _ECHO_LENGTH] in system for start in starts)
