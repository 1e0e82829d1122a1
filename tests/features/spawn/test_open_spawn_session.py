"""The sessions of `aur spawn`, as files."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cortext import (
    SessionCorruptedError,
    SessionLockedError,
    SessionMessage,
    SessionNotFoundError,
    SessionStorageError,
)
from cortext.durability.live_session_mark import live_holder
from cortext.errors import CortextError
from cortext.features.spawn import open_spawn_session
from cortext.features.spawn.open_spawn_session import SpawnSession
from cortext.features.spawn.spawn_list import list_spawned
from cortext.features.spawn.spawn_locks_and_recovery import live_path, recover, session_path
from cortext.stores.log import LogStore
from cortext.tools.tool_output_parsers import LONGEST, LONGEST_TURN


def lines_of(id: str) -> list[dict[str, Any]]:
    text = Path(session_path(id)).read_text(encoding="utf-8")
    assert text.endswith("\n")
    return [json.loads(line) for line in text.splitlines()]


def had(id: str, exchanges: int = 3, *, completed: bool = True) -> None:
    """A session that was had and has ended."""
    session = SpawnSession.begin("qa-test", id=id)
    for number in range(exchanges):
        session.keep(f"question {number}", f"answer {number}")
    session.close(completed=completed)


def test_begin_writes_metadata_line_before_first_prompt(data_home: Path) -> None:
    """Line 1 has all that the specification asks for."""
    session = SpawnSession.begin("qa-test", id="session-123")
    assert session.path == str(data_home / "aurora/spawn/sessions/session-123.jsonl")
    (head,) = lines_of("session-123")
    assert head["type"] == "metadata"
    assert (head["session_id"], head["agent"], head["status"]) == (
        "session-123",
        "qa-test",
        "active",
    )
    assert head["created_at"]


def test_keep_writes_exchange_as_two_turns() -> None:
    """Role, content, time and tokens stand on each."""
    session = SpawnSession.begin("qa-test", id="one")
    session.keep("what?", "that", tokens=77)
    _, question, answer = lines_of("one")
    assert (question["type"], question["role"], question["content"]) == ("turn", "user", "what?")
    assert (answer["type"], answer["role"], answer["content"]) == ("turn", "assistant", "that")
    assert (question["tokens"], answer["tokens"]) == (1, 77)
    assert question["timestamp"] <= answer["timestamp"]


def test_reopened_session_has_all_its_turns() -> None:
    """In order, and in what the agent gets next."""
    had("one")
    session = SpawnSession.reopen("one")
    assert (session.was, session.count) == ("completed", 6)
    said = [turn.content for turn in session.turns()]
    assert said == [f"{word} {n}" for n in range(3) for word in ("question", "answer")]
    prompt = session.context.prompt("more").text
    assert all(text in prompt for text in said)
    assert lines_of("one")[0]["status"] == "active"


@pytest.mark.parametrize(("completed", "word"), [(True, "completed"), (False, "interrupted")])
def test_close_records_completed_or_interrupted_status(completed: bool, word: str) -> None:
    had("one", completed=completed)
    assert lines_of("one")[0]["status"] == word
    assert SpawnSession.reopen("one").was == word


def test_last_turns_have_their_numbers() -> None:
    """The last three of ten are 8, 9 and 10."""
    had("one", 5)
    session = SpawnSession.reopen("one")
    assert [(n, turn.content) for n, turn in session.last(3)] == [
        (8, "answer 3"),
        (9, "question 4"),
        (10, "answer 4"),
    ]
    assert [n for n, _ in session.last(99)] == [*range(1, 11)]
    assert session.last(0) == []


def test_second_open_of_session_names_its_process() -> None:
    """A second one is told who has it; also here, and also for a new one of the same name."""
    session = SpawnSession.begin("qa-test", id="one")
    with pytest.raises(SessionLockedError, match=f"open in process {os.getpid()}"):
        SpawnSession.reopen("one")
    with pytest.raises(SessionLockedError, match=f"open in process {os.getpid()}"):
        SpawnSession.begin("qa-test", id="one")
    session.close(completed=True)
    assert live_holder(live_path("one")) is None
    with pytest.raises(SessionStorageError, match="already"):
        SpawnSession.begin("qa-test", id="one")


def test_failed_reopen_releases_session() -> None:
    """A session that could not be opened is not held."""
    had("one")
    path = Path(session_path("one"))
    path.write_bytes(path.read_bytes().replace(b'"role":"assistant"', b'"role":', 1))
    with pytest.raises(SessionCorruptedError, match="line 3"):
        SpawnSession.reopen("one")
    assert live_holder(live_path("one")) is None


def test_recover_keeps_every_good_line_and_original_file() -> None:
    """The file as it was stays beside it."""
    had("one")
    path = Path(session_path("one"))
    damaged = path.read_bytes().replace(b'"role":"assistant"', b'"role":', 1)
    path.write_bytes(damaged)
    done = recover("one")
    assert (done.kept, done.lost, Path(done.aside).read_bytes()) == (5, 1, damaged)
    session = SpawnSession.reopen("one")
    assert (session.agent, session.count, session.was) == ("qa-test", 5, "interrupted")
    assert [t.content for t in session.turns()][:3] == ["question 0", "question 1", "answer 1"]


def test_recover_keeps_turns_when_metadata_line_is_damaged() -> None:
    """Turns are kept where line 1 is gone."""
    had("one")
    path = Path(session_path("one"))
    path.write_bytes(b"{\n" + path.read_bytes().partition(b"\n")[2])
    done = recover("one")
    assert (done.kept, done.lost) == (6, 1)
    assert SpawnSession.reopen("one").agent == "default"


def test_reopen_notes_torn_tail_and_next_turn_sets_torn_bytes_aside() -> None:
    """It is no corruption: the session goes on, and nothing of it is lost."""
    had("one")
    path = Path(session_path("one"))
    path.write_bytes(path.read_bytes() + b'{"type":"turn","role":"us')
    session = SpawnSession.reopen("one")
    assert (session.count, len(session.notes)) == (6, 1)
    assert "the last line is incomplete" in session.notes[0]
    assert session.notes[0].endswith("the next turn moves them to a .torn file next to it")
    session.keep("next", "yes")
    assert Path(f"{path}.torn").read_bytes() == b'{"type":"turn","role":"us'
    assert [turn["content"] for turn in lines_of("one")[-2:]] == ["next", "yes"]


def test_unsaved_exchange_is_saved_with_next_exchange(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nothing of it is lost, and nothing is there twice."""
    session = SpawnSession.begin("qa-test", id="one")
    append = LogStore.append

    def full(*args: object, **kwargs: object) -> None:
        raise SessionStorageError("could not write: no space left on device")

    monkeypatch.setattr(LogStore, "append", full)
    with pytest.raises(SessionStorageError):
        session.keep("first", "answer")
    monkeypatch.setattr(LogStore, "append", append)
    session.keep("second", "answer")
    assert [turn["content"] for turn in lines_of("one")[1:]] == [
        "first",
        "answer",
        "second",
        "answer",
    ]
    assert session.count == 4


