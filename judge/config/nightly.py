"""The options of the nightly job, the table [nightly] of judge.toml, with their defaults."""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field
from pydantic.dataclasses import dataclass

from judge.config.option_checks import STRICT, Options, list_keys, option, validate_table
from judge.config.option_record import NIGHTS, NIGHTS_FOLDER
from judge.config.option_types import NonNegativeNumber, NumberValue, ShareValue, TextValue, VariableName
from judge.config.run_checks import check_no_run_options
from judge.config.toml_file import ConfigSource, TomlTable
from judge.messages import Message


def _check_repeats(repeats: int) -> int:
    if repeats == 1:
        raise ValueError("one grade does not show how much grades vary")
    return repeats


def _make_share_field(low: float, high: float) -> Any:  # noqa: ANN401 - what pydantic's Field returns
    return Field(ge=low, le=high, description=Message("a share from {low:g} to {high:g}", low=low, high=high))


def _make_list_field(examples: str, min_length: int = 0) -> Any:  # noqa: ANN401 - what pydantic's Field returns
    expected = Message("a list of {examples}", examples=examples)
    return Field(strict=False, min_length=min_length, description=expected)


_option = partial(option, group=NIGHTS, place="file")
_Name = Annotated[str, Field(min_length=1)]
_Measures = Annotated[tuple[_Name, ...], _make_list_field(Message('measures, e.g. ["AP@10", "sDCG@10"]'), 1)]
_Patterns = Annotated[tuple[_Name, ...], _make_list_field(Message('names or patterns, e.g. ["qwen-plus-*"]'))]
_Repeats = Annotated[
    int,
    AfterValidator(_check_repeats),
    Field(
        ge=0,
        description=Message(
            "2 or more, since one grade does not show how much grades vary (0: no canaries; then a change of"
            " the assessor looks like a change of the engines)"
        ),
    ),
]
WebhookKind = Literal["json", "feishu", "dingtalk", "wecom", "slack"]


class WebhookOptions(BaseModel, frozen=True):
    """The table [nightly] webhook: `link` leads to the report and may hold {date}."""

    model_config = STRICT

    kind: WebhookKind = "json"
    url_env: Annotated[
        VariableName,
        Field(
            description=Message(
                "the name of the environment variable that holds the address, which is a secret and must not"
                " be in a file"
            )
        ),
    ]
    secret_env: VariableName = ""
    link: str = ""


_Webhook = Annotated[
    WebhookOptions | None,
    # An error names the wrong key of the table.
    BeforeValidator(
        lambda value: (
            validate_table(WebhookOptions, value, "webhook") if isinstance(value, Mapping) else value
        )
    ),
    Field(description=Message('a table, e.g. {kind = "slack", url_env = "JUDGE_WEBHOOK"}')),
]


@dataclass(config=STRICT, frozen=True, kw_only=True)
class NightlyConfig(Options):
    """The options of the nightly job. Those that `judge init` lists have a text that says what they do.

    `measures` None takes AP@10 and sDCG@10, `min_coverage` None the option of the run. A drop is a regression
    when chance does not explain it (`alpha`), it is at least `min_drop`, and no grades of unjudged snippets
    could reverse it. `min_shared` of the baseline's queries must be asked again. An engine (or the assessor)
    counts as unavailable when the share of queries (or canaries) that it answered is lower by more than
    `max_missing` than at the baseline. A night ends before the judging when an engine returns empty snippets
    in more than `max_empty_snippets` of its results: a field of its answers was renamed.

    `canary_alpha` bounds the probability that an unchanged assessor is reported as changed by its canaries,
    and again by the pairs that it judged on both nights. `max_flip_rate` is the share of canaries whose grade
    may change by one from night to night without drift. `min_shift` is the smallest change of their mean
    grade, in grades, that counts as a stricter or more lenient assessor.
    """

    folder: Annotated[TextValue, Field(min_length=1, description=Message("a path in quotes"))] = _option(
        Message("Folder of the nights."), default=NIGHTS_FOLDER
    )
    measures: _Measures | None = None
    # The resamples that are affordable cannot show a smaller probability.
    alpha: Annotated[NumberValue, _make_share_field(0.0001, 0.5)] = _option(
        Message("Probability of a false alarm on a night without a change."), default=0.01
    )
    min_drop: ShareValue = _option(Message("Smaller drops of a measure are ignored."), default=0.005)
    min_coverage: ShareValue | None = None
    min_shared: ShareValue = 0.8
    max_missing: ShareValue = 0.1
    max_empty_snippets: ShareValue = 0.5
    canary_repeats: _Repeats = _option(
        Message("How often each of the 64 canaries is judged; 0 turns them off."), default=3
    )
    # The permutations of the canaries cannot show a smaller probability.
    canary_alpha: Annotated[NumberValue, _make_share_field(0.001, 0.5)] = 0.005
    # With a larger share, canaries miss an assessor that gives half of them another grade.
    max_flip_rate: Annotated[NumberValue, _make_share_field(0, 0.25)] = 0.02
    min_shift: Annotated[NonNegativeNumber, Field(description=Message("a number of grades, 0 or more"))] = 0.1
    judge_on_drift: Literal["stop", "all"] = _option(
        Message("When the assessor has changed: stop judges nothing more; all judges the whole night."),
        default="stop",
    )
    accept_names: _Patterns = _option(
        Message(
            "Served model names that do not count as a change of the assessor while no canary shows one."
        ),
        default=(),
        example='["qwen-plus-*"]',
    )
    webhook: _Webhook = _option(
        Message("Where to send a notice; url_env names the variable with the address."),
        example='{ kind = "slack", url_env = "JUDGE_WEBHOOK" }',
    )

    def accepts(self, name: str) -> bool:
        """Return whether `accept_names` holds the name of a served model."""
        return any(fnmatchcase(name, pattern) for pattern in self.accept_names)

    @classmethod
    def load(cls, table: TomlTable, toml: Path | None = None) -> Self:
        """Return the options of the table of `toml`; raise InputError that names both if one is invalid."""
        source = ConfigSource(toml, "nightly")
        with source.add_error_context():
            check_no_run_options(table.keys() - list_keys(cls).keys())
            return cls(**{"source": source, **table})
