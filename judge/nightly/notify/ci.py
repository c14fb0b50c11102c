"""A night in continuous integration: JUnit XML, and annotations and the step summary of GitHub Actions.

Elements and attributes of the XML are those of Jenkins' junit-10.xsd. Annotations follow GitHub's "Workflow
commands for GitHub Actions", which shows at most ten of a kind per step.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from xml.etree import ElementTree as ET

from judge.messages import ENGLISH, Translator
from judge.nightly.notify.message import (
    describe_outcome,
    format_plain,
    other_reasons,
    regressions_by_engine,
)
from judge.nightly.record import EXIT_CODES, NightRecord, Verdict
from judge.report.display_text import fit_on_line

_ANNOTATIONS = 10
#: A step's summary may hold a mebibyte, and a Chinese character takes three bytes.
_SUMMARY_LENGTH = 300_000
#: The child element of the test case of an outcome.
_JUNIT_RESULTS: Mapping[Verdict, str] = {"regression": "failure", "incomplete": "error"}


def format_junit(record: NightRecord) -> str:
    """Return the night as JUnit XML: a test case for the night, and one for each engine and measure."""
    suite = ET.Element("testsuite", name=f"judge nightly {record.date}")
    suite.set("timestamp", f"{record.date}T00:00:00")
    status, why = record.status, "; ".join(map(format_plain, other_reasons(record))) or record.status
    result = "error" if EXIT_CODES[status] == 3 else "skipped" if status == "no baseline" else None
    _add_case(suite, ("judge.nightly", "night"), result, status, why)
    for outcome in record.outcomes:
        title = f"judge.nightly.{fit_on_line(outcome.engine)}", fit_on_line(outcome.measure)
        result, text = _JUNIT_RESULTS.get(outcome.verdict), format_plain(describe_outcome(outcome))
        _add_case(suite, title, result, outcome.verdict, text)
    suites = ET.Element("testsuites", name="judge nightly")
    suites.append(suite)
    for element in (suites, suite):
        element.set("tests", str(len(suite)))
        for attribute, tag in (("failures", "failure"), ("errors", "error")):
            element.set(attribute, str(len(suite.findall(f"testcase/{tag}"))))
    suite.set("skipped", str(len(suite.findall("testcase/skipped"))))
    ET.indent(suites)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(suites, encoding="unicode") + "\n"


def _add_case(suite: ET.Element, title: tuple[str, str], result: str | None, kind: str, why: str) -> None:
    case = ET.SubElement(suite, "testcase", classname=title[0], name=title[1], time="0")
    if result == "skipped":
        ET.SubElement(case, "skipped", message=why)
    elif result:
        ET.SubElement(case, result, type=kind, message=why).text = why


def is_github_actions(environ: Mapping[str, str]) -> bool:
    """Return whether this is a job of GitHub Actions."""
    return environ.get("GITHUB_ACTIONS") == "true"


def format_annotations(record: NightRecord, t: Translator = ENGLISH) -> list[str]:
    """Return the workflow commands that show what is wrong with the night."""
    drops = [
        (t("regression"), t("; ").join(describe_outcome(row, t) for row in rows))
        for rows in regressions_by_engine(record)
    ]
    others = [(t(record.status), reason) for reason in other_reasons(record, t)]
    return [*_commands("error", drops), *_commands("error" if record.exit == 3 else "warning", others)]


def escape_command(line: str) -> str:
    """Return the line so that a runner reads no command in it: `##[` anywhere, `::` at the beginning."""
    return re.sub(r"^(\s*):(?=:)", r"\1: ", line.replace("##[", "# #["))


def _commands(level: str, sentences: Sequence[tuple[str, str]]) -> Iterator[str]:
    for kind, text in sentences[:_ANNOTATIONS]:
        title = _escape_data(f"judge: {kind}").replace(":", "%3A").replace(",", "%2C")
        yield f"::{level} title={title}::{_escape_data(format_plain(text))}"


def _escape_data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def append_step_summary(markdown: str, environ: Mapping[str, str]) -> str:
    """Append the Markdown to the step's summary; return the error, empty without one."""
    path = environ.get("GITHUB_STEP_SUMMARY")
    if not path:
        return ""
    try:
        with Path(path).open("a", encoding="utf-8", newline="\n") as file:
            file.write(markdown[:_SUMMARY_LENGTH] + "\n")
    except OSError as error:
        return f"the step's summary could not be written: {error.strerror or error}"
    return ""


def job_url(environ: Mapping[str, str]) -> str:
    """Return the address of the job's page, empty outside of GitHub Actions."""
    names = ("GITHUB_SERVER_URL", "GITHUB_REPOSITORY", "GITHUB_RUN_ID")
    server, repository, run = (environ.get(name, "") for name in names)
    return f"{server}/{repository}/actions/runs/{run}" if server and repository and run else ""
