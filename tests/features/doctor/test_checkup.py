"""What `cortext doctor` looks at besides the sessions themselves."""

import fcntl
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from cortext import paths
from cortext.durability.trash_folder import Trash
from cortext.errors import SessionLockedError
from cortext.features.capture.capture import capture
from cortext.features.doctor import check_programs_and_disks
from cortext.features.doctor.check_conversations import check_conversation
from cortext.features.doctor.check_held_locks import check_locks, list_lock_files
from cortext.features.doctor.check_results import (
    NOTE,
    Repair,
    Repaired,
    Trouble,
    describe_kept,
    describe_trouble,
    reword_decode_error,
)
from cortext.features.doctor.check_state_files import check_database
from cortext.features.doctor.check_temp_files_and_modes import (
    check_modes,
    check_temp_files,
    find_readable_by_others,
    find_temp_files,
)
from cortext.features.doctor.checkup import run_checkup
from cortext.features.doctor.repair import run_repairs
from cortext.stores.log import LogStore
from cortext.workspace.known_folders import remember_program, remember_workspace
from cortext.workspace.workspace import Workspace
from tests.features.capture_bench import Bench
from tests.features.doctor.damage import Kept, flipped_bit, half_emoji, nul_line, torn

HOLD = """
import fcntl, os, sys
fd = os.open(sys.argv[1], os.O_RDWR)
fcntl.flock(fd, fcntl.LOCK_EX)
print("held", flush=True)
if sys.argv[2:] == ["child"]:
    if os.fork():
        os._exit(0)
sys.stdin.read()
"""


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def held(path: Path, *args: str) -> subprocess.Popen[bytes]:
    """A process that has a lock, and ends when its stdin does."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path), *args],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"held\n"
    return process


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    """The lock of a session that was written to."""
    kept = Kept("log", tmp_path / "logs").make()
    return tmp_path / f"logs/.cortext/locks/{kept.id}.lock"


def test_lock_check_names_stopped_process_that_holds_lock(lock: Path) -> None:
    """With its number and since when it runs; one that runs is nothing to tell."""
    folders = [str(lock.parents[2])]
    with held(lock) as process:
        assert check_locks(list_lock_files(folders)) == []
        process.send_signal(signal.SIGSTOP)
        try:
            until(lambda: bool(check_locks(list_lock_files(folders))))
            (problem,) = check_locks(list_lock_files(folders))
        finally:
            process.send_signal(signal.SIGCONT)
    assert f"{lock} is locked by process {process.pid} (" in problem.text
    assert "which is stopped (started 20" in problem.text
    assert f"`kill -9 {process.pid}`" in problem.hint


def test_lock_of_dead_process_is_free(lock: Path) -> None:
    """The lock file that it leaves is free: the next writer gets it."""
    with held(lock) as process:
        process.kill()
    assert check_locks(list_lock_files([str(lock.parents[2])])) == []
    fd = os.open(lock, os.O_RDWR)
    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(fd)


def test_lock_check_names_child_that_holds_lock_of_ended_parent(lock: Path) -> None:
    """The system names the parent, which has ended; the child has the file open."""
    with held(lock, "child") as process:
        process.wait()
        (problem,) = check_locks(list_lock_files([str(lock.parents[2])]))
        assert f"is locked: process {process.pid} has ended" in problem.text
        assert re.search(r"a process that it started has it open: process \d+ \(", problem.text)
        with pytest.raises(SessionLockedError):
            LogStore(lock.parents[2], lock_wait=0).amend("001-debug-slow", title="x")


def test_repair_moves_old_temp_files_to_trash(tmp_path: Path) -> None:
    """Those that are old, and only what looks like ours."""
    old, new = (tmp_path / f".a.{letter * 16}.tmp" for letter in "ab")
    for path in (old, new, tmp_path / "mine.tmp"):
        path.write_bytes(b"words")
        os.utime(path, (0, 0))
    os.utime(new)
    found = check_temp_files(find_temp_files([str(tmp_path)]))
    assert found.problems[0].text.endswith(f"1 temp file of killed processes: {old}")
    assert found.mend is not None
    found.mend.do()
    assert sorted(path.name for path in tmp_path.iterdir()) == [new.name, "mine.tmp"]
    (entry,) = Trash(paths.trash()).list()
    assert Path(paths.trash(), entry.id, "0").read_bytes() == b"words"
    assert found.mend.do() is None


def test_checkup_finds_temp_files_in_every_folder_cortext_writes_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also beside a conversation from another disk, among the notes of the archive, and where
    sessions are written for tools."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    workspace = Workspace.init(tmp_path / "work")
    day = Path(workspace.new("plan", "moving").document).parents[1]
    remember_workspace(str(tmp_path / "work"))
    tools = (".claude/projects/-work", ".codex/sessions/2026/01/01", ".gemini/tmp/work/chats")
    places = (day, Path(paths.archive()), *(Path.home() / name for name in tools))
    left = [folder / f".a.{'0' * 16}.tmp" for folder in places]
    for path in left:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"words")
        os.utime(path, (0, 0))
    (problem,) = [one for one in run_checkup().problems if "temp file" in one.text]
    assert problem.text.startswith(f"{len(left)} temp files of killed processes")


def test_repair_closes_modes_open_to_other_users(tmp_path: Path) -> None:
    folder = tmp_path / "tokens"
    folder.mkdir(mode=0o755)
    for name, mode in (("open", 0o644), ("closed", 0o600)):
        (folder / name).touch()
        (folder / name).chmod(mode)
    folder.chmod(0o750)
    found = check_modes("keys", list(find_readable_by_others([str(folder)])))
    assert found.problems[0].text.startswith("other users can read or change 2 paths with keys: ")
    assert found.mend is not None
    done = found.mend.do()
    assert done is not None
    assert f"{folder} had 750, {folder}/open had 644" in done.did
    assert [folder.stat().st_mode & 0o777, (folder / "open").stat().st_mode & 0o777] == [
        0o700,
        0o600,
    ]
    assert list(find_readable_by_others([str(folder)])) == []


def test_repair_removes_damaged_database_and_check_accepts_sound_database(tmp_path: Path) -> None:
    path = tmp_path / "index.sqlite3"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE a (b)")
        db.executemany("INSERT INTO a VALUES (?)", [("x" * 500,)] * 100)
    db.close()
    assert check_database(str(path)).problems == ()
    data = bytearray(path.read_bytes())
    data[4096:8192] = b"\xff" * 4096
    path.write_bytes(data)
    found = check_database(str(path))
    assert found.mend is not None
    found.mend.do()
    assert not path.exists()


def test_checkup_names_other_program_called_cortext_on_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A script that starts us is none, wherever it is."""
    for name, text in (("cortext", "#!/bin/sh\necho hello\n"), ("aur", "import cortext.cli.main")):
        (tmp_path / name).write_text(text, encoding="utf-8")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    (problem,) = check_programs_and_disks.check_program_names()
    where = f"{tmp_path}/cortext"
    assert problem.text == f"another program named `cortext` comes first on the PATH: {where}"


