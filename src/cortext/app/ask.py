"""Asking an old conversation a question: one turn on a fork of it, with the tool's tools off."""

from __future__ import annotations

import logging
import os
import subprocess
import tempfile
from collections.abc import Sequence
from typing import NamedTuple

from cortext import paths
from cortext.app.capture import capture
from cortext.app.launch import folder_for, write_copy
from cortext.app.native import find_native
from cortext.bridges.launch import (
    IN_A_COPY,
    Plan,
    ask_plan,
    deny_everything,
    forget_plan,
    require,
)
from cortext.bridges.writing import Written
from cortext.durability.read import read_first_line
from cortext.durability.replace import make_private_dir, remove_if_there, storage_errors
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
        if native and tool not in IN_A_COPY:
            plan = ask_plan(tool, native.id, question, native.cwd, denying=denying, extra=extra)
            return Answer(_run(plan, folder), [])
        cwd, notes = (_empty_folder(), list[str]()) if tool in IN_A_COPY else folder_for(row)
        written = write_copy(row, tool, cwd=cwd, budget=budget)
        try:
            plan = ask_plan(tool, written.id, question, cwd, denying=denying, extra=extra)
            return Answer(_run(plan, folder), notes)
        finally:
            _remove(written, forget_plan(tool, written.id, cwd), folder)


def _empty_folder() -> str:
    """A folder of ours with nothing in it, the same one each time: a tool remembers its folders.
    Not a shared temp folder: tools read settings of the folders above too."""
    folder = os.path.join(paths.running(), "asking")
    with storage_errors("write", folder):
        make_private_dir(folder)
        if found := os.listdir(folder):
            raise CortextError(
                f"{folder} is not empty: {found[0]} is in it",
                hint="questions are asked there, where a tool finds no settings; empty it",
            )
    return folder


def _remove(written: Written, plan: Plan | None, folder: str) -> None:
    """The copy, which was made for this question alone, and what the tool left of it: Gemini CLI
    resumes in a second file, if it does so in another minute than the first was made."""
    if plan:
        try:
            _run(plan, folder)
        except (OSError, CortextError) as error:
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
    if "UnknownError" in why or "ModelNotFound" in why:  # all that OpenCode says of it
        return (
            "a question is asked outside the project, whose opencode.json may have named the "
            "model: name it in your own configuration of OpenCode, or `--tool` another"
        )
    return ""
