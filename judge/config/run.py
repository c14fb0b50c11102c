"""Owns what a run was asked: the only defaults, the only place that reads the environment.

A value comes from the command line or the Python call, else from the TOML file, else from here.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from datetime import date, time
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Self

from judge.config.loader import ConfigSource
from judge.config.loader import load as load_toml
from judge.errors import InputError
from judge.records import BINARY, GRADED, LangChoice, Sampling, Scale, ScaleName

#: Options that change neither what is asked nor how it is measured: free to differ on a resume.
FREE = frozenset(
    {"concurrency", "timeout", "attempts", "max_wait", "grace", "budget", "max_calls", "price", "prices"}
    | {"out", "store", "measures", "min_coverage", "prompts"}
)
#: Tables of a TOML file that hold no options of a run, but what `judge collect` and others ask for.
SECTIONS = frozenset({"collect", "nightly"})
#: Tokens of a reply, and of a reply with the thinking before it, where `max_tokens` is not given.
MAX_TOKENS, MAX_TOKENS_THINKING = 512, 8192
#: Earlier names of options in TOML files.
ALIASES: Mapping[str, str] = {"patience": "max_wait"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """What a run was asked.

    `data` is a dataset file; TREC input is `topics` and `docs` (files) with `trec_runs` instead.
    `columns` says what the dataset calls a field otherwise, as FIELD=COLUMN.
    `panel` names further models that judge the same pairs; `assessor` "deepeval" asks through DeepEval.
    `depth` ranks are judged, in each of `repeats` rounds. `dates` shows prompts the dates of
    snippets; `as_of` is the day that prompts call today, and implies `dates`. `price` is US dollars per
    million tokens: input, output and, optionally, cached input; `prices` is a file with a
    table of them, which goes before the table that comes with judge.
    `timeout` is seconds per call, `max_wait` the seconds that a throttling or silent server is waited
    for, `grace` seconds that calls in flight get after Ctrl-C. `max_chars` bounds what a prompt shows
    of a snippet, `max_tokens` what a reply may cost: 512, or 8,192 with `thinking`, unless it is given.
    `measures` None means the defaults at this depth.
    `written` is no option: it says which file decided which of them.
    """

    data: str | None = None
    topics: str | None = None
    docs: str | None = None
    trec_runs: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    model: str = ""
    panel: tuple[str, ...] = ()
    assessor: str = "judge"
    base_url: str | None = None
    scale: ScaleName = "graded"
    lang: LangChoice = "auto"
    repeats: int = 1
    depth: int = 10
    relevant_from: int | None = None
    dates: bool = False
    as_of: str | None = None
    temperature: float = 0.0
    top_p: float | None = None
    seed: int | None = None
    max_tokens: int | None = None
    thinking: bool = False
    max_chars: int = 4000
    prompts: str | None = None
    measures: tuple[str, ...] | None = None
    min_coverage: float = 0.99
    concurrency: int = 64
    timeout: float = 60.0
    attempts: int = 5
    max_wait: float = 600.0
    grace: float = 5.0
    budget: float | None = None
    max_calls: int | None = None
    price: tuple[float, ...] | None = None
    prices: str | None = None
    out: str | None = None
    store: str | None = None
    written: ConfigSource = field(default=ConfigSource(), compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.max_tokens is None:
            object.__setattr__(self, "max_tokens", MAX_TOKENS_THINKING if self.thinking else MAX_TOKENS)
        for name, least in _LEAST.items():
            value = getattr(self, name)
            if value is not None and not value >= least:
                raise InputError(f"{name} is {value!r}; it must be at least {least}")
        _check_words(self)
        _check_shares(self)
        _check_money(self)
        if not 1 <= self.grading.relevant_from <= self.grading.top:
            raise InputError(f"relevant_from is {self.relevant_from!r}; it is 1 to {self.grading.top}")

    @property
    def grading(self) -> Scale:
        """The scale, with `relevant_from` where one was asked for."""
        scale = BINARY if self.scale == "binary" else GRADED
        return scale if self.relevant_from is None else replace(scale, relevant_from=self.relevant_from)

    @property
    def column_names(self) -> dict[str, str]:
        """The dataset's own names of fields, by field."""
        parts = (each.partition("=") for each in self.columns)
        return {name.strip(): column for name, _, column in parts}

    @property
    def shows_dates(self) -> bool:
        """Whether prompts show the dates of snippets."""
        return self.dates or self.as_of is not None

    @property
    def sampling(self) -> Sampling:
        """How the model is asked to answer."""
        max_tokens = self.max_tokens or MAX_TOKENS
        return Sampling(self.temperature, max_tokens, self.top_p, self.seed, self.thinking)

    def options(self) -> dict[str, Any]:
        """Every option as a JSON value."""
        values = {name: getattr(self, name) for name in self.known()}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}

    @classmethod
    def known(cls) -> dict[str, str]:
        """The type of every option, as it is written above."""
        return {each.name: str(each.type) for each in fields(cls) if each.name != "written"}

    @classmethod
    def load(cls, toml: Path | None = None, **given: object) -> Self:
        """The options of `toml`, overridden by those of `given` that are not None.

        Raises InputError for unknown or ill-typed options, naming them.
        """
        told: dict[str, Any] = load_toml(toml) if toml else {}
        if isinstance(told.get("prices"), list):
            told["prices"] = toml  # the table is in this very file
        given = {name: value for name, value in given.items() if value is not None}
        written = ConfigSource(toml, keys={name: name for name in cls.known() if name not in given})
        with written.about():
            told = rename_options(told)
            told = {name: value for name, value in told.items() if name not in SECTIONS | given.keys()}
            cls(**cls._fitting(told))  # what a file says must hold by itself, so that the file can be named
        return cls(**cls._fitting({**told, **given}), written=written)

    @classmethod
    def _fitting(cls, options: Mapping[str, Any]) -> dict[str, Any]:
        """The options with the types they have here; raises InputError for an unknown or ill-typed one."""
        known = cls.known()
        for name in options:
            if name not in known:
                raise InputError(f"unknown option {name!r}{did_you_mean(name, known)}")
        if options.get("assessor") == "deepeval":
            options = {"scale": "binary", **options}
        return {name: check_type(name, value, known[name]) for name, value in options.items()}


