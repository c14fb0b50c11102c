"""A run connects to the configured server and to nobody else, whoever else is imported beside it."""

from __future__ import annotations

import pytest

from tests.fault_injection.egress import TALKERS, WIRES, addresses, can_trace, watched

SLOW = pytest.mark.slow
TRACED = pytest.mark.skipif(not can_trace(), reason="needs strace, and a system that lets it look")


@TRACED
@pytest.mark.parametrize(
    "wire", [pytest.param(each, marks=SLOW if each != "openai" else ()) for each in WIRES]
)
def test_a_run_reaches_its_server_and_nobody_else(wire: str) -> None:
    result = watched(wire)
    assert result.code == 0, result.output
    assert result.reached == {result.configured}


@TRACED
@pytest.mark.slow
@pytest.mark.parametrize("wire", WIRES)
def test_libraries_that_call_home_stay_quiet_beside_it(wire: str) -> None:
    for talker in TALKERS:
        pytest.importorskip(talker)
    result = watched(wire, TALKERS)
    assert result.code == 0, result.output
    assert result.reached == {result.configured}


FOUR = '{sa_family=AF_INET, sin_port=htons(443), sin_addr=inet_addr("1.2.3.4")}, 16)'
SIX = '{sa_family=AF_INET6, sin6_port=htons(80), sin6_flowinfo=htonl(0), inet_pton(AF_INET6, "::1", &a)}, 28)'


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (f"1 connect(3, {FOUR} = -1 EINPROGRESS", {"1.2.3.4:443"}),
        (f"1 connect(3, {SIX} = 0", {"::1:80"}),
        (f'1 sendto(5, "x", 1, 0, {FOUR} = 1', {"1.2.3.4:443"}),
        ('1 connect(3, {sa_family=AF_UNIX, sun_path="/run/nscd"}, 110) = -1', set()),
    ],
)
def test_an_address_would_be_seen(line: str, expected: set[str]) -> None:
    assert addresses(line) == expected
