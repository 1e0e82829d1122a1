"""Sessions of the four tools, with a secret in what was said, as the tools would write them."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from cortext import paths
from cortext.catalog.row import ConversationRow
from cortext.features.secrets.text_pieces import content
from tests.features.secrets.secret_corpus import KEYS, Maker
from tests.tools.claude import claude_lines
from tests.tools.codex import codex_lines
from tests.tools.gemini import gemini_records
from tests.tools.opencode.opencode_data import Made, text


def made(family: str, seed: int = 1) -> str:
    make = next(make for name, make in KEYS if name == family)
    return make(Maker(seed))


TOKEN, KEY = made("github-token"), made("anthropic-key")


class Held(NamedTuple):
    """A session of a tool: its row, its file, and what says one thing more in it."""

    row: ConversationRow
    path: Path
    say: Callable[[str], None]


def row_of(tool: str, id: str, path: Path) -> ConversationRow:
    return ConversationRow(
        tool=tool, path=str(path), key=id, status="paused", last_active=1, kind="chat"
    )


def _logged(tool: str, id: str, path: Path, line: Callable[[str, int], object]) -> Held:
    count = 40

    def say(words: str) -> None:
        nonlocal count
        count += 1
        with path.open("ab") as file:
            file.write(json.dumps(line(words, count)).encode() + b"\n")
        os.utime(path, (1, 1_700_000_000 + count))

    os.utime(path, (1, 1_700_000_000))
    return Held(row_of(tool, id, path), path, say)


def claude(home: Path, *words: str) -> Held:
    lines = [
        claude_lines.line(f"u{n}", f"u{n - 1}" if n else None, "user", each)
        for n, each in enumerate(words)
    ]
    path = Path(claude_lines.write(home / ".claude", *lines).path)

    def line(said: str, number: int) -> object:
        before = f"u{number - 1}" if number > 41 else f"u{len(words) - 1}"
        return claude_lines.line(f"u{number}", before, "user", said)

    return _logged("claude", claude_lines.ID, path, line)


def codex(home: Path, *words: str) -> Held:
    lines = [codex_lines.user(each, n + 1) for n, each in enumerate(words)]
    path = Path(codex_lines.write(home / ".codex", *codex_lines.HEAD, *lines).path)
    return _logged("codex", codex_lines.ID, path, codex_lines.user)


def gemini(home: Path, *words: str) -> Held:
    """Written anew each time, and not appended to."""
    said = list(words)
    path = Path(gemini_records.place(home / ".gemini", b"", "session-2026-01-02.json").path)

    def write() -> None:
        messages = [gemini_records.user(f"m{n}", each, n) for n, each in enumerate(said)]
        path.write_bytes(
            json.dumps({**gemini_records.HEAD, "messages": messages}, indent=1).encode()
        )
        os.utime(path, (1, 1_700_000_000 + len(said)))

    def say(words: str) -> None:
        said.append(words)
        write()

    write()
    return Held(row_of("gemini", gemini_records.ID, path), path, say)


def opencode(_home: Path, *words: str) -> Held:
    db = Made(Path(paths.data_home()) / "opencode")
    db.session()
    count = 0

    def say(words: str) -> None:
        nonlocal count
        count += 1
        db.message(f"msg_{count:03}", "user", text(words))

    for each in words:
        say(each)
    return Held(row_of("opencode", "ses_1", db.path), db.path, say)


TOOLS = (claude, codex, gemini, opencode)


def kept(tool: str = "") -> dict[str, bytes]:
    """What the archive has, unpacked, by file."""
    folder = Path(paths.archive(), tool)
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != ".lock")
    return {str(path): content(str(path), []) for path in files}


def holding(word: str, *folders: Path | str) -> list[str]:
    """The files below folders that have a word in them, also packed, or in UTF-16."""
    found: list[str] = []
    for folder in folders:
        for path in sorted(Path(folder).rglob("*")):
            if path.is_file() and not path.is_symlink():
                data = content(str(path), [])
                found += [str(path)] if word.encode() in data.replace(b"\0", b"") else []
    return found
