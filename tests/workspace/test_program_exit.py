"""A program that ends without a close loses nothing."""

import subprocess
from collections.abc import Callable

import pytest

from cortext import SessionStorage

Run = Callable[..., subprocess.CompletedProcess[str]]

TALK = """
manager = SessionManager(storage, auto_save_interval={interval})
session = manager.create(title="T")
manager.add_message("user", "unsaved")
manager.record_tool_call("bash", {{"command": "ls"}})
print(session.id, flush=True)
"""

SECOND = """
second = SessionManager(storage, 0)
second.resume(session.id)
second.add_message("user", "of the second")
"""

ENDS = {
    "the end of the program": ("", 0),
    "sys.exit": ("import sys; sys.exit(7)", 7),
    "an unhandled exception": ("raise RuntimeError('unhandled')", 1),
    "KeyboardInterrupt": ("raise KeyboardInterrupt", -2),
    "within a function": ("def f():\n    raise SystemExit(3)\nf()", 3),
    "a manager that only a function had": (
        "def f():\n    other = SessionManager(storage, 0); other.create()\nf()",
        0,
    ),
    "two managers": (SECOND, 0),
}


@pytest.mark.parametrize("interval", [0, 60])
@pytest.mark.parametrize("end", ENDS)
def test_interpreter_exit_saves_unsaved_messages(
    storage: SessionStorage, run: Run, end: str, interval: float
) -> None:
    """However the interpreter ends, what was added and not saved is durable."""
    code, status = ENDS[end]
    done = run(TALK.format(interval=interval) + code)
    session = storage.load(done.stdout.strip())
    assert [message.content for message in session.messages][:1] == ["unsaved"]
    assert [call.tool_name for call in session.tool_history] == ["bash"]
    assert len(session.messages) == (2 if end == "two managers" else 1)
    assert done.returncode == status


def test_interpreter_exit_updates_index(storage: SessionStorage, run: Run) -> None:
    """What is saved at the end is also in the list of the next program."""
    run(TALK.format(interval=0))
    done = run("print([row.message_count for row in SessionIndex(storage).list()])")
    assert (done.stdout, done.stderr) == ("[1]\n", "")


def test_failed_save_at_exit_is_logged_without_traceback(run: Run, storage: SessionStorage) -> None:
    """When the last save cannot be done, the log says so; there is no traceback."""
    code = TALK.format(interval=0) + (
        "def full(session):\n"
        "    raise SessionStorageError('could not write: no space left on device')\n"
        "storage.save = full\n"
    )
    done = run(code)
    assert "no space left" in done.stderr
    assert "Traceback" not in done.stderr


def test_interpreter_exit_does_not_save_closed_session(storage: SessionStorage, run: Run) -> None:
    """After a close, and a delete by somebody else, the end of the interpreter writes nothing."""
    done = run(TALK.format(interval=0) + "manager.close(); storage.delete(session.id)")
    assert (done.returncode, done.stderr) == (0, "")
    assert storage.list_session_ids() == []


def test_manager_without_event_loop_does_not_import_asyncio(run: Run) -> None:
    """A program without an event loop does not pay for one."""
    done = run(
        "import sys\n"
        "manager = SessionManager(storage, auto_save_interval=60)\n"
        "manager.create(); manager.add_message('user', 'x'); manager.close()\n"
        "print('asyncio' in sys.modules)\n"
    )
    assert (done.stdout, done.stderr, done.returncode) == ("False\n", "", 0)


def test_resume_latest_in_new_process_resumes_newest_session(run: Run) -> None:
    """Three create/close in a row: resume_latest() in a fresh process gives the last one."""
    done = run(
        "manager = SessionManager(storage, auto_save_interval=0)\n"
        "for title in ('first', 'second', 'third'):\n"
        "    manager.create(title=title)\n"
        "    manager.close()\n"
    )
    assert (done.stderr, done.returncode) == ("", 0)
    for _ in range(2):
        done = run(
            "manager = SessionManager(storage, auto_save_interval=0)\n"
            "print(manager.resume_latest().title)\n"
            "manager.close()\n"
        )
        assert (done.stdout, done.stderr) == ("third\n", "")
