"""Multiple imputation of the grades of unjudged pairs.

Every unjudged pair gets `IMPUTATIONS` grades, the same ones for all engines that returned the pair. With two
values for one pair, the difference of two engines would be biased. The value of a measure is its mean over
the completed pools (Rubin 1987, "Multiple imputation for nonresponse in surveys").

The grades come from judged pairs (donors) with a similar predicted grade: predictive mean matching (Little
1988, J. Business & Economic Statistics 6(3)). A linear regression predicts the grade from the mean grade of
the query, the number of engines that returned the pair, and the rank at each of them. Donors are the judged
pairs of the same query, each weighted by a normal kernel of the difference of the predictions. The judged
pairs of all queries together weigh `_WEIGHT_ALL`, which matters only where the query has no similar pair.
"""

import hashlib
import json
from collections.abc import Sequence

import numpy as np

from judge.measure.arrays import NO_GRADE, GradedLists, RankedLists
from judge.measure.measures import Measure
from judge.measure.numeric import Floats, Ints
from judge.measure.values import compute_values, mark_always_defined, split_blocks
from judge.records import PairKey, Scale

#: Number of grades for each unjudged pair.
IMPUTATIONS = 20

#: Bandwidths of the kernels over donors of the same query and of all, as shares of the top grade.
_BANDWIDTH_SAME_QUERY, _BANDWIDTH_ALL = 1 / 40, 1 / 20
#: Weight of all donors of all queries together; a donor of the same query weighs up to 1.
_WEIGHT_ALL = 0.1
#: Number of pairs with the overall mean grade that are added to the mean of each query.
_PRIOR_PAIRS = 0.5
#: Penalty on the squared slopes of the regression, which limits them where pairs are few.
_RIDGE_PENALTY = 5.0
#: Number of points from grade 0 to the top grade at which the donors of all queries are weighed.
_GRID_POINTS = 401


def impute_unjudged(graded_lists: GradedLists, scale: Scale) -> Ints:
    """Return the (unjudged pairs, `IMPUTATIONS`) grades, in the order of `RankedLists.unjudged_index`."""
    results = graded_lists.results
    engine, query, rank = np.nonzero(results.pair >= 0)
    discounts = np.zeros((len(results.snippet_ids), len(results.engines)))
    # A list can hold the same snippet twice.
    np.maximum.at(discounts, (results.pair[engine, query, rank], engine), 1 / np.log2(rank + 2))
    return impute_grades(results.list_pairs(), graded_lists.grades, discounts, scale.top)


def compute_imputed_values(
    measures: Sequence[Measure], lists: RankedLists, grades: Ints, scale: Scale
) -> Floats:
    """Return the (engines, pools, measures) means over the pools that `grades` complete.

    NaN where nothing judged in the pool is relevant and the measure needs it.
    """
    engines, pools, width = lists.grade.shape
    means = np.empty((engines, pools, len(measures)))
    for block in split_blocks(np.arange(pools), engines * width * IMPUTATIONS):
        completed = lists.select_pools(block).complete(grades)
        for index, measure in enumerate(measures):
            drawn = compute_values(measure, completed, scale).reshape(engines, block.size, IMPUTATIONS)
            means[:, block, index] = np.add.reduce(drawn, axis=-1) / IMPUTATIONS
    for index, measure in enumerate(measures):
        means[:, ~mark_always_defined(measure, lists, scale), index] = np.nan
    return means


def impute_grades(pairs: Sequence[PairKey], grades: Ints, discounts: Floats, top: int) -> Ints:
    """Return the (unjudged, `IMPUTATIONS`) grades for the cells of `grades` that are `NO_GRADE`, row by row.

    `grades` (pairs, repeats) are 0 to `top`, `pairs` their (query id, snippet id). `discounts` (pairs,
    engines) is larger the higher an engine ranked the pair, and 0 where it did not return the pair.
    Each repeat is imputed from its own grades. Where a repeat has no grade at all, every grade is equally
    likely.

    The draws of a pair are a systematic sample of its donors in random order, so their mean is unbiased. The
    random numbers are a hash of the pair. So they depend neither on the order of the input nor on other
    unjudged pairs, and repeats differ only where their grades do.
    """
    numbers: dict[str, int] = {}
    query = np.array([numbers.setdefault(query_id, len(numbers)) for query_id, _ in pairs], dtype=np.int64)
    probabilities = np.empty((*grades.shape, top + 1))
    for column in range(grades.shape[1]):
        probabilities[:, column] = compute_grade_probabilities(query, grades[:, column], discounts, top)
    unjudged = grades == NO_GRADE
    return _draw_grades(probabilities[unjudged], [pairs[row] for row in np.nonzero(unjudged)[0].tolist()])


