"""The process of the command line: `python -m judge`, and the script `judge`."""

import gc
import os
import sys
from signal import SIG_DFL, SIGINT, signal
from typing import NoReturn


def start() -> NoReturn:
    """Run the command that the process was started with, and end the process with its exit code."""
    has_begun = False
    try:
        # A run builds much and throws little away: looking for garbage often costs a tenth of its time. What
        # is imported for a run has fewer objects than this.
        gc.set_threshold(200_000)

        # Ctrl-C may come while these are imported.
        from judge.cli.main import main
        from judge.config.environment import save_cpu_time

        save_cpu_time()
        has_begun = True
        code = main()
    except KeyboardInterrupt:
        signal(SIGINT, SIG_DFL)
        code = 128 + SIGINT
        if not has_begun:
            from judge.cli.terminal import print_error, use_locale_language
            from judge.config.environment import copy_environment
            from judge.errors import Interrupted

            with use_locale_language(copy_environment()):
                print_error(Interrupted("interrupted; nothing was sent"))
    if code == 128 + SIGINT:
        # A library's thread that still waits for a server must not keep a person waiting.
        os._exit(code)
    # At its end, Python looks for garbage several times, among all that is imported: up to 0.1 s.
    gc.freeze()
    sys.exit(code)


if __name__ == "__main__":
    start()
