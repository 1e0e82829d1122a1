"""The operations of the checkpoint saver: reading, writing and deleting checkpoints.

A thread has a log of checkpoints, and a conversation with its messages in readable form.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

from cortext.adapters.langgraph.allowlist_serializer import name_refusals
from cortext.adapters.langgraph.draft_checkpoint import make_draft, spoken
from cortext.adapters.langgraph.langchain_messages import MESSAGES, answered
from cortext.adapters.langgraph.thread_log import SavedCheckpoint, Spot, Thread, Write
from cortext.adapters.langgraph.threads import OpenThread, Threads
from cortext.adapters.langgraph.value_codec import Codec, Items, Node, common, names_in
from cortext.adapters.missing_framework import needs
from cortext.model.json_values import json_copy

with needs("langgraph"):
    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.base import (
        WRITES_IDX_MAP,
        ChannelVersions,
        Checkpoint,
        CheckpointTuple,
        DeltaChannelHistory,
        PendingWrite,
    )
    from langgraph.checkpoint.serde.types import INTERRUPT

_DELTA_COUNTERS = "counters_since_delta_snapshot"


class Where(NamedTuple):
    """The thread, namespace, checkpoint and owner that are given in a LangGraph config.

    `id` is the checkpoint id, or None for the latest checkpoint.
    """

    thread: str
    ns: str
    id: str | None
    owner: str

    @classmethod
    def of(cls, config: RunnableConfig) -> Where:
        given = config.get("configurable", {})
        if "thread_id" not in given:
            raise ValueError('a checkpoint needs a thread: config["configurable"]["thread_id"]')
        owner, ns = str(given.get("user_id") or ""), given.get("checkpoint_ns") or ""
        return cls(str(given["thread_id"]), ns, given.get("checkpoint_id"), owner)

    def config(self, id: str) -> RunnableConfig:
        given = {"thread_id": self.thread, "checkpoint_ns": self.ns, "checkpoint_id": id}
        return {"configurable": given}


class FoundCheckpoint(NamedTuple):
    """A stored checkpoint, and the place where it is stored.

    `saved` is the checkpoint. `where` has the thread and the namespace of the checkpoint. `log` is
    the log of this thread.
    """

    where: Where
    log: Thread
    saved: SavedCheckpoint


class Checkpoints:
    """The checkpoints of all LangGraph threads in one store."""

    def __init__(self, threads: Threads, codec: Codec) -> None:
        self._threads, self._codec = threads, codec

    def get(self, where: Where) -> CheckpointTuple | None:
        thread = self._threads.open(where.thread, where.owner)
        with name_refusals(where.thread), thread.log.lock:
            thread.log.catch_up()
            if not where.ns and not where.id:
                self._prepare_draft(thread)
            saved = thread.log.saved(where.ns, where.id)
            return self.tuple(FoundCheckpoint(where, thread.log, saved)) if saved else None

    def all(self, config: RunnableConfig | None) -> Iterator[FoundCheckpoint]:
        """Yield the checkpoints that a config selects, the newest first.

        The config None selects the checkpoints of all threads.
        """
        given = config.get("configurable", {}) if config else {}
        one = given.get("checkpoint_id")
        ids = [str(given["thread_id"])] if config else self._threads.ids()
        rows: list[FoundCheckpoint] = []
        owner = str(given.get("user_id") or "")
        for thread_id in ids:
            log = self._threads.open(thread_id, owner).log
            with log.lock:
                log.catch_up()
                for ns, id in log.spots():
                    if given.get("checkpoint_ns") in (None, ns) and one in (None, "", id):
                        where = Where(thread_id, ns, id, "")
                        rows.append(FoundCheckpoint(where, log, log.checkpoints[ns][id]))
        yield from sorted(rows, key=lambda row: row.saved.id, reverse=True)

    def matches(self, found: FoundCheckpoint, filter: Mapping[str, Any]) -> bool:
        with name_refusals(found.where.thread, found.saved.id):
            meta = self._codec.peek(found.saved.meta)
        return all(meta.get(key) == value for key, value in filter.items())

    def tuple(self, found: FoundCheckpoint) -> CheckpointTuple:
        where, log, saved = found
        codec = self._codec
        with name_refusals(where.thread, saved.id), log.lock:
            checkpoint = cast("dict[str, Any]", codec.value(saved.state))
            values = {channel: codec.value(node) for channel, node in saved.values.items()}
            writes = [
                (one.task, one.channel, codec.value(one.value))
                for one in log.writes_at(where.ns, saved.id)
            ]
            meta = codec.value(saved.meta)
        if isinstance(values.get(MESSAGES), list):
            values[MESSAGES] = answered(values[MESSAGES])
        checkpoint["channel_values"] = values
        parent = where.config(saved.parent) if saved.parent else None
        made = cast("Checkpoint", checkpoint)
        return CheckpointTuple(where.config(saved.id), made, meta, parent, writes)

    def put(
        self, where: Where, checkpoint: Checkpoint, meta: Any, new_versions: ChannelVersions
    ) -> str:
        """Store a checkpoint durably, and return its id.

        `where` has the thread and the namespace of the new checkpoint. The `id` in `where` is the
        id of the parent checkpoint. `meta` is the metadata of the new checkpoint. `new_versions`
        has the names of the channels whose values have changed.
        """
        thread = self._threads.open(where.thread, where.owner)
        log = thread.log
        with name_refusals(where.thread), log.lock:
            # Create the session with its owner before any content is stored.
            thread.transcript.begin(where.owner)
            log.catch_up()
            base = log.saved(where.ns, where.id) if where.id else None
            saved = self._to_saved(checkpoint, meta, new_versions, base, where.id)
            drafts = [base] if base is not None and base is log.draft else []
        self._threads.put(thread, where.ns, [*drafts, saved])
        with name_refusals(where.thread), log.lock:
            _cache_messages(log, saved.values.values())
            if not where.ns:
                self._update_conversation(thread, where, saved, base)
        return saved.id

    def put_writes(
        self, where: Where, writes: Sequence[tuple[str, Any]], task: str, path: str
    ) -> None:
        thread = self._threads.open(where.thread, where.owner)
        log, id = thread.log, where.id or ""
        with name_refusals(where.thread), log.lock:
            log.catch_up()
            stored = log.writes.get((where.ns, id), {})
            new = [
                Write(task, key, path, channel, self._codec.node(value))
                for at, (channel, value) in enumerate(writes)
                if (key := WRITES_IDX_MAP.get(channel, at)) < 0 or (task, key) not in stored
            ]
            drafts = [log.draft] if log.draft is not None and log.draft.id == id else []
        if drafts:
            self._threads.put(thread, where.ns, drafts)
        if not new:
            return
        self._threads.write(thread, where.ns, id, new)
        with log.lock:
            _cache_messages(log, [one.value for one in new])
            interrupts = [value for channel, value in writes if channel == INTERRUPT]
            if interrupts and not where.ns:
                rows = [row for value in interrupts for row in _interrupt_rows(value)]
                thread.transcript.wait_for(rows if self._codec.open else [], id, where.owner)

    def history(self, where: Where, channels: Sequence[str]) -> dict[str, DeltaChannelHistory]:
        """Return the data from which LangGraph rebuilds the values of delta channels.

        A delta channel is stored as changes (writes), and only sometimes as a full value. The data
        of a channel are its last full value, if there is one, and the writes after this value. Only
        checkpoints that are older than the checkpoint `where` are searched.
        """
        log = self._threads.open(where.thread, where.owner).log
        with name_refusals(where.thread), log.lock:
            log.catch_up()
            start = log.saved(where.ns, where.id)
            parent = start.parent if start else None
            return {channel: self._history(log, where.ns, parent, channel) for channel in channels}

    def latest(self, log: Thread) -> set[Spot]:
        """Return the positions of the checkpoints to keep when old checkpoints are deleted.

        A position is a namespace and a checkpoint id. The latest checkpoint of each namespace is
        kept. If it has delta channels (stored as changes), the earlier checkpoints from which these
        channels are rebuilt are kept too.
        """
        keep: set[Spot] = set()
        for ns in log.checkpoints:
            saved = log.saved(ns, None)
            keep |= {(ns, saved.id)} if saved else set()
            meta: dict[str, Any] = self._codec.peek(saved.meta) if saved else {}
            needed = {
                name for name in meta.get(_DELTA_COUNTERS, ()) if saved and name not in saved.values
            }
            while needed and saved and saved.parent and (saved := log.saved(ns, saved.parent)):
                keep.add((ns, saved.id))
                needed -= set(saved.values)
        return keep

    def delete_runs(self, runs: set[str]) -> None:
        """Delete the checkpoints of the runs with the ids `runs` from all threads.

        Messages that occur in no other checkpoint are deleted from the conversations too. A thread
        without other checkpoints is deleted.
        """
        for thread_id in list(self._threads.ids()):
            with name_refusals(thread_id):
                self._delete_runs_of(thread_id, runs)

    def _delete_runs_of(self, thread_id: str, runs: set[str]) -> None:
        log = self._threads.rewrite(thread_id, lambda log: self._outside_runs(log, runs))
        if log is None:
            return
        remaining = self._outside_runs(log, runs)
        if remaining:
            gone = spoken(self._codec, log, log.spots()) - spoken(self._codec, log, remaining)
            self._threads.open(thread_id).transcript.remove(gone)
        else:
            self._threads.delete(thread_id)

    def _outside_runs(self, log: Thread, runs: set[str]) -> set[Spot]:
        """Return the positions of the checkpoints that do not belong to these runs.

        A position is a namespace and a checkpoint id.
        """
        return {
            (ns, id)
            for ns, id in log.spots()
            if self._codec.peek(log.checkpoints[ns][id].meta).get("run_id") not in runs
        }

    def _to_saved(
        self,
        checkpoint: Checkpoint,
        meta: Any,
        new_versions: ChannelVersions,
        base: SavedCheckpoint | None,
        parent: str | None,
    ) -> SavedCheckpoint:
        """Convert a checkpoint to the form in which the log stores it.

        `base` is the stored parent checkpoint, and `parent` is its id. A channel that did not
        change shares its value with `base`. `new_versions` has the names of the channels that
        changed.
        """
        state = cast("dict[str, Any]", dict(checkpoint))
        given = cast("dict[str, Any]", state.pop("channel_values"))
        old: Mapping[str, Node] = base.values if base else {}
        old_versions: dict[str, Any] = (
            self._codec.peek(base.state)["channel_versions"] if base else {}
        )
        versions = checkpoint["channel_versions"]
        values: dict[str, Node] = {}
        for channel, value in given.items():
            same = channel not in new_versions and old_versions.get(channel, self) == versions.get(
                channel
            )
            if same and channel in old:
                values[channel] = old[channel]
            else:
                values[channel] = self._codec.node(value, old.get(channel))
        piece = self._codec.piece
        return SavedCheckpoint(checkpoint["id"], parent, piece(state), piece(meta), values)

    def _update_conversation(
        self, thread: OpenThread, where: Where, saved: SavedCheckpoint, base: SavedCheckpoint | None
    ) -> None:
        """Add the new messages of the checkpoint `saved` to the conversation of the thread.

        `base` is the parent checkpoint of `saved`. If a run waited for a user before `saved`, also
        record that the run no longer waits.
        """
        node = saved.values.get(MESSAGES)
        messages: list[Any] = []
        known = 0
        if isinstance(node, Items):
            messages = [self._codec.message(piece) for piece in node.all()]
            known = common(node, base.values.get(MESSAGES) if base else None)
        elif self._codec.open and saved.parent:
            # The new messages of a delta channel were written at the parent checkpoint.
            for write in thread.log.writes_at("", saved.parent):
                if write.channel == MESSAGES:
                    value = self._codec.value(write.value)
                    messages += value if isinstance(value, list) else [value]
        thread.transcript.tell(messages, known, where.owner)
        thread.transcript.go_on(saved.id)

    def _prepare_draft(self, thread: OpenThread) -> None:
        """Create a draft: a checkpoint with the messages that other programs added.

        Readers get the draft as the latest checkpoint. It is stored when a run continues from it.
        """
        log, transcript = thread.log, thread.transcript
        if not self._codec.open:
            return
        # If the latest checkpoint is damaged, its messages are still in the conversation.
        others = transcript.all() if log.is_damaged() else transcript.others()
        if log.draft is None or log.drafted != len(others):
            log.draft = make_draft(self._codec, log, others) if others else None
            log.drafted = len(others)

    def _history(self, log: Thread, ns: str, id: str | None, channel: str) -> DeltaChannelHistory:
        codec, steps = self._codec, list[list[PendingWrite]]()
        history: DeltaChannelHistory = {"writes": []}
        while id and (saved := log.saved(ns, id)) and "seed" not in history:
            writes = [one for one in log.writes_at(ns, id) if one.channel == channel]
            steps.append([(one.task, channel, codec.value(one.value)) for one in writes])
            if channel in saved.values:
                history["seed"] = codec.value(saved.values[channel])
            id = saved.parent
        history["writes"] = [write for step in reversed(steps) for write in step]
        return history


def _cache_messages(log: Thread, nodes: Iterable[Node]) -> None:
    """Keep the messages in `nodes` in memory, so that no later reader needs to unpack them.

    `nodes` are the stored forms of values that were just written to the log.
    """
    for node in nodes:
        for piece in names_in(node):
            known = log.pieces.get(piece.name)
            if known is not None and known.twin is None:
                known.twin = piece.twin


def _interrupt_rows(interrupts: Any) -> Iterator[dict[str, Any]]:
    """Yield the id and the value of each interrupt for which a run waits, as JSON.

    `interrupts` is one interrupt of LangGraph, or a list of them.
    """
    several = isinstance(interrupts, (list, tuple))
    for one in cast("Sequence[Any]", interrupts) if several else [interrupts]:
        value = getattr(one, "value", one)
        try:
            value = json_copy(value, "the interrupt")
        except ValueError:
            value = str(value)
        yield {"id": getattr(one, "id", ""), "value": value}
