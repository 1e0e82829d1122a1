"""What a person changed stays so; what a tool went back from is marked; no file is believed."""

import json
import shutil
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from cortext.features.capture import capture as module
from cortext.features.capture.bindings import bind
from cortext.features.capture.current_session import row_in_list
from cortext.features.resume.native_sessions import find_native
from cortext.formats.history_budget import render_briefing_history
from cortext.model.message import SessionMessage
from cortext.tools.writer_protocol import turns_of
from tests.features.capture_bench import GOLDEN, Bench


@pytest.fixture
def claude(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    return Bench("claude", tmp_path, monkeypatch)


def edit(bench: Bench, old: bytes, new: bytes) -> None:
    path = Path(bench.bound.place.lines)
    path.write_bytes(path.read_bytes().replace(old, new))


def test_words_that_a_person_cut_stay_cut(claude: Bench) -> None:
    """Cut, emptied, or taken out with their line, in the middle and at the end."""
    claude.bind()
    claude.say("user", "my password is hunter2", 1)
    claude.say("assistant", "and mine is hunter3", 2)
    claude.capture()
    edit(claude, b"my password is hunter2", b"my password is")
    edit(claude, b"and mine is hunter3", b"")
    path = Path(claude.bound.place.lines)
    before = path.read_bytes()
    claude.capture(whole=True)
    assert path.read_bytes() == before
    lines = before.splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-2]))
    (note,) = claude.capture(whole=True).notes
    assert "(2 messages)" in note
    assert not claude.capture(whole=True).notes
    assert path.read_bytes() == b"".join(lines[:-2])
    claude.say("user", "More?", 3)
    claude.capture()
    claude.capture(whole=True)
    assert claude.said() == [*claude.expected, ["user", "More?"]]


def test_another_conversation_in_the_same_place(claude: Bench) -> None:
    """What was taken into one that was deleted is not thought to be taken out of the next."""
    claude.bind()
    claude.capture()
    shutil.rmtree(claude.bound.place.folder)
    again = claude.begin("The cache")
    place = claude.bound.place
    if again.place != place:
        Path(again.place.folder).rename(place.folder)
    claude.bind()
    assert claude.capture(whole=True).new > 0
    assert claude.said() == claude.expected


def in_folder(bench: Bench, folder: Path) -> None:
    """The session was had in a folder that is there, as a native resume wants it."""
    folder.mkdir(exist_ok=True)
    data = bench.transcript.read_bytes()
    bench.transcript.write_bytes(data.replace(b"/home/you/project", str(folder).encode()))


def test_branch_that_was_left_is_marked(claude: Bench, tmp_path: Path) -> None:
    """It stays in the file, no model gets it, and the tool's own session still holds all."""
    claude.bind()
    tip = claude.tip
    claude.say("user", "Left?", 1, tip)
    claude.say("assistant", "Left.", 2)
    claude.capture()
    claude.say("user", "Right?", 3, tip)
    claude.say("assistant", "Right.", 4)
    claude.capture()
    marked = [m["content"] for m in claude.messages() if m.get("abandoned")]
    assert marked == ["Left?", "Left."]
    before = claude.files
    claude.capture(whole=True)
    assert claude.files == before
    session = claude.workspace.store.load(claude.bound.place.name)
    told = "\n".join(turn.text for turn in turns_of(session, show=str))
    briefing = render_briefing_history(session, nonce="n", show=str)
    for text in (told, briefing):
        assert ("Left" in text, "Right?" in text) == (False, True)
    in_folder(claude, tmp_path / "project")
    found = find_native(row_in_list(claude.bound), "claude")
    assert found
    assert found.id == claude.session


