"""The sessions of `aur spawn`, as files."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cortext import SessionCorruptedError, SessionLockedError, SessionMessage, SessionStorageError
from cortext.app.spawn.sessions import Spawned, live_path, path_of, recover
from cortext.durability.live import live_holder
from cortext.stores.log import LogStore


def lines_of(id: str) -> list[dict[str, Any]]:
    text = Path(path_of(id)).read_text(encoding="utf-8")
    assert text.endswith("\n")
    return [json.loads(line) for line in text.splitlines()]


def had(id: str, exchanges: int = 3, *, completed: bool = True) -> None:
    """A session that was had and has ended."""
    session = Spawned.begin("qa-test", id=id)
    for number in range(exchanges):
        session.keep(f"question {number}", f"answer {number}")
    session.close(completed=completed)


def test_file_is_there_before_the_first_prompt(data_home: Path) -> None:
    """Line 1 has all that the specification asks for."""
    session = Spawned.begin("qa-test", id="session-123")
    assert session.path == str(data_home / "aurora/spawn/sessions/session-123.jsonl")
    (head,) = lines_of("session-123")
    assert head["type"] == "metadata"
    assert (head["session_id"], head["agent"], head["status"]) == (
        "session-123",
        "qa-test",
        "active",
    )
    assert head["created_at"]


def test_exchange_is_two_turns() -> None:
    """Role, content, time and tokens stand on each."""
    session = Spawned.begin("qa-test", id="one")
    session.keep("what?", "that", tokens=77)
    _, question, answer = lines_of("one")
    assert (question["type"], question["role"], question["content"]) == ("turn", "user", "what?")
    assert (answer["type"], answer["role"], answer["content"]) == ("turn", "assistant", "that")
    assert (question["tokens"], answer["tokens"]) == (1, 77)
    assert question["timestamp"] <= answer["timestamp"]


def test_reopened_session_has_all_its_turns() -> None:
    """In order, and in what the agent gets next."""
    had("one")
    session = Spawned.reopen("one")
    assert (session.was, session.count) == ("completed", 6)
    said = [turn.content for turn in session.turns()]
    assert said == [f"{word} {n}" for n in range(3) for word in ("question", "answer")]
    prompt = session.context.prompt("more").text
    assert all(text in prompt for text in said)
    assert lines_of("one")[0]["status"] == "active"


@pytest.mark.parametrize(("completed", "word"), [(True, "completed"), (False, "interrupted")])
def test_status_when_it_ends(completed: bool, word: str) -> None:
    had("one", completed=completed)
    assert lines_of("one")[0]["status"] == word
    assert Spawned.reopen("one").was == word


def test_last_turns_have_their_numbers() -> None:
    """The last three of ten are 8, 9 and 10."""
    had("one", 5)
    session = Spawned.reopen("one")
    assert [(n, turn.content) for n, turn in session.last(3)] == [
        (8, "answer 3"),
        (9, "question 4"),
        (10, "answer 4"),
    ]
    assert [n for n, _ in session.last(99)] == [*range(1, 11)]
    assert session.last(0) == []


def test_session_is_open_in_one_process() -> None:
    """A second one is told who has it; also here, and also for a new one of the same name."""
    session = Spawned.begin("qa-test", id="one")
    with pytest.raises(SessionLockedError, match=f"open in process {os.getpid()}"):
        Spawned.reopen("one")
    with pytest.raises(SessionLockedError, match=f"open in process {os.getpid()}"):
        Spawned.begin("qa-test", id="one")
    session.close(completed=True)
    assert live_holder(live_path("one")) is None
    with pytest.raises(SessionStorageError, match="already"):
        Spawned.begin("qa-test", id="one")


def test_refused_session_can_be_opened_later() -> None:
    """A session that could not be opened is not held."""
    had("one")
    path = Path(path_of("one"))
    path.write_bytes(path.read_bytes().replace(b'"role":"assistant"', b'"role":', 1))
    with pytest.raises(SessionCorruptedError, match="line 3"):
        Spawned.reopen("one")
    assert live_holder(live_path("one")) is None


def test_recovered_session_has_every_good_line() -> None:
    """The file as it was stays beside it."""
    had("one")
    path = Path(path_of("one"))
    damaged = path.read_bytes().replace(b'"role":"assistant"', b'"role":', 1)
    path.write_bytes(damaged)
    done = recover("one")
    assert (done.kept, done.lost, Path(done.aside).read_bytes()) == (5, 1, damaged)
    session = Spawned.reopen("one")
    assert (session.agent, session.count, session.was) == ("qa-test", 5, "interrupted")
    assert [t.content for t in session.turns()][:3] == ["question 0", "question 1", "answer 1"]


def test_recovered_session_without_a_head() -> None:
    """Turns are kept where line 1 is gone."""
    had("one")
    path = Path(path_of("one"))
    path.write_bytes(b"{\n" + path.read_bytes().partition(b"\n")[2])
    done = recover("one")
    assert (done.kept, done.lost) == (6, 1)
    assert Spawned.reopen("one").agent == "default"


def test_torn_tail_is_said_and_set_aside() -> None:
    """It is no corruption: the session goes on, and nothing of it is lost."""
    had("one")
    path = Path(path_of("one"))
    path.write_bytes(path.read_bytes() + b'{"type":"turn","role":"us')
    session = Spawned.reopen("one")
    assert (session.count, len(session.notes)) == (6, 1)
    assert "torn" in session.notes[0]
    session.keep("next", "yes")
    assert Path(f"{path}.torn").read_bytes() == b'{"type":"turn","role":"us'
    assert [turn["content"] for turn in lines_of("one")[-2:]] == ["next", "yes"]


def test_exchange_that_could_not_be_saved_goes_with_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nothing of it is lost, and nothing is there twice."""
    session = Spawned.begin("qa-test", id="one")
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


