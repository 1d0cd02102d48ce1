"""The command line: each verb is one library call. Results go to standard output, everything else to standard error."""

from __future__ import annotations

import signal
import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line and exit: code 0 on success, 2 for the user's mistake, 130 for Ctrl-C, 1 for a defect."""
    try:
        from superproto.cli.exit_codes import run_command

        code = run_command(sys.argv[1:])
    except KeyboardInterrupt:
        code = 130
    # While Python shuts down, Ctrl-C ends the process at once and without a traceback.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(code)
