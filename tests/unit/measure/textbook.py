"""An independent oracle: the measures in plain Python, rank by rank, for fully judged datasets."""

import math
from collections.abc import Mapping, Sequence

from judge.measure.measures import Measure
from judge.records import Scale


def compute_by_textbook(
    measure: Measure,
    scale: Scale,
    lists: Sequence[Sequence[str]],
    grades: Mapping[str, int],
    at: int,
    depth: int,
) -> float | None:
    """The value for list `at` of one query's `lists`; results are written document/wording."""
    cutoff = measure.cutoff or depth
    own = list(lists[at])
    rel = measure.rel or scale.relevant_from

    def compute_gain(grade: int) -> float:
        if measure.name in ("nDCG", "DCG", "sDCG"):
            return 2**grade - 1 if measure.dcg == "exp-log2" else grade
        return (2**grade - 1) / 2**scale.top if measure.name == "ERR" else float(grade >= rel)

    gained = []
    for rank, name in enumerate(own):
        repeated = name.split("/")[0] in [other.split("/")[0] for other in own[:rank]]
        gained.append(0.0 if repeated else compute_gain(grades[name]))
    top = gained[:cutoff]
    if not (measure.own or measure.name in ("nDCG", "AP", "R")):
        return _compute_list_value(measure, top, cutoff, compute_gain(scale.top), len(own))
    pool = [own[:cutoff] if measure.name == "AP" else own] if measure.own else lists
    best: dict[str, float] = {}
    for name in (name for names in pool for name in names):
        document = name.split("/")[0]
        best[document] = max(best.get(document, 0.0), compute_gain(grades[name]))
    ideal = sorted(best.values(), reverse=True)
    divisor = _compute_dcg(ideal[:cutoff]) if measure.name == "nDCG" else sum(ideal)
    if divisor == 0:
        return 0.0 if measure.own else None
    return _compute_list_value(measure, top, cutoff, compute_gain(scale.top), len(own)) / divisor


def _compute_list_value(
    measure: Measure, top: Sequence[float], cutoff: int, best: float, returned: int
) -> float:
    hits = [rank for rank, gain in enumerate(top, start=1) if gain > 0]
    values = {
        "nDCG": _compute_dcg(top),
        "DCG": _compute_dcg(top),
        "sDCG": _compute_dcg(top) / _compute_dcg([best] * cutoff),
        "AP": sum((each + 1) / rank for each, rank in enumerate(hits)),
        "P": len(hits) / cutoff,
        "R": len(hits),
        "RR": 0.0
        if not hits
        else sum(1 / hit for hit in hits) / len(hits)
        if measure.granular
        else 1 / hits[0],
        "Success": float(bool(hits)),
        "SetP": len(hits) / returned if returned else 0.0,
        "RBP": (1 - measure.p) * sum(measure.p ** (rank - 1) for rank in hits),
        "ERR": _compute_err(top),
    }
    return values[measure.name]


def _compute_err(stops: Sequence[float]) -> float:
    still, total = 1.0, 0.0
    for rank, stop in enumerate(stops, start=1):
        total += still * stop / rank
        still *= 1 - stop
    return total


def _compute_dcg(gains: Sequence[float]) -> float:
    return sum(gain / math.log2(1 + rank) for rank, gain in enumerate(gains, start=1))
