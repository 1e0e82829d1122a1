"""Keeping the archive: one at a time, going on where it stopped, respecting what was deleted."""

import errno
import os
import shutil
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cortext import paths
from cortext.catalog.catalog import Catalog
from cortext.durability import incremental_copy as following
from cortext.durability.file_lock import FileLock
from cortext.errors import (
    CortextError,
    SessionLockedError,
    SessionNotFoundError,
    SessionStorageError,
)
from cortext.features.archive import background_sync
from cortext.features.archive.archive_copy_states import Memory, folder_of, sizes
from cortext.features.archive.archive_sync import forget, sync
from cortext.features.manage.trash import empty, list_trash, restore
from cortext.tools.deleted_sessions import forgotten
from tests.faults.mounts import fill, mounted
from tests.features.archive.archived_sessions import ID, archived, other, say
from tests.tools.opencode.opencode_data import Made, text


@pytest.fixture(autouse=True)
def archive_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home in which no tool was used yet."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("CI", raising=False)
    return tmp_path


def test_sync_counts_new_grown_replaced_and_unchanged_transcripts(archive_home: Path) -> None:
    """What was new, grown, written anew or as before, and how much is kept."""
    say(archive_home, "one")
    say(archive_home, "two", id=other(2))
    first = sync().tools[0]
    assert (first.new, first.read == first.sources, first.packed > 0) == (2, True, True)
    say(archive_home, "one", "more")
    say(archive_home, "TWO", "and more", id=other(2))
    second = sync().tools[0]
    assert (second.grown, second.replaced, second.unchanged) == (1, 1, 0)
    third = sync().tools[0]
    assert (third.unchanged, third.read) == (2, 0)
    assert [(size.tool, size.copies) for size in sizes()] == [("claude", 2)]
    assert archived() == {ID: ["one", "more"], other(2): ["TWO", "and more"]}


def test_sizes_count_copies_on_disk_when_known_file_is_damaged(archive_home: Path) -> None:
    """Where nothing is remembered of them, nobody is told that there are none."""
    say(archive_home, "one")
    say(archive_home, "TWO", "and more", id=other(2))
    sync()
    before = sizes()
    Path(paths.archive(), ".known/claude.json").write_bytes(b'{"half')
    assert sizes() == before
    assert (before[0].copies, before[0].sources > before[0].packed > 0) == (2, True)


def test_sync_rewrites_no_copy_when_known_folder_is_lost(archive_home: Path) -> None:
    """Then copies are unpacked and compared, and none is written again."""
    path = say(archive_home, "one", "two")
    sync()
    (copy,) = Path(folder_of("claude")).rglob("*.gz")
    before = copy.read_bytes()
    shutil.rmtree(Path(paths.archive()) / ".known")
    assert sync().tools[0].unchanged == 1
    (Path(paths.archive()) / ".known" / "claude.json").write_text("{damaged")
    assert sync().tools[0].unchanged == 1
    assert copy.read_bytes() == before
    assert copy.stat().st_mtime == path.stat().st_mtime


def test_archive_is_private_under_any_umask(archive_home: Path) -> None:
    """Folders 0700 and files 0600, whatever the umask."""
    say(archive_home, "one")
    before = os.umask(0)
    try:
        sync()
        background_sync.notice()
        forget("claude", ID)
    finally:
        os.umask(before)
    found = list(Path(paths.archive()).rglob("*"))
    assert len(found) > 5
    modes = {(path.is_dir(), stat.S_IMODE(path.stat().st_mode)) for path in found}
    assert modes == {(True, 0o700), (False, 0o600)}


def test_sync_reports_unreadable_source_and_copies_other_sessions(archive_home: Path) -> None:
    """A folder in the place of a file, a database that is none."""
    say(archive_home, "one")
    say(archive_home, "x", id=other(1)).unlink()
    (archive_home / ".claude/projects" / "-home-you-project" / f"{other(1)}.jsonl").mkdir(
        parents=True
    )
    database = archive_home / "data/opencode/opencode.db"
    database.parent.mkdir(parents=True)
    database.write_bytes(b"no database" * 1000)
    result = sync()
    assert archived() == {ID: ["one"]}
    assert [failed.path for failed in result.errors] == [str(database)]


def test_second_sync_names_process_that_holds_lock(archive_home: Path) -> None:
    """A second one is told who is at work."""
    say(archive_home, "one")
    sync()
    with FileLock(os.path.join(paths.archive(), ".lock")), pytest.raises(SessionLockedError) as it:
        sync()
    assert f"process {os.getpid()}" in it.value.holder


