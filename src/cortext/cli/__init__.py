"""The command line: `main` is what the scripts call."""

from __future__ import annotations

import os
import sys

# What can wait in a pseudo-terminal: 12 to 20 KB on Linux 6, 64 KB on the oldest kernels.
_MOST_WAITING = 1 << 16


def main() -> int:
    """Run a command of `cortext`; the exit code says how it went."""
    return _run("cortext")[0]


def aur() -> int:
    """Run a command of `aur`."""
    return _run("aur")[0]


def cortext_script() -> int:
    """As `main`, in a process that has nothing else to do."""
    return _end(*_run("cortext"))


def aur_script() -> int:
    """As `aur`, in a process that has nothing else to do."""
    return _end(*_run("aur"))


def _end(code: int, light: bool) -> int:
    """End at once after what holds nothing: Python takes the thousands of rows of a list apart
    before it ends, one by one, for nobody."""
    if light:
        os._exit(code)
    return code


def _run(program: str) -> tuple[int, bool]:
    """The exit code, and whether the command was one that holds nothing when it is through."""
    done = _try(program)
    _be_read()
    return done


def _try(program: str) -> tuple[int, bool]:
    import gc

    from cortext.cli.quick import quick, quick_list, quick_search
    from cortext.cli.warnings import show_warnings

    # A command is short: looking for garbage again and again costs more than leaving it.
    gc.set_threshold(100_000)
    _settle_streams()
    show_warnings()
    try:
        code = quick_search(sys.argv[1:], program)
        if code is None and quick_list(sys.argv[1:], program):
            code = 0
        light = code is not None
        if code is None:
            code = 0 if quick(sys.argv[1:], program) else _parse_and_run(program)
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException as error:  # noqa: BLE001  a person gets a sentence for any of them
        if _reader_has_gone(error):
            return 0, False
        from cortext.cli.error_output import report

        return report(error), False
    return code, light


def _be_read() -> None:
    """See to it that all that was said is read.

    Gemini CLI gives us a terminal, and drops what waits in it at the moment when we end; no call
    tells us how much does. So that nothing of ours waits, as much as can wait is written after it,
    which no screen shows and Gemini CLI does not pass on.
    """
    if not (os.environ.get("GEMINI_CLI") and sys.stdout.isatty()):
        return
    if os.environ.get("CODEX_THREAD_ID"):  # one runs in the other, and Codex keeps each byte
        from cortext.tools.registry import find_tool
        from cortext.tools.tool_context import here

        inside = here()
        if inside and not find_tool(inside.tool).drops_pending_output:
            return
    try:
        sys.stdout.write("\r" * _MOST_WAITING)
        sys.stdout.flush()
    except OSError:
        return  # nobody reads any more


def _settle_streams() -> None:
    """Somewhere to read from and to write to, whatever is closed, and whatever the encoding cannot
    say."""
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115  until exit
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115  until exit
        elif stream.encoding.lower() != "utf-8":
            stream.reconfigure(errors="replace")


def _parse_and_run(program: str) -> int:
    if program == "aur":
        from cortext.cli.aur import aur as group
    else:
        from cortext.cli.command_group import cortext as group

    code = group.main(prog_name=program, standalone_mode=False)
    return code if isinstance(code, int) else 0


def _reader_has_gone(error: BaseException) -> bool:
    """As `head` does when it has enough: nothing more can be said, and nothing is wrong."""
    # click notices first, puts a quiet wrapper around stdout, and exits with 1.
    pacified = isinstance(error, SystemExit) and "Pacify" in type(sys.stdout).__name__
    if not (pacified or isinstance(error, BrokenPipeError)):
        return False
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return True
