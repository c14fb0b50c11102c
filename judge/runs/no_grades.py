"""The error about runs without a grade: why there is none, and the command that continues."""

import shlex
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from judge.errors import JUDGMENT_ERRORS, InputError, RunIncomplete
from judge.flags import TEXT_MISSING
from judge.messages import BilingualMessage, Message, NameList
from judge.runs.folder import RunFolder
from judge.runs.load import read_config_if_there


def explain_no_grades(
    place: str | Path,
    judgments: int,
    failures: Mapping[str, int],
    stopped: Mapping[str, str],
    run: Path | None,
) -> RunIncomplete:
    """Return the error that none of the `judgments` of the run at `place` has a grade: why, and what to do.

    `failures` counts its failed judgments by kind, and `stopped` is that of its `RunSpec`. The command that
    continues it is named as the folder `run` has it; None stands for several runs.
    """
    reason: Message = NameList(count_missing_grades(judgments, failures))
    if stopped:
        reason = Message("the judging stopped: {reason}", reason=BilingualMessage(stopped))
        advice = Message("the command of this folder is {command}", command=_name_command(run))
    elif {*failures} == {TEXT_MISSING}:
        advice = Message(
            "add the missing texts to the dataset and judge it again; judge run needs another --out"
        )
    else:
        advice = Message("run the command of this folder again: {command}", command=_name_command(run))
    return RunIncomplete(
        "{run}: no judgment has a grade (0 of {count:,}), so no engine has a value: {reason}; {advice}",
        run=place,
        count=judgments,
        reason=reason,
        advice=advice,
    )


def count_missing_grades(missing: int, failures: Mapping[str, int]) -> Iterator[Message]:
    """Yield each reason why `missing` judgments have no grade, with its number; `failures` are by kind."""
    for kind, count in failures.items():
        yield Message("{name} ({count:,})", name=JUDGMENT_ERRORS.get(kind, kind), count=count)
    if (waiting := missing - sum(failures.values())) > 0:
        yield Message("{name} ({count:,})", name=Message("not judged yet"), count=waiting)


def _name_command(run: Path | None) -> Message:
    """Return the command that continues the run in a folder, as far as config.json has it."""
    config = None
    with suppress(InputError):
        config = read_config_if_there(RunFolder(run)) if run else None
    if config and not config.options_file and config.options.data and config.options.model:
        models = (config.options.model, *config.options.panel)
        named = (word for model in models for word in ("-m", model))
        words = ["judge", "run", config.options.data, *named, "--out", str(run)]
        return Message("{command} with its other options", command=shlex.join(words))
    return Message("judge run or judge nightly with its options")
