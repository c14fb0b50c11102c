"""JUnit XML: what the common schema allows, a case a row of the regression test, whatever a name holds."""

import re
from xml.etree import ElementTree as ET

import pytest

from judge.messages import ENGLISH
from judge.nightly.night_texts import describe_regression_outcome
from judge.nightly.notifications import format_junit
from judge.nightly.record import RegressionOutcome
from tests.support.cases import check_each
from tests.unit.nightly.records import HOSTILE, make_night, make_regression, parse_record

#: What Jenkins' junit-10.xsd lets an element hold and say.
ALLOWED = {
    "testsuites": ({"testsuite"}, {"name", "time", "tests", "failures", "disabled", "errors"}),
    "testsuite": (
        {"testcase", "properties", "system-out", "system-err"},
        {"name", "tests", "failures", "errors", "skipped", "time", "timestamp", "hostname", "id", "package"},
    ),
    "testcase": (
        {"skipped", "error", "failure"},
        {"name", "assertions", "time", "classname", "status"},
    ),
    **dict.fromkeys(("error", "failure"), (set[str](), {"type", "message"})),
    "skipped": (set[str](), {"message"}),
}


def check_document(text: str) -> ET.Element:
    """The document, which only has what the schema knows, and counts what it holds."""
    root = ET.fromstring(text)  # noqa: S314 - our own
    for element in root.iter():
        children, attributes = ALLOWED[element.tag]
        assert {child.tag for child in element} <= children
        assert set(element.keys()) <= attributes
    (suite,) = root
    for element in (root, suite):
        assert element.get("tests") == str(len(root.findall(".//testcase")))
        assert element.get("failures") == str(len(root.findall(".//failure")))
        assert element.get("errors") == str(len(root.findall(".//error")))
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", suite.get("timestamp") or "")
    return root


@check_each("ends", [(-1.0, 1.0, False), (-13.6, 13.6, False), (-1.2, 1.6, True), (-0.1, 0.1, True)])
def test_an_interval_is_left_out_where_it_is_the_whole_range(ends: tuple[float, float, bool]) -> None:
    low, high, is_shown = ends
    outcome = RegressionOutcome("bing", "DCG@10", 40, 4.0, 4.2, 0.2, low, high, 0.2, 0.2, 0.3, outcome="fine")
    assert ("; 95%:" in describe_regression_outcome(outcome, ENGLISH)) == is_shown


def test_an_end_of_an_interval_keeps_its_side_of_0() -> None:
    outcome = RegressionOutcome(
        "bing", "AP@10", 40, 0.62, 0.61, -0.01, -0.0197, -0.0003, 0.001, 0.002, 0.005, outcome="regression"
    )
    assert "; 95%: -0.020 to -0.001)" in describe_regression_outcome(outcome, ENGLISH)


def test_junit_has_a_case_a_row_and_one_for_the_night() -> None:
    root = check_document(format_junit(parse_record(make_regression())))
    cases = [
        (case.get("classname"), case.get("name"), [child.tag for child in case])
        for case in root.iter("testcase")
    ]
    assert cases == [
        ("judge.nightly", "night", []),
        ("judge.nightly.bing", "AP@10", ["failure"]),
        ("judge.nightly.bing", "sDCG@10", ["failure"]),
        ("judge.nightly.baidu", "AP@10", []),
        ("judge.nightly.baidu", "sDCG@10", []),
    ]


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        ("fine", []),
        ("no baseline", ["skipped"]),
        ("assessor drift", ["error"]),
        ("incomplete", ["error"]),
        ("queries changed", ["error"]),
    ],
)
def test_junit_says_of_the_night_what_its_exit_code_says(status: str, outcome: list[str]) -> None:
    root = check_document(
        format_junit(
            parse_record(make_night("2026-05-02", status=status, regression_test=None, reasons=["why"]))
        )
    )
    assert [child.tag for case in root.iter("testcase") for child in case] == outcome


@check_each("name", HOSTILE)
def test_junit_is_xml_whatever_a_name_holds(name: str) -> None:
    record = make_regression()
    for each in record["regression_test"]["rows"]:
        each["engine"] = name
    cases = list(check_document(format_junit(parse_record(record))).iter("testcase"))
    assert len(cases) == 5
    if name.isprintable():
        assert cases[1].get("classname") == f"judge.nightly.{name}"
