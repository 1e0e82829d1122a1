"""What leaves `aur spawn`'s sessions: only what is meant, and only to the trash."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from cortext import (
    CortextError,
    InvalidIdError,
    SessionLockedError,
    SessionMessage,
    SessionNotFoundError,
    clock,
    paths,
)
from cortext.durability.trash_folder import Trash
from cortext.features.errors_log import last_errors
from cortext.features.manage import trash as trash
from cortext.features.spawn import background_cleanup, delete_spawned
from cortext.features.spawn.aurora_settings import SpawnSettings
from cortext.features.spawn.background_cleanup import start_expiry, take_cleanup_notice
from cortext.features.spawn.delete_spawned import clean, delete, expire
from cortext.features.spawn.open_spawn_session import SpawnSession
from cortext.features.spawn.spawn_list import list_spawned
from cortext.features.spawn.spawn_locks_and_recovery import session_path
from tests.command import ok

NOW = datetime.now(UTC)
MONTH = SpawnSettings("", 30, 100_000, [])


def write(id: str, *days: float, began: float | None = None, status: str = "completed") -> Path:
    """A session whose turns were said so many days ago; its file was written just now."""
    began = max(days, default=0) if began is None else began
    head = {"type": "metadata", "session_id": id, "agent": "qa-test", "status": status}
    head |= {"created_at": (NOW - timedelta(days=began)).isoformat(), "title": f"About {id}"}
    turns = [
        {"type": "turn", "role": "user", "content": "x",
         "timestamp": (NOW - timedelta(days=day)).isoformat()}
        for day in days
    ]  # fmt: skip
    path = Path(session_path(id))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in (head, *turns)), encoding="utf-8")
    return path


def there() -> set[str]:
    return {path.stem for path in Path(paths.spawn_sessions()).glob("*.jsonl")}


def until(what: Callable[[], Any], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, "it did not come about"
        time.sleep(0.02)


def test_trash_restores_deleted_session_byte_for_byte(tmp_path: Path) -> None:
    """It is in the trash under its id and title, with what was set aside; `trash restore` puts
    all of it back, byte for byte."""
    path = write("one", 1)
    torn = path.with_name("one.jsonl.torn")
    torn.write_bytes(b"half")
    other = path.with_name("one.jsonl.torn.txt")
    other.write_bytes(b"not ours")
    before = path.read_bytes()
    entry = delete("one")
    assert (entry.label, entry.origins) == ("one: About one", (str(path), str(torn)))
    assert (path.exists(), torn.exists(), other.exists()) == (False, False, True)
    assert list_spawned() == []
    assert "one: About one" in ok(tmp_path, "trash", "list")
    ok(tmp_path, "trash", "restore", "one")
    assert (path.read_bytes(), torn.read_bytes()) == (before, b"half")
    assert [row.key for row in list_spawned()] == ["one"]


def test_emptying_trash_removes_deleted_sessions(tmp_path: Path) -> None:
    """For good, without an error."""
    write("one", 1)
    delete("one")
    ok(tmp_path, "trash", "empty", "--yes")
    assert trash.list_trash() == []


def test_damaged_session_can_be_deleted() -> None:
    """On request anything can."""
    write("one", 1).write_bytes(b"\0\0\0")
    assert delete("one").label == "one"
    assert there() == set()


@pytest.mark.parametrize("id", ["none", "on"])
def test_delete_rejects_unknown_id_and_id_prefix(id: str) -> None:
    """No beginning of one."""
    write("one", 1)
    with pytest.raises(SessionNotFoundError):
        delete(id)
    assert there() == {"one"}


@pytest.mark.parametrize("id", ["../one", "", "a/b", "a\0b"])
def test_delete_rejects_invalid_id(id: str) -> None:
    """Nothing outside the folder is reached."""
    with pytest.raises(InvalidIdError):
        delete(id)


def test_delete_refuses_open_session_and_names_its_process() -> None:
    """The error names who has it open."""
    session = SpawnSession.begin("qa-test", id="one")
    with pytest.raises(SessionLockedError, match=f"process {os.getpid()}"):
        delete("one")
    assert there() == {"one"}
    session.close(completed=True)
    delete("one")
    assert there() == set()


def test_clean_measures_age_by_last_turn() -> None:
    """Neither the file's time nor the beginning; the beginning where nothing was said."""
    write("old", 50, 31)
    write("recent", 50, 29)
    write("never-old", began=31)
    write("never-recent", began=29)
    gone, kept = clean(30)
    assert sorted(entry.label for entry in gone) == ["never-old: About never-old", "old: About old"]
    assert (there(), kept) == ({"recent", "never-recent"}, [])


