"""Owns measures as values: how one is written, read and printed.

A measure is a value: `parse("ndcg@10")` prints as `nDCG@10` and serves as a key, a column and a
command-line word. The syntax is the one of ir_measures: `NAME(parameter=value, …)@CUTOFF`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from judge.errors import InputError
from judge.measure.measures import (
    MEASURE_KINDS,
    PARAMETER_EXAMPLES,
    MeasureKind,
    describe_unknown_measure,
    describe_unknown_parameter,
)

#: What is computed when nobody says otherwise.
DEFAULT_MEASURES = ("nDCG@10", "AP@10", "P@5", "RR@10", "sDCG@10")

#: The two ways to turn a grade into a gain: the grade itself, or 2^grade - 1.
DCG_GAINS = ("log2", "exp-log2")

_OWN_NOTE = "order within the list only; not for comparing engines"
_SETP_NOTE = "divides by as many results as the engine chose to return; not for comparing engines"


@dataclass(frozen=True, slots=True)
class Measure:
    """What is computed: a name, its parameters and how deep it looks. Prints as it is written.

    `cutoff` None looks to the pool's depth. `own` divides by the engine's own list instead of the
    pool. `rel` is the lowest grade that counts as relevant, None for the scale's own rule. `dcg`
    says how grades become gains. `p` is RBP's persistence. Raises `InputError` for what doesn't exist.
    """

    name: str
    cutoff: int | None = None
    own: bool = False
    rel: int | None = None
    dcg: str = "log2"
    p: float = 0.8

    def __post_init__(self) -> None:
        if self.name not in MEASURE_KINDS:
            raise InputError(describe_unknown_measure(self.name))
        kind = MEASURE_KINDS[self.name]
        given = {"own": self.own, "rel": self.rel is not None, "dcg": self.dcg != "log2", "p": self.p != 0.8}
        for parameter in (name for name, is_given in given.items() if is_given):
            if parameter not in kind.parameters:
                raise InputError(describe_unknown_parameter(kind, parameter))
        self._check_cutoff(kind)
        self._check_values()

    def _check_cutoff(self, kind: MeasureKind) -> None:
        if self.cutoff is None and kind.cutoff == "needed":
            raise InputError(f"{self.name} needs a cutoff, e.g. {self.name}@10")
        if self.cutoff is not None and kind.cutoff == "none":
            raise InputError(f"{self.name} looks at the whole list and takes no cutoff; write {self.name}")
        if self.cutoff is not None and self.cutoff < 1:
            raise InputError(f"{self.name}@{self.cutoff}: a cutoff is a rank, 1 or more")

    def _check_values(self) -> None:
        if self.rel is not None and self.rel < 1:
            raise InputError(
                f"{self.name}(rel={self.rel}): rel is a grade, 1 or more; grade 0 is never relevant"
            )
        if self.dcg not in DCG_GAINS:
            raise InputError(
                f"{self.name}(dcg={self.dcg!r}): dcg is one of {', '.join(map(repr, DCG_GAINS))}"
            )
        if not 0 < self.p < 1:
            raise InputError(f"{self.name}(p={self.p}): p is a probability between 0 and 1, e.g. p=0.8")

    def __str__(self) -> str:
        parameters = [
            "own" if self.own else "",
            f"rel={self.rel}" if self.rel is not None else "",
            f"dcg={self.dcg!r}" if self.dcg != "log2" else "",
            f"p={self.p}" if self.name == "RBP" else "",
        ]
        inside = ",".join(filter(None, parameters))
        return (
            self.name
            + (f"({inside})" if inside else "")
            + (f"@{self.cutoff}" if self.cutoff is not None else "")
        )

    @property
    def export_name(self) -> str:
        """The name in letters, digits, `_`, `.` and `-`, for trackers such as MLflow: `nDCG_10`."""
        return re.sub(r"[^\w.-]+", "_", str(self)).strip("_")

    @property
    def pool_free(self) -> bool:
        """Whether the value stays the same when engines join or leave the pool."""
        return self.own or MEASURE_KINDS[self.name].pool_free

    @property
    def note(self) -> str:
        """What must stand beside every printed value; empty when engines can be compared by it."""
        if self.own:
            return _OWN_NOTE
        return _SETP_NOTE if self.name == "SetP" else ""

    @property
    def compares(self) -> bool:
        """Whether engines can be compared by it."""
        return not self.note and self.name != "Judged"

    def looks_at(self, depth: int) -> int:
        """How many ranks of lists that were judged down to `depth` the measure looks at."""
        return depth if self.cutoff is None else self.cutoff


def parse_measure(text: str) -> Measure:
    """The measure that `text` names, e.g. `nDCG@10`, `AP(own)@10`, `P(rel=2)@5`, `RBP(p=0.8)`.

    The case of the name doesn't matter. Raises `InputError` that lists what exists.
    """
    match = re.fullmatch(r"\s*(\w+)\s*(?:\(([^()]*)\))?\s*(?:@\s*(\S+?))?\s*", text)
    if match is None:
        raise InputError(f"{text!r} is not a measure; write NAME(parameter=value)@CUTOFF, e.g. nDCG@10")
    written, inside, cutoff = match.groups()
    name = next((name for name in MEASURE_KINDS if name.casefold() == written.casefold()), None)
    if name is None:
        raise InputError(describe_unknown_measure(written))
    if cutoff is not None and not re.fullmatch(r"-?[0-9]{1,9}", cutoff):
        raise InputError(f"{text!r}: the cutoff after @ is a whole number, not {cutoff!r}")
    arguments = _parse_arguments(MEASURE_KINDS[name], inside or "")
    return Measure(name, cutoff=None if cutoff is None else int(cutoff), **arguments)


def parse_measures(names: str | Iterable[str]) -> tuple[Measure, ...]:
    """The measures that `names` lists, each once; one text is split at spaces and commas.

    Raises `InputError` for an empty list or a measure that doesn't exist.
    """
    if isinstance(names, str):
        names = filter(None, re.split(r"[\s,;]+(?![^(]*\))", names.strip()))
    measures = tuple(dict.fromkeys(parse_measure(name) for name in names))
    if not measures:
        raise InputError(f"no measure is named; the defaults are {' '.join(DEFAULT_MEASURES)}")
    return measures


def default_measures(depth: int) -> tuple[Measure, ...]:
    """`DEFAULTS`, none looking deeper than a pool of `depth`."""
    deep = parse_measures(DEFAULT_MEASURES)
    return tuple(Measure(m.name, min(m.effective_cutoff(depth), depth)) for m in deep)


def check_depth(measures: Iterable[Measure], depth: int) -> None:
    """Raises `InputError` when a measure looks deeper than a pool that is judged down to `depth`."""
    for measure in measures:
        if measure.effective_cutoff(depth) > depth:
            raise InputError(
                f"{measure} looks deeper than --depth {depth}, down to which snippets are judged;"
                f" ask for @{depth} at most, or judge deeper"
            )


def list_measures() -> tuple[MeasureKind, ...]:
    """Every measure that exists, in the order to show them: syntax, meaning and source."""
    return tuple(MEASURE_KINDS.values())


def _parse_arguments(kind: MeasureKind, inside: str) -> dict[str, Any]:
    given: dict[str, Any] = {}
    for part in filter(None, (part.strip() for part in inside.split(","))):
        parameter, equals, value = (piece.strip() for piece in part.partition("="))
        if parameter not in kind.parameters:
            raise InputError(describe_unknown_parameter(kind, parameter))
        if parameter in given:
            raise InputError(f"{kind.name}({inside}): {parameter} is given twice")
        if bool(equals) == (parameter == "own"):
            raise InputError(f"{kind.name}({inside}): write {PARAMETER_EXAMPLES[parameter]}")
        given[parameter] = True if parameter == "own" else _parse_argument(kind, parameter, value)
    return given


def _parse_argument(kind: MeasureKind, parameter: str, text: str) -> int | float | str:
    number = {"rel": r"[0-9]{1,9}", "p": r"[0-9]*\.?[0-9]+(e-?[0-9]+)?"}.get(parameter)
    if number is None:
        return text.strip("'\"")
    if not re.fullmatch(number, text):
        raise InputError(
            f"{kind.name}({parameter}={text}): write a number, e.g. {PARAMETER_EXAMPLES[parameter]}"
        )
    return int(text) if parameter == "rel" else float(text)
