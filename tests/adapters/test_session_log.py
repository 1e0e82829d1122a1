"""Where adapters keep conversations, and that people find them there."""

import multiprocessing
import os
from fcntl import LOCK_EX, LOCK_NB, flock
from pathlib import Path

import pytest

from cortext import Session, SessionMessage
from cortext.adapters.session_log import SessionLog, id_of, open_adapter_store
from cortext.errors import SessionOwnerError, SessionStorageError
from cortext.stores.log import LogStore
from tests.command import ok


def test_id_of_keeps_valid_key_and_gives_other_keys_unique_ids() -> None:
    """Others get a readable one, and no two have the same."""
    assert id_of("chat-1") == "chat-1"
    odd = [id_of("a/b"), id_of("a b"), id_of("a", "b"), id_of("ab/"), id_of("", "x"), id_of("日本")]
    assert len(set(odd)) == len(odd)
    assert id_of("a/b") == odd[0]
    assert odd[0].startswith("a-b-")


@pytest.mark.parametrize("kind", ["", "log:", "file:", "document:"])
def test_session_log_accepts_path_or_url(kind: str, tmp_path: Path) -> None:
    """What one object wrote, another reads."""
    where = f"{kind}{tmp_path / 'kept'}"
    kept = SessionLog(where, "tests")
    kept.append("one", [SessionMessage("user", "hello")], lambda: kept.new_session("one"))
    kept.close()
    read = SessionLog(where, "tests").read("one")
    assert read is not None
    assert [message.content for message in read.messages] == ["hello"]
    assert [head.id for head in SessionLog(where, "tests").heads()] == ["one"]
    assert [head.id for head in SessionLog(where, "others").heads()] == ["one"]


def test_open_kept_refuses_unknown_url() -> None:
    """One sentence with those that there are."""
    with pytest.raises(ValueError, match=r"not a session store: 'ftp://x' \(use a path, or one of"):
        open_adapter_store("ftp://x")


def _write(folder: str, writer: int) -> None:
    kept = SessionLog(folder, "tests")
    for number in range(20):
        said = SessionMessage("user", f"{writer}.{number}")
        kept.append("shared", [said], lambda: kept.new_session("shared"))


