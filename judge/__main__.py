"""The process of the command line: `python -m judge`, and the script `judge`."""

import gc
import os
import sys
from signal import SIGINT
from typing import NoReturn


def start() -> NoReturn:
    """Run the command that the process was started with, and end the process with its exit code."""
    try:
        # A run builds much and throws little away: looking for garbage often costs a tenth of its time. What
        # is imported for a run has fewer objects than this.
        gc.set_threshold(200_000)

        # Ctrl-C may come while these are imported.
        from judge.cli.main import main
        from judge.config.environment import save_cpu_time

        save_cpu_time()
        code = main()
    except KeyboardInterrupt:
        code = 128 + SIGINT
    if code == 128 + SIGINT:
        # A library's thread that still waits for a server must not keep a person waiting.
        os._exit(code)
    # At its end, Python looks for garbage several times, among all that is imported: up to 0.1 s.
    gc.freeze()
    sys.exit(code)


if __name__ == "__main__":
    start()
