"""Ask a question about an old conversation.

An AI tool answers the question in a copy of the conversation. The model may not run commands or
change files.
"""

from __future__ import annotations

import logging
import os
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

import msgspec

from cortext import paths
from cortext.catalog.row import ConversationRow
from cortext.durability.durable_files import make_private_dir, remove_if_there, storage_errors
from cortext.durability.read_files import read_first_line
from cortext.errors import CortextError, reason_of
from cortext.features.archive.archive_sync import skip_session
from cortext.features.capture.capture import capture
from cortext.features.resume.resumable_tool_sessions import find_native_session
from cortext.features.resume.resume_preparation import folder_for, write_copy
from cortext.features.spawn.agent_process import Talk
from cortext.tools.launch_plans import (
    LaunchPlan,
    ask_plan,
    delete_plan,
    launcher_of,
    require,
)
from cortext.tools.writer_protocol import Written

log: logging.Logger = logging.getLogger("cortext.features")
_TIMEOUT = 900.0
_END_SIGNALS = (signal.SIGTERM, signal.SIGHUP)
_Handler = Callable[[int, FrameType | None], object] | signal.Handlers
_MAX_ERROR = 2000  # characters of an AI tool's error output that are shown


class AskResult(msgspec.Struct, frozen=True):
    """The answer of the AI tool, and notes for the user.

    For example, a note says that the tool ran in another folder than the conversation.
    """

    text: str
    notes: list[str]


def require_question(text: str) -> None:
    """Raise CortextError if the question is empty."""
    if not text.strip():
        raise CortextError("the question is empty", hint="`cortext ask ID 'Why did we do that?'`")


def ask(
    row: ConversationRow, question: str, tool: str, *, budget: int, extra: Sequence[str] = ()
) -> AskResult:
    """Return the answer of an AI tool to a question about a conversation.

    New messages are captured first. The question and its answer are not stored, and the model
    cannot change files. If cortext must write a copy of the conversation for the tool, `budget`
    limits the copy to a number of characters. `extra` holds more command line arguments for the
    tool. Raises CortextError if the tool fails.
    """
    require(tool)
    launcher = launcher_of(tool)
    require_question(question)
    if row.status and not row.tool:
        capture(row.workspace, row.place)
    native = find_native_session(row, tool)
    with _handle_signals(_exit_on_signal), tempfile.TemporaryDirectory(prefix="cortext-") as folder:
        denying = os.path.join(folder, "deny.toml")
        with open(denying, "xb") as file:
            file.write(launcher.deny_policy())
        if native and not launcher.asks_in_copy:
            plan = ask_plan(tool, native.id, question, native.cwd, denying=denying, extra=extra)
            return AskResult(_run(plan), [])
        cwd, notes = (_empty_folder(), list[str]()) if launcher.asks_in_copy else folder_for(row)
        written = write_copy(row, tool, cwd=cwd, budget=budget)
        hidden = False
        try:
            hidden = _hide(written, tool, wait=1.0)
            plan = ask_plan(tool, written.id, question, cwd, denying=denying, extra=extra)
            return AskResult(_run(plan), notes)
        finally:
            with _handle_signals(signal.SIG_IGN):
                _remove(written, delete_plan(tool, written.id, cwd))
                if not hidden:
                    _hide(written, tool, wait=10.0)


@contextmanager
def _handle_signals(handler: _Handler) -> Generator[None]:
    """Call `handler` for the signals SIGTERM and SIGHUP inside a `with` block.

    Signals that the program ignores, as under nohup, are still ignored. Outside the main thread,
    the block changes nothing.
    """
    numbers: list[signal.Signals] = []
    if threading.current_thread() is threading.main_thread():
        numbers = [n for n in _END_SIGNALS if signal.getsignal(n) is not signal.SIG_IGN]
    old_handlers = [(number, signal.signal(number, handler)) for number in numbers]
    try:
        yield
    finally:
        for number, old_handler in old_handlers:
            signal.signal(number, old_handler)


def _exit_on_signal(number: int, frame: FrameType | None) -> NoReturn:
    """Raise SystemExit, so that `ask` deletes its temporary files."""
    raise SystemExit(128 + number)


def _empty_folder() -> str:
    """Return the path of an empty private folder in which a tool can answer a question.

    The path is the same each time, because a tool remembers every folder in which it ran. It is
    different only if the usual folder is not empty. The folder is not below `/tmp`: tools also read
    settings in parent folders, and any user can write into `/tmp`.
    """
    number = 0
    while True:
        folder = os.path.join(paths.running(), f"asking-{number}" if number else "asking")
        with storage_errors("write", folder):
            make_private_dir(folder)
            if not os.listdir(folder):
                return folder
        number += 1


def _hide(written: Written, tool: str, *, wait: float) -> bool:
    """Hide the temporary copy of a conversation from lists and from the archive.

    Return False if this fails, for example because the archive is still locked after `wait`
    seconds.
    """
    try:
        skip_session(tool, written.id, wait=wait)
    except CortextError as error:
        log.info("the temporary session %s may appear in lists: %s", written.id, error)
        return False
    return True


def _remove(written: Written, plan: LaunchPlan | None) -> None:
    """Delete the temporary copy of a conversation.

    `plan` is the command with which the tool deletes the copy. If `plan` is None, the copy is a
    file, and this function deletes the file. If the tool continued the copy in a second file, as
    Gemini CLI does, the second file is deleted too.
    """
    if plan:
        try:
            _run(plan, patience=60.0)
        except CortextError as error:
            log.warning(
                "could not delete the temporary session %s in %s: %s", written.id, plan.tool, error
            )
        return
    folder = os.path.dirname(written.path)
    for name in os.listdir(folder):
        path = os.path.join(folder, name)
        if path == written.path or (written.id[:8] in name and _names_session(path, written.id)):
            remove_if_there(path)


def _names_session(path: str, id: str) -> bool:
    try:
        return id.encode() in read_first_line(path, 1 << 16)
    except OSError as error:
        log.warning("%s may be a temporary session, and was not deleted: %s", path, error)
        return False


def _run(plan: LaunchPlan, *, patience: float | None = None) -> str:
    """Run a command and return its output. Raises CortextError if the command fails.

    `patience` is the time-out in seconds; None means 15 minutes. The output goes through a file,
    because one tool loses the end of its output in a pipe.
    """
    try:
        talk = Talk(plan, by_file=True)
    except OSError as error:
        why = reason_of(error)
        raise CortextError(f"{plan.tool} cannot be started: {why}") from error
    patience = patience or _TIMEOUT
    try:
        deadline = time.monotonic() + patience
        talk.write((plan.given or "").encode("utf-8", "replace"))
        talk.end_input()
        answer = b"".join(talk.read(deadline)).decode("utf-8", "replace")
        code = talk.wait(deadline)
        why = talk.complaints() or answer.strip()
    finally:
        talk.stop()
    if code is None:
        raise CortextError(f"{plan.tool} did not answer within {patience:g} s")
    if code:
        message = f"{plan.tool} failed ({code}): {why[-_MAX_ERROR:]}"
        raise CortextError(message, hint=_hint(why))
    return answer


def _hint(why: str) -> str:
    """Return advice about an error message of a tool, or "" if the error is unknown."""
    if "--skip-git-repo-check" in why:
        return "Codex answers only in a git repository: run `git init` there, or use another --tool"
    if "UnknownError" in why or "ModelNotFound" in why:  # OpenCode says nothing more specific
        return (
            "cortext asks outside of the project, so OpenCode does not read the project's "
            "opencode.json: set the model in your own OpenCode configuration, or use another --tool"
        )
    return ""
