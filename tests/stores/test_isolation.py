"""What one session does leaves the others alone."""

import os
import subprocess
import sys
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from cortext import Session, SessionMessage, SessionStorage, SessionStorageError, open_session_store
from cortext.stores.limited_cache import LimitedCache

JANUARY, MARCH = (datetime(2026, month, 2, tzinfo=UTC) for month in (1, 3))
KINDS = ("document", "log", "workspace")


def test_same_id_on_another_day_is_another_conversation(tmp_path: Path) -> None:
    """Numbers start again each day: saving March's leaves January's alone."""
    store = open_session_store(f"workspace:{tmp_path}")
    store.save(Session("001-plan", created_at=JANUARY, messages=[SessionMessage("user", "old")]))
    store.save(Session("001-plan", created_at=MARCH, title="March"))
    assert store.list_session_ids() == ["2026-01-02/001-plan", "2026-03-02/001-plan"]
    assert store.load("2026-01-02/001-plan").messages[0].content == "old"
    assert store.load("2026-03-02/001-plan").messages == []


def test_conversation_moved_to_another_day_is_saved_there(tmp_path: Path) -> None:
    """It is the same one by the time at which it began."""
    store = open_session_store(f"workspace:{tmp_path}")
    session = Session("001-plan", created_at=JANUARY)
    store.save(session)
    os.rename(tmp_path / "conversations/2026-01-02", tmp_path / "conversations/2026-01-09")
    session.title = "moved"
    store.save(session)
    assert store.list_session_ids() == ["001-plan"]
    assert store.load("2026-01-09/001-plan").title == "moved"


@pytest.mark.parametrize(("kind", "suffix"), [("document", "json"), ("log", "jsonl")])
def test_delete_keeps_sessions_whose_ids_look_like_side_files(
    kind: str, suffix: str, tmp_path: Path
) -> None:
    """`a.json.corrupt-talk` is a session, and not what was set aside of `a`."""
    store = open_session_store(f"{kind}:{tmp_path}")
    others = [f"a.{suffix}.{word}-talk" for word in ("corrupt", "torn", "replaced")]
    for id in ("a", *others):
        store.save(Session(id))
    store.delete("a")
    assert store.list_session_ids() == sorted(others)


@pytest.mark.parametrize("kind", KINDS)
def test_save_of_new_object_with_same_id_keeps_stored_messages(kind: str, tmp_path: Path) -> None:
    """A program that makes its session each time it starts loses nothing of the last time."""
    for text in ("first run", "second run"):
        store = open_session_store(f"{kind}:{tmp_path}")
        store.save(Session("team", created_at=JANUARY))
        store.append("team", SessionMessage("user", text))
    found = open_session_store(f"{kind}:{tmp_path}").load("team")
    assert [message.content for message in found.messages] == ["first run", "second run"]


@pytest.mark.parametrize("kind", KINDS)
def test_eight_processes_create_one_session_and_keep_all_messages(
    kind: str, tmp_path: Path
) -> None:
    """The README's example, eight times at once: eight messages."""
    code = (
        "import sys; from datetime import UTC, datetime; from cortext import *\n"
        "store = open_session_store(sys.argv[1])\n"
        "store.save(Session('team', created_at=datetime(2026, 1, 2, tzinfo=UTC)))\n"
        "store.append('team', SessionMessage('user', sys.argv[2]))"
    )
    url = f"{kind}:{tmp_path}"
    writers = [subprocess.Popen([sys.executable, "-c", code, url, str(n)]) for n in range(8)]
    assert [writer.wait(60) for writer in writers] == [0] * 8
    found = open_session_store(url).load("team")
    assert sorted(message.content for message in found.messages) == [str(n) for n in range(8)]


