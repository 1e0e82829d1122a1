"""Messages that other programs added to the conversation of a LangGraph thread.

For example, a user continued the conversation in Claude Code, or in a program of another framework.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from cortext.adapters.langgraph.langchain_messages import MESSAGES, to_messages
from cortext.adapters.langgraph.thread_log import SavedCheckpoint, Spot, Thread
from cortext.adapters.langgraph.value_codec import Codec, Items
from cortext.adapters.missing_framework import needs
from cortext.model.message import SessionMessage

with needs("langgraph"):
    from langchain_core.messages import BaseMessage
    from langgraph.checkpoint.base.id import uuid6

_VERSION = 4
"""The version number of LangGraph's checkpoint format."""


def make_draft(
    codec: Codec, log: Thread, others: Sequence[SessionMessage]
) -> SavedCheckpoint | None:
    """Return a new checkpoint that adds messages of other programs to the latest checkpoint.

    `log` is the log of the thread. `others` are these messages, as records. Messages that a
    checkpoint already contains are not added. Return None if there is nothing to add, or while a
    step of the graph is running, because the writes of the step belong to the latest checkpoint.
    """
    log.draft = None
    latest = log.saved("", None)
    if latest and log.writes_at("", latest.id) and not log.is_damaged():
        return None
    known_ids = spoken(codec, log, log.spots())
    new = [record for record in others if record.id not in known_ids]
    if not new or (latest and not _has_message_list(latest, log)):
        return None
    return _add_messages(codec, latest, new)


def _has_message_list(latest: SavedCheckpoint, log: Thread) -> bool:
    """Return whether messages can be added to the checkpoint `latest`.

    The checkpoint must have a list of messages. If a newer checkpoint cannot be read, a checkpoint
    without any messages is accepted too.
    """
    messages = latest.values.get(MESSAGES)
    return isinstance(messages, Items) or (messages is None and log.is_damaged())


def spoken(codec: Codec, log: Thread, spots: Iterable[Spot]) -> set[str | None]:
    """Return the ids of all messages in the checkpoints at the positions `spots`.

    Only checkpoints of the root namespace are used.
    """
    lists: dict[int, Items] = {}
    for ns, at in spots:
        node = None if ns else log.checkpoints[ns][at].values.get(MESSAGES)
        if isinstance(node, Items):
            # A list that grew from another list shares its `pieces`. Only the longest is needed.
            longest = lists.setdefault(id(node.pieces), node)
            lists[id(node.pieces)] = max(longest, node, key=lambda one: one.size)
    messages = (codec.message(piece) for node in lists.values() for piece in node.all())
    return {one.id for one in messages if isinstance(one, BaseMessage)}


def _add_messages(
    codec: Codec, latest: SavedCheckpoint | None, new: Sequence[SessionMessage]
) -> SavedCheckpoint:
    state: dict[str, Any] = {"v": _VERSION, "channel_versions": {}, "versions_seen": {}}
    step, values = -2, dict(latest.values) if latest else {}
    if latest:
        state = codec.value(latest.state)
        step = codec.peek(latest.meta).get("step", step)
    before = values.get(MESSAGES)
    pieces = [*(before.all() if isinstance(before, Items) else ())]
    pieces += map(codec.piece, to_messages(new))
    values[MESSAGES] = Items(pieces, len(pieces))
    versions: dict[str, Any] = state["channel_versions"]
    versions[MESSAGES] = max(versions.values(), default=0) + 1
    id = str(uuid6(clock_seq=step + 1))
    state |= {"id": id, "ts": datetime.now(UTC).isoformat(), "updated_channels": [MESSAGES]}
    meta: dict[str, Any] = {"source": "update", "step": step + 1, "parents": {}}
    parent = latest.id if latest else None
    return SavedCheckpoint(id, parent, codec.piece(state), codec.piece(meta), values)
