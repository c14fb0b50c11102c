"""Measures: the catalogue of those that exist, and measures as values that are parsed and printed.

A measure is a value: `parse_measure("ndcg@10")` prints as `nDCG@10` and serves as a key, a column name and
a command-line argument. The syntax is the one of ir_measures: `NAME(parameter=value, …)@CUTOFF`.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

from judge.errors import InputError
from judge.messages import Message, SeparatedNames
from judge.records import Scale


@dataclass(frozen=True, slots=True)
class MeasureParameter:
    """A parameter of measures, as `parse_measure` reads it: what it means, and the rule for its value."""

    example: str
    meaning: Message
    rule: Message


PARAMETERS = MappingProxyType({
    "own": MeasureParameter("own",
        Message("own: divide by the engine's own list; not for comparing engines"),
        Message("own is written without a value")),
    "granular": MeasureParameter("granular",
        Message("granular: the mean of 1 / rank over all relevant results; not for comparing engines"),
        Message("granular is written without a value")),
    "rel": MeasureParameter("rel=1",
        Message("rel=1: the lowest grade that counts as relevant (default: that of the run)"),
        Message("rel is a grade, 1 or more, e.g. rel=1; grade 0 is never relevant")),
    "dcg": MeasureParameter("dcg='exp-log2'",
        Message("dcg='exp-log2': the gain is 2^grade - 1 (default: the grade)"),
        Message("dcg is one of 'log2', 'exp-log2'")),
    "p": MeasureParameter("p=0.8",
        Message("p=0.8: the probability that the reader continues (default: 0.8)"),
        Message("p is a probability between 0 and 1, e.g. p=0.8")),
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class MeasureKind:
    """One entry of the catalogue of measures.

    `parameters` are allowed in the brackets; `gains` is None where grades do not count. The `divisor` is the
    ideal order of the pool, its relevant documents, `cutoff` results of the top grade, or the list's length.
    `source` names the paper or the trec_eval measure that defines it.
    """

    name: str
    cutoff: Literal["needed", "optional", "none"]
    parameters: tuple[str, ...]
    gains: Literal["grade", "relevance", "stop"] | None
    divisor: Literal["ideal", "relevant", "cutoff", "returned"] | None
    meaning: str
    source: str
    is_sum_over_ranks: bool = False

    @property
    def syntax(self) -> str:
        """The syntax of the measure, e.g. `AP[(own, rel=1)][@k]`."""
        parameters = ", ".join(PARAMETERS[name].example for name in self.parameters)
        cutoff = {"needed": "@k", "optional": "[@k]", "none": ""}[self.cutoff]
        return self.name + (f"[({parameters})]" if parameters else "") + cutoff


#: In display order.
_KINDS = (
    MeasureKind("nDCG", "optional", ("own", "dcg"), "grade", "ideal",
        "discounted gain, divided by that of the best list that the pool allows",
        "Järvelin & Kekäläinen 2002 (trec_eval ndcg_cut); exp-log2: Burges et al. 2005"),
    MeasureKind("AP", "optional", ("own", "rel"), "relevance", "relevant",
        "precision at each relevant result, summed, divided by the relevant documents of the pool; "
        "its mean over queries is MAP",
        "trec_eval map_cut"),
    MeasureKind("P", "needed", ("rel",), "relevance", "cutoff",
        "relevant results in the first k, divided by k",
        "trec_eval P", is_sum_over_ranks=True),
    MeasureKind("R", "optional", ("rel",), "relevance", "relevant",
        "relevant results in the first k, divided by the relevant documents of the pool",
        Message("trec_eval recall, relative to the pool")),
    MeasureKind("RR", "optional", ("granular", "rel"), "relevance", None,
        "1 / rank of the first relevant result, 0 without one; its mean is MRR",
        "Voorhees 1999 (trec_eval recip_rank); granular: LlamaIndex"),
    MeasureKind("Success", "needed", ("rel",), "relevance", None,
        "1 when a relevant result is in the first k, else 0; the hit rate",
        "trec_eval success"),
    MeasureKind("SetP", "none", ("rel",), "relevance", "returned",
        "relevant results, divided by the results returned; the relevancy score of RAG evaluation",
        "trec_eval set_P"),
    MeasureKind("sDCG", "needed", (), "grade", "cutoff",
        "discounted gain, divided by that of k results of the top grade: the one for trends",
        Message("Järvelin & Kekäläinen 2002, with a fixed ideal"), is_sum_over_ranks=True),
    MeasureKind("DCG", "needed", ("dcg",), "grade", None,
        "discounted gain: the gains divided by log2(1 + rank), summed",
        "Järvelin & Kekäläinen 2002; exp-log2: Burges et al. 2005", is_sum_over_ranks=True),
    MeasureKind("RBP", "optional", ("rel", "p"), "relevance", None,
        "expected rate of relevant results for a reader who continues with probability p",
        Message("Moffat & Zobel 2008 (trec_eval rbp, whose p is 0.9)"), is_sum_over_ranks=True),
    MeasureKind("ERR", "optional", (), "stop", None,
        "expected 1 / rank of the result that satisfies a reader who goes from top to bottom",
        "Chapelle et al. 2009"),
    MeasureKind("Judged", "needed", (), None, None,
        "share of the first k results, or of as many as there are, with a grade",
        Message("Judged@k of ir_measures")),
)  # fmt: skip
#: Every measure by its name.
MEASURE_KINDS = MappingProxyType({kind.name: kind for kind in _KINDS})

# Other names of measures in ir_measures; the first two are those of their means.
_ALIASES = {"map": "AP", "mrr": "RR", "precision": "P", "recall": "R"}

#: The measures of a run without `--measures`.
DEFAULT_MEASURES = ("nDCG@10", "AP@10", "P@5", "RR@10", "sDCG@10")


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure with its parameters and cutoff. `str` gives the text that `parse_measure` reads.

    With `cutoff` None it goes down to the depth of the pool. `own` divides by the engine's list instead of
    the pool, `granular` averages 1 / rank over all relevant results. `rel` is the lowest relevant grade, None
    for that of the scale. `dcg` is how grades become gains: with log2, the gain is the grade; with exp-log2,
    it is 2^grade - 1. `p` is the persistence of RBP.
    """

    name: str
    cutoff: int | None = None
    own: bool = False
    granular: bool = False
    rel: int | None = None
    dcg: str = "log2"
    p: float = 0.8

    def __str__(self) -> str:
        parameters = (
            ("own", self.own),
            ("granular", self.granular),
            (f"rel={self.rel}", self.rel is not None),
            (f"dcg={self.dcg!r}", self.dcg != "log2"),
            (f"p={self.p}", "p" in self.kind.parameters),
        )
        inside = ",".join(text for text, is_shown in parameters if is_shown)
        cutoff = "" if self.cutoff is None else f"@{self.cutoff}"
        return self.name + (f"({inside})" if inside else "") + cutoff

    @property
    def kind(self) -> MeasureKind:
        """The entry of the catalogue."""
        return MEASURE_KINDS[self.name]

    @property
    def export_name(self) -> str:
        """The name in letters, digits, `_`, `.` and `-`, for trackers such as MLflow: `nDCG_10`."""
        return re.sub(r"[^\w.-]+", "_", str(self)).strip("_")

    @property
    def pool_free(self) -> bool:
        """Whether the value stays the same as engines join or leave the pool."""
        return self.own or self.kind.divisor not in ("ideal", "relevant")

    @property
    def note(self) -> str:
        """Why engines must not be compared by it, to print beside its values; "" where there is no reason."""
        if self.own:
            return Message("order within the list only; not for comparing engines")
        if self.granular:
            return Message("one more relevant result can lower it; not for comparing engines")
        if self.kind.divisor == "returned":
            return Message(
                "divides by as many results as the engine chose to return; not for comparing engines"
            )
        return ""

    @property
    def compares_engines(self) -> bool:
        """Whether engines can be compared by the measure."""
        return not self.note and self.kind.gains is not None

    def choose_cutoff(self, depth: int) -> int:
        """Return the cutoff, or `depth` where the measure has none."""
        return depth if self.cutoff is None else self.cutoff

    def find_lowest_relevant(self, scale: Scale) -> int:
        """Return the lowest relevant grade; raise `InputError` when `rel` is above the top of `scale`."""
        if self.rel is not None and self.rel > scale.top:
            raise InputError(
                "{measure}: rel={relevant_from} is above {scale.top}, the top grade ({scale.name})",
                measure=self,
                relevant_from=self.rel,
                scale=scale,
            )
        return scale.relevant_from if self.rel is None else self.rel


