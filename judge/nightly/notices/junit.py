"""Owns a night as JUnit XML, which continuous-integration servers show: one test case a row of the gate.

Elements and attributes are those that Jenkins' junit-10.xsd allows. A regression is a failure; what
could not be decided is an error.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from xml.etree import ElementTree as ET

from judge.nightly.history import EXITS
from judge.nightly.notices import said
from judge.nightly.notices.said import plain
from judge.report.display_text import one_line

Row = Mapping[str, Any]

#: What a verdict of the gate makes of its test case.
_ROWS = {"regression": "failure", "incomplete": "error"}


def junit(night: Row) -> str:
    """The night as an XML document."""
    suite = ET.Element("testsuite", name=f"judge nightly {night['date']}")
    suite.set("timestamp", f"{night['date']}T00:00:00")
    why = "; ".join(map(plain, said.reasons(night))) or night["status"]
    status = night["status"]
    of_night = "error" if EXITS[status] == 3 else "skipped" if status == "no baseline" else None
    _case(suite, "judge.nightly", "night", of_night, status, why)
    for row in (night["gate"] or {}).get("rows", ()):
        place = f"judge.nightly.{one_line(row['engine'])}"
        outcome, verdict = _ROWS.get(row["verdict"]), row["verdict"]
        _case(suite, place, one_line(row["measure"]), outcome, verdict, plain(said.decided(row)))
    suites = ET.Element("testsuites", name="judge nightly")
    suites.append(suite)
    for element in (suites, suite):
        element.set("tests", str(len(suite)))
        for attribute, tag in (("failures", "failure"), ("errors", "error")):
            element.set(attribute, str(len(suite.findall(f"testcase/{tag}"))))
    suite.set("skipped", str(len(suite.findall("testcase/skipped"))))
    ET.indent(suites)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(suites, encoding="unicode") + "\n"


def _case(suite: ET.Element, place: str, title: str, outcome: str | None, kind: str, why: str) -> None:
    case = ET.SubElement(suite, "testcase", classname=place, name=title, time="0")
    if outcome == "skipped":
        ET.SubElement(case, "skipped", message=why)
    elif outcome:
        ET.SubElement(case, outcome, type=kind, message=why).text = why