def test_checkup_reports_unwritable_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lists work without, so that nobody would know that nothing is archived."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("XDG_DATA_HOME", str(home / "data"))
    assert run_checkup().problems == []
    monkeypatch.setattr(check_programs_and_disks.os, "access", lambda path, mode: path != str(home))
    (problem,) = run_checkup().problems
    assert problem.text.startswith(
        f"{home} is not writable, so cortext cannot save anything new in {home}/"
    )
    assert (problem.severity, problem.path) == ("problem", str(home))


def test_hint_says_whether_fix_repairs_problem() -> None:
    """Without `--fix` nothing was left as it is: nobody has tried."""
    torn_line = Trouble("not JSON", 2)
    repaired, damaged = (describe_trouble("a", torn_line, mend).hint for mend in ("it goes", ""))
    assert repaired == "`cortext doctor --fix` repairs it"
    assert damaged.startswith("`cortext doctor --fix` does not change it; look at the file")
    note = describe_trouble("a", Trouble("fewer messages", None, NOTE, mends=False))
    assert note.hint.startswith("you need not do anything; ")


def test_report_says_that_torn_file_has_only_the_cut_line() -> None:
    assert describe_kept(["a.torn-2"]) == "; the cut line is kept in a.torn-2"
    assert describe_kept(["a.corrupt", "b.corrupt"]) == "; original kept: a.corrupt, b.corrupt"
    assert describe_kept([]) == ""


