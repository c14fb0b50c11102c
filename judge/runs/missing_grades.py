"""The errors about runs with no or too few grades: why they are missing, and the command that continues."""

import shlex
from contextlib import suppress
from pathlib import Path

from judge.analysis.failure_advice import advise_on_finished_run, count_missing_grades, describe_shortfall
from judge.analysis.summary import Summary
from judge.errors import InputError, RunIncomplete
from judge.messages import BilingualMessage, Message, NameList
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
    shortfall = describe_shortfall(summary, _read_config(run).options.min_coverage)
    if not summary.judgments or not (summary.stopped or shortfall):
        return None
    reason = _explain(summary)
    if shortfall and reason:
        reason = Message("{name}: {value}", name=shortfall, value=reason)
    return RunIncomplete(
        "{run}: {reason}; {advice}", run=run, reason=reason or shortfall, advice=_advise(summary, run)
    )


def _explain(summary: Summary) -> Message | None:
    """Return why judgments have no grade, None where all have one."""
    if summary.stopped:
        return Message("the judging stopped: {reason}", reason=BilingualMessage(summary.stopped))
    missing = summary.judgments - summary.judged
    return NameList(count_missing_grades(missing, summary.failures)) if missing else None


def _advise(summary: Summary, run: Path | None) -> Message:
    """Return what a user can do to get the grades that are missing."""
    command = _name_command(run)
    if summary.stopped:
        return Message("the command of this folder is {command}", command=command)
    again = Message("run the command of this folder again ({command})", command=command)
    return advise_on_finished_run(summary, again)


def _name_command(run: Path | None) -> Message:
    """Return the command that continues the run in a folder, as far as config.json has it."""
    config = _read_config(run) if run else RecordedConfig()
    if not config.options_file and config.options.data and config.options.model:
        models = (config.options.model, *config.options.panel)
        model_options = (word for model in models for word in ("-m", model))
        words = ["judge", "run", config.options.data, *model_options, "--out", str(run)]
        return Message("{command} with its other options", command=shlex.join(words))
    return Message("judge run or judge nightly with its options")


def _read_config(run: Path) -> RecordedConfig:
    """Return the config.json of a run, an empty one where there is none that can be read."""
    with suppress(InputError):
        return read_config_if_there(RunFolder(run)) or RecordedConfig()
    return RecordedConfig()
