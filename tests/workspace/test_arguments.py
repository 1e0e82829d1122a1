"""What is given to a manager is checked when it is given."""

import asyncio
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from cortext import Session, SessionManager, SessionMessage, SessionStorage, open_session_store


@pytest.mark.parametrize(
    "mistake",
    [
        lambda m: m.set_title(None),
        lambda m: m.add_tag(4),
        lambda m: m.update_usage(1.5, 2),
        lambda m: m.add_message("robot", "x"),
        lambda m: m.add_message("user", None),
        lambda m: m.add_message(["user"], "x"),
        lambda m: m.current_session.add_message({"role": "user"}),
        lambda m: m.current_session.add_tool_invocation("grep"),
        lambda m: m.register_hook("session:start", 4),
        lambda m: m.create(tags="python"),
        lambda m: m.list_sessions(tags="python"),
    ],
)
def test_invalid_argument_raises_value_error_and_keeps_messages(
    mistake: Any, tmp_path: Path
) -> None:
    """The message that was there before it is saved all the same."""
    manager = SessionManager(tmp_path, auto_save_interval=0)
    session = manager.create()
    manager.add_message("user", "kept")
    with pytest.raises(ValueError):
        mistake(manager)
    manager.close()
    assert SessionStorage(tmp_path).load(session.id).messages[0].content == "kept"


@pytest.mark.parametrize("value", [{1}, float("nan"), b"x", {1: 2}])
def test_from_dict_rejects_values_that_json_cannot_hold(value: Any) -> None:
    """As the constructors, and it copies."""
    message = {"role": "user", "content": "x", "timestamp": "2026-01-01", "structured_data": value}
    with pytest.raises(ValueError):
        SessionMessage.from_dict(message)
    with pytest.raises(ValueError):
        Session.from_dict({"created_at": "2026-01-01", "messages": [message]})


def test_manager_accepts_path_and_rejects_log_store(tmp_path: Path) -> None:
    """A path is a folder of documents; a log store is told apart at once."""
    with SessionManager(str(tmp_path / "s")) as manager:
        manager.create(title="in a with block")
    assert manager.current_session is None
    assert len(SessionStorage(tmp_path / "s").list_session_ids()) == 1
    with pytest.raises(ValueError, match="SessionStorage or a path"):
        SessionManager(open_session_store(f"log:{tmp_path}/l"))  # pyright: ignore[reportArgumentType]


def test_auto_save_continues_in_thread_when_event_loop_ends(tmp_path: Path) -> None:
    """A thread takes the task's place."""
    saved = threading.Event()
    manager = SessionManager(tmp_path, auto_save_interval=0.02)

    async def begin() -> Session:
        return manager.create()

    session = asyncio.run(begin())
    manager.register_hook("session:save", lambda _: saved.set())
    manager.add_message("user", "after the loop")
    assert saved.wait(60)
    assert SessionStorage(tmp_path).load(session.id).message_count == 1
    manager.close()


def test_replaced_message_counts_as_change(tmp_path: Path) -> None:
    """As when an answer streams in: the last state is saved without a close."""
    manager = SessionManager(tmp_path, auto_save_interval=0)
    session = manager.create()
    message = manager.add_message("assistant", "par")
    manager.save()
    session.messages[-1] = SessionMessage("assistant", "partial no more", id=message.id)
    manager.create()
    assert SessionStorage(tmp_path).load(session.id).messages[0].content == "partial no more"
    manager.close()


def test_create_in_removed_folder_has_empty_working_dir(tmp_path: Path) -> None:
    """`create` in a removed folder works."""
    code = (
        "import os, sys; from cortext import SessionManager\n"
        "os.mkdir(sys.argv[1]); os.chdir(sys.argv[1]); os.rmdir(sys.argv[1])\n"
        "m = SessionManager(sys.argv[2]); print(repr(m.create().working_dir)); m.close()"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "gone"), str(tmp_path / "s")]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "''\n"


def test_closed_manager_releases_live_mark_despite_forked_child(tmp_path: Path) -> None:
    """Closed in the parent, it is free, though a child has the file open too."""
    from cortext.durability.live_session_mark import live_holder

    manager = SessionManager(tmp_path, auto_save_interval=0)
    session = manager.create()
    mark = f"{tmp_path}/.cortext/live/{session.id}"
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(write)
        os.read(read, 1)
        os._exit(0)
    try:
        assert live_holder(mark) is not None
        manager.close()
        assert live_holder(mark) is None
    finally:
        os.close(write)
        os.close(read)
        os.waitpid(child, 0)
