"""Tests of a store that only one caller uses."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from cortext.errors import SessionNotFoundError
from cortext.model.session import Session
from cortext.testing.suite_base import (
    START,
    Suite,
    full_session,
    message,
    needs,
    place,
    session,
    texts,
)


class ContractTests(Suite):
    """Tests of save, load, checkpoint, append, tail, delete and list."""

    def test_saved_session_loads_equal(self, tmp_path: Path) -> None:
        """Check that a session is loaded as it was saved, with all known and unknown fields."""
        store = self.open(place(tmp_path))
        given = full_session()
        store.save(given)
        assert store.load("full") == given == full_session()
        assert store.read("full") == (given, [])

    @needs("persistent")
    def test_another_store_object_sees_what_was_saved(self, tmp_path: Path) -> None:
        """Check that a second store object on the same place loads a saved session."""
        self.open(place(tmp_path)).save(full_session())
        assert self.open(place(tmp_path)).load("full") == full_session()

    def test_empty_session_loads_equal(self, tmp_path: Path) -> None:
        """Check that a session that has only an id can be saved and loaded."""
        store = self.open(place(tmp_path))
        given = Session("s")
        store.save(given)
        assert store.load("s") == given

    def test_save_keeps_updated_at(self, tmp_path: Path) -> None:
        """Check that a save does not change `updated_at`, even if a message has a later time."""
        store = self.open(place(tmp_path))
        given = session("s", message("later", 3600))
        store.save(given)
        store.save(given)
        assert given.updated_at == START
        assert store.load("s").updated_at == START

    def test_save_replaces_all(self, tmp_path: Path) -> None:
        """Check that a save replaces all fields and all messages of the stored session."""
        store = self.open(place(tmp_path))
        store.save(session("s", message("one"), message("two", 1)))
        changed = store.load("s")
        changed.title, changed.tags = "new", ["t"]
        del changed.messages[0]
        store.save(changed)
        assert store.load("s") == changed
        assert texts(store.load("s").messages) == ["two"]

    def test_loaded_session_is_the_callers_own(self, tmp_path: Path) -> None:
        """Check that a change of a session object changes the store only after a save."""
        store = self.open(place(tmp_path))
        given = session("s", message("one"))
        given.metadata["n"] = {"deep": 1}
        store.save(given)
        for mine in (given, store.load("s"), store.read("s").session):
            mine.title = "changed"
            mine.messages.clear()
            mine.tags.append("x")
            mine.metadata["n"]["deep"] = 2
        found = store.load("s")
        assert (found.title, texts(found.messages)) == ("", ["one"])
        assert (found.tags, found.metadata) == ([], {"n": {"deep": 1}})

    def test_missing_session(self, tmp_path: Path) -> None:
        """Check that methods raise SessionNotFoundError for an id without a session."""
        store = self.open(place(tmp_path))
        verbs = {
            "append": lambda: store.append("none", message("x")),
            "checkpoint": lambda: store.checkpoint(session("none")),
            "load": lambda: store.load("none"),
            "read": lambda: store.read("none"),
            "tail": lambda: store.tail("none", 1),
        }
        raised: dict[str, object] = {}
        for name, verb in verbs.items():
            try:
                verb()
            except SessionNotFoundError as error:
                raised[name] = error.id
        assert raised == dict.fromkeys(verbs, "none")
        assert (store.exists("none"), store.delete("none")) == (False, False)
        assert store.list_session_ids() == []

    def test_checkpoint_writes_the_head_only(self, tmp_path: Path) -> None:
        """Check that a checkpoint stores fields such as the title, but not the messages."""
        store = self.open(place(tmp_path))
        given = session("s", message("one"))
        store.save(given)
        store.append("s", message("two", 1))
        given.title, given.status, given.metadata = "new", "paused", {"k": [1]}
        given.messages[:] = [message("unsaved", 2)]
        store.checkpoint(given)
        found = store.load("s")
        assert (found.title, found.status, found.metadata) == ("new", "paused", {"k": [1]})
        assert texts(found.messages) == ["one", "two"]
        assert texts(given.messages) == ["unsaved"]

    def test_append_keeps_order(self, tmp_path: Path) -> None:
        """Check that messages stay in the order of the appends, even if their times differ."""
        store = self.open(place(tmp_path))
        store.save(session("s", message("0")))
        store.append("s", message("1", 50), message("2", 20))
        store.append("s", message("3", 10))
        assert texts(store.load("s").messages) == ["0", "1", "2", "3"]

    def test_append_keeps_every_field(self, tmp_path: Path) -> None:
        """Check that an appended message is loaded with all its fields."""
        store = self.open(place(tmp_path))
        store.save(session("s"))
        for item in full_session().messages:
            store.append("s", item)
        assert store.load("s").messages == full_session().messages

    def test_append_moves_updated_at_forward(self, tmp_path: Path) -> None:
        """Check that an append moves `updated_at` forward and never back."""
        store = self.open(place(tmp_path))
        store.save(session("s"))
        store.append("s", message("later", 60))
        store.append("s", message("earlier", -60))
        assert store.load("s").updated_at >= START
        store.append("s", message("last", 90))
        assert store.load("s").updated_at == START + timedelta(seconds=90)

    def test_append_is_idempotent(self, tmp_path: Path) -> None:
        """Check that a message is not stored again if its id is already stored."""
        store = self.open(place(tmp_path))
        store.save(session("s", message("saved", id="a")))
        once = message("once", 1, id="b")
        store.append("s", once, once)
        store.append("s", once)
        store.append("s", message("saved again", 2, id="a"), message("new", 3, id="c"))
        assert [item.id for item in store.load("s").messages] == ["a", "b", "c"]
        assert texts(store.load("s").messages) == ["saved", "once", "new"]

    def test_tail(self, tmp_path: Path) -> None:
        """Check that `tail` returns the last messages, oldest first."""
        store = self.open(place(tmp_path))
        store.save(session("s"))
        assert store.tail("s", 3) == []
        store.append("s", *(message(str(n), n) for n in range(5)))
        found = {count: texts(store.tail("s", count)) for count in (0, 1, 3, 5, 6, 1000)}
        every = ["0", "1", "2", "3", "4"]
        assert found == {0: [], 1: ["4"], 3: every[2:], 5: every, 6: every, 1000: every}

    def test_tail_equals_the_end_of_load(self, tmp_path: Path) -> None:
        """Check that `tail` returns the last messages of a session with all their fields."""
        store = self.open(place(tmp_path))
        store.save(full_session())
        assert store.tail("full", 3) == full_session().messages[-3:]

    def test_tail_over_long_messages(self, tmp_path: Path) -> None:
        """Check that `tail` returns very long messages completely."""
        store = self.open(place(tmp_path))
        store.save(session("s", *(message(str(n) * 70_000, n) for n in range(4))))
        assert texts(store.tail("s", 2)) == ["2" * 70_000, "3" * 70_000]

    def test_delete(self, tmp_path: Path) -> None:
        """Check that `delete` removes a session, and returns True only the first time."""
        store = self.open(place(tmp_path))
        store.save(session("s", message("old")))
        store.save(session("other"))
        assert [store.delete("s"), store.delete("s")] == [True, False]
        assert (store.exists("s"), store.list_session_ids()) == (False, ["other"])

    def test_deleted_session_can_be_made_anew(self, tmp_path: Path) -> None:
        """Check that a new session with a deleted id starts empty, and may reuse message ids."""
        store = self.open(place(tmp_path))
        given = session("s", message("old", id="a"))
        store.save(given)
        store.append("s", message("older", 1, id="b"))
        store.delete("s")
        store.save(session("s"))
        store.append("s", message("new", 2, id="b"))
        assert texts(store.load("s").messages) == ["new"]

    def test_list_is_sorted(self, tmp_path: Path) -> None:
        """Check that all session ids are listed in sorted order."""
        store = self.open(place(tmp_path))
        assert store.list_session_ids() == []
        for id in ("b", "a10", "a2", "C", "a.b", "a-b", "a_b", "0"):
            store.save(session(id))
        expected = sorted(["b", "a10", "a2", "C", "a.b", "a-b", "a_b", "0"])
        assert store.list_session_ids() == expected
        assert [id for id in expected if store.exists(id)] == expected

    def test_close_is_not_the_end(self, tmp_path: Path) -> None:
        """Check that a closed store can be used again."""
        store = self.open(place(tmp_path))
        store.save(session("s"))
        store.append("s", message("one"))
        store.close()
        store.close()
        store.append("s", message("two", 1))
        assert texts(store.load("s").messages) == ["one", "two"]
