"""The entry points of the programs `cortext` and `aur`."""

from __future__ import annotations

import os
import sys

import click

from cortext.cli.command_group import aur, cortext
from cortext.cli.error_output import report
from cortext.cli.log_warnings import show_warnings

# The most bytes that can wait in a pseudo-terminal: 12 to 20 KB on Linux 6, 64 KB on old kernels.
_TERMINAL_BUFFER = 1 << 16


def main() -> int:
    """Run a `cortext` command and return its exit code."""
    return _run(cortext, "cortext")


def aur_main() -> int:
    """Run an `aur` command and return its exit code."""
    return _run(aur, "aur")


def _run(group: click.Group, program: str) -> int:
    _replace_unusable_streams()
    show_warnings()
    code = _run_command(group, program)
    _push_output_through_gemini()
    return code


def _run_command(group: click.Group, program: str) -> int:
    try:
        code = group.main(prog_name=program, standalone_mode=False)
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException as error:  # noqa: BLE001  every error becomes a sentence and an exit code
        return 0 if _is_closed_pipe(error) else report(error)
    return code if isinstance(code, int) else 0


def _push_output_through_gemini() -> None:
    """Make sure that Gemini CLI reads all output before this process ends.

    Gemini CLI runs this process in a pseudo-terminal. When the process ends, Gemini CLI loses the
    output that it has not read yet. Therefore this function writes as many carriage returns as the
    terminal can hold. They fit only after Gemini CLI has read the real output. Gemini CLI removes
    the carriage returns.
    """
    if not (os.environ.get("GEMINI_CLI") and sys.stdout.isatty()):
        return
    # If Gemini CLI and Codex are nested, the inner tool reads the output. Only Gemini CLI loses it.
    if os.environ.get("CODEX_THREAD_ID"):
        # Import here, because no command needs these modules when it starts.
        from cortext.tools.registry import find_tool
        from cortext.tools.surrounding_session import here

        surrounding = here()
        if surrounding and not find_tool(surrounding.tool).drops_pending_output:
            return
    try:
        sys.stdout.write("\r" * _TERMINAL_BUFFER)
        sys.stdout.flush()
    except OSError:
        return  # the terminal is closed


def _replace_unusable_streams() -> None:
    """Make stdin, stdout and stderr safe to use.

    Replace a closed stream by the null device. Let stdout and stderr print `?` for a character that
    their encoding lacks.
    """
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115  until exit
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115  until exit
        elif stream.encoding.lower() != "utf-8":
            stream.reconfigure(errors="replace")


def _is_closed_pipe(error: BaseException) -> bool:
    """Return whether an error occurred because the reader of stdout, such as `head`, has ended.

    In that case, also redirect stdout to the null device, so that no further error follows.
    """
    # click notices the closed pipe first, wraps stdout in a silent object, and exits with 1.
    pacified = isinstance(error, SystemExit) and "Pacify" in type(sys.stdout).__name__
    if not (pacified or isinstance(error, BrokenPipeError)):
        return False
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return True