def _check_words(asked: Config) -> None:
    if asked.scale not in ("graded", "binary"):
        raise InputError(f"scale is {asked.scale!r}; it is 'graded' (0-3) or 'binary' (yes/no)")
    if asked.assessor not in ("judge", "deepeval"):
        raise InputError(f"assessor is {asked.assessor!r}; it is 'judge' or 'deepeval'")
    if asked.assessor == "deepeval" and asked.scale != "binary":
        raise InputError("DeepEval's verdicts are yes or no: --assessor deepeval goes with --scale binary")
    if asked.assessor == "deepeval" and "lexical" in (asked.model, *asked.panel):
        raise InputError("lexical reads no prompt, so DeepEval can't ask it; leave --assessor deepeval out")
    if asked.assessor == "deepeval" and asked.prompts is not None:
        raise InputError("--assessor deepeval asks with prompts of its own; leave --prompts out")
    if len({asked.model, *asked.panel}) <= len(asked.panel):
        raise InputError(
            f"a model is named twice in {[asked.model, *asked.panel]!r}; a panel's members differ"
        )
    if asked.lang not in ("auto", "zh", "en"):
        raise InputError(f"lang is {asked.lang!r}; it is 'auto', 'zh' or 'en'")
    if asked.as_of is not None and not is_day(asked.as_of):
        raise InputError(f"--as-of is {asked.as_of!r}; it is a day such as 2026-05-01")
    if asked.out is not None and Path(asked.out).name in ("", ".."):
        raise InputError(f"out is {asked.out!r}; it is a run's own folder, such as runs/one")


def _check_shares(asked: Config) -> None:
    if asked.top_p is not None and asked.top_p > 1:
        raise InputError(f"top_p is {asked.top_p!r}; it is a share from 0 to 1")
    if asked.min_coverage > 1:
        raise InputError(f"min_coverage is {asked.min_coverage!r}; it is a share from 0 to 1")


def _check_money(asked: Config) -> None:
    if asked.price is not None and (len(asked.price) not in (2, 3) or min(asked.price) < 0):
        raise InputError(f"price is {list(asked.price)!r}; it is INPUT,OUTPUT or INPUT,OUTPUT,CACHED in USD")


