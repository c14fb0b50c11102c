"""The environment of every test: only loopback sockets, no key from the developer's shell."""

import gc
import os
import signal
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# Byte code, which holds the rewritten assertions, more than halves the time of collecting and of each process
# that a test starts. Hypothesis, a plugin of pytest, is rewritten too.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

import pytest  # noqa: E402
from hypothesis import HealthCheck, settings  # noqa: E402

from tests.support.cases import count_examples  # noqa: E402

# As the command does: looking for garbage often costs a twentieth of the time.
gc.set_threshold(100_000)
# Workers share the cores: a second thread of numpy's linear algebra waits for its turn, and burns CPU time.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Clients load one certificate, which no server has: those of the system take 30 ms a client.
os.environ["SSL_CERT_FILE"] = str(Path(__file__).parent / "support" / "certificate.pem")
os.environ["SSL_CERT_DIR"] = str(Path(__file__).parent)
# The command sets this while it runs in the process of a test; DeepEval sends when that process ends.
os.environ["DEEPEVAL_TELEMETRY_OPT_OUT"] = "1"
# Messages are in English unless a test asks for Chinese, also on a machine with a Chinese locale.
os.environ["LC_ALL"] = "C.UTF-8"
os.environ.pop("LANGUAGE", None)
# Output has the width and the colours of no terminal unless a test sets them.
for _name in ("COLUMNS", "LINES", "FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
    os.environ.pop(_name, None)
# `nohup` and the background of a script ignore these signals; the processes that tests start would, too.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
# No test depends on the speed of the machine.
settings.register_profile(
    "any speed",
    deadline=None,
    max_examples=count_examples(30),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("any speed")


def pytest_collection_finish() -> None:
    """Leave what was made until now out of further garbage collections."""
    gc.freeze()


@pytest.fixture(autouse=True, scope="session")
def _only_loopback() -> Iterator[None]:
    """Refuses every connection that would leave the machine."""
    connect = socket.socket.connect
    connect_ex = socket.socket.connect_ex

    def check(address: Any) -> None:
        if isinstance(address, tuple) and address[0] not in ("127.0.0.1", "::1", "localhost"):
            raise PermissionError(f"a test tried to reach {address!r}; only loopback is allowed")

    class Guarded(socket.socket):
        def connect(self, address: Any, /) -> None:
            check(address)
            connect(self, address)

        def connect_ex(self, address: Any, /) -> int:
            check(address)
            return connect_ex(self, address)

    genuine = socket.socket
    socket.socket = Guarded  # type: ignore[misc]
    yield
    socket.socket = genuine  # type: ignore[misc]


@pytest.fixture(autouse=True, scope="session")
def _no_keys() -> None:
    """What happens to lie in the shell must neither be used nor change what a test sees.

    A test that runs as a job of GitHub Actions must not write into the job's own summary.
    """
    from judge.collect.registry import KNOWN

    engines = {name for engine in KNOWN.values() for name in (engine.key, engine.base_env)}
    for name in list(os.environ):
        if name in engines or name.endswith(("_API_KEY", "_BASE_URL")) or name.startswith("GITHUB_"):
            del os.environ[name]
