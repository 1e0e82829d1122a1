"""Ask a question about an old conversation.

An AI tool answers the question in a copy of the conversation, and cannot call any tools.
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
from typing import NamedTuple, NoReturn

from cortext import paths
from cortext.catalog.row import ConversationRow
from cortext.durability.read_files import read_first_line
from cortext.durability.replace_file import make_private_dir, remove_if_there, storage_errors
from cortext.errors import CortextError, reason_of
from cortext.features.archive.archive_sync import skip_session
from cortext.features.capture.capture import capture
from cortext.features.resume.native_sessions import find_native_session
from cortext.features.resume.reopen import folder_for, write_copy
from cortext.features.spawn.agent_process import Talk
from cortext.tools.launch import (
    LaunchPlan,
    ask_plan,
    forget_plan,
    launcher_of,
    require,
)
from cortext.tools.writer_protocol import Written

log: logging.Logger = logging.getLogger("cortext.features")
_PATIENCE = 900.0
_ENDING = (signal.SIGTERM, signal.SIGHUP)
_Handler = Callable[[int, FrameType | None], object] | signal.Handlers
_LAST = 2000  # characters of a tool's error output that are shown


class AskResult(NamedTuple):
    """The answer of the AI tool, and notes for the user, for example about the folder."""

    text: str
    notes: list[str]


def require_question(text: str) -> None:
    """Raise CortextError if the question is empty."""
    if not text.strip():
        raise CortextError("there is no question", hint="`cortext ask ID 'Why did we do that?'`")


def ask(
    row: ConversationRow, question: str, tool: str, *, budget: int, extra: Sequence[str] = ()
) -> AskResult:
    """Return the answer of an AI tool to a question about a conversation.

    New messages are captured first. The question and its answer are not stored, and the model
    cannot change files. `extra` holds more arguments for the tool. Raises CortextError if the tool
    fails.
    """
    require(tool)
    launcher = launcher_of(tool)
    require_question(question)
    if row.status and not row.tool:
        capture(row.workspace, row.place)
    native = find_native_session(row, tool)
    with _handling(_end), tempfile.TemporaryDirectory(prefix="cortext-") as folder:
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
            with _handling(signal.SIG_IGN):
                _remove(written, forget_plan(tool, written.id, cwd))
                if not hidden:
                    _hide(written, tool, wait=10.0)


@contextmanager
def _handling(handler: _Handler) -> Generator[None]:
    """Handle SIGTERM and SIGHUP with `handler` inside a `with` block.

    Signals that are ignored, as under nohup, stay ignored. Outside the main thread, the handlers do
    not change.
    """
    numbers: list[signal.Signals] = []
    if threading.current_thread() is threading.main_thread():
        numbers = [n for n in _ENDING if signal.getsignal(n) is not signal.SIG_IGN]
    before = [(number, signal.signal(number, handler)) for number in numbers]
    try:
        yield
    finally:
        for number, handled in before:
            signal.signal(number, handled)


def _end(number: int, frame: FrameType | None) -> NoReturn:
    """Exit with an exception, so that the temporary files for the question are deleted."""
    raise SystemExit(128 + number)


def _empty_folder() -> str:
    """Return an empty private folder in which a tool can answer a question.

    It is the same folder each time, because a tool remembers its folders. If a file was left in it,
    another folder is used. A shared temporary folder is not safe, because tools also read the
    settings of parent folders.
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
    """Keep the copy for a question out of lists and the archive.

    Return False if a running sync prevents that for `wait` seconds.
    """
    try:
        skip_session(tool, written.id, wait=wait)
    except CortextError as error:
        log.info("%s, a copy for a question, may be listed: %s", written.id, error)
        return False
    return True


def _remove(written: Written, plan: LaunchPlan | None) -> None:
    """Delete the copy that was made for a question, and files that the tool made from the copy.

    `plan` is the command with which the tool deletes the copy, or None if the copy is a file.
    Gemini CLI may continue the copy in a second file.
    """
    if plan:
        try:
            _run(plan, patience=60.0)
        except CortextError as error:
            log.warning(
                "%s was made for a question, and stays in %s: %s", written.id, plan.tool, error
            )
        return
    beside = os.path.dirname(written.path)
    for name in os.listdir(beside):
        path = os.path.join(beside, name)
        if path == written.path or (written.id[:8] in name and _is_of(path, written.id)):
            remove_if_there(path)


def _is_of(path: str, id: str) -> bool:
    try:
        return id.encode() in read_first_line(path, 1 << 16)
    except OSError as error:
        log.warning("%s may be a copy that was made for a question, and stays: %s", path, error)
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
    patience = patience or _PATIENCE
    try:
        until = time.monotonic() + patience
        talk.write((plan.given or "").encode("utf-8", "replace"))
        talk.end_input()
        answer = b"".join(talk.read(until)).decode("utf-8", "replace")
        code = talk.wait(until)
        why = talk.complaints() or answer.strip()
    finally:
        talk.stop()
    if code is None:
        raise CortextError(f"{plan.tool} did not answer within {patience:g} s")
    if code:
        said = f"{plan.tool} failed ({code}): {why[-_LAST:]}"
        raise CortextError(said, hint=_hint(why))
    return answer


def _hint(why: str) -> str:
    """Return advice about an error message of a tool, or "" if the error is unknown."""
    if "--skip-git-repo-check" in why:
        return "Codex answers only in a git repository: `git init` there, or `--tool` another"
    if "UnknownError" in why or "ModelNotFound" in why:  # OpenCode says nothing more specific
        return (
            "a question is asked outside the project, whose opencode.json may have named the "
            "model: name it in your own configuration of OpenCode, or `--tool` another"
        )
    return ""
