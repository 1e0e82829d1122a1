"""Deleting what programs keep by an adapter: to the trash with all that belongs to it, and back."""

from pathlib import Path
from typing import Any

import pytest

from cortext import SessionMessage
from cortext.adapters.session_log import SessionLog
from cortext.stores.log import LogStore
from tests.command import cortext, ok

SECRET = "The quagga is vermillion."


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where programs keep sessions of which nobody says where."""
    for name in ("DATA", "CACHE", "CONFIG", "STATE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    monkeypatch.setenv("CI", "true")
    return tmp_path / "data/cortext/programs"


def keep(where: Path, id: str, text: str, **head: Any) -> Path:
    """A session of one message; its file."""
    kept = SessionLog(where, "tests", remembered=where.name != "checkpoints")
    kept.append(id, [SessionMessage("user", text)], lambda: kept.new_session(id, **head))
    kept.close()
    return where / f"{id}.jsonl"


def listed(place: Path) -> list[str]:
    return [line for line in ok(place, "list", "--all").splitlines() if "order" in line]


def test_delete_and_restore_move_log_with_its_related_files(programs: Path, tmp_path: Path) -> None:
    """With its state, its sub-agents and what was set aside; what is another's stays."""
    own = [
        keep(programs, "order-17", SECRET, title="An order"),
        keep(programs / "checkpoints", "order-17", "packed"),
        keep(programs / "subagents", "agent-1", "looking", parent_id="order-17"),
    ]
    torn = programs / "order-17.jsonl.torn"
    torn.write_bytes(b'{"half')
    others = [
        keep(programs, "order-18", "Another", title="Another order"),
        keep(programs / "checkpoints", "order-18", "packed"),
        keep(programs / "subagents", "agent-2", "looking", parent_id="order-18"),
        keep(programs / "state", "user-ada", "shared"),
    ]
    before = {path: path.read_bytes() for path in [*own, torn, *others]}
    done = cortext(tmp_path, "delete", "order-17", "--yes")
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
    assert "and 3 other files of its program" in done.stderr
    assert [path for path in (*own, torn) if path.exists()] == []
    assert {path: path.read_bytes() for path in others} == {path: before[path] for path in others}
    assert len(listed(tmp_path)) == 1
    ok(tmp_path, "restore", "order-17")
    assert {path: path.read_bytes() for path in before} == before
    assert len(listed(tmp_path)) == 2
    assert "quagga" in ok(tmp_path, "search", "quagga")


def test_delete_and_restore_work_in_custom_program_folder(programs: Path, tmp_path: Path) -> None:
    """It is deleted where it is, and comes back there."""
    path = keep(tmp_path / "shop", "order-1", SECRET, title="An order")
    ok(tmp_path, "delete", "order-1", "--yes")
    assert not path.exists()
    ok(tmp_path, "trash", "restore", "order-1")
    assert LogStore(path.parent).load("order-1").messages[0].content == SECRET


def test_restore_refuses_to_overwrite_newer_log(programs: Path, tmp_path: Path) -> None:
    """A program that went on has begun it anew: both stay, and the person is told."""
    path = keep(programs, "order-1", SECRET, title="An order")
    state = keep(programs / "checkpoints", "order-1", "packed")
    ok(tmp_path, "delete", "order-1", "--yes")
    keep(programs, "order-1", "Begun anew")
    refused = cortext(tmp_path, "trash", "restore", "order-1")
    assert refused.returncode == 1
    assert f"{path} already exists" in refused.stderr
    assert LogStore(programs).load("order-1").messages[0].content == "Begun anew"
    assert not state.exists()
    path.rename(path.with_suffix(".moved"))
    ok(tmp_path, "trash", "restore", "order-1")
    assert LogStore(programs).load("order-1").messages[0].content == SECRET
    assert state.exists()


def test_delete_without_yes_keeps_log_and_names_option(programs: Path, tmp_path: Path) -> None:
    """Where nobody can be asked, it says how to answer."""
    path = keep(programs, "order-1", SECRET)
    refused = cortext(tmp_path, "delete", "order-1")
    assert (refused.returncode, "--yes" in refused.stderr) == (1, True)
    assert path.exists()


def test_delete_refuses_log_locked_by_writing_program(programs: Path, tmp_path: Path) -> None:
    """While it holds the log, the log is not moved away under it."""
    path = keep(programs, "order-1", SECRET)
    with LogStore(programs).changing("order-1"):
        refused = cortext(tmp_path, "delete", "order-1", "--yes")
    assert refused.returncode == 6
    assert path.exists()
    ok(tmp_path, "delete", "order-1", "--yes")


def test_emptying_trash_removes_text_from_all_files_and_indexes(
    programs: Path, tmp_path: Path
) -> None:
    """Neither in what was deleted, nor in lists and indexes, an adapter's own included."""
    keep(programs, "order-1", SECRET, title="Quagga")
    keep(programs / "checkpoints", "order-1", SECRET)
    keep(programs, "order-2", "Nothing of that.")
    ok(tmp_path, "search", "quagga")
    (programs / ".cortext/claude-summaries.sqlite").write_text(SECRET, encoding="utf-8")
    ok(tmp_path, "delete", "order-1", "--yes")
    ok(tmp_path, "trash", "empty", "--yes")
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    holding = [path for path in files if b"quagga" in path.read_bytes().lower()]
    assert (len(files) > 3, holding) == (True, [])
    assert "Nothing" in ok(tmp_path, "search", "nothing")
