"""The writer of new Gemini CLI sessions, which `gemini --resume ID` can continue."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, ClassVar, cast

from cortext import paths
from cortext.durability.durable_files import make_private_dir, replace, storage_errors
from cortext.durability.file_lock import FileLock
from cortext.durability.read_files import read_file
from cortext.model import json_codec
from cortext.model.ids import new_id
from cortext.tools.transcript_folders import own_home
from cortext.tools.writer_protocol import (
    Turn,
    Written,
    increasing_times,
    iso,
    store_lines,
    with_last,
)

_ROOT = ".project_root"
_CONTINUED = "(continued)"


class GeminiWriter:
    """The writer of transcripts in `tmp/<project>/chats/`.

    `home` is the folder to write to, or None for the user's folder of Gemini CLI.
    """

    tool: ClassVar[str] = "gemini"

    def __init__(self, home: str | None = None) -> None:
        self._home = home or own_home(self.tool)

    def write(self, turns: Sequence[Turn], *, cwd: str, title: str, last: str = "") -> Written:
        """Write a new session, as `Writer.write` defines.

        The session has the current time as its last update, because Gemini CLI deletes old
        sessions.
        """
        folder, id, now = os.path.realpath(cwd), new_id(), datetime.now(UTC)
        all_turns = with_last(turns, last)
        head = {
            "sessionId": id,
            "projectHash": hashlib.sha256(os.fsencode(folder)).hexdigest(),
            "startTime": iso(all_turns[0].timestamp if all_turns else now),
            "lastUpdated": iso(now),
            "kind": "main",
            **({"summary": title} if title else {}),
        }
        # A resume creates an empty file whose name has the first eight letters of the id. The next
        # start deletes all files with these letters, so this name has other letters.
        name = f"session-{now:%Y-%m-%dT%H-%M}-{new_id()[:8]}.jsonl"
        path = os.path.join(self._project(folder), "chats", name)
        records = list(_records(all_turns))
        if last:  # show a short text on the screen instead of the turn
            records[-1]["displayContent"] = [{"text": _CONTINUED}]
        store_lines(path, [head, *records])
        return Written(id, path)

    def _project(self, folder: str) -> str:
        """Return the data folder that Gemini CLI uses for the working folder `folder`.

        If there is no data folder yet, create it in the way that Gemini CLI expects.
        """
        if known_folder := self._find_project(folder):
            return known_folder
        with storage_errors("write", self._home), FileLock(f"{paths.running()}/gemini.lock"):
            # Another process may have created the folder meanwhile.
            return self._find_project(folder) or self._create_project(folder)

    def _find_project(self, folder: str) -> str:
        projects = os.path.join(self._home, "tmp")
        if slug := self._known_slug(folder):
            return os.path.join(projects, slug)
        for name in _names(projects):
            if _text(os.path.join(projects, name, _ROOT)) == folder:
                return os.path.join(projects, name)
        return ""

    def _create_project(self, folder: str) -> str:
        projects = os.path.join(self._home, "tmp")
        base = re.sub(r"[^a-z0-9]+", "-", os.path.basename(folder).lower()).strip("-") or "project"
        taken, slug, number = {*_names(projects), *self._slugs().values()}, base, 0
        while slug in taken:
            number += 1
            slug = f"{base}-{number}"
        path = os.path.join(projects, slug)
        make_private_dir(path)
        replace(os.path.join(path, _ROOT), [os.fsencode(folder)])
        return path

    def _known_slug(self, folder: str) -> str:
        return self._slugs().get(folder, "")

    def _slugs(self) -> dict[str, str]:
        """Return the short name that Gemini CLI gives to each project, by the project's folder."""
        try:
            value = json_codec.decode(read_file(os.path.join(self._home, "projects.json")))
            projects = cast("dict[str, Any]", value["projects"])
            return {name: slug for name, slug in projects.items() if isinstance(slug, str)}
        except (OSError, ValueError, LookupError, TypeError, AttributeError):
            return {}  # Gemini CLI makes this file again from its folders


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except FileNotFoundError:
        return []


def _text(path: str) -> str:
    try:
        return os.fsdecode(read_file(path)).strip()
    except OSError:
        return ""


def _records(turns: Sequence[Turn]) -> Iterator[dict[str, Any]]:
    for turn, when in zip(turns, increasing_times(turns), strict=True):
        fields = {"id": new_id(), "timestamp": iso(when)}
        if turn.role == "user":
            yield {**fields, "type": "user", "content": [{"text": turn.text}]}
        else:
            yield {
                **fields,
                "type": "gemini",
                "content": turn.text,
                "thoughts": [],
                "tokens": dict.fromkeys(
                    ("input", "output", "cached", "thoughts", "tool", "total"), 0
                ),
                "model": "cortext",
            }
