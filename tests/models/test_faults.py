"""What providers say when a call fails, and what it means to a run."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.errors import AccountRefused, CallError, Declined, Transient
from judge.models.faults import DETAIL_LENGTH, Fault, classify, mask, retry_after, shorten

SAID = [
    (
        429,
        "insufficient_quota",
        "You exceeded your current quota, please check your plan and billing details.",
        "quota",
    ),
    (
        429,
        "rate_limit_exceeded",
        "Limit 3/min. Add a payment method at /account/billing to raise it.",
        "rate_limit",
    ),
    (429, "Throttling.RateQuota", "Requests rate limit exceeded, please try again later.", "rate_limit"),
    (
        429,
        "Throttling.AllocationQuota",
        "Allocated quota exceeded, please increase your quota limit.",
        "rate_limit",
    ),
    (403, "AllocationQuota.FreeTierOnly", "The free tier of the model has been exhausted.", "quota"),
    (400, "Arrearage", "Access denied, please make sure your account is in good standing.", "quota"),
    (402, "invalid_request_error", "Insufficient Balance", "quota"),
    (401, "invalid_api_key", "Incorrect API key provided.", "auth"),
    (403, "AccessDenied.Unpurchased", "Access to model denied.", "auth"),
    (403, "model_not_found", "Project `p` does not have access to model `gpt-9`", "model_not_found"),
    (404, "", "The model `qwen2.5-none` does not exist.", "model_not_found"),
    (400, "Model.NotExist", "Model not exist.", "model_not_found"),
    (400, "InvalidParameter", "url error, please check url!", "model_not_found"),
    (404, "", "Not Found", "model_not_found"),
    (400, "context_length_exceeded", "This model's maximum context length is 8192 tokens.", "too_long"),
    (400, "InternalError.Algo.InvalidParameter", "Range of input length should be [1, 30720]", "too_long"),
    (413, "", "Request Entity Too Large", "too_long"),
    (400, "InvalidParameter", "Range of max_tokens should be [1, 8192]", "bad_parameter"),
    (400, "InvalidParameter", "parameter.enable_thinking must be set to false", "bad_parameter"),
    (400, "unsupported_value", "Unsupported value: 'temperature' does not support 0.", "bad_parameter"),
    (422, "", "Extra inputs are not permitted: seed", "bad_parameter"),
    (400, "invalid_parameter_error", "This model only support stream mode", "bad_parameter"),
    (400, "content_filter ResponsibleAIPolicyViolation", "The response was filtered.", "content_filter"),
    (400, "InternalError.Algo.DataInspectionFailed", "Output data may be bad.", "content_filter"),
    (400, "invalid_request_error", "messages[1] is empty", "bad_request"),
    (422, "", "could not be understood", "bad_request"),
    (500, "InternalError.Timeout", "An internal timeout occured.", "server_error"),
    (503, "", "no healthy upstream", "server_error"),
    (529, "overloaded_error", "Overloaded", "server_error"),
    (408, "RequestTimeOut", "Request timed out.", "server_error"),
    (200, "", "upstream timeout", "server_error"),
]
CLASSES: dict[str, type[CallError]] = {
    **dict.fromkeys(("rate_limit", "server_error"), Transient),
    **dict.fromkeys(("content_filter", "too_long", "bad_request"), Declined),
    **dict.fromkeys(("auth", "quota", "model_not_found", "bad_parameter"), AccountRefused),
}


@pytest.mark.parametrize(("status", "code", "message", "kind"), SAID)
def test_a_fault_is_what_the_server_says(status: int, code: str, message: str, kind: str) -> None:
    error = classify(Fault(status, code, message))
    assert (error.kind, type(error)) == (kind, CLASSES[kind])
    assert f"HTTP {status}" in str(error)


@pytest.mark.parametrize(
    "body", [None, "", "gone", b"\xff", [], {"error": None}, {"error": "gone"}, {"detail": ["x"]}]
)
def test_any_body_is_some_fault(body: object) -> None:
    assert classify(Fault.of(500, body, {})).kind == "server_error"


def test_a_success_takes_the_status_that_its_body_names() -> None:
    assert Fault.of(200, {"error": {"code": 429, "message": "slow down"}}, {}).status == 429
    assert Fault.of(200, {"status_code": 400, "code": "DataInspectionFailed"}, {}).status == 400
    assert Fault.of(500, {"error": {"code": 404}}, {}).status == 500


def test_only_what_may_pass_asks_to_wait() -> None:
    assert classify(Fault(429, headers={"Retry-After": "3"})).retry_after == 3.0
    assert classify(Fault(503, headers={"retry-after": "3"})).retry_after == 3.0
    assert classify(Fault(401, headers={"retry-after": "3"})).retry_after is None


def test_a_date_is_read_by_the_servers_clock() -> None:
    headers = {"Date": "Wed, 21 Oct 2015 07:28:00 GMT", "Retry-After": "Wed, 21 Oct 2015 07:28:20 GMT"}
    assert retry_after(headers) == 20.0
    assert retry_after({**headers, "Retry-After": "Wed, 21 Oct 2015 07:00:00 GMT"}) == 0.0


@pytest.mark.parametrize("offset", ["+9999", "+99999999", "-99999999999999999999", "-2359"])
@pytest.mark.parametrize("year", ["0001", "2015", "9999", "99999999999999999999"])
def test_a_date_from_nowhere_breaks_nothing(year: str, offset: str) -> None:
    seconds = retry_after({"retry-after": f"Fri, 31 Dec {year} 23:59:59 {offset}"})
    assert seconds is None or seconds >= 0


@given(st.text(max_size=40))
def test_no_header_breaks_the_reading(value: str) -> None:
    seconds = retry_after({"retry-after": value, "retry-after-ms": value})
    assert seconds is None or seconds >= 0


@pytest.mark.parametrize(
    "text",
    [
        "bad key sk-proj-abcdef123456",
        "Authorization: Bearer abc.def-123",
        "api_key=abcdef123456",
        "OPENAI_API_KEY: abcdef123456",
        "key sk-abc***xyz.",
        "known-only-to-us-abcdef",
    ],
)
def test_keys_are_masked(text: str) -> None:
    masked = mask(text, "known-only-to-us-abcdef", "")
    assert "***" in masked
    assert "abc" not in masked


def test_ordinary_words_are_not_masked() -> None:
    text = "The task-oriented model sk is a risk-averse bearer of news."
    assert mask(text) == "The task-oriented model sk is a risk-averse bearer of news."


@given(st.text(max_size=600))
def test_details_are_one_short_line(text: str) -> None:
    line = shorten(text)
    assert len(line) <= DETAIL_LENGTH
    assert len(line.splitlines()) <= 1