def test_checkup_notes_network_disk_in_mount_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the table of mounts, in which a space is written as a number."""
    folder = tmp_path / "my share/work"
    table = f"/dev/a / ext4 rw 0 0\nserver:/x {tmp_path}/my\\040share nfs4 rw 0 0\n"
    monkeypatch.setattr(check_programs_and_disks, "read_mounts", table.encode)
    (problem,) = check_programs_and_disks.check_network_disks(
        [str(folder), str(folder / "b"), str(tmp_path / "near")]
    )
    assert problem.text.startswith(f"{folder} is on a network disk (nfs4, at {tmp_path}/my share)")
    assert "file locks may not work there" in problem.text
    assert problem.severity == "note"


def test_checkup_notes_network_disks_of_programs_and_archive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also of the archive, which is another folder."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    remember_program(str(tmp_path / "share/logs"))
    Kept("log", tmp_path / "share/logs").make()
    table = f"s:/x {tmp_path}/share nfs4 rw 0 0\ns:/y {tmp_path}/data cifs rw 0 0\n"
    monkeypatch.setattr(check_programs_and_disks, "read_mounts", table.encode)
    told = [one.text for one in run_checkup().problems if "network disk" in one.text]
    assert sorted(re.findall(r"\((\w+), at", text)[0] for text in told) == ["cifs", "nfs4"]


def test_checkup_recognizes_network_disk_by_statfs_type(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `statfs` tells, also where no table of mounts does."""
    monkeypatch.setattr(check_programs_and_disks, "read_mounts", lambda: b"")
    monkeypatch.setattr(
        check_programs_and_disks,
        "filesystem_type",
        lambda folder: 0x6969 if "share" in folder else 0xEF53,
    )
    (problem,) = check_programs_and_disks.check_network_disks(
        [str(tmp_path / "near"), str(tmp_path / "share")]
    )
    assert problem.text.startswith(f"{tmp_path}/share is on a network disk (nfs, at ")


def test_filesystem_type_agrees_with_stat_command(tmp_path: Path) -> None:
    """Also of a folder that is not there yet."""
    said = subprocess.run(
        ["stat", "-f", "-c", "%t", tmp_path], check=True, capture_output=True, text=True
    )
    assert (
        check_programs_and_disks.filesystem_type(str(tmp_path / "a/b")) == int(said.stdout, 16) > 0
    )


def test_checkup_names_stopped_process_that_holds_archive_lock(tmp_path: Path) -> None:
    """As the archive's, which a sync holds that was stopped."""
    lock = Path(paths.archive(), ".lock")
    lock.parent.mkdir(parents=True)
    lock.touch(0o600)
    with held(lock) as process:
        process.send_signal(signal.SIGSTOP)
        try:
            until(lambda: any(one.path == str(lock) for one in run_checkup().problems))
        finally:
            process.send_signal(signal.SIGCONT)