def compute_grade_probabilities(query: Ints, grade: Ints, discounts: Floats, top: int) -> Floats:
    """Return the (pairs, top + 1) probabilities of each grade: the share of its donors' weights.

    `query` (pairs,) numbers the query of each pair; `grade` (pairs,) is `NO_GRADE` where there is none.
    Rows of judged pairs are 0.
    """
    probabilities = np.zeros((grade.size, top + 1))
    missing, donors = np.flatnonzero(grade == NO_GRADE), np.flatnonzero(grade != NO_GRADE)
    if not missing.size:
        return probabilities
    if not donors.size:
        probabilities[missing] = 1 / (top + 1)
        return probabilities
    within, between = (np.clip(predicted, 0, top) for predicted in _predict_grades(query, grade, discounts))
    weights = _weigh_same_query(query, grade, within, top)
    of_all_queries = _weigh_all_queries(grade, between, top)
    weights[missing] += _WEIGHT_ALL * of_all_queries / of_all_queries.sum(1, keepdims=True)
    probabilities[missing] = weights[missing] / weights[missing].sum(1, keepdims=True)
    return probabilities


def _predict_grades(query: Ints, grade: Ints, discounts: Floats) -> tuple[Floats, Floats]:
    """Return two (pairs,) predictions: for comparing pairs within one query, and between queries.

    They differ in the mean of the query: for pairs of different queries it leaves out the grade of the pair
    itself. The ridge penalty keeps the regression defined where pairs are few.
    """
    judged = grade != NO_GRADE
    given = np.where(judged, grade, 0).astype(np.float64)
    overall = given.sum() / judged.sum()
    totals, counts = np.bincount(query, given)[query], np.bincount(query, judged)[query]
    with_own = (totals + _PRIOR_PAIRS * overall) / (counts + _PRIOR_PAIRS)
    others = (totals - given + _PRIOR_PAIRS * overall) / (counts - judged + _PRIOR_PAIRS)
    height = discounts.sum(1)
    rows = np.column_stack([others, height * others, (discounts > 0).sum(1), height, height**2, discounts])
    rows -= rows[judged].mean(0)
    fitted = rows[judged]
    slopes = np.linalg.solve(
        fitted.T @ fitted + _RIDGE_PENALTY * np.eye(fitted.shape[1]), fitted.T @ (given[judged] - overall)
    )
    between: Floats = overall + rows @ slopes
    # Only the first two columns depend on the mean of the query.
    within: Floats = between + (with_own - others) * (slopes[0] + slopes[1] * height)
    return within, between


def _weigh_same_query(query: Ints, grade: Ints, predicted: Floats, top: int) -> Floats:
    """Return the (pairs, top + 1) weights of the donors of the same query with each grade."""
    weights = np.zeros((grade.size, top + 1))
    missing, donors = np.flatnonzero(grade == NO_GRADE), np.flatnonzero(grade != NO_GRADE)
    donors = donors[np.argsort(query[donors], kind="stable")]
    counts = np.bincount(query[donors], minlength=int(query.max()) + 1)
    starts = np.cumsum(counts) - counts
    for block in split_blocks(missing, int(counts.max())):
        number = counts[query[block]]
        pair = np.repeat(np.arange(block.size), number)
        offset = np.arange(pair.size) - np.repeat(np.cumsum(number) - number, number)
        donor = donors[starts[query[block]][pair] + offset]
        difference = predicted[donor] - predicted[block][pair]
        kernel = _compute_normal_kernel(difference, top * _BANDWIDTH_SAME_QUERY)
        cells = np.bincount(pair * (top + 1) + grade[donor], kernel, minlength=block.size * (top + 1))
        weights[block] = cells.reshape(-1, top + 1)
    return weights


def _weigh_all_queries(grade: Ints, predicted: Floats, top: int) -> Floats:
    """Return the (unjudged, top + 1) weights of all donors with each grade; predictions are rounded."""
    point = np.rint(predicted / top * (_GRID_POINTS - 1)).astype(np.int64)
    judged = grade != NO_GRADE
    cells = np.bincount(point[judged] * (top + 1) + grade[judged], minlength=_GRID_POINTS * (top + 1))
    points = np.arange(_GRID_POINTS)
    kernel = _compute_normal_kernel(points / (_GRID_POINTS - 1), _BANDWIDTH_ALL)
    by_point = kernel[np.abs(points[:, None] - points)] @ cells.reshape(_GRID_POINTS, top + 1)
    weights: Floats = by_point[point[~judged]]
    return weights


def _compute_normal_kernel(difference: Floats, bandwidth: float) -> Floats:
    return np.exp(-0.5 * np.square(difference / bandwidth))


def _draw_grades(probabilities: Floats, pairs: Sequence[PairKey]) -> Ints:
    """Return (pairs, m) grades at (u + i) / m of cumulated probabilities, shuffled; m is `IMPUTATIONS`."""
    # The 1 at the end of a key keeps the draws equal to those of earlier versions.
    keys = (json.dumps([*pair, 1]).encode() for pair in pairs)
    bits = b"".join(hashlib.shake_256(key).digest(8 * (IMPUTATIONS + 1)) for key in keys)
    random = np.frombuffer(bits, dtype="<u8").reshape(-1, IMPUTATIONS + 1)
    start = random[:, :1] / 2.0**64
    order = random[:, 1:].argsort(axis=1, kind="stable")
    # The last grade takes what rounding leaves.
    steps = probabilities.cumsum(1)[:, None, :-1]
    grades: Ints = ((start + order)[:, :, None] / IMPUTATIONS >= steps).sum(-1)
    return grades
