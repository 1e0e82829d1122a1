"""Copying between stores: the migration of anything old."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cortext import Session, SessionMessage, open_session_store
from cortext.features.transfer.copy_sessions import copy_sessions

KINDS = ("document", "log", "workspace")

OLD_DOCUMENT = (
    b'{"id":"old","title":"Before versions","created_at":"2025-01-02T03:04:05",'
    b'"updated_at":"2025-01-02 03:05","messages":[{"role":"user","content":"hi",'
    b'"timestamp":"2025-01-02T03:04:06"}],"mood":"good"}'
)
OLD_LOG = (
    b'{"type": "metadata", "session_id": "old", "agent": "qa", "created_at": 1735787045}\n'
    b'{"type": "turn", "role": "user", "content": "hi", "timestamp": 1735787046, "tokens": 3}\n'
    b'{"type": "turn", "role": "assistant", "content": "ho", "timestamp": "2025-01-02T03:04:07Z"}\n'
)
OLD_HEAD = (
    b'{"version":"1.0","conversation_id":"old","conversation_type":"debug","status":"active",'
    b'"created_at":"2025-01-02T03:04:05Z","last_active":"2025-01-02T03:04:05Z","message_count":1,'
    b'"agent_config":{"command":"/workspace.debug","colour":"red"}}'
)
OLD_LINES = b'{"role":"user","content":"hi","timestamp":"2025-01-02T03:04:06Z"}\n'


def old_store(kind: str, folder: Path) -> None:
    """A store as something older than us left it."""
    files = {
        "document": {"old.json": OLD_DOCUMENT},
        "log": {"old.jsonl": OLD_LOG},
        "workspace": {
            "conversations/2025-01-02/old/.session/session.json": OLD_HEAD,
            "conversations/2025-01-02/old/.session/messages.jsonl": OLD_LINES,
        },
    }
    for name, data in files[kind].items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and ".cortext" not in path.parts
    }


@pytest.mark.parametrize("target", KINDS)
@pytest.mark.parametrize("source", KINDS)
def test_copy_migrates_old_session_once_and_keeps_source(
    source: str, target: str, tmp_path: Path
) -> None:
    """The copy is equal, a second run changes nothing, and the source stays byte for byte."""
    old_store(source, tmp_path / "source")
    before = contents(tmp_path / "source")
    stores = [
        open_session_store(f"{k}:{tmp_path}/{p}") for k, p in ((source, "source"), (target, "t"))
    ]
    assert copy_sessions(*stores).copied == ["old"]
    after_first = contents(tmp_path / "t")
    assert stores[1].load("old") == stores[0].load("old")
    assert copy_sessions(*stores) == ([], ["old"], [])
    assert (contents(tmp_path / "source"), contents(tmp_path / "t")) == (before, after_first)


def test_copy_keeps_unknown_keys_and_command_of_old_session(tmp_path: Path) -> None:
    """Unknown keys, times without a zone and tokens come along."""
    old_store("document", tmp_path / "a")
    old_store("workspace", tmp_path / "b")
    target = open_session_store(f"log:{tmp_path}/t")
    copy_sessions(open_session_store(f"document:{tmp_path}/a"), target)
    assert target.load("old").extra == {"mood": "good"}
    head = open_session_store(f"workspace:{tmp_path}/b").load("old")
    assert (head.command, head.extra) == ("/workspace.debug", {"agent_config": {"colour": "red"}})


def test_next_copy_completes_killed_copy(tmp_path: Path) -> None:
    """No session twice, none half, none missing."""
    source = open_session_store(f"log:{tmp_path}/source")
    for number in range(40):
        source.save(Session(f"s{number:02}", messages=[SessionMessage("user", str(number))]))
    code = (
        "import sys; from cortext import open_session_store as o; "
        "from cortext.features.transfer.copy_sessions import copy_sessions; "
        "t = o('document:' + sys.argv[2]); real = t.save\n"
        "def save(s): real(s); print(s.id, flush=True)\n"
        "t.save = save; copy_sessions(o('log:' + sys.argv[1]), t)"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "source"), str(tmp_path / "t")]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        for _ in range(10):
            child.stdout.readline()
        os.kill(child.pid, signal.SIGKILL)
    target = open_session_store(f"document:{tmp_path}/t")
    result = copy_sessions(source, target)
    assert (len(result.copied) + len(result.present), result.failed) == (40, [])
    assert len(result.present) >= 10
    assert [target.load(id) for id in target.list_session_ids()] == [
        source.load(id) for id in source.list_session_ids()
    ]


def test_copy_reports_damaged_and_diverged_sessions(tmp_path: Path) -> None:
    """A damaged session, and one that has more in the target."""
    source = open_session_store(f"log:{tmp_path}/source")
    target = open_session_store(f"log:{tmp_path}/target")
    for id in ("bad", "good", "more"):
        source.save(Session(id, messages=[SessionMessage("user", id)]))
    (tmp_path / "source/bad.jsonl").write_bytes(b"garbage\n")
    copy_sessions(source, target)
    target.append("more", SessionMessage("user", "only here"))
    result = copy_sessions(source, target)
    assert (result.copied, result.present) == ([], ["good"])
    assert [failure.id for failure in result.failed] == ["bad", "more"]
    assert target.load("more").messages[-1].content == "only here"


@pytest.mark.parametrize("kind", KINDS)
def test_copy_reports_session_saved_concurrently_in_target(kind: str, tmp_path: Path) -> None:
    """A stranger of the same id that is saved after we looked: nothing is lost, and it is told."""
    source = open_session_store("memory:")
    source.save(Session("one", messages=[SessionMessage("user", "ours")]))
    target = open_session_store(f"{kind}:{tmp_path}/t")
    real = target.save

    def save(session: Session) -> None:
        theirs = Session("one", messages=[SessionMessage("user", "theirs")])
        open_session_store(f"{kind}:{tmp_path}/t").save(theirs)
        real(session)

    target.save = save  # type: ignore[method-assign]
    result = copy_sessions(source, target)
    assert [failure.reason for failure in result.failed] == [
        "another process wrote to the session in the target during the copy"
    ]
    assert {message.content for message in target.load("one").messages} == {"ours", "theirs"}
