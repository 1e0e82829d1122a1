"""The log of a LangGraph thread: its checkpoints and their writes, in the order of arrival.

A *write* is a value that a task wrote to a channel. The log is a cortext session, separate from the
conversation of the thread. Each checkpoint and each group of writes is one record, with its data in
`structured_data`. Each record is read only once.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from cortext.adapters.langgraph.value_codec import (
    Broken,
    Node,
    StoredValue,
    names_in,
    read,
    written,
)
from cortext.adapters.record_reader import Follower
from cortext.model.message import SessionMessage
from cortext.stores.port import SessionStore

log: logging.Logger = logging.getLogger("cortext.adapters")
Spot = tuple[str, str]
"""The position of a checkpoint: its namespace and its id. The root namespace is ""."""


class SavedCheckpoint(NamedTuple):
    """A checkpoint as the log stores it. A `Node` is the stored form of a value.

    `parent` is the id of the previous checkpoint. `values` are the values of the channels, by
    channel name. `state` holds the other fields of the checkpoint, and `meta` its metadata.
    """

    id: str
    parent: str | None
    state: Node
    meta: Node
    values: Mapping[str, Node]


class Write(NamedTuple):
    """A value that a task wrote to a channel after a checkpoint.

    `number` is the position of the write in its task, and `path` is the path of the task.
    """

    task: str
    number: int
    path: str
    channel: str
    value: Node


class Thread:
    """The parsed checkpoints and writes of one LangGraph thread.

    LangGraph calls a conversation a thread. It is not a thread of the operating system. Hold `lock`
    while using the object.
    """

    def __init__(self, store: SessionStore, id: str) -> None:
        self.lock: threading.RLock = threading.RLock()
        self._follower = Follower(store, id)
        self._clear()

    def catch_up(self) -> None:
        """Read the checkpoints and writes that were added to the log since the last call."""
        is_reset, records = self._follower.new()
        if is_reset:
            self._clear()
        self.take(records)

    def take(self, records: Iterable[SessionMessage]) -> None:
        for record in records:
            self._take(record)

    def forget(self) -> None:
        self._follower.forget()

    def saved(self, ns: str, id: str | None) -> SavedCheckpoint | None:
        """Return the checkpoint with this id in the namespace `ns`.

        If `id` is None or "", return the latest checkpoint of the namespace. Returns None if
        there is no such checkpoint.
        """
        if self.draft is not None and not ns and id in (None, "", self.draft.id):
            return self.draft
        checkpoints = self.checkpoints.get(ns)
        if not checkpoints:
            return None
        return checkpoints.get(id) if id else checkpoints[self._latest[ns]]

    def is_damaged(self) -> bool:
        """Return whether the newest checkpoint of the root namespace cannot be read."""
        return max(self.broken.values(), default="") > self._latest.get("", "")

    def spots(self) -> list[Spot]:
        """Return the positions of all checkpoints, the newest first.

        A position is a namespace and a checkpoint id.
        """
        found = [(ns, id) for ns, of_ns in self.checkpoints.items() for id in of_ns]
        return sorted(found, key=lambda spot: spot[1], reverse=True)

    def writes_at(self, ns: str, id: str) -> list[Write]:
        """Return the writes of a checkpoint, in the order in which LangGraph applies them.

        `ns` and `id` are the namespace and the id of the checkpoint.
        """
        found = self.writes.get((ns, id), {}).values()
        return sorted(found, key=lambda write: (write.path, write.task, write.number))

    def _clear(self) -> None:
        self.checkpoints: dict[str, dict[str, SavedCheckpoint]] = {}
        self.writes: dict[Spot, dict[tuple[str, int], Write]] = {}
        self.pieces: dict[str, StoredValue] = {}
        self.broken: dict[str, str] = {}
        """The records that cannot be read, because they refer to a missing value.

        The keys are record ids, and the values are checkpoint ids. The checkpoint id is "" for
        writes, and for checkpoints outside the root namespace.
        """
        self._latest: dict[str, str] = {}
        self.draft: SavedCheckpoint | None = None
        """A new checkpoint with the messages that other programs added, or None.

        The draft is stored when a run continues from it. Until then it exists only in memory.
        """
        self.drafted = 0
        """The number of messages of other programs when `draft` was made."""

    def _take(self, record: SessionMessage) -> None:
        data = record.structured_data
        try:
            if "put" in data:
                self._take_put(data)
            elif "writes" in data:
                self._take_writes(data)
        except Broken as error:
            self.broken[record.id] = "" if data.get("ns") else data.get("put", "")
            log.warning("a checkpoint is skipped: %s", error)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            log.warning("record %s is not a checkpoint: %s", record.id, error)

    def _take_put(self, data: dict[str, Any]) -> None:
        ns, id, parent = data.get("ns", ""), data["put"], data.get("parent")
        of_ns = self.checkpoints.setdefault(ns, {})
        base = of_ns.get(parent) if parent else None
        old: Mapping[str, Node] = base.values if base else {}
        values: dict[str, Node] = {}
        for channel, one in data["values"].items():
            if one is None:
                if channel not in old:
                    raise Broken(f"the previous value of {channel!r} is missing")
                values[channel] = old[channel]
            else:
                values[channel] = read(one, old.get(channel), self.pieces)
        state = read(data["state"], None, self.pieces)
        of_ns[id] = SavedCheckpoint(
            id, parent, state, read(data["meta"], None, self.pieces), values
        )
        self._latest[ns] = max(id, self._latest.get(ns, ""))
        if not ns:
            self.draft = None

    def _take_writes(self, data: dict[str, Any]) -> None:
        task, path = data["task"], data.get("path", "")
        writes = self.writes.setdefault((data.get("ns", ""), data["at"]), {})
        for index, channel, one in data["writes"]:
            value = read(one, None, self.pieces)
            # A negative index is an error, an interrupt or a resume value: the last write wins.
            # Otherwise the first write wins.
            if index < 0 or (task, index) not in writes:
                writes[task, index] = Write(task, index, path, channel, value)


def put_record(
    ns: str, saved: SavedCheckpoint, base: SavedCheckpoint | None, known: Mapping[str, Any]
) -> Any:
    """Return the JSON data with which the log stores a checkpoint of the namespace `ns`.

    `base` is the parent checkpoint, or None if the log does not contain it. Values that are the
    same in `base` are left out. `known` has the names of the values that the log already contains.
    Of such a value, only the name is stored.
    """
    old: Mapping[str, Node] = base.values if base else {}
    values = {
        channel: None if node is old.get(channel) else written(node, old.get(channel), known)
        for channel, node in saved.values.items()
    }
    data: dict[str, Any] = {"put": saved.id, "ns": ns, "parent": saved.parent}
    data |= {"state": written(saved.state, None, ()), "meta": written(saved.meta, None, ())}
    return {key: one for key, one in data.items() if one} | {"values": values}


def writes_record(ns: str, at: str, writes: list[Write], known: Mapping[str, Any]) -> Any:
    """Return the JSON data with which the log stores the writes of one task.

    The writes belong to the checkpoint with the id `at` in the namespace `ns`. `known` has the
    names of the values that the log already contains. Of such a value, only the name is stored.
    """
    rows = [[one.number, one.channel, written(one.value, None, known)] for one in writes]
    data = {"writes": rows, "at": at, "task": writes[0].task, "path": writes[0].path, "ns": ns}
    return {key: one for key, one in data.items() if one}


def records_of(thread: Thread, spots: Iterable[Spot]) -> Iterator[SessionMessage]:
    """Yield the records for a new log that has only some checkpoints of a thread and their writes.

    `thread` is the current log. `spots` are the positions of the checkpoints: pairs of a namespace
    and a checkpoint id.
    """
    written_checkpoints: dict[Spot, SavedCheckpoint] = {}
    known: dict[str, bool] = {}
    for spot in sorted(set(spots), key=lambda one: one[1]):
        ns, id = spot
        saved = thread.checkpoints[ns][id]
        base = written_checkpoints.get((ns, saved.parent or ""))
        yield as_record(put_record(ns, saved, base, known))
        written_checkpoints[spot] = saved
        _add_names(saved.values.values(), known)
        by_task: dict[str, list[Write]] = {}
        for write in thread.writes_at(ns, id):
            by_task.setdefault(write.task, []).append(write)
        for writes in by_task.values():
            yield as_record(writes_record(ns, id, writes, known))
            _add_names([write.value for write in writes], known)


def as_record(data: Any) -> SessionMessage:
    return SessionMessage("system", "", structured_data=data)


def _add_names(nodes: Iterable[Node], known: dict[str, bool]) -> None:
    known.update((piece.name, True) for node in nodes for piece in names_in(node))