def name_mean(measure: str) -> str:
    """Return the name of the mean of a measure: the mean of AP is MAP."""
    return f"MAP{measure[2:]}" if measure == "AP" or measure.startswith("AP@") else measure


def parse_measure(text: str) -> Measure:
    """Return the measure of a text such as `nDCG@10`, `mrr`, `P(rel=2)@5`; raise `InputError` for others."""
    match = re.fullmatch(r"\s*(\w+)\s*(?:\(([^()]*)\))?\s*(?:@\s*(\S+?))?\s*", text)
    if match is None:
        raise InputError(
            "{value!r} is not a measure; write NAME(parameter=value)@CUTOFF, e.g. nDCG@10", value=text
        )
    spelling, inside, cutoff = match.groups()
    name = _ALIASES.get(spelling.casefold(), spelling).casefold()
    kind = next((kind for kind in _KINDS if kind.name.casefold() == name), None)
    if kind is None:
        raise InputError(
            "there is no measure {name!r}; write one of {names}; judge measures explains them",
            name=spelling,
            names=SeparatedNames(MEASURE_KINDS),
        )
    if cutoff is None and kind.cutoff == "needed":
        raise InputError("{measure} needs a cutoff, e.g. {measure}@10", measure=kind.name)
    if cutoff is not None and kind.cutoff == "none":
        raise InputError(
            "{measure} reads the whole list and takes no cutoff; write {measure}", measure=kind.name
        )
    if cutoff is not None and not re.fullmatch(r"0*[1-9][0-9]{0,8}", cutoff):
        raise InputError(
            "{value!r}: a cutoff is a rank, 1 or more, not {cutoff!r}", value=text, cutoff=cutoff
        )
    arguments = _parse_arguments(kind, text, inside or "")
    return Measure(kind.name, None if cutoff is None else int(cutoff), **arguments)