def test_checkup_reports_torn_logs_of_programs(tmp_path: Path) -> None:
    """In the folder of programs all, in one that somebody named what looks like one."""
    named = tmp_path / "named"
    for folder in (Path(paths.program_sessions()), named):
        torn(Kept("log", folder).make())
    (named / "other.jsonl").write_text("{no\n", encoding="utf-8")
    remember_program(str(named))
    found = [
        one.path for one in run_checkup().problems if "the last line is incomplete" in one.text
    ]
    name = "001-debug-slow.jsonl"
    assert found == [f"{paths.program_sessions()}/{name}", f"{named}/{name}"]
    assert all(one.path != f"{named}/other.jsonl" for one in run_checkup().problems)


@pytest.mark.parametrize("name", ["checkpoints", "state", "subagents"])
def test_checkup_repairs_adapter_files_beside_sessions(name: str, tmp_path: Path) -> None:
    """It is mended as sessions are, and counts as none; what else is in such a folder is left."""
    remember_program(str(tmp_path))
    kept = Kept("log", tmp_path / name).make()
    nul_line(kept)
    kept.lines.chmod(0o644)
    (tmp_path / name / "other.jsonl").write_text("{no\n", encoding="utf-8")
    looked = run_checkup()
    assert looked.conversations == 0
    told = [one.text for one in looked.problems if one.path == str(kept.lines)]
    assert any("64 NUL bytes" in text for text in told)
    assert any("other users can read" in text for text in told)
    run_repairs(looked.mends)
    assert run_checkup().problems == []
    assert kept.ids() == ["m1", "m2", "m3", "m4", "m5", "m6"]


def test_checkup_reports_damaged_redaction_key_and_tombstone() -> None:
    """Neither can be made anew."""
    key, deleted = Path(paths.redaction_key()), Path(paths.archive(), ".forgotten")
    deleted.parent.mkdir(parents=True)
    key.write_bytes(b"short")
    key.chmod(0o600)
    deleted.write_bytes(b"claude\tid\t2025-11-22T09:00:00Z\nclaude\n")
    deleted.chmod(0o600)
    found = {one.path: one for one in run_checkup().problems}
    assert "is damaged" in found[str(key)].text
    assert "line 2: the id of a deleted session" in found[str(deleted)].text
    assert (found[str(key)].mend, found[str(deleted)].mend) == ("", "")


def test_tool_version_is_read_from_package_or_folder(tmp_path: Path) -> None:
    """From the package around a program, or the folder that it is in."""
    package = tmp_path / "lib/gemini/bundle"
    package.mkdir(parents=True)
    (package.parent / "package.json").write_text(json.dumps({"version": "9.1.0"}), encoding="utf-8")
    (package / "gemini.js").touch()
    assert check_programs_and_disks.read_tool_version(str(package / "gemini.js")) == "9.1.0"
    versions = tmp_path / "versions"
    versions.mkdir()
    (versions / "2.1.300").touch()
    (tmp_path / "claude").symlink_to(versions / "2.1.300")
    assert check_programs_and_disks.read_tool_version(str(tmp_path / "claude")) == "2.1.300"
    assert check_programs_and_disks.read_tool_version(None) == ""
    assert check_programs_and_disks.is_tested("claude", "2.1.300")
    assert not check_programs_and_disks.is_tested("gemini", "9.1.0")
    assert check_programs_and_disks.is_tested("codex", "")


def test_second_checkup_skips_unchanged_files_unless_deep(tmp_path: Path) -> None:
    """A second look reads what changed; a flipped bit changes no time, and `deep` finds it."""
    kept = Kept("log", Path(paths.spawn_sessions())).make(checksums=True)
    Kept("document", Path(paths.document_dir())).make()
    for path in (kept.lines, *Path(paths.document_dir()).glob("*.json")):
        os.utime(path, (1.7e9, 1.7e9))
    assert (run_checkup().conversations, run_checkup().read) == (2, 0)
    size = kept.lines.stat().st_size
    flipped_bit(kept)
    os.utime(kept.lines, (1.7e9, 1.7e9))
    assert kept.lines.stat().st_size == size
    assert run_checkup().problems == []
    seen: list[tuple[int, int]] = []
    deep = run_checkup(deep=True, progress=lambda done, of: seen.append((done, of)))
    assert [problem.line for problem in deep.problems] == [4]
    assert seen[-1][0] == seen[-1][1] > size


