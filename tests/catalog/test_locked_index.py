"""Indexes that another process writes to: lists wait for it, and a purge leaves no word behind."""

import os
import sqlite3
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cortext.catalog import rebuildable_database
from cortext.catalog.catalog import Catalog
from tests.catalog.spawn_folder import Folder, turn
from tests.homes import Homes, sessions

WORD = b"Zebrafish"


@contextmanager
def written(path: Path, seconds: float) -> Generator[None]:
    """While somebody else writes to a database, for that long."""
    other = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    end = threading.Timer(seconds, lambda: other.execute("COMMIT"))
    end.start()
    try:
        yield
    finally:
        end.join()
        other.close()


def left_in(path: Path) -> list[str]:
    """The files of a database that have the word."""
    return [each.name for each in path.parent.glob(f"{path.name}*") if WORD in each.read_bytes()]


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    made = Folder(tmp_path / "sessions")
    for number in range(3):
        made.add(f"s{number}", turn(f"say {number}"))
    secret = made.add("secret", turn("x"), title=WORD.decode())
    assert len(made.list()) == 4
    assert left_in(made.database)
    secret.unlink()
    return made


def test_log_list_waits_for_writer_when_nothing_changed(folder: Folder) -> None:
    """The folder's time is another, and no session is: the index is used, and stays."""
    folder.list()
    other = folder.path / "other"
    other.touch()
    folder.age(other)
    with written(folder.database, 0.2), folder.catalog() as catalog:
        assert len(catalog.log_sessions(str(folder.path))) == 3
        assert not catalog._database.is_in_memory


def test_tool_list_waits_for_writer_when_transcript_is_recent(homes: Homes, tmp_path: Path) -> None:
    """While a transcript is so young that it is looked at again, and nothing is new in it."""
    path, soon = tmp_path / "catalog.sqlite3", time.time() + 60
    os.utime(homes.transcript("claude"), (soon, soon))
    with Catalog(str(path)) as catalog:
        catalog.tool_sessions()
    with written(path, 0.2), Catalog(str(path)) as catalog:
        rows = catalog.tool_sessions().rows
        assert not catalog._database.is_in_memory
    assert {row.key for row in rows if row.tool == "claude"} == set(sessions("claude"))


@pytest.mark.parametrize("patience", [10_000, 50])
def test_purge_removes_log_text_while_other_process_writes(
    folder: Folder, patience: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether or not it can wait so long, nothing is left of what is gone."""
    monkeypatch.setattr(rebuildable_database, "_BUSY_MS", patience)
    reader = folder.catalog()
    reader.log_sessions(str(folder.path))
    with written(folder.database, 0.3), folder.catalog() as catalog:
        catalog.purge()
    assert left_in(folder.database) == []
    reader.close()
    assert len(folder.list()) == 3


@pytest.mark.parametrize("patience", [10_000, 50])
def test_purge_removes_tool_session_text_while_other_process_writes(
    homes: Homes, tmp_path: Path, patience: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same of a tool's session."""
    monkeypatch.setattr(rebuildable_database, "_BUSY_MS", patience)
    path, transcript = tmp_path / "catalog.sqlite3", homes.transcript("claude")
    title = b'{"type":"custom-title","customTitle":"%s","sessionId":"%s"}\n'
    with open(transcript, "ab") as file:
        file.write(title % (WORD, transcript.stem.encode()))
    reader = Catalog(str(path))
    reader.tool_sessions()
    assert left_in(path)
    transcript.unlink()
    with written(path, 0.3), Catalog(str(path)) as catalog:
        catalog.purge()
    assert left_in(path) == []
    reader.close()
