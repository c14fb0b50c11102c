"""The errors about runs with no or too few grades: why they are missing, and the command that continues."""

import shlex
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from judge.analysis.summary import Summary
from judge.errors import JUDGMENT_ERRORS, InputError, RunIncomplete
from judge.flags import TEXT_MISSING
from judge.messages import BilingualMessage, Message, NameList
from judge.records import MIN_COVERAGE
from judge.runs.folder import RunFolder
from judge.runs.load import RecordedConfig, read_config_if_there


def check_grades(place: str | Path, summary: Summary, run: Path | None) -> None:
    """Raise RunIncomplete when no judgment of the run at `place` has a grade: it says why, and what to do.

    The command that continues it is named as the folder `run` has it; None stands for several runs.
    """
    if not summary.judgments or summary.judged:
        return
    raise RunIncomplete(
        "{run}: no judgment has a grade (0 of {count:,}), so no engine has a value: {reason}; {advice}",
        run=place,
        count=summary.judgments,
        reason=_explain(summary),
        advice=_advise(summary, run),
    )


def explain_incomplete(run: Path, summary: Summary) -> RunIncomplete | None:
    """Return why the finished run in a folder is incomplete and what to do, None when it is complete.

    It is complete when the judging did not stop and the share of graded pairs is at least the --min-coverage
    that its config.json has, that of each member of a panel, too.
    """
    try:
        check_grades(run, summary, run)
    except RunIncomplete as error:
        return error
    config = _read_config(run)
    min_coverage = config.options.min_coverage if config else MIN_COVERAGE
    if summary.judgments and (summary.stopped or summary.coverage < min_coverage):
        return RunIncomplete(
            "{run}: {coverage:.2%} of the judgments have a grade, and --min-coverage is {min_coverage:.0%}:"
            " {reason}; {advice}",
            run=run,
            coverage=summary.coverage,
            min_coverage=min_coverage,
            reason=_explain(summary),
            advice=_advise(summary, run),
        )
    if member := summary.find_incomplete_member(min_coverage):
        return RunIncomplete(
            "{run}: {assessor} made {count:,} of {total:,} judgments, less than --min-coverage"
            " {min_coverage:.0%}; {advice}",
            run=run,
            assessor=member.name,
            count=member.judged,
            total=summary.judgments - summary.labelled,
            min_coverage=min_coverage,
            advice=_advise(summary, run),
        )
    return None


def _explain(summary: Summary) -> Message:
    """Return why judgments have no grade."""
    if summary.stopped:
        return Message("the judging stopped: {reason}", reason=BilingualMessage(summary.stopped))
    return NameList(count_missing_grades(summary.judgments - summary.judged, summary.failures))


def _advise(summary: Summary, run: Path | None) -> Message:
    """Return what a user can do to get the grades that are missing."""
    if summary.stopped:
        return Message("the command of this folder is {command}", command=_name_command(run))
    if {*summary.failures} == {TEXT_MISSING}:
        return Message(
            "add the missing texts to the dataset and judge it again; judge run needs another --out"
        )
    return Message("run the command of this folder again: {command}", command=_name_command(run))


def count_missing_grades(missing: int, failures: Mapping[str, int]) -> Iterator[Message]:
    """Yield each reason why `missing` judgments have no grade, with its number; `failures` are by kind."""
    for kind, count in failures.items():
        yield Message("{name} ({count:,})", name=JUDGMENT_ERRORS.get(kind, kind), count=count)
    if (waiting := missing - sum(failures.values())) > 0:
        yield Message("{name} ({count:,})", name=Message("not judged yet"), count=waiting)


def _name_command(run: Path | None) -> Message:
    """Return the command that continues the run in a folder, as far as config.json has it."""
    config = _read_config(run) if run else None
    if config and not config.options_file and config.options.data and config.options.model:
        models = (config.options.model, *config.options.panel)
        model_options = (word for model in models for word in ("-m", model))
        words = ["judge", "run", config.options.data, *model_options, "--out", str(run)]
        return Message("{command} with its other options", command=shlex.join(words))
    return Message("judge run or judge nightly with its options")


def _read_config(run: Path) -> RecordedConfig | None:
    """Return the config.json of a run, None where there is none that can be read."""
    with suppress(InputError):
        return read_config_if_there(RunFolder(run))
    return None
