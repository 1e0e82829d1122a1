"""Functions that read the arguments of tool calls, which every AI tool names differently.

The parameter `given` is always the dict of a call's arguments.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, cast

import msgspec

PATHS = (
    "file_path", "filePath", "path", "absolute_path", "notebook_path", "target_file", "file",
    "filename", "dir_path", "directory", "target_directory", "paths",
)  # fmt: skip
COMMANDS = ("command", "cmd", "script")
OLD = ("old_string", "oldString", "old_str")
NEW = ("new_string", "newString", "new_str", "insert_text")
CONTENT = ("content", "contents", "file_text", "new_source", "code_edit")
_PATCHES = ("patch", "patchText", "patch_text", "diff", "input")
_SHELLS = ("bash", "sh", "zsh", "cmd", "powershell", "pwsh")
_FILE = re.compile(r"(?:\*\*\* (?:Update|Add|Delete) File: |\+\+\+ (?:b/)?)(.+)")
_LONGEST_LINE = 200
_BEGINNING = 4000  # characters of a text to search for its first line


class FileEdit(msgspec.Struct, frozen=True):
    """The changes that a tool call made to one file.

    `added` and `removed` are numbers of lines. `removed` is None if the whole file was written,
    because its previous content is unknown. `first` is the first changed line, with `+` or `-`
    before it.
    """

    path: str
    added: int
    removed: int | None
    first: str


def changes(given: dict[str, Any]) -> list[FileEdit]:
    """Return the changes that a tool call makes to files, with one `FileEdit` for each file.

    `given` has the arguments of the call. If they contain a patch, there may be several files.
    Otherwise the result is one `FileEdit`.
    """
    if patch := patch_of(given):
        return _edits_of_patch(patch)
    edits = given.get("edits")
    listed = cast("list[Any]", edits) if isinstance(edits, list) else [given]
    measured = [
        _measure_edit(cast("dict[str, Any]", edit)) for edit in listed if isinstance(edit, dict)
    ]
    removed = [edit[1] for edit in measured]
    return [
        FileEdit(
            one_line(first_of(given, PATHS)),
            sum(edit[0] for edit in measured),
            None if None in removed else sum(lines or 0 for lines in removed),
            next((edit[2] for edit in measured if edit[2]), ""),
        )
    ]


def patch_of(given: dict[str, Any]) -> str:
    """Return the patch in the arguments of a tool call, or "" if there is no patch.

    The patch may also be part of a shell command.
    """
    texts = [given.get(key) for key in _PATCHES]
    if any(key in given for key in COMMANDS):
        texts.append(command_of(given))
    return next((text for text in texts if isinstance(text, str) and _is_patch(text)), "")


def command_of(given: dict[str, Any]) -> str:
    """Return the shell command in the arguments of a tool call, without a leading `bash -c`."""
    value = first_of(given, COMMANDS)
    if not isinstance(value, list):
        return text_of(value)
    words = [text_of(word) for word in cast("list[Any]", value)]
    if len(words) == 3 and words[0].rpartition("/")[2] in _SHELLS:
        return words[2]
    return " ".join(words)


def first_of(given: dict[str, Any], keys: Sequence[str]) -> Any:
    """Return the first value in `given` that is not None, trying the `keys` in order.

    The result is None if there is no such value.
    """
    for key in keys:
        if (value := given.get(key)) is not None:
            return value
    return None


def text_of(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(text_of(item) for item in cast("list[Any]", value)[:20])
    return value if isinstance(value, str) else "" if value is None else f"{value!r:.200}"


def one_line(value: Any, longest: int = _LONGEST_LINE) -> str:
    """Return the text of a value on one line, cut to `longest` characters."""
    return cut(" ".join(text_of(value)[: 2 * longest].split()), longest)


def cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def _is_patch(text: str) -> bool:
    return "*** Begin Patch" in text[:400] or ("+++ " in text[:2000] and "\n@@ " in text[:4000])


def _edits_of_patch(patch: str) -> list[FileEdit]:
    edits, path, added, removed, first = list[FileEdit](), "", 0, 0, ""
    for line in [*patch.split("\n"), "+++ "]:
        file = _FILE.match(line)
        if file or line == "+++ ":
            if path:
                edits.append(FileEdit(path, added, removed, first))
            path, added, removed, first = one_line(file[1]) if file else "", 0, 0, ""
        elif line[:1] in ("+", "-") and not line.startswith("--- "):
            added, removed = added + (line[0] == "+"), removed + (line[0] == "-")
            first = first or _first_line(line[1:], line[0])
    return edits


def _measure_edit(edit: dict[str, Any]) -> tuple[int, int | None, str]:
    """Return the numbers of added and removed lines of one edit, and its first changed line.

    The number of removed lines is None if the tool wrote the whole file.
    """
    if first_of(edit, OLD) is None and first_of(edit, NEW) is None:
        content = text_of(first_of(edit, CONTENT))
        return _count(content), None, _first_line(content, "+")
    old, new = text_of(first_of(edit, OLD)), text_of(first_of(edit, NEW))
    if old and new:
        return _compare_lines(old.split("\n"), new.split("\n"))
    return _count(new), _count(old), _first_line(new, "+") or _first_line(old, "-")


def _compare_lines(old: list[str], new: list[str]) -> tuple[int, int, str]:
    start, end, shorter = 0, 0, min(len(old), len(new))
    while start < shorter and old[start] == new[start]:
        start += 1
    while end < shorter - start and old[-1 - end] == new[-1 - end]:
        end += 1
    old_lines, new_lines = old[start : len(old) - end], new[start : len(new) - end]
    added, removed = len(new_lines), len(old_lines)
    if added > 1 and removed > 1:
        same = (Counter(new_lines) & Counter(old_lines)).total()
        # If lines only moved, count them as added and removed.
        if added > same or removed > same:
            added, removed = added - same, removed - same
    sign, lines = ("+", new_lines) if new_lines else ("-", old_lines)
    return added, removed, _first_line("\n".join(lines[:20]), sign)


def _first_line(text: str, sign: str) -> str:
    line = next((line for line in text[:_BEGINNING].split("\n") if line.strip()), "")
    return f"{sign} {one_line(line)}" if line else ""


def _count(text: str) -> int:
    return text.count("\n") + (text != "" and not text.endswith("\n"))
