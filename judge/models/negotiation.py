"""Owns what a server turned out to accept: parameters and answer formats, given up one by one.

A server says in a 400 what it doesn't support. The table below says what judge then sends instead,
from the next request on.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from judge.errors import ParametersRejected
from judge.models.error_mapping import ErrorResponse, shorten
from judge.records import Sampling

Form = Literal["json_schema", "json_object", "text"]

NEGOTIABLE = frozenset({400, 404, 422})
UNSUPPORTED = (
    r"(?:un(?:known|supported|recogni[sz]ed|expected)|not (?:supported|permitted)"
    r"|(?:does not|doesn't) support|extra)"
)
ABOUT_FORM = r"response_format|json_schema|json_object|structured.?outputs?|contain the word ['\"]?json"


@dataclass(frozen=True, slots=True)
class Concession:
    """When a server refuses `parameter` in words that `says` finds, `instead` takes its value.

    `instead` None drops it: the request then goes by the server's own default.
    """

    parameter: str
    says: str
    instead: str | None = None


def _unsupported(parameter: str) -> Concession:
    return Concession(
        parameter, rf"{UNSUPPORTED}.{{0,80}}\b{parameter}\b|\b{parameter}\b.{{0,80}}{UNSUPPORTED}"
    )


CONCESSIONS = (
    Concession("max_tokens", r"max_completion_tokens", instead="max_completion_tokens"),
    *map(_unsupported, ("temperature", "top_p", "seed")),
    *map(_unsupported, ("enable_thinking", "thinking", "chat_template_kwargs", "reasoning_effort")),
)


@dataclass(frozen=True, slots=True)
class RequestParams:
    """What a request carries besides model and messages; `form` is how it asks for JSON."""

    params: Mapping[str, Any]
    form: Form

    def with_format(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters as sent: `params` and, unless `form` is text, a `response_format`."""
        return {**self.params, **response_format(self.form if schema else "text", schema)}


class Negotiation:
    """The terms of one model at one server, shared by all calls in flight.

    `offers` are the answer formats to try, best first.
    """

    def __init__(self, params: Mapping[str, Any], offers: tuple[Form, ...]) -> None:
        self._offers = offers
        self.terms = RequestParams(params, offers[0])

    def step_down(self, refused: RequestParams, fault: ErrorResponse) -> ParametersRejected | None:
        """What to raise when a server refused `refused` and less can be asked for; None when it can't.

        Many calls may be refused at once: the first one changes the terms, the others find them changed.
        """
        if fault.status not in NEGOTIABLE:
            return None
        lesser = self._lesser(refused, f"{fault.code} {fault.param} {fault.message}")
        if lesser is not None and self.terms is refused:
            self.terms = lesser
        return None if lesser is None else ParametersRejected("conceded", shorten(fault.message))

    def _lesser(self, terms: RequestParams, words: str) -> RequestParams | None:
        if re.search(ABOUT_FORM, words, re.I) and terms.form != self._offers[-1]:
            return RequestParams(terms.params, self._offers[self._offers.index(terms.form) + 1])
        for concession in CONCESSIONS:
            if concession.parameter in terms.params and re.search(concession.says, words, re.I):
                return RequestParams(_concede(terms.params, concession), terms.form)
        return None


def sampling_params(sampling: Sampling) -> dict[str, Any]:
    """`sampling` by the names that providers share, less what is left to the server."""
    named = {
        "temperature": sampling.temperature,
        "max_tokens": sampling.max_tokens,
        "top_p": sampling.top_p,
        "seed": sampling.seed,
    }
    return {name: value for name, value in named.items() if value is not None}


def response_format(form: Form, schema: Mapping[str, Any]) -> dict[str, Any]:
    """The `response_format` parameter that asks for `form`; none for text."""
    if form == "text":
        return {}
    if form == "json_object":
        return {"response_format": {"type": "json_object"}}
    described = {"name": "verdict", "strict": True, "schema": dict(schema)}
    return {"response_format": {"type": "json_schema", "json_schema": described}}


def _concede(params: Mapping[str, Any], concession: Concession) -> dict[str, Any]:
    kept = {name: value for name, value in params.items() if name != concession.parameter}
    if concession.instead is not None:
        kept[concession.instead] = params[concession.parameter]
    return kept