def test_branch_that_was_left_in_opencode(
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


def test_transcript_that_lost_its_beginning_marks_nothing(claude: Bench) -> None:
    """Only a session that went on from a message that is there went another way."""
    claude.bind()
    claude.capture()
    lines = claude.transcript.read_bytes().splitlines(keepends=True)
    claude.write(lines[len(lines) // 2 :])
    claude.capture(whole=True)
    assert not [m for m in claude.messages() if m.get("abandoned")]


def test_native_resume_misses_no_message_that_came_late(claude: Bench, tmp_path: Path) -> None:
    """Pulled after the conversion, said before it: the session was not told of it."""
    in_folder(claude, tmp_path / "project")
    name = claude.bound.place.folder[len(claude.workspace.root) + 1 :]

    def said(text: str) -> SessionMessage:
        return SessionMessage("user", text, timestamp=datetime(2029, 12, 31, tzinfo=UTC))

    claude.workspace.store.append(name, said("Converted."))
    claude.bind("2030-01-01T00:00:00Z")
    claude.say("user", "Goes on.", 1)
    in_folder(claude, tmp_path / "project")
    claude.capture()
    assert find_native(row_in_list(claude.bound), "claude")
    claude.workspace.store.append(name, said("On another machine."))
    assert find_native(row_in_list(claude.bound), "claude") is None


def set_native(bench: Bench, *entries: Any) -> None:
    path = Path(bench.bound.place.head)
    head = json.loads(path.read_bytes())
    head["native"] = list(entries)
    path.write_text(json.dumps(head), encoding="utf-8")


@pytest.mark.parametrize("place", ["elsewhere", "link", "other id"])
def test_path_from_a_file_is_not_believed(claude: Bench, tmp_path: Path, place: str) -> None:
    """A workspace that somebody else wrote names a file: only the tool's own transcript of that
    session is read."""
    secret = tmp_path / "anything.jsonl"
    secret.write_bytes(claude.transcript.read_bytes())
    if place == "link":
        path = claude.transcript.with_name("anything.jsonl")
        path.symlink_to(secret)
    else:
        path = secret if place == "elsewhere" else claude.transcript
    entry = {"tool": "claude", "session_id": "anything", "path": str(path), "from": "", "to": ""}
    set_native(claude, entry)
    assert (claude.capture().new, claude.capture(whole=True).new) == (0, 0)
    assert claude.messages() == []


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
def test_entry_that_is_none_hides_no_other(claude: Bench, entry: dict[str, Any]) -> None:
    """It is passed over; what the sound ones have is taken."""
    claude.bind()
    set_native(claude, entry, *claude.head()["native"])
    assert claude.capture(whole=True).new
    assert claude.said() == claude.expected
    assert find_native(row_in_list(claude.bound), "gemini") is None
    if entry["session_id"]:
        assert any("native" in note for note in claude.capture(whole=True).notes)


def test_session_of_another_machine_costs_nothing(
    claude: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It never was here: nobody is warned, and the next turn reads only what is new."""
    bind(claude.bound, "codex", "0199-not-here", "/there/rollout-0199-not-here.jsonl", after="")
    claude.bind()
    assert claude.capture().new
    monkeypatch.setattr(module._Capture, "_reconcile", None)
    claude.say("user", "More?", 1)
    assert claude.capture() == (1, [])
    monkeypatch.undo()


def test_stop_does_not_warn_of_sessions_that_never_were_here(claude: Bench) -> None:
    bind(claude.bound, "codex", "0199-not-here", after="")
    claude.bind()
    claude.capture()
    assert claude.capture(whole=True).notes == []


def test_ended_session_that_was_read_may_go(claude: Bench) -> None:
    """Nobody is warned of a transcript that had nothing more for the conversation."""
    claude.bind()
    claude.bind(None, claude.begin("Another thing"))
    claude.capture()
    claude.transcript.unlink()
    assert claude.capture(whole=True).notes == []


def test_session_that_is_written_later_is_found(claude: Bench) -> None:
    """Bound before its tool had written anything: the next look takes it."""
    data = claude.transcript.read_bytes()
    claude.transcript.unlink()
    claude.bind()
    assert claude.capture().new == 0
    claude.transcript.write_bytes(data)
    claude.capture()
    assert claude.said() == claude.expected
