"""Several at one session: threads of a program, managers of one process, and processes."""

import logging
import os
import subprocess
import sys
import threading
from collections.abc import Callable

import pytest

from cortext import Session, SessionManager, SessionMessage, SessionStorage
from cortext.formats import document

Opener = Callable[..., SessionManager]

TALKER = """
import sys
from cortext import SessionManager, SessionStorage
folder, id, name = sys.argv[1:]
manager = SessionManager(SessionStorage(folder), auto_save_interval=0)
manager.resume(id)
print("open", flush=True)
for line in sys.stdin:
    verb, _, text = line.strip().partition(" ")
    if verb == "add":
        manager.add_message("user", text)
    elif verb == "save":
        manager.save()
    print("done", flush=True)
manager.close()
"""


class Talker:
    """A manager in another process that does one thing at a time when it is told to."""

    def __init__(self, storage: SessionStorage, id: str, name: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", TALKER, str(storage.storage_dir), id, name],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.pid = self._process.pid
        self._answer("open")

    def tell(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()
        self._answer("done")

    def end(self) -> str:
        errors = self._process.communicate(timeout=30)[1]
        assert self._process.returncode == 0, errors
        return errors

    def _answer(self, expected: str) -> None:
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == f"{expected}\n"


def contents(storage: SessionStorage, id: str) -> list[str]:
    return [message.content for message in SessionStorage(storage.storage_dir).load(id).messages]


def test_two_processes_keep_the_messages_of_both(storage: SessionStorage) -> None:
    """Two managers on one session in two processes: both sets of messages survive both saves."""
    session = Session()
    session.add_message_from_dict("user", "start")
    storage.save(session)
    first, second = (Talker(storage, session.id, name) for name in ("one", "two"))
    first.tell("add a1")
    second.tell("add b1")
    first.tell("save")
    second.tell("save")
    assert sorted(contents(storage, session.id)) == ["a1", "b1", "start"]
    first.tell("add a2")
    first.tell("save")
    second.tell("add b2")
    first.end()
    second.end()
    found = contents(storage, session.id)
    assert found[0] == "start"
    assert sorted(found) == ["a1", "a2", "b1", "b2", "start"]
    assert [content for content in found if content[0] == "a"] == ["a1", "a2"]
    assert [content for content in found if content[0] == "b"] == ["b1", "b2"]


def test_resume_warns_which_process_has_session_open(
    storage: SessionStorage, open_manager: Opener, caplog: pytest.LogCaptureFixture
) -> None:
    """A manager that opens what another process has open logs which one that is, and goes on."""
    session = Session()
    storage.save(session)
    other = Talker(storage, session.id, "other")
    with caplog.at_level(logging.WARNING, logger="cortext"):
        open_manager().resume(session.id)
    assert f"process {other.pid}" in caplog.text
    assert session.id in caplog.text
    other.end()
    caplog.clear()
    open_manager().create()
    assert caplog.records == []


def test_resume_does_not_warn_of_closed_or_dead_process(
    storage: SessionStorage, open_manager: Opener, caplog: pytest.LogCaptureFixture
) -> None:
    """Neither a close nor a crash leaves a session marked as open."""
    manager = open_manager()
    session = manager.create()
    manager.close()
    crashed = Talker(storage, session.id, "crashed")
    crashed._process.kill()
    crashed._process.communicate(timeout=30)
    with caplog.at_level(logging.WARNING, logger="cortext"):
        manager.resume(session.id)
        manager.create()
        manager.resume(session.id)
    assert caplog.records == []


def test_two_managers_of_one_process_keep_the_messages_of_both(
    storage: SessionStorage, caplog: pytest.LogCaptureFixture
) -> None:
    """Two managers that share one storage object lose nothing of each other's either."""
    first, second = (SessionManager(storage, auto_save_interval=0) for _ in range(2))
    session = first.create()
    second.resume(session.id)
    assert f"process {os.getpid()}" in caplog.text
    first.add_message("user", "a")
    second.add_message("user", "b")
    first.close()
    second.close()
    assert sorted(contents(storage, session.id)) == ["a", "b"]
    for manager in (first, second):
        manager.index.close()


def test_threads_lose_no_message_while_auto_save_runs(
    open_manager: Opener, storage: SessionStorage
) -> None:
    """8 threads x 200 messages while auto-save runs every 10 ms: all there, once, each in order."""
    manager = open_manager(0.01)
    session = manager.create()
    ready = threading.Barrier(8)
    errors: list[Exception] = []

    def talk(name: int) -> None:
        try:
            ready.wait(30)
            for number in range(200):
                manager.add_message("user", f"{name} {number:03}")
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=talk, args=(name,)) for name in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    manager.close()
    assert errors == []
    assert manager.last_save_error is None
    found = contents(storage, session.id)
    assert len(found) == len(set(found)) == 1600
    for name in range(8):
        own = [content for content in found if content.startswith(f"{name} ")]
        assert own == [f"{name} {number:03}" for number in range(200)]


def test_concurrent_manager_calls_keep_exact_counts(
    open_manager: Opener, storage: SessionStorage
) -> None:
    """Messages, tool calls, usage, titles, tags, saves and lists at once: the counts are right."""
    manager = open_manager(0.01)
    session = manager.create()
    errors: list[Exception] = []

    def work(name: int) -> None:
        try:
            for number in range(25):
                manager.add_message("user", f"{name}-{number}")
                manager.record_tool_call("bash", {"n": number})
                manager.update_usage(1, 2)
                manager.set_title(f"{name}-{number}")
                manager.add_tag(f"{name}-{number}")
                manager.remove_tag(f"{name}-{number}")
                if number % 8 == name % 8:
                    manager.save()
                manager.list_sessions()
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    manager.close()
    assert errors == []
    stored = SessionStorage(storage.storage_dir).load(session.id)
    assert (len(stored.messages), len(stored.tool_history), stored.tags) == (100, 100, [])
    assert (stored.total_prompt_tokens, stored.total_completion_tokens) == (100, 200)


def test_message_added_during_encoding_is_saved_by_next_auto_save(
    open_manager: Opener, storage: SessionStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """session.add_message during an auto-save, from the program's own thread, is not lost."""
    manager = open_manager()
    session = manager.create()
    encode = document._encode_item
    late = SessionMessage("user", "late")

    def interrupted(item: SessionMessage) -> bytes:
        if late not in session.messages:
            session.add_message(late)
        return encode(item)

    manager.add_message("user", "early")
    monkeypatch.setattr(document, "_encode_item", interrupted)
    manager._auto_save()
    monkeypatch.undo()
    manager._auto_save()
    assert contents(storage, session.id) == ["early", "late"]
    manager.add_message("user", "last")
    manager.close()
    assert contents(storage, session.id) == ["early", "late", "last"]


def test_message_added_after_write_is_saved_by_next_auto_save(
    open_manager: Opener, storage: SessionStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What came between the write and the end of a save is saved by the next auto-save."""
    manager = open_manager()
    session = manager.create()
    save = manager.storage.save

    def and_then(session: Session) -> None:
        save(session)
        session.add_message_from_dict("user", "late")

    manager.add_message("user", "early")
    monkeypatch.setattr(manager.storage, "save", and_then)
    manager._auto_save()
    monkeypatch.undo()
    manager._auto_save()
    assert contents(storage, session.id) == ["early", "late"]