def test_clean_with_zero_days_deletes_every_session_not_open() -> None:
    """What nobody has open goes, whatever its status."""
    for id, status in (("a", "active"), ("b", "completed"), ("c", "interrupted")):
        write(id, 0, status=status)
    session = SpawnSession.begin("qa-test", id="open")
    gone, kept = clean(0)
    assert (len(gone), there()) == (3, {"open"})
    assert kept == ["open: it is open"]
    session.close(completed=True)


def test_clean_keeps_recent_session_after_clock_jump() -> None:
    """A clock that was wrong for a while: the latest turn counts, not only the last."""
    write("back", 3, 20_000)
    write("forth", -20_000, 40)
    assert clean(30).gone == []
    assert there() == {"back", "forth"}


def test_clean_keeps_and_names_session_from_future() -> None:
    """Also if everything is to go."""
    write("later", -2)
    write("begun-later", 40, began=-1)
    write("old", 40)
    gone, kept = clean(0)
    assert (len(gone), there()) == (1, {"later", "begun-later"})
    assert sorted(kept)[1].startswith("later: its time is in the future: ")


def test_clean_deletes_nothing_when_clock_is_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """In 1970 everything is from the future."""
    write("old", 400)
    monkeypatch.setattr(clock, "now", lambda: datetime(1970, 1, 1, 0, 5, tzinfo=UTC))
    assert clean(30).gone == []
    assert there() == {"old"}


@pytest.mark.parametrize(
    "data",
    [b"", b"{broken\n", b"\0" * 100, b'{"type":"metadata","session_id":"bad"}\n'],
)
def test_clean_keeps_and_names_unreadable_session(data: bytes) -> None:
    """However old the file is, and whatever its bytes are: they stay as they are."""
    write("old", 40)
    path = write("bad", 40)
    path.write_bytes(data)
    os.utime(path, (0, 0))
    gone, kept = clean(0)
    assert (len(gone), there(), path.read_bytes()) == (1, {"bad"}, data)
    assert [line.startswith(f"bad: {path}, line 1: ") for line in kept] == [True]


def test_clean_keeps_session_with_one_damaged_line() -> None:
    """It is named with the line."""
    path = write("bad", 40)
    path.write_bytes(path.read_bytes() + b"{broken\n")
    assert "line 3" in clean(30).kept[0]
    assert there() == {"bad"}