def test_cleanup_keeps_session_appended_to_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A session that somebody goes on with in the meantime stays."""
    storage = SessionStorage(tmp_path)
    old = datetime.now(UTC) - timedelta(days=90)
    storage.save(Session("old", created_at=old, updated_at=old))
    real = storage._load_quietly

    def meanwhile(id: str) -> Session | None:
        found = real(id)
        SessionStorage(tmp_path).append("old", SessionMessage("user", "still here"))
        monkeypatch.setattr(storage, "_load_quietly", real)
        return found

    monkeypatch.setattr(storage, "_load_quietly", meanwhile)
    assert storage.cleanup_old_sessions(30, 0) == []
    assert storage.load("old").messages[0].content == "still here"
    assert storage.cleanup_old_sessions(10**7, 0) == []


@pytest.mark.parametrize("part", ["", "/s", "/s/.session"])
def test_symlinked_workspace_folders_are_never_written_through(part: str, tmp_path: Path) -> None:
    """Day, conversation or `.session`: whatever a link leads to is left alone."""
    place = tmp_path / "w"
    store = open_session_store(f"workspace:{place}")
    session = Session("s", created_at=JANUARY, messages=[SessionMessage("user", "x")])
    store.save(session)
    link, target = place / f"conversations/2026-01-02{part}", tmp_path / "elsewhere"
    os.rename(link, target)
    link.symlink_to(target)
    before = {path: path.read_bytes() for path in target.rglob("*") if path.is_file()}
    fresh = open_session_store(f"workspace:{place}")
    assert fresh.load("s") == session
    for write in (
        lambda: fresh.save(session),
        lambda: fresh.checkpoint(session),
        lambda: fresh.append("s", SessionMessage("user", "through")),
        lambda: fresh.delete("s"),
    ):
        with pytest.raises(SessionStorageError, match="symbolic link"):
            write()
    assert {path: path.read_bytes() for path in target.rglob("*") if path.is_file()} == before


def test_append_retry_after_file_is_replaced_stores_message_once(tmp_path: Path) -> None:
    """Others append and checkpoint in between; the message is stored once."""
    mine, others = (open_session_store(f"log:{tmp_path}") for _ in range(2))
    mine.save(Session("s"))
    message = SessionMessage("user", "once", id="req-1")
    mine.append("s", message)
    for number in range(200):
        others.append("s", SessionMessage("user", "y" * 600, id=str(number)))
    others.checkpoint(others.load("s"))
    mine.append("s", message)
    assert [m.id for m in mine.load("s").messages].count("req-1") == 1


def test_append_after_truncation_stores_lost_message_again(tmp_path: Path) -> None:
    """What was cut off can be appended again."""
    store = open_session_store(f"log:{tmp_path}")
    store.save(Session("s"))
    size = (tmp_path / "s.jsonl").stat().st_size
    message = SessionMessage("user", "x", id="m")
    store.append("s", message)
    os.truncate(tmp_path / "s.jsonl", size)
    store.append("s", message)
    assert [m.id for m in store.load("s").messages] == ["m"]


def test_dropped_stores_leave_no_open_files(tmp_path: Path) -> None:
    """Also without close()."""
    before = len(os.listdir("/proc/self/fd"))
    for number in range(30):
        store = open_session_store(f"log:{tmp_path}")
        store.save(Session(f"s{number}"))
        store.append(f"s{number}", SessionMessage("user", "x"))
    del store
    assert len(os.listdir("/proc/self/fd")) <= before + 2


def test_recent_accepts_puts_from_many_threads_and_stays_bounded() -> None:
    """No exception, and never more than it may hold."""
    recent: LimitedCache[int] = LimitedCache(4)
    failed: list[BaseException] = []

    def put(start: int) -> None:
        try:
            for number in range(5000):
                recent.put(str((start + number) % 50), number)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=put, args=(start,)) for start in range(8)]
    old = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    finally:
        sys.setswitchinterval(old)
    assert (failed, len(recent.clear())) == ([], 4)


@pytest.mark.parametrize("kind", ["document", "log"])
def test_delete_removes_old_temp_files_of_killed_writers(kind: str, tmp_path: Path) -> None:
    """Old temp files only: one that is new may be somebody's work."""
    storage = open_session_store(f"{kind}:{tmp_path}")
    storage.save(Session("s"))
    old, new = (tmp_path / f".cortext/.x.json.{digit * 16}.tmp" for digit in "01")
    for path in (old, new):
        path.write_bytes(b"words")
    os.utime(old, (0, 0))
    storage.delete("s")
    assert (old.exists(), new.exists()) == (False, True)
