"""`redact` killed before each of its changes: a file is the old or the new, and it can go on."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from cortext import Session, SessionMessage, SessionStorage, open_session_store, paths
from cortext.app.redacting import redact
from cortext.app.scanning import scan_one
from cortext.index.listed import AUR, DOCUMENT, Listed, facts, tool_root
from tests.app.setup_killed import kill_at
from tests.command import begin, folder_of, ok
from tests.secrets.made import KEYS, Maker

TOKEN = next(make for name, make in KEYS if name == "github-token")(Maker(1))
_MOST = 60


def conversation(space: Path) -> tuple[Listed, Path]:
    ok(space, "init")
    id = begin(space, "plan", "Deploy", "Hello.", f"Use {TOKEN} here.")
    with (folder_of(space, id) / "plan.md").open("a", encoding="utf-8") as page:
        page.write(f"\n{TOKEN}\n")
    folder = folder_of(space, id)
    path = str(folder.relative_to(space))
    return Listed(str(space), path, id, "active", 1, facts(kind="plan", title="Deploy")), folder


def spawned(space: Path) -> tuple[Listed, Path]:
    session = Session("coder-1", title=f"Use {TOKEN}")
    session.messages = [SessionMessage("user", "Hi"), SessionMessage("assistant", TOKEN)]
    open_session_store(f"log:{space}").save(session)
    text = facts(kind="chat", title="x")
    path = space / "coder-1.jsonl"
    return Listed(tool_root(AUR, ""), str(path), "coder-1", "paused", 1, text), space


def document(space: Path) -> tuple[Listed, Path]:
    session = Session("doc-1", title="x")
    session.messages = [SessionMessage("user", TOKEN)]
    storage = SessionStorage(space)
    storage.save(session)
    storage.save(session)
    text = facts(kind="chat", title="x")
    path = space / "doc-1.json"
    return Listed(tool_root(DOCUMENT, ""), str(path), "doc-1", "paused", 1, text), space


def killed_at(number: int, row: Listed) -> bool:
    """Redact in a child that is killed before that change; whether it did not live to its end."""
    child = os.fork()
    if child == 0:
        kill_at(number)
        try:
            redact(row)
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
def test_killed_before_each_change(
    make: Callable[[Path], tuple[Listed, Path]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
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
    kills = 0
    for number in range(1, _MOST):
        shutil.rmtree(space)
        shutil.copytree(tmp_path / "before", space)
        if not killed_at(number, row):
            break
        kills += 1
        now = files_in(folder)
        assert set(now) == set(old)
        assert {name for name in now if now[name] not in (old[name], new[name])} == set()
        redact(row)
        assert files_in(folder) == new
        assert scan_one(row) == []
    assert 2 < kills < _MOST - 1
