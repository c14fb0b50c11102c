"""Owns what GitHub Actions shows of a night: annotations at the run, and the step's summary.

The format of annotations is GitHub's "Workflow commands for GitHub Actions"; it reads at most ten of a
kind from a step.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from judge.nightly.notices import said
from judge.nightly.notices.said import plain

_MOST = 10
#: What a step's summary may hold is a mebibyte; a Chinese character takes three bytes.
_SUMMARY = 300_000


def present(environ: Mapping[str, str]) -> bool:
    """Whether this is a job of GitHub Actions."""
    return environ.get("GITHUB_ACTIONS") == "true"


def annotate(night: Mapping[str, Any]) -> list[str]:
    """The workflow commands that show what is wrong with the night: errors where nothing can be said."""
    drops = [("regression", "; ".join(map(said.decided, rows))) for rows in said.worst(night)]
    others = [(night["status"], reason) for reason in said.reasons(night)]
    return [*_commands("error", drops), *_commands("error" if night["exit"] == 3 else "warning", others)]


def quiet(line: str) -> str:
    """The line so that a runner takes nothing in it for a command: `##[` anywhere, `::` at its beginning."""
    return re.sub(r"^(\s*):(?=:)", r"\1: ", line.replace("##[", "# #["))


def _commands(level: str, told: list[tuple[str, str]]) -> Iterator[str]:
    for kind, text in told[:_MOST]:
        yield f"::{level} title={_property(f'judge: {kind}')}::{_data(plain(text))}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def summarise(markdown: str, environ: Mapping[str, str]) -> str:
    """Adds the Markdown to the step's summary; what went wrong, if something did."""
    name = environ.get("GITHUB_STEP_SUMMARY")
    if not name:
        return ""
    try:
        with Path(name).open("a", encoding="utf-8", newline="\n") as file:
            file.write(markdown[:_SUMMARY] + "\n")
    except OSError as error:
        return f"the step's summary could not be written: {error.strerror or error}"
    return ""


def job(environ: Mapping[str, str]) -> str:
    """The address of the job's page, empty when this is none."""
    names = ("GITHUB_SERVER_URL", "GITHUB_REPOSITORY", "GITHUB_RUN_ID")
    server, repository, run = (environ.get(name, "") for name in names)
    return f"{server}/{repository}/actions/runs/{run}" if server and repository and run else ""
