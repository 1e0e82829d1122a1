"""Tests of recorded tool calls, which a store must neither lose nor store twice.

A tool call is stored with the message that follows it. Calls after the last message are stored in
the head, which is everything in a session except its messages.
"""

from __future__ import annotations

from pathlib import Path

from cortext.model.session import Session
from cortext.testing.suite_base import Suite, call, message, place, session


def names(found: Session) -> list[str]:
    return [item.tool_name for item in found.tool_history]


class ToolCallTests(Suite):
    """Tests of a store with sessions that contain recorded tool calls."""

    def test_tool_calls_ride_on_the_message_after_them(self, tmp_path: Path) -> None:
        """Check that an append of messages and tool calls stores the calls in order."""
        store = self.open(place(tmp_path))
        store.save(session("s", message("one")))
        calls = [call("a", 1), call("b", 2)]
        store.append("s", message("two", 3), message("three", 4), tool_invocations=calls)
        store.append("s", message("four", 6), tool_invocations=[call("c", 5)])
        found = store.load("s")
        assert found.tool_history[:2] == calls
        assert names(found) == ["a", "b", "c"]

    def test_tool_calls_without_a_message_are_refused(self, tmp_path: Path) -> None:
        """Check that appending tool calls without a message raises ValueError."""
        store = self.open(place(tmp_path))
        store.save(session("s"))
        refused = False
        try:
            store.append("s", tool_invocations=[call("a")])
        except ValueError:
            refused = True
        assert refused
        assert names(store.load("s")) == []

    def test_retry_does_not_double_tool_calls(self, tmp_path: Path) -> None:
        """Check that a repeated append stores neither the message nor its tool calls again."""
        store = self.open(place(tmp_path))
        store.save(session("s"))
        item, calls = message("one", 2), [call("a", 1)]
        store.append("s", item, tool_invocations=calls)
        store.append("s", item, tool_invocations=calls)
        assert store.load("s").tool_history == calls

    def test_equal_ids_in_one_append_keep_tool_calls(self, tmp_path: Path) -> None:
        """Check that only the first of two messages with the same id is stored, with its calls."""
        store = self.open(place(tmp_path))
        store.save(session("s"))
        calls = [call("a", 1)]
        twice = (message("first", 2, id="m"), message("second", 2, id="m"))
        store.append("s", *twice, tool_invocations=calls)
        assert [item.content for item in store.load("s").messages] == ["first"]
        assert store.load("s").tool_history == calls

    def test_checkpoint_keeps_calls_that_no_message_carries(self, tmp_path: Path) -> None:
        """Check that a checkpoint stores a tool call once, if no message follows the call."""
        store = self.open(place(tmp_path))
        given = session("s", message("one"))
        store.save(given)
        given.tool_history.append(call("a", 1))
        store.checkpoint(given)
        store.checkpoint(given)
        assert store.load("s") == given

    def test_call_of_a_checkpoint_and_of_a_message_is_one(self, tmp_path: Path) -> None:
        """Check that a tool call is loaded once if a checkpoint and an append both store it."""
        store = self.open(place(tmp_path))
        given = session("s", message("one"))
        store.save(given)
        given.tool_history.append(call("a", 1))
        store.checkpoint(given)
        store.append("s", message("two", 2), tool_invocations=given.tool_history)
        assert store.load("s").tool_history == given.tool_history

    def test_checkpoint_keeps_the_calls_of_others(self, tmp_path: Path) -> None:
        """Check that a checkpoint keeps a tool call that another caller stored before."""
        store = self.open(place(tmp_path))
        store.save(session("s", message("one")))
        for mine, name in [(store.load("s"), "a"), (store.load("s"), "b")]:
            mine.tool_history.append(call(name, 1))
            store.checkpoint(mine)
        assert names(store.load("s")) == ["a", "b"]

    def test_checkpoint_of_two_stale_objects_keeps_both_calls(self, tmp_path: Path) -> None:
        """Check that two objects of one session can each store a tool call with a checkpoint."""
        store = self.open(place(tmp_path))
        store.save(session("s", message("one")))
        first, second = store.load("s"), store.load("s")
        first.tool_history.append(call("a", 1))
        second.tool_history.append(call("b", 2))
        store.checkpoint(first)
        store.checkpoint(second)
        assert names(store.load("s")) == ["a", "b"]

    def test_calls_stay_where_they_were(self, tmp_path: Path) -> None:
        """Check that a save keeps the order of tool calls from appends and checkpoints."""
        store = self.open(place(tmp_path))
        given = session("s", message("one"))
        store.save(given)
        given.tool_history.append(call("a", 1))
        store.checkpoint(given)
        store.append("s", message("two", 2))
        store.append("s", message("three", 4), tool_invocations=[call("b", 3)])
        assert names(store.load("s")) == ["a", "b"]
        store.save(store.load("s"))
        assert names(store.load("s")) == ["a", "b"]
