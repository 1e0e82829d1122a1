"""What only workspaces have: days, markdown beside the session, names in any script."""

from datetime import timedelta
from pathlib import Path

import pytest

from cortext.errors import SessionStorageError
from cortext.model.session import Session
from cortext.stores.folder import FolderStore
from cortext.testing.suite_base import START, message, session, texts


@pytest.fixture
def store(tmp_path: Path) -> FolderStore:
    return FolderStore(tmp_path)


def on_day(id: str, days: int, text: str) -> Session:
    when = START + timedelta(days=days)
    return Session(id, created_at=when, updated_at=when, messages=[message(text)])


def test_id_on_two_days_must_be_named_with_date(store: FolderStore, tmp_path: Path) -> None:
    """`DATE/ID` names one; the bare id is refused with both days, and nothing is written."""
    store.save(on_day("001-plan-x", 0, "first"))
    other = FolderStore(tmp_path / "other")
    other.save(on_day("001-plan-x", 1, "second"))
    (tmp_path / "other/conversations/2025-11-23").rename(tmp_path / "conversations/2025-11-23")
    assert store.list_session_ids() == ["2025-11-22/001-plan-x", "2025-11-23/001-plan-x"]
    fresh = FolderStore(tmp_path)
    for verb in (fresh.load, fresh.read, fresh.delete, lambda id: fresh.append(id, message("x"))):
        with pytest.raises(SessionStorageError, match="several times") as caught:
            verb("001-plan-x")
        assert "2025-11-23/001-plan-x" in caught.value.hint
    fresh.append("2025-11-23/001-plan-x", message("third", 1))
    assert texts(fresh.load("2025-11-22/001-plan-x").messages) == ["first"]
    assert texts(fresh.load("2025-11-23/001-plan-x").messages) == ["second", "third"]
    changed = fresh.load("2025-11-23/001-plan-x")
    changed.title = "new"
    fresh.save(changed)
    assert fresh.load("2025-11-23/001-plan-x").title == "new"
    assert fresh.delete("2025-11-22/001-plan-x")
    assert fresh.list_session_ids() == ["001-plan-x"]


@pytest.mark.parametrize("id", ["é" * 110, "001-plan-größe", "计" * 73, "कि"])
def test_ids_in_any_script_work_in_every_verb(store: FolderStore, id: str) -> None:
    """What is an id works on every verb, also the longest."""
    store.save(session(id))
    store.append(id, message("one"))
    store.checkpoint(store.load(id))
    assert (texts(store.tail(id, 1)), store.list_session_ids()) == (["one"], [id])
    assert store.delete(id)


def test_delete_keeps_markdown_beside_session(store: FolderStore, tmp_path: Path) -> None:
    """Only `.session/` is ours; an empty folder goes with it, one with markdown stays."""
    store.save(session("s"))
    store.save(session("t"))
    page = tmp_path / "conversations/2025-11-22/s/plan.md"
    page.write_text("# Plan", encoding="utf-8")
    assert (store.delete("s"), store.delete("t")) == (True, True)
    assert page.read_text(encoding="utf-8") == "# Plan"
    assert not (tmp_path / "conversations/2025-11-22/t").exists()
    store.save(session("s", message("new")))
    assert texts(store.load("s").messages) == ["new"]


def test_folders_without_session_are_not_listed(store: FolderStore, tmp_path: Path) -> None:
    """Hidden folders, folders with markdown only, and files are not listed."""
    for name in (
        "2025-11-22/only-markdown",
        ".hidden/s/.session",
        "odd/x",
        "2025-11-22/-bad/.session",
    ):
        (tmp_path / "conversations" / name).mkdir(parents=True)
    (tmp_path / "conversations/2025-11-22/-bad/.session/session.json").write_bytes(b"{}")
    (tmp_path / "conversations/file").write_bytes(b"")
    assert store.list_session_ids() == []
    assert store.exists("only-markdown") is False


def test_checkpoint_writes_message_count_of_lines_to_head(
    store: FolderStore, tmp_path: Path
) -> None:
    """`message_count` is what stands in the lines."""
    store.save(session("s", message("one")))
    store.append("s", message("two", 1))
    store.checkpoint(store.load("s"))
    head = (tmp_path / "conversations/2025-11-22/s/.session/session.json").read_text()
    assert '"message_count": 2' in head


def test_updated_at_follows_append_after_stale_checkpoint(store: FolderStore) -> None:
    """A head that counted unsaved messages leaves `updated_at` to what was appended later."""
    mine = session("s", message("one"))
    store.save(mine)
    mine.messages += [message("unsaved", 1), message("unsaved", 2)]
    store.checkpoint(mine)
    store.append("s", message("two", 60))
    assert store.load("s").updated_at == START + timedelta(seconds=60)
