"""The process of the command line: `python -m judge`, and the script `judge`."""

import gc
import os
import sys
from typing import NoReturn

from judge.cli.main import INTERRUPTED, main
from judge.config.environment import use_one_thread_for_matrices


def start() -> NoReturn:
    """Run the command that the process was started with, and end the process with its exit code."""
    # A run builds much and throws little away: looking for garbage often costs a tenth of its time.
    gc.set_threshold(100_000)
    use_one_thread_for_matrices()
    code = main()
    if code == INTERRUPTED:
        # A library's thread that still waits for a server must not keep a person waiting.
        os._exit(code)
    sys.exit(code)


if __name__ == "__main__":
    start()