def test_failed_repair_does_not_stop_other_repairs() -> None:
    def fails() -> Repaired | None:
        raise PermissionError(13, "Permission denied")

    done = Repaired("b", [])
    outcome = run_repairs(
        [Repair("a", fails), Repair("b", lambda: done), Repair("c", lambda: None)]
    )
    assert outcome.mended == [done]
    assert [(failed.step, failed.why) for failed in outcome.failed] == [("a", "Permission denied")]


def over_the_third(path: Path) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:2], b"\0" * 99 + b"\n", *lines[3:]]))


@pytest.mark.parametrize("damage", [Path.unlink, over_the_third])
def test_repair_takes_lost_messages_from_tool_transcript(
    damage: Callable[[Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a conversation that was had in one, and whose transcript is still there."""
    bench = Bench("claude", tmp_path, monkeypatch)
    bench.bind()
    root, place = bench.bound.root, bench.bound.place
    assert capture(root, place).new > 3
    before = [m.id for m in bench.workspace.store.read(place.name).session.messages]
    damage(Path(place.lines))
    found = check_conversation(root, place)
    assert found.mend is not None
    done = found.mend.do()
    assert done is not None
    count, verb = (1, "message was") if damage is over_the_third else (len(before), "messages were")
    assert done.did.endswith(f"{count} {verb} captured from the tool")
    after = [m.id for m in bench.workspace.store.read(place.name).session.messages]
    assert after == before


def test_checkup_reports_trash_entry_with_unreadable_note() -> None:
    lost = Path(paths.trash(), "somebody")
    lost.mkdir(parents=True)
    (problem,) = [one for one in run_checkup().problems if one.path == str(lost)]
    assert (
        problem.text
        == f"{lost} is in the trash, but the note with its original path cannot be read"
    )


def test_checkup_reports_readable_modes_only_for_local_conversations(tmp_path: Path) -> None:
    """What came by git is others' too, and has the modes that git gives."""
    workspace = Workspace.init(tmp_path / "work")
    document = Path(workspace.new("brainstorm", "caching").document)
    Kept("workspace", tmp_path / "work", "900-debug-cloned").make().lines.chmod(0o644)
    lines = document.parent / ".session/messages.jsonl"
    lines.chmod(0o640)
    (problem,) = [one for one in run_checkup().problems if "other users" in one.text]
    assert problem.text.endswith(f"1 path with conversations: {lines}")


def test_checkup_writes_nothing_to_workspace(tmp_path: Path) -> None:
    """Not even a folder for locks, in a workspace that nobody wrote to here."""
    workspace = tmp_path / "work"
    kept = Kept("workspace", workspace).make()
    shutil.rmtree(workspace / "conversations/.cortext")
    half_emoji(kept)
    remember_workspace(str(workspace))
    before = {path: path.lstat().st_mtime_ns for path in workspace.rglob("*")}
    assert [problem.line for problem in run_checkup().problems if problem.mend] == [2]
    assert {path: path.lstat().st_mtime_ns for path in workspace.rglob("*")} == before


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("Expected `str`, got `int` - at `$.id`", "`id` is a number, but should be text"),
        (
            "Invalid enum value 'robot' - at `$.role`",
            "`role` has the unknown value 'robot'",
        ),
        ("Object missing required field `role`", "the field `role` is missing"),
        (
            "not JSON: unterminated string at at character 3",
            "not JSON: unterminated string at character 3",
        ),
    ],
)
def test_decode_error_is_reworded_without_schema_terms(said: str, told: str) -> None:
    """What is wrong with a message, for who has never seen a schema."""
    assert reword_decode_error(said) == told