def test_fork_copies_turns_and_leaves_parent_unchanged() -> None:
    """The fork names its parent; the parent stays as it was."""
    session = SpawnSession.begin("qa-test", id="one")
    session.keep("what?", "that")
    fork = session.fork()
    session.close(completed=False)
    fork.keep("and?", "this")
    fork.close(completed=True)
    head, *turns = lines_of(fork.id)
    assert (head["parent_id"], head["agent"], head["title"]) == ("one", "qa-test", "what?")
    assert [turn["content"] for turn in turns] == ["what?", "that", "and?", "this"]
    assert [turn["content"] for turn in lines_of("one")[1:]] == ["what?", "that"]
    assert lines_of("one")[0]["status"] == "interrupted"


def test_title_is_first_line_of_first_request_until_rename() -> None:
    """Its first line, not longer than any other title; a person's own stays as it is."""
    session = SpawnSession.begin("qa-test", id="one")
    session.keep("\n  why " + "it " * 60 + "\nmore", "because")
    assert lines_of("one")[0]["title"] == ("why " + "it " * 60).strip()
    session.rename("My " + "words " * 30)
    session.keep("more", "yes")
    session.close(completed=True)
    assert lines_of("one")[0]["title"] == ("My " + "words " * 30).strip()
    with pytest.raises(CortextError, match="at most 1,000 characters"):
        session.rename("x" * 1001)


def test_title_of_imported_turns_is_first_request() -> None:
    """The first request of an import or a fork, not the last."""
    session = SpawnSession.begin("qa-test", id="one")
    session.take_in([SessionMessage("user", text) for text in (" ", "first", "last")])
    assert session.title == "first"
    session.rename("")
    assert session.fork().title == "first"


def test_second_close_keeps_status_of_first_close() -> None:
    """The first that closes it says how it ended."""
    session = SpawnSession.begin("qa-test", id="one")
    session.close(completed=True)
    session.close(completed=False)
    assert lines_of("one")[0]["status"] == "completed"


def full(*args: object, **kwargs: object) -> None:
    raise SessionStorageError("could not write: no space left on device")


def test_failed_begin_releases_session(monkeypatch: pytest.MonkeyPatch) -> None:
    """It can begin when there is room."""
    with monkeypatch.context() as patch:
        patch.setattr(LogStore, "save", full)
        with pytest.raises(SessionStorageError) as caught:
            SpawnSession.begin("qa-test", id="one")
    assert caught.value  # it keeps the frames in which the session was
    assert live_holder(live_path("one")) is None


