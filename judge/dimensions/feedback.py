"""User feedback on the results, beside the verdicts of the run. It makes no call, and changes no grade.

Feedback is not a label: a click says that a title looked promising, not that the page was relevant.
"""

from collections.abc import Mapping
from statistics import fmean

from judge.analysis.dimension_summary import DimensionResult, summarise_dimension
from judge.analysis.judged_run import JudgedRun
from judge.dataset.label_files import Feedback, FeedbackKind
from judge.dataset.labels import Label, match_labels
from judge.dimensions.dimension import DimensionOptions
from judge.errors import InputError
from judge.measure.agreement import measure_agreement
from judge.measure.grades_by_pair import compute_median_grades, pair_grades
from judge.messages import Message
from judge.records import BINARY, ListKey

_NAMES: Mapping[FeedbackKind, Message] = {"thumbs": Message("thumbs"), "clicks": Message("clicks")}


def measure_feedback(run: JudgedRun, options: DimensionOptions) -> DimensionResult:
    """Return the share of positive feedback in each list, and how often the verdict is the same."""
    values: dict[ListKey, dict[str, float | None]] = {key: {} for key in run.lists}
    feedback = options.feedback or Feedback({})
    remarks = [_measure_kind(run, kind, labels, values) for kind, labels in feedback.labels.items()]
    return summarise_dimension(values, run.dataset.engines, (*feedback.warnings, *remarks))


def _measure_kind(
    run: JudgedRun,
    kind: FeedbackKind,
    labels: tuple[Label, ...],
    values: Mapping[ListKey, dict[str, float | None]],
) -> Message:
    """Add the values of a kind of feedback to `values`; return how far the verdicts agree with it."""
    try:
        matched = match_labels(labels, run.dataset, run.pool)
    except InputError as error:
        return Message("{name}: {value}", name=_NAMES[kind], value=error.message)
    depth, relevant_from = run.pool.depth, run.spec.scale.relevant_from
    typical = compute_median_grades(run.judgments)
    for of_list, snippets in run.lists.items():
        keys = [(of_list[1], snippet.id) for snippet in snippets]
        labelled = [key for key in keys if key in matched.grades]
        same = [(typical[key] >= relevant_from) == matched.grades[key] for key in labelled if key in typical]
        values[of_list] |= {
            f"positive {kind}@{depth}": fmean(matched.grades[key] for key in labelled) if labelled else None,
            f"with {kind}@{depth}": len(labelled) / len(keys) if keys else None,
            f"agrees with {kind}@{depth}": fmean(same) if same else None,
        }
    agreement = measure_agreement(pair_grades(matched.grades, typical), BINARY, run.spec.scale)
    same_share, kappa = agreement.same_verdict.value, agreement.kappa_relevant.value
    return Message(
        "{kind}: judged pairs that have them: {agreement.pairs:,}, their queries: {agreement.queries:,}; the"
        " verdict of the run is the same on {same}, kappa {kappa}; about no result down to rank"
        " {depth}: {unmatched:,}",
        kind=_NAMES[kind],
        same="–" if same_share is None else f"{same_share:.1%}",
        kappa="–" if kappa is None else f"{kappa:.2f}",
        depth=depth,
        unmatched=len(matched.unmatched),
        agreement=agreement,
    )
