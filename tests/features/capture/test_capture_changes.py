"""What a person changed stays so; what a tool went back from is marked; no file is believed."""

import errno
import json
import shutil
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from cortext.errors import SessionStorageError
from cortext.features.capture import capture as module
from cortext.features.capture.bindings import bind, row_of
from cortext.features.resume.resumable_tool_sessions import find_native_session
from cortext.formats.history_budget import render_briefing_history
from cortext.model.message import SessionMessage
from cortext.tools.writer_protocol import turns_of
from tests.features.capture_bench import GOLDEN, Bench


def edit(bench: Bench, old: bytes, new: bytes) -> None:
    path = Path(bench.bound.place.lines)
    path.write_bytes(path.read_bytes().replace(old, new))


def test_capture_does_not_restore_text_that_user_removed(claude_bench: Bench) -> None:
    """Cut, emptied, or taken out with their line, in the middle and at the end."""
    claude_bench.bind()
    claude_bench.say("user", "my password is hunter2", 1)
    claude_bench.say("assistant", "and mine is hunter3", 2)
    claude_bench.capture()
    edit(claude_bench, b"my password is hunter2", b"my password is")
    edit(claude_bench, b"and mine is hunter3", b"")
    path = Path(claude_bench.bound.place.lines)
    before = path.read_bytes()
    claude_bench.capture(whole=True)
    assert path.read_bytes() == before
    lines = before.splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-2]))
    (note,) = claude_bench.capture(whole=True).notes
    assert "not captured again: 2" in note
    assert not claude_bench.capture(whole=True).notes
    assert path.read_bytes() == b"".join(lines[:-2])
    claude_bench.say("user", "More?", 3)
    claude_bench.capture()
    claude_bench.capture(whole=True)
    assert claude_bench.said() == [*claude_bench.expected, ["user", "More?"]]


def test_capture_fills_new_conversation_at_path_of_deleted_conversation(
    claude_bench: Bench,
) -> None:
    """What was taken into one that was deleted is not thought to be taken out of the next."""
    claude_bench.bind()
    claude_bench.capture()
    shutil.rmtree(claude_bench.bound.place.folder)
    again = claude_bench.begin("The cache")
    place = claude_bench.bound.place
    if again.place != place:
        Path(again.place.folder).rename(place.folder)
    claude_bench.bind()
    assert claude_bench.capture(whole=True).new > 0
    assert claude_bench.said() == claude_bench.expected


def in_folder(bench: Bench, folder: Path) -> None:
    """The session was had in a folder that is there, as a native resume wants it."""
    folder.mkdir(exist_ok=True)
    data = bench.transcript.read_bytes()
    bench.transcript.write_bytes(data.replace(b"/home/you/project", str(folder).encode()))


def test_capture_marks_abandoned_branch_and_hides_branch_from_models(
    claude_bench: Bench, tmp_path: Path
) -> None:
    """It stays in the file, no model gets it, and the tool's own session still holds all."""
    claude_bench.bind()
    tip = claude_bench.tip
    claude_bench.say("user", "Left?", 1, tip)
    claude_bench.say("assistant", "Left.", 2)
    claude_bench.capture()
    claude_bench.say("user", "Right?", 3, tip)
    claude_bench.say("assistant", "Right.", 4)
    claude_bench.capture()
    marked = [m["content"] for m in claude_bench.messages() if m.get("abandoned")]
    assert marked == ["Left?", "Left."]
    before = claude_bench.files
    claude_bench.capture(whole=True)
    assert claude_bench.files == before
    session = claude_bench.workspace.store.load(claude_bench.bound.place.name)
    told = "\n".join(turn.text for turn in turns_of(session, show=str))
    briefing = render_briefing_history(session, nonce="n", show=str)
    for text in (told, briefing):
        assert ("Left" in text, "Right?" in text) == (False, True)
    in_folder(claude_bench, tmp_path / "project")
    found = find_native_session(row_of(claude_bench.bound), "claude")
    assert found
    assert found.id == claude_bench.session