def test_failed_fork_leaves_no_file_and_no_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a file nor a lock; the session is open as it was."""
    session = SpawnSession.begin("qa-test", id="one")
    session.keep("what?", "that")
    with monkeypatch.context() as patch:
        patch.setattr(LogStore, "append", full)
        with pytest.raises(SessionStorageError) as caught:
            session.fork()
    assert caught.value
    folder = Path(session.path).parent
    assert [path.name for path in folder.glob("*.jsonl")] == ["one.jsonl"]
    marks = [path.name for path in (folder / ".cortext/live").iterdir()]
    assert [name for name in marks if live_holder(live_path(name))] == ["one"]
    session.keep("and?", "this")
    assert len(lines_of("one")) == 5


def test_reopen_reads_metadata_after_taking_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    """What another changed before it let go is not lost."""
    had("one", completed=False)
    take = open_spawn_session.take_session

    def late(id: str) -> Any:
        LogStore(Path(session_path(id)).parent).amend(id, status="completed")
        return take(id)

    monkeypatch.setattr(open_spawn_session, "take_session", late)
    assert SpawnSession.reopen("one").was == "completed"


def test_reopen_of_missing_session_leaves_no_live_mark() -> None:
    with pytest.raises(SessionNotFoundError):
        SpawnSession.reopen("nobody")
    assert not os.path.exists(live_path("nobody"))


@pytest.mark.parametrize("folder", [False, True])
def test_keep_rewrites_deleted_session_file_from_memory(folder: bool) -> None:
    """From what is held, also after the agent was told to forget; it is said, once."""
    session = SpawnSession.begin("qa-test", id="one")
    session.keep("first", "answer")
    if folder:
        shutil.rmtree(Path(session.path).parent)
    else:
        os.unlink(session.path)
    assert [turn.content for _, turn in session.last(9)] == ["first", "answer"]
    assert [turn.content for turn in session.whole().messages] == ["first", "answer"]
    session.keep("second", "answer")
    assert [line.get("content") for line in lines_of("one")] == [
        *(None, "first", "answer", "second", "answer")
    ]
    assert session.notes == [f"{session.path} was deleted, and was written again from memory"]
    assert live_holder(live_path("one"))
    session.context.clear()
    os.unlink(session.path)
    session.keep("third", "answer")
    assert session.notes[1].endswith("; 4 of 6 turns are lost")
    assert [line["content"] for line in lines_of("one")[1:]] == ["third", "answer"]
    session.close(completed=True)
    assert lines_of("one")[0]["status"] == "completed"


def test_unsaved_turns_are_part_of_history(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of its history, of what can be asked again, and of what is saved elsewhere."""
    session = SpawnSession.begin("qa-test", id="one")
    session.keep("first", "answer")
    monkeypatch.setattr(LogStore, "append", full)
    with pytest.raises(SessionStorageError):
        session.keep("second", "late")
    assert [(n, turn.content) for n, turn in session.last(3)] == [
        *((2, "answer"), (3, "second"), (4, "late"))
    ]
    asked = session.last_asked()
    assert asked == (session.waiting[0].id, "second")
    assert [turn.content for turn in session.whole().messages][2:] == ["second", "late"]
    assert [turn.content for turn in session.turns()][2:] == ["second", "late"]
    assert "second" in session.context.prompt("x").text


def test_longest_allowed_turn_can_be_listed() -> None:
    """What can be answered can be kept and listed."""
    session = SpawnSession.begin("qa-test", id="one")
    # The answer begins at the end of a block that is read, which makes the most blocks.
    session.keep("x" * ((1 << 20) - 1000), '"' * (LONGEST // 2))
    session.take_in([SessionMessage("assistant", "x" * (LONGEST_TURN - 1000))])
    session.close(completed=True)
    (row,) = list_spawned()
    assert (row.note, row.messages) == ("", 3)


def test_keep_rejects_turn_that_is_too_long() -> None:
    """With one sentence, and nothing of it is kept."""
    session = SpawnSession.begin("qa-test", id="one")
    with pytest.raises(CortextError, match="more than 65 MB"):
        session.keep("x", "\n" * LONGEST)
    assert (session.waiting, session.context.turns, len(lines_of("one"))) == ([], 0, 1)


def test_take_in_adds_turns_to_file_and_context() -> None:
    session = SpawnSession.begin("qa-test", id="one")
    session.take_in([SessionMessage("user", "from afar"), SessionMessage("assistant", "yes")])
    assert [turn["content"] for turn in lines_of("one")[1:]] == ["from afar", "yes"]
    assert "from afar" in session.context.prompt("go on").text


def test_session_files_are_private_under_any_umask() -> None:
    """From their first instant, whatever the umask is."""
    old = os.umask(0)
    try:
        session = SpawnSession.begin("qa-test", id="one")
    finally:
        os.umask(old)
    path = Path(session.path)
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)


def test_killed_session_is_interrupted() -> None:
    """What was kept is there after kill -9, and nobody has it open."""
    code = (
        "import sys, time\n"
        "from cortext.features.spawn.open_spawn_session import SpawnSession\n"
        "session = SpawnSession.begin('qa-test', id='one')\n"
        "session.keep('what?', 'that')\n"
        "print('kept', flush=True)\n"
        "time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"kept\n"
        assert str(process.pid) in (live_holder(live_path("one")) or "")
        process.send_signal(signal.SIGKILL)
    session = SpawnSession.reopen("one")
    assert (session.was, session.count) == ("interrupted", 2)
