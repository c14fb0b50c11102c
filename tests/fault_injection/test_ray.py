"""`judge run --on ray` on a cluster of two nodes, one of which is killed in the middle of the run."""

import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.fault_injection.ray_nodes import RAY_SETTINGS
from tests.support.command_line import make_words, run_process
from tests.support.factories import delay_reply, make_rows, reply_with_grade, write_rows
from tests.support.fake_server import LoopbackServer
from tests.support.server_thread import reserve_unused_address

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed: uv sync --extra ray"),
]
QUERIES, ENGINES, RESULTS = 60, 2, 5
PAIRS = QUERIES * ENGINES * RESULTS
KEY = "sk-canary-5b1d9f"


@contextmanager
def start_ray_nodes() -> Iterator[subprocess.Popen[str]]:
    """Run the cluster of `ray_nodes` in a process of its own."""
    with subprocess.Popen(
        [sys.executable, "-m", "tests.fault_injection.ray_nodes"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2],
    ) as nodes:  # fmt: skip
        yield nodes


def test_a_killed_node_costs_neither_a_pair_nor_a_second_payment_for_an_answer(tmp_path: Path) -> None:
    data = write_rows(tmp_path / "data.jsonl", make_rows(QUERIES, ENGINES, RESULTS))
    with LoopbackServer(delay_reply(reply_with_grade, 0.2)) as server, start_ray_nodes() as nodes:
        assert nodes.stdin
        assert nodes.stdout
        words = (*make_words(data, server), "--concurrency", 8)
        alone = run_process(*words, "--out", tmp_path / "alone" / "run")
        assert alone.returncode == 0, alone.stderr
        before = len(server.requests)
        assert before == PAIRS
        address = nodes.stdout.readline().strip()
        assert address, "the cluster did not start"
        run = [*words, "--out", tmp_path / "ray" / "run", "--on", "ray", "--ray-address", address]
        with subprocess.Popen(
            [sys.executable, "-m", "judge", *map(str, run)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**os.environ, **RAY_SETTINGS, "OPENAI_API_KEY": KEY},
        ) as judge:  # fmt: skip
            while len(server.requests) - before < PAIRS // 3:
                assert judge.poll() is None, judge.stderr and judge.stderr.read()
                time.sleep(0.05)
            nodes.stdin.write("kill\n")
            nodes.stdin.flush()
            output, errors = judge.communicate(timeout=240)
        assert judge.returncode == 0, errors
        nodes.stdin.close()
        counts = Counter(each.prompt for each in server.requests[before:])
    for name in ("judgments.jsonl", "scores.csv", "qrels.txt"):
        assert (tmp_path / "ray/run" / name).read_bytes() == (tmp_path / "alone/run" / name).read_bytes()
    cost = json.loads((tmp_path / "ray/run/summary.json").read_text())["cost"]
    lost = cost["maybe_billed"]
    # The requests that the node had not answered are sent again; every answer is paid for once.
    assert 1 <= lost <= 8
    assert cost["calls"] == PAIRS + lost
    assert len(counts) == PAIRS
    assert PAIRS < counts.total() <= PAIRS + lost
    assert max(counts.values()) == 2
    assert KEY not in output + errors


def test_a_cluster_that_cannot_be_reached_ends_the_run(tmp_path: Path) -> None:
    data = write_rows(tmp_path / "data.jsonl", make_rows(2, 1, 1))
    with LoopbackServer(reply_with_grade) as server, reserve_unused_address() as closed:
        words = (*make_words(data, server), "--on", "ray", "--ray-address", closed)
        run = run_process(*words, "--out", tmp_path / "run")
        assert server.requests == []
    assert run.returncode == 3, run.stderr
    assert f"no connection to the Ray cluster at {closed}" in run.stderr
    assert "connection refused" in run.stderr.lower()