def test_clean_keeps_session_resumed_after_listing(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is looked at again just before it is moved."""
    write("one", 40)
    write("two", 40)
    rows = list_spawned()
    monkeypatch.setattr(delete_spawned, "list_spawned", lambda: rows)
    session = SpawnSession.reopen("one")
    session.take_in([SessionMessage("user", "still here")])
    session.close(completed=True)
    held = SpawnSession.reopen("two")
    gone, kept = clean(30)
    assert (gone, there()) == ([], {"one", "two"})
    name = Path("/proc/self/comm").read_text().strip()
    assert sorted(kept) == [
        "one: it was used meanwhile",
        f"two: it is in use by process {os.getpid()} ({name})",
    ]
    held.close(completed=True)


def test_clean_keeps_session_that_cannot_be_moved_to_trash(monkeypatch: pytest.MonkeyPatch) -> None:
    """The others go, and it is said why."""
    write("one", 40)
    write("two", 40)
    real = Trash.put

    def put(self: Trash, label: str, paths: list[str]) -> Any:
        if label.startswith("one"):
            raise OSError(28, "No space left on device")
        return real(self, label, paths)

    monkeypatch.setattr(Trash, "put", put)
    gone, kept = clean(30)
    assert (len(gone), there()) == (1, {"one"})
    assert "No space left" in kept[0]


@pytest.mark.parametrize("days", [-1, -0.5, float("nan"), float("inf"), "30", None, True])
def test_clean_rejects_invalid_age(days: Any) -> None:
    """With one sentence, and nothing goes."""
    write("one", 400)
    with pytest.raises(CortextError, match="the number of days must be 0 or more"):
        clean(days)
    assert there() == {"one"}


def test_clean_deletes_nothing_for_huge_age() -> None:
    """Then nothing is as old."""
    write("one", 400)
    assert clean(1e300) == ([], [])
    assert there() == {"one"}


def test_cleanup_notice_counts_deleted_sessions_once() -> None:
    """With how many, also over several clean-ups."""
    assert take_cleanup_notice() == ""
    write("one", 40)
    expire(30)
    assert (
        take_cleanup_notice() == "1 session older than 30 days moved to the trash. "
        "To list the trash: `cortext trash list`"
    )
    assert take_cleanup_notice() == ""
    for id in ("two", "three", "four"):
        write(id, 40)
        expire(30)
    assert take_cleanup_notice().startswith("3 sessions older than 30 days moved to the trash")
    expire(30)
    assert take_cleanup_notice() == ""


def test_failed_background_cleanup_is_logged(monkeypatch: pytest.MonkeyPatch) -> None:
    """`cortext doctor` shows it."""

    def fail(*args: object, **more: object) -> None:
        raise CortextError("it did not work")

    monkeypatch.setattr(delete_spawned, "clean", fail)
    expire(30)
    assert "cleaning up sessions: CortextError: it did not work" in last_errors()[-1]


def test_background_cleanup_deletes_only_old_sessions() -> None:
    """A real process of its own does it: the old one goes to the trash; what is recent, open,
    damaged or from the future stays."""
    write("old", 31)
    write("recent", 29)
    write("later", -5)
    write("bad", 31).write_bytes(b"{broken\n")
    session = SpawnSession.begin("qa-test", id="open")
    session.take_in([SessionMessage("user", "x", timestamp=NOW - timedelta(days=31))])
    assert start_expiry(MONTH, list_spawned())
    until(lambda: "old" not in there())
    until(take_cleanup_notice)
    assert there() == {"recent", "later", "bad", "open"}
    assert [entry.label for entry in trash.list_trash()] == ["old: About old"]
    session.close(completed=True)


def test_background_cleanup_outlives_its_parent() -> None:
    """The command has ended when the file goes."""
    write("old", 31)
    program = (
        "import os; from cortext.features.spawn.background_cleanup import start_expiry;"
        "from cortext.features.spawn.aurora_settings import SpawnSettings;"
        "start_expiry(SpawnSettings('', 30, 1, [])); os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
    until(lambda: "old" not in there())


def test_background_cleanup_starts_only_when_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Off by default; not if nothing is old; and, where that is not known, not twice in a few
    minutes."""
    started: list[tuple[str, ...]] = []

    def start(*arguments: str) -> bool:
        started.append(arguments)
        return True

    monkeypatch.setattr(background_cleanup, "start_detached", start)
    assert not start_expiry(MONTH)  # there is no folder
    write("recent", 1)
    assert not start_expiry(MONTH._replace(expiry_days=0), list_spawned())
    assert not start_expiry(MONTH, list_spawned())
    write("bad", 90).write_bytes(b"{broken\n")
    assert not start_expiry(MONTH, list_spawned())
    assert started == []
    assert start_expiry(MONTH)
    assert not start_expiry(MONTH)
    write("old", 31)
    assert start_expiry(MONTH, list_spawned())
    assert len(started) == 2
    stamp = Path(paths.spawn_sessions()) / ".cortext/clean-up.started"
    os.utime(stamp, (time.time() + 10_000, time.time() + 10_000))  # the clock was set back
    assert start_expiry(MONTH)