def rename_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return `options` by their present names; raises InputError where an option has both its names."""
    for earlier, name in ALIASES.items():
        if earlier in options and name in options:
            raise InputError(f"{name} is given twice, as {earlier!r} too; keep {name!r}")
    return {ALIASES.get(name, name): value for name, value in options.items()}


def is_day(text: str) -> bool:
    """Whether `text` is a day as it is written here: 2026-05-01."""
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


_LEAST: Mapping[str, float] = {
    "repeats": 1,
    "depth": 1,
    "max_tokens": 16,
    "max_chars": 200,
    "concurrency": 1,
    "timeout": 0.1,
    "attempts": 1,
    "max_wait": 0,
    "grace": 0,
    "temperature": 0,
    "top_p": 0,
    "budget": 0,
    "max_calls": 0,
    "min_coverage": 0,
}


#: What keeps DeepEval from sending telemetry.
_TELEMETRY_OPT_OUT = "DEEPEVAL_TELEMETRY_OPT_OUT"
#: What keeps DeepEval from reading .env files and writing folders, where judge alone uses it.
_DEEPEVAL_SETTINGS: Mapping[str, str] = {
    "DEEPEVAL_DISABLE_DOTENV": "1",
    "DEEPEVAL_DISABLE_LEGACY_KEYFILE": "1",
    "DEEPEVAL_FILE_SYSTEM": "READ_ONLY",
}


def disable_deepeval_telemetry() -> None:
    """Set the variable that DeepEval reads before it sends telemetry, unless the user has set it."""
    os.environ.setdefault(_TELEMETRY_OPT_OUT, "1")


def disable_deepeval_telemetry_in_environment() -> None:
    """Set all that keeps DeepEval quiet when judge itself imports it, unless the user has set it."""
    disable_deepeval_telemetry()
    for name, value in _DEEPEVAL_SETTINGS.items():
        os.environ.setdefault(name, value)


def environment() -> Mapping[str, str]:
    """The process's environment as it is now: keys and addresses of providers."""
    return dict(os.environ)


@contextmanager
def replaced_environment(environ: Mapping[str, str] | None) -> Iterator[None]:
    """Replace the process's environment by `environ` for a while, also for libraries; None leaves it."""
    if environ is None:
        yield
        return
    before = dict(os.environ)
    os.environ.clear()
    os.environ.update(environ)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Which of the `known` names was meant by an unknown one, to be said after it; empty if none is near."""
    near = get_close_matches(name, known, n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


def check_type(name: str, value: object, annotation: str) -> Any:  # noqa: ANN401 - as annotated
    """`value` when it has the type that the option declares; whole numbers serve as fractions.

    A day of TOML is taken as text, and a text of measures as their list. Raises InputError, which says
    what is expected, when it has another type.
    """
    if isinstance(value, Path) or type(value) is date:
        value = str(value)
    if name == "measures" and isinstance(value, str):
        value = (value,)
    if name == "columns" and isinstance(value, Mapping):
        value = tuple(f"{one}={column}" for one, column in value.items())
    if isinstance(value, list | tuple):
        value = tuple(value)
    kind = annotation.removesuffix(" | None")
    parts = value if isinstance(value, tuple) else (value,)
    several = kind.startswith("tuple")
    types, expected = _KINDS[kind]
    if isinstance(value, tuple) != several or not all(_is(part, types) for part in parts):
        raise InputError(f"{name} is {toml_repr(value):.80}; it is {_EXPECTED.get(name, expected)}")
    return value


def toml_repr(value: object) -> str:
    """A value as a TOML file has it, near enough to be found there."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, date | time):
        return str(value)
    return repr(list(value)) if isinstance(value, tuple) else repr(value)


def _is(value: object, kinds: tuple[type, ...]) -> bool:
    if isinstance(value, bool):
        return kinds == (bool,)
    return isinstance(value, kinds) and not (isinstance(value, float) and not math.isfinite(value))


#: The Python types that fit an option, by its annotation, and what to say of others.
_KINDS: Mapping[str, tuple[tuple[type, ...], str]] = {
    "str": ((str,), "a text"),
    "tuple[str, ...]": ((str,), 'a list of texts such as ["a", "b"]'),
    "tuple[float, ...]": ((int, float), "a list of numbers such as [0.4, 1.2]"),
    "int": ((int,), "a whole number"),
    "float": ((int, float), "a number such as 0.5"),
    "bool": ((bool,), "true or false"),
    "ScaleName": ((str,), "'graded' (0-3) or 'binary' (yes/no)"),
    "LangChoice": ((str,), "'auto', 'zh' or 'en'"),
}
_EXPECTED = {
    "as_of": 'a day such as "2026-05-01"',
    "measures": 'a list of measures such as ["nDCG@10", "AP@10"]',
}