def _parse_arguments(kind: MeasureKind, text: str, inside: str) -> dict[str, Any]:
    arguments: dict[str, Any] = {}
    for part in filter(None, map(str.strip, inside.split(","))):
        parameter, equals, value = (piece.strip() for piece in part.partition("="))
        if parameter not in kind.parameters:
            raise InputError(
                "{measure} has no parameter {parameter!r}; its parameters: {names} ({syntax})",
                measure=kind.name,
                parameter=parameter,
                names=SeparatedNames(kind.parameters) or Message("none"),
                syntax=kind.syntax,
            )
        if parameter in arguments:
            raise InputError("{value!r}: {parameter} is given twice", value=text, parameter=parameter)
        arguments[parameter] = _parse_argument(parameter, value if equals else None)
        if arguments[parameter] is None:
            raise InputError("{value!r}: {rule}", value=text, rule=PARAMETERS[parameter].rule)
    return arguments


def _parse_argument(parameter: str, value: str | None) -> bool | int | float | str | None:
    """Return the value of a parameter, None where it breaks the rule of the parameter."""
    if parameter in ("own", "granular"):
        return True if value is None else None
    text = value or ""
    if parameter == "rel":
        return int(text) if re.fullmatch(r"0*[1-9][0-9]{0,8}", text) else None
    if parameter == "dcg":
        gains = text.strip("'\"")
        return gains if gains in ("log2", "exp-log2") else None
    is_number = re.fullmatch(r"[0-9]*\.?[0-9]+(e-?[0-9]+)?", text)
    return float(text) if is_number and 0 < float(text) < 1 else None


def parse_measures(names: str | Iterable[str]) -> tuple[Measure, ...]:
    """Return the measures in `names`, without duplicates; a single text is split at spaces and commas.

    Raise `InputError` for an empty list or an unknown measure.
    """
    if isinstance(names, str):
        names = filter(None, re.split(r"[\s,;，；、]+(?![^(]*\))", names.strip()))
    measures = tuple(dict.fromkeys(map(parse_measure, names)))
    if not measures:
        raise InputError("no measure is named; the defaults are {names}", names=" ".join(DEFAULT_MEASURES))
    return measures


def list_default_measures(depth: int) -> tuple[Measure, ...]:
    """Return `DEFAULT_MEASURES`, with cutoffs of at most `depth`."""
    measures = map(parse_measure, DEFAULT_MEASURES)
    return tuple(Measure(measure.name, min(measure.choose_cutoff(depth), depth)) for measure in measures)


def check_depth(measures: Iterable[Measure], depth: int) -> None:
    """Raise `InputError` when the cutoff of a measure is deeper than a pool of `depth`."""
    for measure in measures:
        if measure.choose_cutoff(depth) > depth:
            raise InputError(
                "{measure} needs more ranks than are judged (--depth {depth}); use @{depth} at most, or judge"
                " more ranks",
                measure=measure,
                depth=depth,
            )


def resolve_measures(
    names: Iterable[str] | None, depth: int, scale: Scale | None = None
) -> tuple[Measure, ...]:
    """Return the measures called `names`, or the defaults for `depth`; one name may list several.

    Raises InputError for one that is unknown, looks deeper than `depth`, or has a `rel` above the `scale`.
    """
    measures = list_default_measures(depth) if names is None else parse_measures(", ".join(names))
    check_depth(measures, depth)
    if scale is not None:
        for measure in measures:
            measure.find_lowest_relevant(scale)  # raises for `rel` above the top
    return measures
