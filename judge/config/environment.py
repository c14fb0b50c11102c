"""The environment variables of this process. No other module reads or sets them, but `judge.models.server`.

That module reads those of proxies, with the standard library.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

#: Keep DeepEval from reading .env files and from writing folders when judge itself imports it.
_DEEPEVAL_SETTINGS: Mapping[str, str] = {
    "DEEPEVAL_DISABLE_DOTENV": "1",
    "DEEPEVAL_DISABLE_LEGACY_KEYFILE": "1",
    "DEEPEVAL_FILE_SYSTEM": "READ_ONLY",
}
#: Keep Ray from sending usage statistics, and from copying the working folder to actors after `uv run`.
_RAY_SETTINGS: Mapping[str, str] = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0"}


def copy_environment() -> Mapping[str, str]:
    """Return a copy of the environment as it is now: keys and addresses of providers."""
    return dict(os.environ)


def disable_deepeval_telemetry() -> None:
    """Set the variable that DeepEval reads before it sends telemetry, unless the user has set it."""
    os.environ.setdefault("DEEPEVAL_TELEMETRY_OPT_OUT", "1")


def quiet_deepeval() -> None:
    """Set every variable that keeps DeepEval quiet when judge imports it, unless the user has set it."""
    disable_deepeval_telemetry()
    for name, value in _DEEPEVAL_SETTINGS.items():
        os.environ.setdefault(name, value)


def save_cpu_time() -> None:
    """Set what numpy's OpenBLAS and pydantic read when they are imported, unless the user has set it.

    The matrices of judge have few columns: further threads mostly wait, and take 2 to 3 times the CPU time.
    To find plugins, pydantic reads the metadata of every installed distribution.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")


def set_up_ray_in_environment(*, is_local: bool) -> None:
    """Set what Ray reads on import: no statistics; a cluster that `is_local` listens on this machine only."""
    os.environ.update(_RAY_SETTINGS)
    if is_local:
        # With 0, Ray uses 127.0.0.1 as the address of every node, on Linux too.
        os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"


@contextmanager
def replace_environment(environ: Mapping[str, str] | None) -> Iterator[None]:
    """Replace the process's environment by `environ` for a while, for libraries too; None changes nothing."""
    if environ is None:
        yield
        return
    before = dict(os.environ)
    os.environ.clear()
    os.environ.update(environ)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
