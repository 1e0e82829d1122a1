"""The checkpointer for LangGraph, which stores checkpoints in a cortext store."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from types import TracebackType
from typing import Any

from cortext.adapters.langgraph.allowlist_serializer import AllowedType, name_refusals, restrict
from cortext.adapters.langgraph.checkpoint_operations import Checkpoints, Where
from cortext.adapters.langgraph.langchain_messages import FRAMEWORK, MessagesState, add_messages
from cortext.adapters.langgraph.threads import Threads
from cortext.adapters.langgraph.value_codec import Codec
from cortext.adapters.missing_framework import needs
from cortext.adapters.session_log import PathOrUrl, SessionLog, beside, name_of_session

with needs("langgraph"):
    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.base import (
        BaseCheckpointSaver,
        ChannelVersions,
        Checkpoint,
        CheckpointMetadata,
        CheckpointTuple,
        DeltaChannelHistory,
        get_checkpoint_metadata,
    )
    from langgraph.checkpoint.serde.base import SerializerProtocol

__all__ = ["CortextSaver", "MessagesState", "add_messages"]

_BATCH = 20
_to_list: Any = list


class CortextSaver(BaseCheckpointSaver[int]):
    """A checkpoint saver for LangGraph that stores checkpoints with cortext.

    `path_or_url` is the path or URL of the cortext store; None means the default folder. A
    checkpoint is durable when `put` returns. A saver can be used from several threads, event loops
    and processes at once. `with` and `async with` close the saver. The `user_id` of a config is the
    owner of a thread. A config with another `user_id` raises SessionOwnerError.

    A checkpoint may hold values of the types that LangGraph knows to be safe, and of the types in
    `allowed_types`. An allowed type is a class, or a pair of a module name and a class name. Any
    other type raises CheckpointTypeError when a checkpoint is written or read. If `serde` is a
    serializer of your own class, the serializer itself decides which types it allows.

    If `serde` is not LangGraph's default serializer, messages are not copied to the conversation of
    the thread, because `serde` may encrypt messages and the conversation is plain text.
    """

    def __init__(
        self,
        path_or_url: PathOrUrl = None,
        *,
        serde: SerializerProtocol | None = None,
        allowed_types: Iterable[AllowedType] = (),
    ) -> None:
        super().__init__(serde=restrict(serde, allowed_types))
        self._threads = Threads(SessionLog(path_or_url, FRAMEWORK))

    @classmethod
    def from_conn_string(
        cls,
        conn_string: str,
        *,
        serde: SerializerProtocol | None = None,
        allowed_types: Iterable[AllowedType] = (),
    ) -> CortextSaver:
        """Return a saver for a path or URL. LangGraph's own savers have this method too.

        The saver can be used with `with` and with `async with`.
        """
        return cls(conn_string, serde=serde, allowed_types=allowed_types)

    @property
    def _checkpoints(self) -> Checkpoints:
        # Not cached, because LangGraph copies a saver and gives the copy another serializer.
        return Checkpoints(self._threads, Codec(self.serde))

    def threads(self, owner: str | None = None, *, limit: int | None = None) -> Sequence[str]:
        """Return the ids of threads, the most recently created first.

        Return at most `limit` ids. With `owner`, return only threads with this `user_id`. A
        conversation that another framework began is included after LangGraph has continued it.
        """
        most = None if limit is None else max(limit, 0)
        return [name_of_session(head) for head in islice(self._threads.heads(owner), most)]

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        return self._checkpoints.get(Where.of(config))

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        checkpoints = self._checkpoints
        end = before.get("configurable", {}).get("checkpoint_id") if before else None
        wanted = filter or {}
        found = (
            one
            for one in checkpoints.all(config)
            if not (end and one.saved.id >= end) and checkpoints.matches(one, wanted)
        )
        for one in islice(found, None if limit is None else max(limit, 0)):
            yield checkpoints.tuple(one)

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        where = Where.of(config)
        meta = get_checkpoint_metadata(config, metadata)
        return where.config(self._checkpoints.put(where, checkpoint, meta, new_versions))

    def put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        self._checkpoints.put_writes(Where.of(config), writes, task_id, task_path)

    def delete_thread(self, thread_id: str) -> None:
        """Delete a thread permanently: its checkpoints and its conversation."""
        self._threads.delete(str(thread_id))

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete the checkpoints of the runs with these ids permanently.

        Messages that occur only in these checkpoints are deleted from the conversations too.
        """
        if run_ids:
            self._checkpoints.delete_runs({str(run) for run in run_ids})

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy all checkpoints and the conversation of a thread to another thread."""
        self._threads.copy(str(source_thread_id), str(target_thread_id))

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Delete old checkpoints of threads, or whole threads.

        The strategy `keep_latest` keeps the conversation and the latest checkpoint of each
        namespace. If this checkpoint has delta channels, the earlier checkpoints from which they
        are rebuilt are kept too. The strategy `delete` deletes the thread. Any other strategy
        raises ValueError.
        """
        if strategy not in ("keep_latest", "delete"):
            raise ValueError(f"strategy must be keep_latest or delete, not {strategy!r}")
        for thread_id in thread_ids:
            if strategy == "delete":
                self.delete_thread(thread_id)
            else:
                with name_refusals(str(thread_id)):
                    self._threads.rewrite(str(thread_id), self._checkpoints.latest)

    def get_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        return self._checkpoints.history(Where.of(config), channels)

    def __enter__(self) -> CortextSaver:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    async def __aenter__(self) -> CortextSaver:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the open files. The saver can be used again afterwards."""
        self._threads.close()

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        return await beside(self.get_tuple, config)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        found = self.list(config, filter=filter, before=before, limit=limit)
        while batch := await beside(_to_list, islice(found, _BATCH)):
            for one in batch:
                yield one

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        return await beside(self.put, config, checkpoint, metadata, new_versions)

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        await beside(self.put_writes, config, writes, task_id, task_path)

    async def adelete_thread(self, thread_id: str) -> None:
        await beside(self.delete_thread, thread_id)

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        await beside(self.delete_for_runs, run_ids)

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        await beside(self.copy_thread, source_thread_id, target_thread_id)

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        await beside(self.prune, thread_ids, strategy=strategy)

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        return await beside(self.get_delta_channel_history, config=config, channels=channels)
