"""A full disk and a read-only folder: an error that says so, and nothing lost."""

import errno
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from cortext.errors import SessionStorageError
from cortext.model.message import SessionMessage
from cortext.stores.store_registry import open_session_store
from tests.faults.mounts import fill, mounted, read_only
from tests.faults.verbs import ID, old_session

pytestmark = pytest.mark.long

KINDS = ("document", "log", "workspace")
BIG = SessionMessage("user", "x" * 20_000, id="big")


@pytest.mark.parametrize("leave", [0, 4096])
@pytest.mark.parametrize("verb", ["save", "append", "checkpoint", "create"])
@pytest.mark.parametrize("kind", KINDS)
def test_write_on_full_disk_fails_with_hint_and_loses_nothing(
    kind: str, verb: str, leave: int, tmp_path: Path
) -> None:
    """On a full disk a write fails with a hint, loses nothing, and works when there is space."""
    with mounted(tmp_path / "disk", "-t", "tmpfs", "-o", "size=1m", "none") as disk:
        url = f"{kind}:{disk}/store"
        store: Any = open_session_store(url)
        store.save(old_session())
        session = store.load(ID)
        _grow(session, verb)
        memory = session.to_dict()
        filler = fill(disk, leave)
        for _ in range(3):
            with pytest.raises(SessionStorageError) as caught:
                _write(store, verb, session)
            assert caught.value.errno == errno.ENOSPC
            assert "free some space" in caught.value.hint
            assert session.to_dict() == memory
            assert open_session_store(url).load(ID).to_dict() == old_session().to_dict()
        filler.unlink()
        _write(store, verb, session)
        now = open_session_store(url).load(session.id)
        assert (now.metadata or now.messages[-1].id) == (session.metadata or "big")
        store.close()


@pytest.mark.parametrize("side_folder", ["with", "without"])
@pytest.mark.parametrize("verb", ["save", "append", "checkpoint", "create", "delete"])
@pytest.mark.parametrize("kind", KINDS)
def test_read_only_folder_allows_reads_and_fails_writes_with_hint(
    kind: str, verb: str, side_folder: str, tmp_path: Path
) -> None:
    """In a read-only folder reading works, writing fails with a hint, and both work after."""
    folder = tmp_path / "store"
    url = f"{kind}:{folder}"
    store: Any = open_session_store(url)
    store.save(old_session())
    store.close()
    if side_folder == "without":
        shutil.rmtree(next(folder.rglob(".cortext")))
    with read_only(folder):
        store = open_session_store(url)
        session = store.load(ID)
        _grow(session, verb)
        memory = session.to_dict()
        with pytest.raises(SessionStorageError) as caught:
            _write(store, verb, session)
        assert caught.value.errno == (errno.EROFS if os.geteuid() == 0 else errno.EACCES)
        assert caught.value.hint
        assert session.to_dict() == memory
        assert store.load(ID).to_dict() == old_session().to_dict()
        assert store.tail(ID, 1) == old_session().messages[-1:]
        assert store.list_session_ids() == [ID]
    _write(store, verb, session)
    assert open_session_store(url).exists(ID) == (verb != "delete")
    store.close()


def _grow(session: Any, verb: str) -> None:
    """Make what a verb writes larger than what a full disk has left."""
    if verb == "checkpoint":
        session.metadata = {"note": "x" * 20_000}
    else:
        session.messages.append(BIG)
    if verb == "create":
        session.id = "another"


def _write(store: Any, verb: str, session: Any) -> None:
    if verb == "append":
        store.append(ID, BIG)
    elif verb == "delete":
        store.delete(ID)
    elif verb == "checkpoint":
        store.checkpoint(session)
    else:
        store.save(session)