def test_concurrent_syncs_copy_each_transcript_once(archive_home: Path) -> None:
    """Started together and each waiting for the other: nothing is there twice."""
    for number in range(30):
        say(archive_home, *(f"text {number}" for _ in range(number + 1)), id=other(number))
    code = "from cortext.features.archive.archive_sync import sync; sync(wait=60)"
    both = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(2)]
    assert [process.wait(60) for process in both] == [0, 0]
    assert {id: len(texts) for id, texts in archived().items()} == {
        other(number): number + 1 for number in range(30)
    }


def test_sync_continues_where_full_disk_stopped_last_sync(
    archive_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was copied before stays, and the sentence says what to do."""
    for number in range(4):
        say(archive_home, f"text {number}", id=other(number))
    real, left = following.write_all, [2]

    def write_all(fd: int, data: bytes) -> None:
        if not left[0]:
            raise OSError(errno.ENOSPC, "No space left on device")
        left[0] -= 1
        real(fd, data)

    with monkeypatch.context() as patch:
        patch.setattr(following, "write_all", write_all)
        with pytest.raises(SessionStorageError, match="no space left") as caught:
            sync()
    assert "free some space" in caught.value.hint
    assert len(archived()) == 2
    done = sync().tools[0]
    assert (done.new, done.unchanged) == (2, 2)


def test_sync_on_full_filesystem_leaves_no_partial_copy(archive_home: Path) -> None:
    """On a small file system: the sentence, nothing half written, and the rest when there is
    space again."""
    with mounted(archive_home / "data", "-t", "tmpfs", "-o", "size=1m", "none") as disk:
        say(archive_home, "one")
        sync()
        say(archive_home, "one", os.urandom(100_000).hex())
        say(archive_home, os.urandom(100_000).hex(), id=other(2))
        filler = fill(disk, 4096)
        for _ in range(2):
            with pytest.raises(SessionStorageError, match="no space left"):
                sync()
            assert archived() == {ID: ["one"]}
        filler.unlink()
        sync()
        assert {id: len(texts) for id, texts in archived().items()} == {ID: 2, other(2): 1}


def test_sync_is_refused_when_archive_is_disabled(
    archive_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a setting, which no workspace can change."""
    say(archive_home, "one")
    monkeypatch.setenv("CORTEXT_ARCHIVE_ENABLED", "off")
    with pytest.raises(CortextError, match="turned off") as caught:
        sync()
    assert "archive.enabled on" in caught.value.hint
    assert not background_sync.start_in_background()
    assert not Path(paths.archive()).exists()


def test_deleted_session_is_copied_again_only_after_restore(archive_home: Path) -> None:
    """Our copy goes to the trash with all that belongs to it, and is not made again; put back,
    it goes on."""
    path = say(archive_home, "one")
    sync()
    path.with_suffix("").mkdir()
    (path.with_suffix("") / "subagents").mkdir()
    (path.with_suffix("") / "subagents" / "agent-1.jsonl").write_bytes(path.read_bytes())
    say(archive_home, "another")
    sync()
    deleted = forget("claude", ID, "A title")
    assert str(path) in deleted.sentence
    assert path.exists()
    assert archived() == {}
    assert [*Path(folder_of("claude")).rglob("*.gz")] == []
    say(archive_home, "another", "two")
    assert sync().tools[0].deleted == 2
    assert archived() == {}
    assert [(stone.tool, stone.id) for stone in forgotten()] == [("claude", ID)]
    (entry,) = list_trash()
    assert entry.label == f"claude {ID}: A title"
    restore(entry.id)
    assert archived() == {ID: ["another"]}
    assert forgotten() == []
    assert sync().tools[0].grown == 1
    assert archived() == {ID: ["another", "two"]}


def test_sync_does_not_copy_session_again_after_trash_is_emptied(archive_home: Path) -> None:
    """After the trash is emptied it is still not copied again."""
    path = say(archive_home, "a word")
    forget("claude", ID)
    empty()
    sync()
    assert (archived(), list_trash(), path.exists()) == ({}, [], True)


def test_deleted_session_leaves_no_text_after_trash_is_emptied(archive_home: Path) -> None:
    """Where the tool has it no more and the trash was emptied, also not in the catalog."""
    path = say(archive_home, "a secret word")
    with Catalog.at_home() as catalog:
        assert [row.title for row in catalog.tool_sessions()[0]] == ["a secret word"]
    sync()
    forget("claude", ID)
    path.unlink()
    empty()
    homes = Path(paths.data_home()), Path(paths.cache_home())
    kept = [file for home in homes for file in home.rglob("*") if file.is_file()]
    assert Path(paths.catalog()) in kept
    assert [file for file in kept if b"secret" in file.read_bytes()] == []


def test_delete_mentions_only_archive_copy_when_tool_has_none(archive_home: Path) -> None:
    """Then only our copy is spoken of; what nobody has is an error."""
    say(archive_home, "one").unlink()
    with pytest.raises(SessionNotFoundError):
        forget("claude", ID)
    path = say(archive_home, "one")
    sync()
    path.unlink()
    assert (
        forget("claude", ID).sentence == "The copy is now in the trash; the tool has no file of it"
    )


def test_delete_of_opencode_session_names_its_database(archive_home: Path) -> None:
    """Rows of a database remain, and where they are is said."""
    (archive_home / "data").mkdir()
    made = Made(archive_home / "data" / "opencode")
    made.session()
    made.message("msg_1", "user", text("one"))
    made.session("ses_2")
    made.message("msg_2", "user", text("two"), session="ses_2")
    sync()
    assert str(made.path) in forget("opencode", "ses_1").sentence
    sync()
    assert archived("opencode") == {"ses_2": ["two"]}


def test_sync_copies_remaining_sessions_after_kill(archive_home: Path) -> None:
    """What was copied stays, and the rest follows."""
    for number in range(200):
        say(archive_home, "words " * 2000, id=other(number))
    code = "from cortext.features.archive.archive_sync import sync; sync()"
    process = subprocess.Popen([sys.executable, "-c", code])
    deadline = time.monotonic() + 60
    while len([*Path(paths.archive()).rglob("*.gz")]) < 20 and time.monotonic() < deadline:
        if process.poll() is not None:
            break
    process.kill()
    process.wait()
    result = sync().tools[0]
    assert (result.new + result.unchanged + result.grown, len(archived())) == (200, 200)


def test_background_sync_starts_at_most_once_per_interval(archive_home: Path) -> None:
    """It is started at most once in a while, waits for nobody and says nothing."""
    say(archive_home, "one")
    assert background_sync.start_in_background()
    assert not background_sync.start_in_background()
    deadline = time.monotonic() + 60
    known = Path(paths.archive()) / ".known" / "claude.json"
    while not known.exists():
        assert time.monotonic() < deadline
    assert archived() == {ID: ["one"]}
    started = Path(paths.archive()) / ".started"
    os.utime(started, (1, time.time() - background_sync.EVERY - 1))
    assert background_sync.start_in_background()


def test_background_sync_is_silent_when_data_home_is_unwritable(archive_home: Path) -> None:
    """It is no concern of a list: `cortext sync` says what is wrong."""
    (archive_home / "data").write_text("a file in the place of the folder")
    assert not background_sync.start_in_background()
    assert background_sync.notice() == ""


def test_background_sync_does_not_start_in_ci(
    archive_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A build keeps no histories."""
    monkeypatch.setenv("CI", "true")
    assert not background_sync.start_in_background()
    assert not Path(paths.archive()).exists()


def test_background_sync_imports_no_heavy_module() -> None:
    """It is imported by every list."""
    code = "import sys, cortext.features.archive.background_sync; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"click", "msgspec", "subprocess", "logging", "json", "shutil", "sqlite3", "tomllib"}
    assert heavy & set(done.stdout.split()) == set()


def test_archive_notice_is_shown_once(archive_home: Path) -> None:
    """Where things are kept, and how to turn it off."""
    assert background_sync.notice() == ""
    sync()
    said = background_sync.notice()
    assert paths.archive() in said
    assert "`cortext config archive.enabled off`" in said
    assert background_sync.notice() == ""


def test_sync_does_not_open_unchanged_transcript(
    archive_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What did not change costs a look at its folder."""
    for number in range(5):
        say(archive_home, "one", id=other(number))
    sync()
    opened: list[str] = []
    monkeypatch.setattr(following, "open_file", lambda path: opened.append(path))
    assert sync().tools[0].unchanged == 5
    assert opened == []


def test_sync_writes_no_file_when_nothing_changed(archive_home: Path) -> None:
    """A look that finds nothing new leaves every file alone."""
    say(archive_home, "one")
    sync()
    before = {path: path.stat().st_ino for path in Path(paths.archive()).rglob("*")}
    sync()
    assert {path: path.stat().st_ino for path in Path(paths.archive()).rglob("*")} == before
    assert [known.packed > 0 for known in Memory("claude").copies.values()] == [True]
