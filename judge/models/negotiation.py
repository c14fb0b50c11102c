"""Negotiation: parameters, answer formats and the system message are dropped as a server refuses them.

A server names in its error what it does not support. The table below says what judge sends instead, from the
next request on.
"""

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Literal, Self

import msgspec

from judge.errors import CallError, ParametersRejected
from judge.models.error_mapping import ErrorResponse, classify, shorten
from judge.records import JsonDict, JsonSchema, Params, Sampling

ResponseFormat = Literal["json_schema", "json_object", "text"]

#: Statuses of refusals: some servers answer 500 to an answer format that they do not have.
_NEGOTIABLE = frozenset({400, 404, 422, 500, 501})
_UNSUPPORTED = (
    r"(?:un(?:known|supported|recogni[sz]ed|expected)|not (?:supported|permitted)"
    r"|do(?:es)?(?: not|n't) support|only [0-9.]{1,4} is allowed|cannot both|deprecated|extra|mandatory)"
)
_ABOUT_FORMAT = (
    r"response_format|json[ _]schema|json[ _]object|json[ _]mode|guided_json|structured.?outputs?|grammar"
    r"|contain the word ['\"]?json|json_validate_failed"
)
#: What servers say whose template of the model has no system message, as those of Gemma and Mistral.
_ABOUT_SYSTEM = (
    r"system role not supported|developer instruction is not enabled|conversation roles must alternate"
)
#: The first of the values that a server supports.
_LOWEST_VALUE = re.compile(r"supported values are: '(\w{1,20})'", re.I)


@dataclass(frozen=True, slots=True)
class OptionalParam:
    """A parameter that a server may refuse; `instead` takes its value.

    `instead` None drops the parameter; the server then uses its default. A server may refuse the `inner` name
    in its value.
    """

    parameter: str
    instead: str | None = None
    inner: str | None = None

    def is_in(self, message: str) -> bool:
        """Return whether `message` refuses the parameter, or names the one that the server wants instead."""
        name = rf"\b(?:{'|'.join(filter(None, (self.parameter, self.inner)))})\b"
        about = rf"{_UNSUPPORTED}.{{0,80}}{name}|{name}.{{0,80}}{_UNSUPPORTED}"
        # A message about the value may name both.
        other = rf"\buse\b.{{0,20}}\b{self.instead}\b|" if self.instead else ""
        return re.search(other + about, message, re.I) is not None


OPTIONAL_PARAMS = (
    OptionalParam("max_tokens", instead="max_completion_tokens"),
    OptionalParam("max_completion_tokens"),
    *map(OptionalParam, ("temperature", "top_p", "seed")),
    *map(OptionalParam, ("enable_thinking", "thinking", "reasoning", "reasoning_effort")),
    OptionalParam("chat_template_kwargs", inner="enable_thinking"),
)


@dataclass(frozen=True, slots=True)
class RequestParams:
    """The parameters of a request besides model and messages; `form` is the requested answer format.

    Without `has_system`, the user message begins with the text of the system message.
    """

    params: Params
    form: ResponseFormat
    has_system: bool = True

    def add_format(self, schema: JsonSchema) -> JsonDict:
        """Return the parameters as sent: `params` and, unless `form` is text, a `response_format`."""
        if self.form == "text" or not schema:
            return dict(self.params)
        response_format: JsonDict = {"type": self.form}
        if self.form == "json_schema":
            response_format["json_schema"] = {"name": "verdict", "strict": True, "schema": dict(schema)}
        return {**self.params, "response_format": response_format}

    def to_json(self) -> str:
        """Return the parameters as JSON."""
        return msgspec.json.encode(self, order="deterministic").decode()

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the parameters in `text`; raise ValueError when it holds none."""
        return msgspec.json.decode(text, type=cls)


class Negotiation:
    """The parameters of one model at one server, shared by all concurrent calls.

    `formats` are the answer formats to try, the best one first.
    """

    def __init__(
        self,
        params: Params,
        formats: tuple[ResponseFormat, ...],
        optional: Sequence[OptionalParam] = OPTIONAL_PARAMS,
    ) -> None:
        self._formats = formats
        self._optional = optional
        self.current = RequestParams(params, formats[0])

    def make_error(
        self, rejected_params: RequestParams, response: ErrorResponse, *secrets: str, endpoint: str
    ) -> CallError:
        """Return the error of a response: ParametersRejected where what the server refuses can be dropped.

        Of many calls that are refused at the same time, the first one changes the parameters.
        """
        if response.status in _NEGOTIABLE:
            message = f"{response.code} {response.param} {response.message}"
            reduced = self._reduce(rejected_params, message)
            if reduced is not None:
                if self.current == rejected_params:
                    self.current = reduced
                return ParametersRejected("unsupported", shorten(response.message))
        return classify(response, *secrets, endpoint=endpoint)

    def _reduce(self, params: RequestParams, message: str) -> RequestParams | None:
        if re.search(_ABOUT_FORMAT, message, re.I) and params.form != self._formats[-1]:
            return replace(params, form=self._formats[self._formats.index(params.form) + 1])
        if re.search(_ABOUT_SYSTEM, message, re.I) and params.has_system:
            return replace(params, has_system=False)
        for each in self._optional:
            if each.parameter in params.params and each.is_in(message):
                remaining = dict(params.params)
                value = remaining.pop(each.parameter)
                if each.instead is not None:
                    remaining[each.instead] = value
                elif value == "none" and (lowest := _LOWEST_VALUE.search(message)):
                    remaining[each.parameter] = lowest[1]  # the least thinking of this model
                return replace(params, params=remaining)
        return None


def build_sampling_params(sampling: Sampling) -> Params:
    """Return `sampling` under the names that providers share, without values that are None."""
    params = asdict(sampling)
    del params["thinking"]
    return {name: value for name, value in params.items() if value is not None}


def find_max_tokens(params: Params) -> int | None:
    """Return the most tokens of a reply to a request with `params`, None where they set none."""
    max_tokens = params.get("max_tokens") or params.get("max_completion_tokens")
    return max_tokens if isinstance(max_tokens, int) else None
