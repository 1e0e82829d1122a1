"""Tests in which several callers change the same session in turn. No message may be lost."""

from __future__ import annotations

from pathlib import Path

from cortext.model.session import Session
from cortext.testing.suite_base import Suite, message, needs, place, session, texts


class SharingTests(Suite):
    """Tests with two objects for the same session, or two store objects for the same store."""

    def test_save_keeps_what_was_appended_since(self, tmp_path: Path) -> None:
        """Check that a save keeps messages that other callers appended since the previous save.

        These messages come after the messages of the saved session object.
        """
        store = self.open(place(tmp_path))
        given = session("s", message("one"))
        store.save(given)
        store.append("s", message("theirs", 1))
        given.messages.append(message("mine", 2))
        store.save(given)
        assert texts(store.load("s").messages) == ["one", "mine", "theirs"]
        assert texts(given.messages) == ["one", "mine", "theirs"]

    def test_two_session_objects_of_one_store(self, tmp_path: Path) -> None:
        """Check that two objects of one session can be saved in turn, and no message is lost."""
        store = self.open(place(tmp_path))
        store.save(session("s", message("one")))
        first, second = store.load("s"), store.load("s")
        for step in range(2):
            first.messages.append(message(f"first {step}", 1))
            store.save(first)
            second.messages.append(message(f"second {step}", 2))
            store.save(second)
        expected = ["first 0", "first 1", "one", "second 0", "second 1"]
        assert sorted(texts(store.load("s").messages)) == expected

    def test_save_of_a_copy_keeps_what_was_appended_since(self, tmp_path: Path) -> None:
        """Check that saving a copy of a session object keeps messages of other callers."""
        store = self.open(place(tmp_path))
        given = session("s", message("one"))
        store.save(given)
        store.append("s", message("theirs", 1))
        store.save(Session.from_dict(given.to_dict()))
        assert texts(store.load("s").messages) == ["one", "theirs"]

    def test_removed_message_does_not_come_back(self, tmp_path: Path) -> None:
        """Check that a save deletes the messages that the caller removed from the session object.

        Messages that other callers appended stay.
        """
        store = self.open(place(tmp_path))
        store.save(session("s", message("gone", id="a"), message("stays", 1)))
        mine = store.load("s")
        store.append("s", message("theirs", 2))
        del mine.messages[0]
        store.save(mine)
        assert texts(store.load("s").messages) == ["stays", "theirs"]

    @needs("persistent")
    def test_two_store_objects_on_one_place(self, tmp_path: Path) -> None:
        """Check that a save keeps the messages that another store object wrote."""
        ours, theirs = self.open(place(tmp_path)), self.open(place(tmp_path))
        given = session("s", message("one"))
        ours.save(given)
        other = theirs.load("s")
        other.messages.append(message("saved by them", 1))
        theirs.save(other)
        theirs.append("s", message("appended by them", 2))
        given.messages.append(message("mine", 3))
        ours.save(given)
        expected = ["one", "mine", "saved by them", "appended by them"]
        assert texts(theirs.load("s").messages) == texts(given.messages) == expected

    @needs("persistent")
    def test_append_is_visible_to_another_store_object(self, tmp_path: Path) -> None:
        """Check that an append is visible at once to every other store object."""
        ours, theirs = self.open(place(tmp_path)), self.open(place(tmp_path))
        ours.save(session("s"))
        expected: list[str] = []
        for step in range(3):
            for store in (ours, theirs):
                expected.append(f"{step}")
                store.append("s", message(f"{step}", step))
                assert texts(ours.load("s").messages) == expected
                assert texts(theirs.tail("s", 100)) == expected

    @needs("persistent")
    def test_retry_through_another_store_object(self, tmp_path: Path) -> None:
        """Check that a message is stored once if another store object appends it again."""
        ours, theirs = self.open(place(tmp_path)), self.open(place(tmp_path))
        ours.save(session("s"))
        for step in range(3):
            ours.append("s", message("x", step, id=f"m{step}"))
            theirs.append("s", message("x", step, id=f"m{step}"))
            ours.append("s", message("x", step, id=f"m{step}"))
        assert [item.id for item in theirs.load("s").messages] == ["m0", "m1", "m2"]

    @needs("persistent")
    def test_append_follows_a_save_of_others(self, tmp_path: Path) -> None:
        """Check that an append succeeds after another store object has replaced the session."""
        ours, theirs = self.open(place(tmp_path)), self.open(place(tmp_path))
        ours.save(session("s"))
        ours.append("s", message("one"))
        mine = theirs.load("s")
        mine.title = "renamed"
        theirs.save(mine)
        ours.append("s", message("two", 1))
        theirs.checkpoint(mine)
        ours.append("s", message("three", 2))
        found = theirs.load("s")
        assert (found.title, texts(found.messages)) == ("renamed", ["one", "two", "three"])

    @needs("persistent")
    def test_append_after_others_deleted(self, tmp_path: Path) -> None:
        """Check that an append does not restore a session that another store object deleted."""
        ours, theirs = self.open(place(tmp_path)), self.open(place(tmp_path))
        ours.save(session("s"))
        ours.append("s", message("one"))
        theirs.delete("s")
        missing = False
        try:
            ours.append("s", message("two", 1))
        except LookupError:
            missing = True
        assert missing
        assert (ours.exists("s"), theirs.list_session_ids()) == (False, [])
