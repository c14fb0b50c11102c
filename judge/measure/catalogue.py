"""Owns the catalogue of measures: what exists, how it is written, what it means, who defined it."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

#: How each parameter is written.
PARAMETER_EXAMPLES = {"own": "own", "rel": "rel=1", "dcg": "dcg='exp-log2'", "p": "p=0.8"}


@dataclass(frozen=True, slots=True)
class MeasureKind:
    """One entry of the catalogue of measures.

    `parameters` may stand in the brackets; `pool_free` measures don't change when another engine
    joins the pool; `source` names the paper or the trec_eval measure that defines it.
    """

    name: str
    cutoff: Literal["needed", "optional", "none"]
    parameters: tuple[str, ...]
    pool_free: bool
    meaning: str
    source: str

    @property
    def syntax(self) -> str:
        """How the measure is written, e.g. `AP(own, rel=1)[@k]`."""
        shown = ", ".join(PARAMETER_EXAMPLES[parameter] for parameter in self.parameters)
        cutoff = {"needed": "@k", "optional": "[@k]", "none": ""}[self.cutoff]
        return self.name + (f"[({shown})]" if shown else "") + cutoff


#: Every measure by its name, in the order to show them.
MEASURE_KINDS = MappingProxyType(
    {
        kind.name: kind
        for kind in (
            MeasureKind(
                "nDCG",
                "optional",
                ("own", "dcg"),
                False,
                "discounted gain, divided by that of the best list that the pool allows",
                "Järvelin & Kekäläinen 2002 (trec_eval ndcg_cut); exp-log2: Burges et al. 2005",
            ),
            MeasureKind(
                "AP",
                "optional",
                ("own", "rel"),
                False,
                "precision at each relevant result, summed, divided by the relevant documents of the pool; "
                "its mean over queries is MAP",
                "trec_eval map_cut",
            ),
            MeasureKind(
                "P", "needed", ("rel",), True, "relevant results in the first k, divided by k", "trec_eval P"
            ),
            MeasureKind(
                "R",
                "optional",
                ("rel",),
                False,
                "relevant results in the first k, divided by the relevant documents of the pool",
                "trec_eval recall, relative to the pool",
            ),
            MeasureKind(
                "RR",
                "optional",
                ("rel",),
                True,
                "1 / rank of the first relevant result; its mean is MRR",
                "Voorhees 1999 (trec_eval recip_rank)",
            ),
            MeasureKind(
                "Success",
                "needed",
                ("rel",),
                True,
                "1 when a relevant result is in the first k, else 0; the hit rate",
                "trec_eval success",
            ),
            MeasureKind(
                "SetP",
                "none",
                ("rel",),
                True,
                "relevant results, divided by the results returned; the relevancy score of RAG evaluation",
                "trec_eval set_P",
            ),
            MeasureKind(
                "sDCG",
                "needed",
                (),
                True,
                "discounted gain, divided by that of k results of the top grade: the one for trends",
                "Järvelin & Kekäläinen 2002, with a fixed ideal",
            ),
            MeasureKind(
                "DCG",
                "needed",
                ("dcg",),
                True,
                "discounted gain: the gains divided by log2(1 + rank), summed",
                "Järvelin & Kekäläinen 2002; exp-log2: Burges et al. 2005",
            ),
            MeasureKind(
                "RBP",
                "optional",
                ("rel", "p"),
                True,
                "expected rate of relevant results for a reader who goes on with probability p",
                "Moffat & Zobel 2008 (trec_eval rbp, whose p is 0.9)",
            ),
            MeasureKind(
                "ERR",
                "optional",
                (),
                True,
                "expected 1 / rank of the result that satisfies a reader who goes from top to bottom",
                "Chapelle et al. 2009",
            ),
            MeasureKind(
                "Judged",
                "needed",
                (),
                True,
                "share of the first k results, or of as many as there are, with a grade",
                "Judged@k of ir_measures",
            ),
        )
    }
)

# What people type when they mean one of ours.
_SYNONYMS = {
    "map": "AP",
    "mrr": "RR",
    "precision": "P",
    "recall": "R",
    "hit": "Success",
    "hits": "Success",
    "hitrate": "Success",
    "contextprecision": "AP(own)",
    "contextualrelevancy": "SetP",
}


def describe_unknown_measure(name: str) -> str:
    """The message for a measure that doesn't exist: the nearest that does, and all that do."""
    known = _SYNONYMS.get(re.sub(r"[\W_]", "", name).casefold())
    folded = {kind.casefold(): kind for kind in MEASURE_KINDS}
    near = difflib.get_close_matches(name.casefold(), folded, n=1)
    guess = known or (folded[near[0]] if near else None)
    hint = f"did you mean {guess}? There" if guess else "there"
    everything = ", ".join(kind.syntax for kind in MEASURE_KINDS.values())
    return f"there is no measure {name!r}; {hint} are {everything}"


def describe_unknown_parameter(kind: MeasureKind, parameter: str) -> str:
    """The message for a parameter that the measure doesn't take: those it does."""
    known = ", ".join(kind.parameters) or "none"
    return f"{kind.name} has no parameter {parameter!r}; its parameters: {known} ({kind.syntax})"
