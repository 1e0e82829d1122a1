"""The command line: `main` is what the scripts call."""

from __future__ import annotations

import os
import sys


def main() -> int:
    """Run a command; the exit code says how it went."""
    from cortext.cli.errors import report
    from cortext.cli.group import cortext

    try:
        code = cortext.main(prog_name="cortext", standalone_mode=False)
    except BrokenPipeError:
        # The reader has gone, as `head` does; say nothing, also not at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except BaseException as error:  # noqa: BLE001  report raises again what it does not know
        return report(error)
    return code if isinstance(code, int) else 0
