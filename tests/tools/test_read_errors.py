"""What cannot be read of a tool is said in words: what the system calls it, and no number."""

import errno
import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cortext.errors import SessionCorruptedError, why
from cortext.formats.message_lines import Damage
from cortext.tools import jsonl_transcripts, surrounding_session
from cortext.tools.archive_items import archive_source
from cortext.tools.claude import old_subagent_files
from cortext.tools.gemini.reader import GeminiBridge
from cortext.tools.opencode import reader, records
from cortext.tools.opencode.reader import OpenCodeBridge
from cortext.tools.reader_protocol import TranscriptSource


def _broken(path: object = "/a/file", *_: Any, **__: Any) -> Any:
    raise OSError(errno.EIO, os.strerror(errno.EIO), str(path))


def _rows() -> Iterator[tuple[str, bytes]]:
    yield "p1", b'{"type":"text","text":"first"}'
    _broken()


@pytest.fixture(autouse=True)
def unread_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    return tmp_path


def _claude(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "agent-1.jsonl").write_bytes(b"{}\n")
    monkeypatch.setattr(jsonl_transcripts, "read_head", _broken)
    old_subagent_files.subagent_files_in(str(home))


def _gemini(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = home / "tmp/p/chats/session-x.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"{}\n")
    monkeypatch.setattr(jsonl_transcripts, "read_head", _broken)
    assert list(GeminiBridge(str(home)).sources()) == []


def _opencode(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OpenCodeBridge, "databases", lambda self: [str(home / "opencode.db")])
    monkeypatch.setattr(reader, "read_database", _broken)
    assert list(OpenCodeBridge(str(home)).sources()) == []


def _inside(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(surrounding_session, "read_file", _broken)
    assert (
        surrounding_session.holding(
            [TranscriptSource("claude", "x", str(home / "x.jsonl"), 1, "x")], "x"
        )
        == []
    )


@pytest.mark.parametrize("read", [_claude, _gemini, _opencode, _inside])
def test_unreadable_tool_file_is_logged_with_reason(
    read: Any, unread_home: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "cortext"):
        read(unread_home, monkeypatch)
    (said,) = caplog.messages
    assert said.startswith(f"skipped {unread_home}")
    assert said.endswith(": input/output error")


def test_read_parts_keeps_parts_before_unreadable_file() -> None:
    """The file is named, since nothing else tells which of the many it was."""
    damages: list[Damage] = []
    assert [id for id, _ in records.read_parts(_rows(), damages)] == ["p1"]
    assert [damage.detail for damage in damages] == ["/a/file: input/output error"]


def test_archive_source_reports_unreadable_opencode_database(
    unread_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (unread_home / "opencode").mkdir()
    monkeypatch.setattr(OpenCodeBridge, "databases", lambda self: ["/a/opencode.db"])
    monkeypatch.setattr("cortext.tools.opencode.archived_files.read_database", _broken)
    failures: dict[str, str] = {}
    assert list(archive_source("opencode").items(failures)) == []
    assert failures == {"/a/opencode.db": "input/output error"}


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (OSError(errno.EMFILE, "Too many open files", "/a"), "too many open files"),
        (FileNotFoundError("/A/b has no session X"), "/A/b has no session X"),
        (SessionCorruptedError("/A/b", "Not a JSON object"), "/A/b: Not a JSON object"),
    ],
)
def test_why_keeps_cortext_sentences_and_shortens_system_errors(
    error: Exception, told: str
) -> None:
    assert why(error) == told