def test_eight_processes_start_one_session_without_loss(tmp_path: Path) -> None:
    """Whoever makes the session, nothing that was acknowledged is lost, and each one's messages
    are in their order."""
    spawn = multiprocessing.get_context("spawn")
    writers = [spawn.Process(target=_write, args=(str(tmp_path), n)) for n in range(8)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(100)
    assert [writer.exitcode for writer in writers] == [0] * 8
    said = [message.content for message in LogStore(tmp_path).load("shared").messages]
    for number in range(8):
        own = [text for text in said if text.startswith(f"{number}.")]
        assert own == [f"{number}.{n}" for n in range(20)]


@pytest.mark.parametrize("kind", ["", "document:", "workspace:"])
def test_second_owner_is_refused_when_two_start_one_session(kind: str, tmp_path: Path) -> None:
    """The first has it; the second is refused, and nothing of his is in it."""
    where = f"{kind}{tmp_path}"
    ann, bob = SessionLog(where, "tests"), SessionLog(where, "tests")
    id = "001-chat-one" if kind == "workspace:" else "one"

    def begin_second() -> Session:
        said = [SessionMessage("user", "of ann")]
        ann.append(id, said, lambda: ann.new_session(id, owner="ann"), owner="ann")
        return bob.new_session(id, owner="bob")

    with pytest.raises(SessionOwnerError, match=rf"^session {id} belongs to another owner(\n|$)"):
        bob.append(id, [SessionMessage("user", "of bob")], begin_second, owner="bob")
    read = ann.read(id)
    assert read is not None
    assert (read.owner, [message.content for message in read.messages]) == ("ann", ["of ann"])


def test_rows_of_owner_read_only_heads_of_that_owner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Owners whose names look alike in a list are told apart all the same."""
    kept = SessionLog(tmp_path, "tests")
    owners = ["ann", "ann\x07", "bob", "", "ann"]
    for number, owner in enumerate(owners):
        made = kept.new_session(f"s-{number}", owner=owner)
        kept.append(made.id, [SessionMessage("user", "Hello")], lambda made=made: made)
    read: list[str] = []
    head = LogStore.head

    def noted(store: LogStore, id: str) -> Session:
        read.append(id)
        return head(store, id)

    monkeypatch.setattr(LogStore, "head", noted)
    assert {row.id for row in kept.rows("ann")} == {"s-0", "s-4"}
    assert "s-2" not in read
    assert "s-3" not in read
    assert [row.id for row in kept.rows("ann\x07")] == ["s-1"]
    assert [row.id for row in kept.rows("")] == ["s-3"]
    assert len(kept.rows()) == len(owners)


def test_alone_is_reentrant_and_excludes_other_processes(tmp_path: Path) -> None:
    """Whoever has a session alone can begin it; others cannot meanwhile."""
    kept = SessionLog(tmp_path, "tests")
    with kept.alone("one"), kept.alone("one"):
        kept.append("one", [], lambda: kept.new_session("one"))
        with pytest.raises(BlockingIOError), open(tmp_path / ".cortext/alone/one.lock") as file:
            flock(file, LOCK_EX | LOCK_NB)
    with open(tmp_path / ".cortext/alone/one.lock") as file:
        flock(file, LOCK_EX | LOCK_NB)


@pytest.mark.parametrize("owner", ["", "ann"])
def test_append_raises_storage_error_when_folder_cannot_be_written(
    owner: str, tmp_path: Path
) -> None:
    """One error of ours, whoever begins it."""
    (tmp_path / "kept").write_text("")
    kept = SessionLog(tmp_path / "kept", "tests")
    said = [SessionMessage("user", "Hello")]
    with pytest.raises(SessionStorageError, match="kept"):
        kept.append("one", said, lambda: kept.new_session("one", owner=owner), owner=owner)


@pytest.mark.parametrize("place", ["the default", "another"])
def test_list_search_and_show_find_program_sessions(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lists, searches and show have what a program keeps, wherever it keeps it."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    kept = SessionLog(None if place == "the default" else tmp_path / "mine", "tests")

    def begin() -> Session:
        return kept.new_session("talk-7", owner="anna", working_dir=str(tmp_path))

    words = [SessionMessage("user", "How tall is the zugspitze?")]
    kept.append("talk-7", words, begin)
    kept.append("talk-7", [SessionMessage("assistant", "2962 metres.")], begin)
    listed = ok(tmp_path, "list", "--tool", "document")
    assert "talk-7" in listed
    assert "How tall is the zugspitze?" in listed
    assert "2962" in ok(tmp_path, "search", "metres")
    kept.append("talk-7", [SessionMessage("user", "And in cubits?")], begin)
    assert "cubits" in ok(tmp_path, "search", "cubits")
    shown = ok(tmp_path, "show", "talk-7")
    assert "2962 metres." in shown
    assert "cubits" in shown
    assert os.listdir(tmp_path / "data/cortext")


@pytest.mark.parametrize("kind", ["", "log:", "document:"])
def test_list_shows_session_in_working_folder_of_program_only(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody has to say so; what a framework says itself counts more. Elsewhere it is not shown."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    here, there = tmp_path / "here", tmp_path / "there"
    for folder in (here, there):
        folder.mkdir()
    monkeypatch.chdir(here)
    kept = SessionLog(f"{kind}{tmp_path / 'mine'}", "tests")
    for id, folder in (("talk-here", ""), ("talk-there", str(there))):
        session = kept.new_session(id, working_dir=folder)
        kept.append(id, [SessionMessage("user", "Where are we?")], lambda session=session: session)
    for folder, other in ((here, there), (there, here)):
        listed = ok(folder, "list")
        assert f"talk-{folder.name}" in listed
        assert f"talk-{other.name}" not in listed


def test_session_of_program_without_working_folder_is_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It keeps its sessions, which were had nowhere."""
    kept = SessionLog(tmp_path / "mine", "tests")
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    kept.append("one", [SessionMessage("user", "Hello")], lambda: kept.new_session("one"))
    monkeypatch.chdir(tmp_path)
    assert kept.head("one").working_dir == ""
