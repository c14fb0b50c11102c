"""A run connects to the configured server only, whatever other libraries are imported."""

import pytest

from tests.fault_injection.egress import TELEMETRY_LIBRARIES, WIRES, can_trace, parse_addresses, trace_run

SLOW = pytest.mark.slow
TRACED = pytest.mark.skipif(not can_trace(), reason="needs strace, and a system that allows it")


@TRACED
@pytest.mark.parametrize(
    "wire", [pytest.param(each, marks=SLOW if each != "openai" else ()) for each in WIRES]
)
def test_a_run_connects_to_its_server_only(wire: str) -> None:
    result = trace_run(wire)
    assert result.code == 0, result.output
    assert result.addresses == {result.server_address}


@TRACED
@pytest.mark.slow
@pytest.mark.parametrize("wire", WIRES)
def test_libraries_with_telemetry_send_none_during_a_run(wire: str) -> None:
    for library in TELEMETRY_LIBRARIES:
        pytest.importorskip(library)
    result = trace_run(wire, TELEMETRY_LIBRARIES)
    assert result.code == 0, result.output
    assert result.addresses == {result.server_address}


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
def test_addresses_are_read_from_the_output_of_strace(line: str, expected: set[str]) -> None:
    assert parse_addresses(line) == expected
