"""`redact` killed before each of its changes: a file is the old or the new, and it can go on."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from cortext import Session, SessionMessage, SessionStorage, open_session_store, paths
from cortext.catalog.row import AUR, DOCUMENT, ConversationRow
from cortext.features.archive.archive_sync import sync
from cortext.features.secrets.archive_redaction import redact_copies
from cortext.features.secrets.conversation_redaction import redact
from cortext.features.secrets.secret_scan import scan_one
from tests.command import begin, folder_of, ok
from tests.features.secrets.tool_sessions import TOKEN, claude, holding
from tests.features.setup.killed_setup import kill_at

pytestmark = pytest.mark.long

_MOST = 60


def conversation(space: Path) -> tuple[ConversationRow, Path]:
    ok(space, "init")
    id = begin(space, "plan", "Deploy", "Hello.", f"Use {TOKEN} here.")
    with (folder_of(space, id) / "plan.md").open("a", encoding="utf-8") as page:
        page.write(f"\n{TOKEN}\n")
    folder = folder_of(space, id)
    path = str(folder.relative_to(space))
    return ConversationRow(
        workspace=str(space),
        path=path,
        key=id,
        status="active",
        last_active=1,
        kind="plan",
        title="Deploy",
    ), folder


def spawned(space: Path) -> tuple[ConversationRow, Path]:
    session = Session("coder-1", title=f"Use {TOKEN}")
    session.messages = [SessionMessage("user", "Hi"), SessionMessage("assistant", TOKEN)]
    open_session_store(f"log:{space}").save(session)
    return _standalone(AUR, space / "coder-1.jsonl"), space


def document(space: Path) -> tuple[ConversationRow, Path]:
    session = Session("doc-1", title="x")
    session.messages = [SessionMessage("user", TOKEN)]
    storage = SessionStorage(space)
    storage.save(session)
    storage.save(session)
    return _standalone(DOCUMENT, space / "doc-1.json"), space


def _standalone(tool: str, path: Path) -> ConversationRow:
    return ConversationRow(
        tool=tool, path=str(path), key=path.stem, status="paused", last_active=1, kind="chat"
    )


def killed_at(
    number: int, row: ConversationRow, verb: Callable[[ConversationRow], object] = redact
) -> bool:
    """Redact in a child that is killed before that change; whether it did not live to its end."""
    child = os.fork()
    if child == 0:
        kill_at(number)
        try:
            verb(row)
        finally:
            os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


def files_in(folder: Path) -> dict[str, bytes]:
    """What is in a session's files; nothing of ours beside them."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and ".cortext" not in path.parts and path.name != "index.json"
    }


@pytest.mark.parametrize("make", [conversation, spawned, document])
def test_killed_redact_leaves_old_or_new_files_and_can_be_repeated(
    make: Callable[[Path], tuple[ConversationRow, Path]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Old or new, never a mix; redacting again ends it."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    space = tmp_path / "space"
    space.mkdir()
    row, folder = make(space)
    shutil.copytree(space, tmp_path / "before")
    old = files_in(folder)
    redact(row)  # also makes the key of the marks
    new = files_in(folder)
    assert os.path.exists(paths.redaction_key())
    assert set(old) == set(new)
    assert not any(TOKEN.encode() in data for data in new.values())
    kills = leftovers = 0
    for number in range(1, _MOST):
        shutil.rmtree(space)
        shutil.copytree(tmp_path / "before", space)
        if not killed_at(number, row):
            break
        kills += 1
        now = files_in(folder)
        assert set(now) == set(old)
        assert {name for name in now if now[name] not in (old[name], new[name])} == set()
        left = holding(TOKEN, space)
        assert {one.path for one in scan_one(row)} >= set(left)
        redact(row)
        assert files_in(folder) == new
        assert scan_one(row) == []
        assert holding(TOKEN, space) == []
        leftovers += any(".tmp" in path for path in left)
    assert 2 < kills < _MOST - 1
    # Of a conversation two files are exchanged at once: what is killed then leaves the old ones.
    assert bool(leftovers) == (make is conversation)


def test_killed_redact_of_archive_copy_can_be_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next scan sees what is left, the next redact ends it, and no sync brings it back."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    # Others may test with the same ids on this machine.
    monkeypatch.setattr("cortext.features.secrets.conversation_redaction.live_sessions", list)
    held = claude(tmp_path / "home", "Hello.", f"my key is {TOKEN}")
    sync()
    before, data = tmp_path / "before", Path(paths.archive())
    shutil.copytree(data, before)
    redact_copies(held.row)  # also makes the key of the marks
    assert holding(TOKEN, data) == []
    kills = 0
    for number in range(1, _MOST):
        shutil.rmtree(data)
        shutil.copytree(before, data)
        if not killed_at(number, held.row, redact_copies):
            break
        kills += 1
        assert {one.path for one in scan_one(held.row)} >= set(holding(TOKEN, data))
        held.say(f"word {number}")
        if number % 2:
            sync()
        redact_copies(held.row)
        sync()
        assert holding(TOKEN, data) == []
        assert [path for path in holding(f"word {number}", data) if path.endswith(".gz")]
    assert 2 < kills < _MOST - 1
