"""Asking an old conversation a question: one turn on a fork of it, with the tool's tools off."""

from __future__ import annotations

import logging
import os
import subprocess
import tempfile
from collections.abc import Sequence
from typing import NamedTuple

from cortext.app.capture import capture
from cortext.app.launch import folder_for, write_copy
from cortext.app.native import find_native
from cortext.bridges.launch import Plan, ask_plan, deny_everything, require
from cortext.bridges.writing import Written
from cortext.durability.read import read_first_line
from cortext.durability.replace import remove_if_there
from cortext.errors import CortextError
from cortext.index.listed import Listed

log = logging.getLogger("cortext.app")
_PATIENCE = 900.0
_LAST = 2000  # characters of what a tool complained about are shown


class Answer(NamedTuple):
    """What the tool said, and what there is to say about how it was asked."""

    text: str
    notes: list[str]


def ask(row: Listed, question: str, tool: str, *, budget: int, extra: Sequence[str] = ()) -> Answer:
    """The answer of a tool to a question about a conversation. That is brought up to date first;
    then neither it nor any file is changed, even where work was pending in it. CortextError if the
    tool fails."""
    require(tool)
    if not question.strip():
        raise CortextError("there is no question")
    if row.status and not row.tool:
        capture(row.root, row.place)
    native = find_native(row, tool)
    with tempfile.TemporaryDirectory(prefix="cortext-") as folder:
        denying = os.path.join(folder, "deny.toml")
        with open(denying, "xb") as file:
            file.write(deny_everything())
        if native and tool != "gemini":  # which has no fork of its own
            plan = ask_plan(tool, native.id, question, native.cwd, denying=denying, extra=extra)
            return Answer(_run(plan, folder), [])
        cwd, notes = folder_for(row)
        written = write_copy(row, tool, cwd=cwd, budget=budget)
        try:
            plan = ask_plan(tool, written.id, question, cwd, denying=denying, extra=extra)
            return Answer(_run(plan, folder), notes)
        finally:
            if tool != "opencode":  # a file that we made, for this question alone
                _remove(written)


def _remove(written: Written) -> None:
    """The copy, and what the tool left of it: Gemini CLI resumes in a second file, if it does so
    in another minute than the first was made."""
    folder = os.path.dirname(written.path)
    for name in os.listdir(folder):
        path = os.path.join(folder, name)
        if path == written.path or (written.id[:8] in name and _is_of(path, written.id)):
            remove_if_there(path)


def _is_of(path: str, id: str) -> bool:
    try:
        return id.encode() in read_first_line(path, 1 << 16)
    except OSError as error:
        log.warning("%s may be a copy that was made for a question, and stays: %s", path, error)
        return False


def _run(plan: Plan, folder: str) -> str:
    """What the program writes. By files: through pipes one of them loses the end of it."""
    with (
        tempfile.TemporaryFile(dir=folder) as given,
        tempfile.TemporaryFile(dir=folder) as out,
        tempfile.TemporaryFile(dir=folder) as err,
    ):
        given.write((plan.given or "").encode("utf-8", "replace"))
        given.seek(0)
        try:
            done = subprocess.run(
                plan.words,
                cwd=plan.cwd,
                env={**os.environ, **plan.environment},
                stdin=given,
                stdout=out,
                stderr=err,
                timeout=_PATIENCE,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise CortextError(f"{plan.tool} did not answer within {_PATIENCE:g} s") from None
        out.seek(0)
        answer = out.read().decode("utf-8", "replace")
        if done.returncode:
            err.seek(0)
            why = err.read().decode("utf-8", "replace").strip() or answer.strip()
            said = f"{plan.tool} failed ({done.returncode}): {why[-_LAST:]}"
            raise CortextError(said, hint=_hint(why))
        return answer


def _hint(why: str) -> str:
    """What a person can do about a complaint that we know."""
    if "--skip-git-repo-check" in why:
        return "Codex answers only in a git repository: `git init` there, or `--tool` another"
    return ""