def test_fork_goes_on_with_the_same_turns() -> None:
    """The fork names its parent; the parent stays as it was."""
    session = Spawned.begin("qa-test", id="one")
    session.keep("what?", "that")
    fork = session.fork()
    fork.keep("and?", "this")
    fork.close(completed=True)
    head, *turns = lines_of(fork.id)
    assert (head["parent_id"], head["agent"], head["title"]) == ("one", "qa-test", "what?")
    assert [turn["content"] for turn in turns] == ["what?", "that", "and?", "this"]
    assert [turn["content"] for turn in lines_of("one")[1:]] == ["what?", "that"]
    assert lines_of("one")[0]["status"] == "interrupted"


def test_title_is_the_first_request() -> None:
    """On one line, and not longer than a list can show; a person's own stays."""
    session = Spawned.begin("qa-test", id="one")
    session.keep("why\nis " + "it " * 60, "because")
    title = lines_of("one")[0]["title"]
    assert title.startswith("why is it it")
    assert len(title) == 80
    session.rename("My words")
    session.keep("more", "yes")
    session.close(completed=True)
    assert lines_of("one")[0]["title"] == "My words"


def test_turns_from_elsewhere_are_added() -> None:
    session = Spawned.begin("qa-test", id="one")
    session.take_in([SessionMessage("user", "from afar"), SessionMessage("assistant", "yes")])
    assert [turn["content"] for turn in lines_of("one")[1:]] == ["from afar", "yes"]
    assert "from afar" in session.context.prompt("go on").text


def test_files_are_for_their_owner_only() -> None:
    """From their first instant, whatever the umask is."""
    old = os.umask(0)
    try:
        session = Spawned.begin("qa-test", id="one")
    finally:
        os.umask(old)
    path = Path(session.path)
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)


def test_killed_session_is_interrupted() -> None:
    """What was kept is there after kill -9, and nobody has it open."""
    code = (
        "import sys, time\n"
        "from cortext.app.spawn.sessions import Spawned\n"
        "session = Spawned.begin('qa-test', id='one')\n"
        "session.keep('what?', 'that')\n"
        "print('kept', flush=True)\n"
        "time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"kept\n"
        assert str(process.pid) in (live_holder(live_path("one")) or "")
        process.send_signal(signal.SIGKILL)
    session = Spawned.reopen("one")
    assert (session.was, session.count) == ("interrupted", 2)