def test_capture_marks_abandoned_branch_of_opencode(
    tmp_path: Path, data_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It deletes the rows, and goes on with others."""
    golden = GOLDEN / "opencode/1.18.33"
    ((session, said),) = json.loads((golden / "said.json").read_text(encoding="utf-8")).items()
    path = data_home / "opencode/opencode.db"
    path.parent.mkdir()
    bench = Bench("claude", tmp_path, monkeypatch)
    with closing(sqlite3.connect(path)) as database:
        database.executescript((golden / "opencode.sql").read_text(encoding="utf-8"))
        bind(bench.bound, "opencode", session, str(path), after="")
        bench.capture()
        last = "SELECT id FROM message ORDER BY time_created DESC, id DESC LIMIT 2"
        for (id,) in database.execute(last).fetchall():
            for table, key in (("message", "id"), ("part", "message_id")):
                database.execute(
                    f"UPDATE {table} SET {key} = {key} || 'x', time_created = time_created + 99999,"
                    f" time_updated = time_updated + 99999 WHERE {key} = ?",
                    (id,),
                )
            database.execute("UPDATE part SET id = id || 'x' WHERE message_id = ?", (f"{id}x",))
        database.commit()
        bench.capture()
    assert sorted(bench.said()) == sorted([*said, *said[-2:]])
    live = [m for m in bench.messages() if not m.get("abandoned")]
    assert len(bench.messages()) - len(live) == 2


def test_capture_marks_no_branch_when_transcript_lost_its_beginning(claude_bench: Bench) -> None:
    """Only a session that went on from a message that is there went another way."""
    claude_bench.bind()
    claude_bench.capture()
    lines = claude_bench.transcript.read_bytes().splitlines(keepends=True)
    claude_bench.write(lines[len(lines) // 2 :])
    claude_bench.capture(whole=True)
    assert not [m for m in claude_bench.messages() if m.get("abandoned")]


def test_native_session_is_not_resumed_when_late_message_is_missing(
    claude_bench: Bench, tmp_path: Path
) -> None:
    """Pulled after the conversion, said before it: the session was not told of it."""
    in_folder(claude_bench, tmp_path / "project")
    name = claude_bench.bound.place.folder[len(claude_bench.workspace.root) + 1 :]

    def said(text: str) -> SessionMessage:
        return SessionMessage("user", text, timestamp=datetime(2029, 12, 31, tzinfo=UTC))

    claude_bench.workspace.store.append(name, said("Converted."))
    claude_bench.bind("2030-01-01T00:00:00Z")
    claude_bench.say("user", "Goes on.", 1)
    in_folder(claude_bench, tmp_path / "project")
    claude_bench.capture()
    assert find_native_session(row_of(claude_bench.bound), "claude")
    claude_bench.workspace.store.append(name, said("On another machine."))
    assert find_native_session(row_of(claude_bench.bound), "claude") is None


def set_native(bench: Bench, *entries: Any) -> None:
    path = Path(bench.bound.place.head)
    head = json.loads(path.read_bytes())
    head["native"] = list(entries)
    path.write_text(json.dumps(head), encoding="utf-8")


@pytest.mark.parametrize("place", ["elsewhere", "link", "other id"])
def test_capture_ignores_binding_path_outside_tool_transcripts(
    claude_bench: Bench, tmp_path: Path, place: str
) -> None:
    """A workspace that somebody else wrote names a file: only the tool's own transcript of that
    session is read."""
    secret = tmp_path / "anything.jsonl"
    secret.write_bytes(claude_bench.transcript.read_bytes())
    if place == "link":
        path = claude_bench.transcript.with_name("anything.jsonl")
        path.symlink_to(secret)
    else:
        path = secret if place == "elsewhere" else claude_bench.transcript
    entry = {"tool": "claude", "session_id": "anything", "path": str(path), "from": "", "to": ""}
    set_native(claude_bench, entry)
    assert (claude_bench.capture().new, claude_bench.capture(whole=True).new) == (0, 0)
    assert claude_bench.messages() == []


@pytest.mark.parametrize(
    "entry",
    [
        {"tool": "vim", "session_id": "x"},
        {"session_id": "x"},
        {"tool": "claude", "session_id": 5},
        {"tool": "claude", "session_id": "a", "from": 5, "to": 7},
        {"tool": "claude", "session_id": "", "pid": "x", "started": "y"},
        {"session_id": "", "pid": 7},
    ],
)
def test_invalid_binding_does_not_hide_valid_bindings(
    claude_bench: Bench, entry: dict[str, Any]
) -> None:
    """It is passed over; what the sound ones have is taken."""
    claude_bench.bind()
    set_native(claude_bench, entry, *claude_bench.head()["native"])
    assert claude_bench.capture(whole=True).new
    assert claude_bench.said() == claude_bench.expected
    assert find_native_session(row_of(claude_bench.bound), "gemini") is None
    if entry["session_id"]:
        assert any("native" in note for note in claude_bench.capture(whole=True).notes)


def test_binding_of_another_machine_causes_no_note_and_no_full_read(
    claude_bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It never was here: nobody is warned, and the next turn reads only what is new."""
    bind(
        claude_bench.bound, "codex", "0199-not-here", "/there/rollout-0199-not-here.jsonl", after=""
    )
    claude_bench.bind()
    assert claude_bench.capture().new
    monkeypatch.setattr(module._Capture, "_reconcile", None)
    claude_bench.say("user", "More?", 1)
    assert claude_bench.capture() == (1, [])
    monkeypatch.undo()


def test_full_capture_does_not_warn_of_sessions_of_other_machines(claude_bench: Bench) -> None:
    bind(claude_bench.bound, "codex", "0199-not-here", after="")
    claude_bench.bind()
    claude_bench.capture()
    assert claude_bench.capture(whole=True).notes == []


def test_capture_does_not_warn_of_deleted_transcript_after_binding_ended(
    claude_bench: Bench,
) -> None:
    """Nobody is warned of a transcript that had nothing more for the conversation."""
    claude_bench.bind()
    claude_bench.bind(None, claude_bench.begin("Another thing"))
    claude_bench.capture()
    claude_bench.transcript.unlink()
    assert claude_bench.capture(whole=True).notes == []


def test_capture_finds_transcript_written_after_binding(claude_bench: Bench) -> None:
    """Bound before its tool had written anything: the next look takes it."""
    data = claude_bench.transcript.read_bytes()
    claude_bench.transcript.unlink()
    claude_bench.bind()
    assert claude_bench.capture().new == 0
    claude_bench.transcript.write_bytes(data)
    claude_bench.capture()
    assert claude_bench.said() == claude_bench.expected


def test_capture_raises_error_of_the_disk_unless_whole_sessions_are_read(
    claude_bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only callers that read whole sessions show notes; a hook logs the error."""
    claude_bench.bind()

    def fail(*_: object, **__: object) -> None:
        raise OSError(errno.EIO, "Input/output error", "a transcript")

    monkeypatch.setattr(module, "find_transcript", fail)
    with pytest.raises(SessionStorageError, match="could not read the claude session"):
        claude_bench.capture()
    assert "could not read" in claude_bench.capture(whole=True).notes[0]
