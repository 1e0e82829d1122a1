"""Sets up and uninstalls, each time in a process of its own that is killed at one moment.

    python killed_setup.py

reads lines `FOLDER VERB NUMBER`: a person's home and data are in the folder, NUMBER is which of
the changes to files the process does not live to make, 0 for none. It answers with how the process
ended. All is imported before the first.
"""

import os
import signal
import sys
import traceback
from collections.abc import Callable
from typing import Any

from msgspec.structs import force_setattr

from cortext.features.setup.tool_setup import carry_out, plan_setup, plan_uninstall
from cortext.tools.claude.command_files import ClaudeCommands
from cortext.tools.gemini.command_files import GeminiCommands
from cortext.tools.opencode.command_files import OpenCodeCommands
from cortext.tools.registry import CLAUDE, GEMINI

TOOLS = ("claude", "gemini", "opencode")
_CHANGES = ("os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.chmod", "os.link")
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT


def _in_an_earlier_form(file_text: Callable[..., str]) -> Callable[..., str]:
    def earlier(*given: Any) -> str:
        return f"{file_text(*given)}Old.\n"

    return earlier


def kill_at(number: int) -> None:
    """Have this process killed right before its next change to a file but `number`."""
    count = 0

    def hook(event: str, args: tuple[object, ...]) -> None:
        nonlocal count
        opens = event == "open" and isinstance(args[2], int) and args[2] & _WRITES
        if opens or event in _CHANGES:
            count += 1
            if count == number:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)


def act(verb: str) -> None:
    if verb == "uninstall":
        carry_out(plan_uninstall(TOOLS), anyway=True)
        return
    if verb == "earlier":  # as a release would that knew fewer events and had other texts
        for tool, event in ((CLAUDE, "Stop"), (GEMINI, "AfterAgent")):
            force_setattr(tool, "hook_events", (event,))
        for kind in (ClaudeCommands, GeminiCommands, OpenCodeCommands):
            kind.file_text = _in_an_earlier_form(kind.file_text)
    carry_out(plan_setup(TOOLS, plugin=True), anyway=True)


def child(folder: str, verb: str, number: str) -> None:
    """Never returns."""
    os.environ["HOME"] = os.path.join(folder, "home")
    os.environ["XDG_CONFIG_HOME"] = os.path.join(folder, "home", ".config")
    os.environ["XDG_DATA_HOME"] = os.path.join(folder, "data")
    # A kill takes nothing back that was written; a power cut is another matter.
    os.fsync = lambda fd: None
    kill_at(int(number))
    try:
        act(verb)
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def main() -> None:
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            child(*line.split())
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)


if __name__ == "__main__":
    main()
