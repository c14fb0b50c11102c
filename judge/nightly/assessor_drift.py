"""Assessor drift: fixed pairs (canaries) are graded every night and compared with the baseline's grades.

There are 64 canaries, half Chinese and half English, four per query, from a full answer to an unrelated
snippet. Some are between two grades on purpose: their grades change first.

Under the same assessor, the grades that a pair got tonight and at the baseline are exchangeable. So each
pair's grades are shuffled between both nights: repeats show how much each pair varies, and no model of flips
is needed. Grades of a model vary more from night to night than between the repeats of one night. So the
grades of a tolerated share of the pairs are moved by one in addition.

The canaries are judged in a run of their own, in the folder of the night and with a store of its own.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain, combinations
from pathlib import Path
from statistics import fmean

import numpy as np

from judge.analysis.summary import Summary
from judge.config.nightly import NightlyConfig
from judge.config.option_checks import list_options
from judge.config.option_record import INPUT, OTHER_DIMENSIONS
from judge.config.run import Config
from judge.errors import ASSESSOR_ERRORS
from judge.files.json_text import hash_parts
from judge.measure.numeric import SUM_ROUNDING, Floats
from judge.measure.resampling import SEED
from judge.messages import Message, NameList
from judge.nightly.record import CanaryResults, GradeComparison
from judge.runs.folder import RunFolder
from judge.runs.load import CONFIG_FILE, load_run, load_summary, read_config
from judge.runs.run_result import RunResult

#: The pairs, a dataset like any other; `expected` is the grade that their author would give.
CANARIES_FILE = Path(__file__).resolve().with_name("canaries.jsonl")
#: The folder of a canary run in that of a night or a baseline, and the store in it.
CANARIES_FOLDER = "canaries"
CANARY_STORE_FILE = "verdicts.sqlite"
_CANARY_RUN = re.compile(rf"{CANARIES_FOLDER}(-\d+)?")
#: What the canaries are compared with: the baseline, or the night's first canaries if there is no baseline.
AT_BASELINE, AT_FIRST_START = Message("at the baseline"), Message("at the first start of this night")
#: The grades of each (query id, snippet id), one per repeat, without those that failed.
Grades = Mapping[tuple[str, str], Sequence[int]]

_SHUFFLES = 4_000


@dataclass(frozen=True, slots=True)
class CanaryGrades:
    """The grades of one run of the canaries, the served model names, and counts.

    Of all `requested` judgments, `judged` have a grade; `unreadable` were answered without a verdict.
    """

    grades: Grades
    served: frozenset[str]
    requested: int
    judged: int
    unreadable: int

    def is_available(self, options: NightlyConfig) -> bool:
        """Return whether the assessor is available: at most `max_missing` requests had no answer."""
        return self.requested - self.judged - self.unreadable <= options.max_missing * self.requested


@dataclass(frozen=True, slots=True)
class CanaryCheck:
    """What this night's canaries show: the `last` run of them, and how it compares with the baseline.

    The `reasons` of the `results` are of any run of the night. So are the `summaries`, the last one first.
    `accepted` are new served model names that the options accept. `compares_with_baseline` says whether a
    canary has a grade both tonight and at the baseline.
    """

    last: RunResult
    summaries: tuple[Summary, ...]
    tonight: CanaryGrades
    results: CanaryResults
    accepted: tuple[str, ...]
    compares_with_baseline: bool


def make_canary_config(config: Config, repeats: int) -> Config:
    """Return the options of a canary run with the assessor of `config`.

    The options of the dataset and of other dimensions are for the night's dataset. How many canaries may
    lack a grade is in `CanaryGrades.is_available`.
    """
    groups, defaults = (INPUT, OTHER_DIMENSIONS), Config()
    of_dataset = [name for name, option in list_options(Config).items() if option.group in groups]
    return replace(
        config,
        **{name: getattr(defaults, name) for name in of_dataset} | {"data": str(CANARIES_FILE)},
        repeats=repeats,
        depth=max(config.depth, 4),  # a query has four canaries, and a smaller depth asks about some of them
        measures=None,
        min_coverage=0.0,
    )


def list_canary_runs(night: Path) -> list[Path]:
    """Return the folders of a night's canary runs in order; more than one when the night was resumed.

    Raises InputError when one is a symbolic link.
    """
    configs = night.glob(f"{CANARIES_FOLDER}*/{CONFIG_FILE}")
    folders = [file.parent for file in configs if _CANARY_RUN.fullmatch(file.parent.name)]
    for folder in folders:
        RunFolder(folder).check_no_link()
    return sorted(folders, key=lambda folder: (len(folder.name), folder.name))


def list_finished_canary_runs(night: Path) -> list[Path]:
    """Return the canary runs that ended: all but the last, and that one unless it was killed."""
    return [run for run in list_canary_runs(night) if (run / "results.json").exists()]


def load_canary_grades(folder: RunFolder) -> CanaryGrades:
    """Return the grades of the canary run in `folder`."""
    run = load_run(folder)
    grades: dict[tuple[str, str], list[int]] = {}
    for judgment in run.judgments:
        if judgment.grade is not None:
            grades.setdefault(judgment.key, []).append(judgment.grade)
    return CanaryGrades(
        grades,
        served=frozenset(judgment.served_model for judgment in run.judgments if judgment.served_model),
        requested=len(run.pool.pairs) * run.spec.repeats,
        judged=sum(map(len, grades.values())),
        unreadable=sum(judgment.error in ASSESSOR_ERRORS for judgment in run.judgments),
    )


def check_canaries(
    run: RunResult, at_baseline: CanaryGrades | None, options: NightlyConfig, *, has_same_settings: bool
) -> CanaryCheck:
    """Compare all canary runs of the night, of which `run` is the last, with the grades at the baseline.

    Where there are none, they are compared with those of the first run of the night. A run that was
    configured differently, before judge.toml was corrected, is of another assessor. `has_same_settings` tells
    whether the assessor has the settings of the baseline.
    """
    tonight, identity = load_canary_grades(RunFolder(run.folder)), read_config(RunFolder(run.folder)).identity
    folders = [RunFolder(path) for path in list_canary_runs(run.folder.parent) if path != run.folder]
    earlier_grades = [
        load_canary_grades(folder) for folder in folders if read_config(folder).identity == identity
    ]
    before = at_baseline or next(iter(earlier_grades), None)
    reasons: tuple[str, ...] = ()
    comparison, accepted = GradeComparison(), frozenset[str]()
    if before is not None:
        comparisons = [
            find_assessor_changes(
                grades,
                before,
                options,
                has_same_settings=has_same_settings,
                reference=AT_BASELINE if at_baseline else AT_FIRST_START,
            )
            for grades in (*earlier_grades, tonight)
        ]
        comparison, _ = comparisons[-1]
        reasons = tuple(dict.fromkeys(chain.from_iterable(changes for _, changes in comparisons)))
        accepted = tonight.served - before.served if before.served and not reasons else accepted
    return CanaryCheck(
        run,
        (run.summary, *map(load_summary, folders)),
        tonight,
        _summarise_canaries(run, tonight, comparison, reasons),
        tuple(sorted(accepted)),
        compares_with_baseline=at_baseline is not None and comparison.compared > 0,
    )


def find_assessor_changes(
    tonight: CanaryGrades,
    before: CanaryGrades,
    options: NightlyConfig,
    *,
    has_same_settings: bool = True,
    reference: Message = AT_BASELINE,
) -> tuple[GradeComparison, Sequence[str]]:
    """Return how the canaries of `tonight` and `before` compare, and why they have different assessors.

    `reference` says in messages where `before` is from. With other settings the assessor is another one under
    any name, so it does not help to accept the name.
    """
    comparison = compare_grades(tonight.grades, before.grades, options.max_flip_rate)
    moved = [*find_grade_drift(comparison, options, reference)]
    # The server answers, so far more replies without a verdict are of another assessor.
    share, share_before = (
        side.unreadable / side.requested if side.requested else 0.0 for side in (tonight, before)
    )
    if share - share_before > options.max_missing:
        moved.append(
            Message(
                "{count:,} of {replies:,} replies to the canaries have no verdict; {reference}:"
                " {count_before:,} of {replies_before:,}",
                reference=reference,
                count=tonight.unreadable,
                replies=tonight.judged + tonight.unreadable,
                count_before=before.unreadable,
                replies_before=before.judged + before.unreadable,
            )
        )
    # A name is accepted only where canaries were compared and show the same assessor.
    accepts = comparison.compared and not moved
    new = sorted(name for name in tonight.served - before.served if not (accepts and options.accepts(name)))
    if new and before.served:
        change = Message(
            "the served model changed: the server names {now} now, {before} {reference}",
            reference=reference,
            now=NameList(new),
            before=NameList(sorted(before.served)),
        )
        if accepts and has_same_settings:
            change = Message(
                "{change}; no canary shows another assessor: to accept the name, set accept_names = [{names}]"
                " in [nightly]",
                change=change,
                names=", ".join(f'"{name}"' for name in (*options.accept_names, *new)),
            )
        moved.insert(0, change)
    return comparison, moved


def compare_grades(tonight: Grades, before: Grades, max_flip_rate: float) -> GradeComparison:
    """Compare the canaries that have a grade on both nights.

    `max_flip_rate` is the share of pairs whose grade can move by one from night to night by chance.
    """
    shared = [pair for pair in sorted(tonight) if tonight[pair] and before.get(pair)]
    if not shared:
        return GradeComparison()
    now, then = ([np.array(grades[pair], float) for pair in shared] for grades in (tonight, before))
    moves = np.array([np.median(a) - np.median(b) for a, b in zip(now, then, strict=True)])
    up, down = int((moves >= 1).sum()), int((moves <= -1).sum())
    mean, baseline_mean = (float(np.mean([grades.mean() for grades in side])) for side in (now, then))
    p_changed, p_shift = _compute_p_values(now, then, max_flip_rate)
    return GradeComparison(
        compared=len(shared),
        baseline_mean=baseline_mean,
        shift=mean - baseline_mean,
        changed=up + down,
        up=up,
        down=down,
        unchanged=1 - (up + down) / len(shared),
        p_changed=p_changed,
        p_shift=p_shift,
    )


def find_grade_drift(
    comparison: GradeComparison, options: NightlyConfig, reference: Message
) -> Iterator[str]:
    """Yield why the grades are of another assessor; nothing when chance explains what changed.

    Two tests share `options.canary_alpha`: pairs changed more than their own variation and the tolerated
    share explain, or the mean of all pairs moved by `options.min_shift` or more.
    """
    p_changed, p_shift, shift = comparison.p_changed, comparison.p_shift, comparison.shift
    if p_changed is None or p_shift is None or shift is None:
        return
    level = options.canary_alpha / 2
    if p_changed < level:
        yield Message(
            "{grades.changed} of {grades.compared} canaries have another grade than {reference}"
            " ({grades.up} higher, {grades.down} lower)",
            reference=reference,
            grades=comparison,
        )
    if p_shift < level and abs(shift) >= options.min_shift:
        yield Message(
            "the assessor has become more generous: by {shift:.2f} grades over all canaries"
            if shift > 0
            else "the assessor has become stricter: by {shift:.2f} grades over all canaries",
            shift=abs(shift),
        )


def _compute_p_values(now: Sequence[Floats], then: Sequence[Floats], flip_rate: float) -> tuple[float, float]:
    """Return the p values of the sum of absolute changes over all pairs, and of the sum of changes.

    The change of a pair is the mean of its grades `now` less the mean of those `then`.
    """
    rng = np.random.default_rng(SEED)
    observed = np.zeros(2)
    shuffled = np.zeros((2, _SHUFFLES))
    for tonight, before in zip(now, then, strict=True):
        grades = np.concatenate([tonight, before])
        weights = np.repeat([1 / len(tonight), -1 / len(before)], [len(tonight), len(before)])
        move = grades @ weights
        moves = rng.permuted(np.broadcast_to(grades, (_SHUFFLES, len(grades))), axis=1) @ weights
        chance = rng.random(_SHUFFLES)
        moves += (chance < flip_rate / 2).astype(float) - (chance > 1 - flip_rate / 2)
        observed += abs(move), move
        shuffled += np.abs(moves), moves
    hits = (np.abs(shuffled) >= np.abs(observed)[:, None] - SUM_ROUNDING).sum(1)
    p_changed, p_shift = (1 + hits) / (1 + _SHUFFLES)
    return float(p_changed), float(p_shift)


def _summarise_canaries(
    run: RunResult, tonight: CanaryGrades, comparison: GradeComparison, reasons: tuple[str, ...]
) -> CanaryResults:
    """Return the results of this night's canaries as night.json holds them."""
    by_pair = tonight.grades.values()
    means = [fmean(grades) for grades in by_pair]
    differs = [one != other for grades in by_pair for one, other in combinations(grades, 2)]
    # The set of pairs identifies the canaries: another version of judge may have other ones.
    pair_keys = sorted(pair.key for pair in run.pool.pairs)
    return CanaryResults(
        id=hash_parts([part for pair in pair_keys for part in pair], 8),
        pairs=len(run.pool.pairs),
        repeats=run.summary.repeats,
        judged=tonight.judged,
        failed=tonight.requested - tonight.judged,
        mean_grade=fmean(means) if means else None,
        flips=fmean(differs) if differs else None,
        **asdict(comparison),
        drift=bool(reasons),
        reasons=reasons,
    )
