"""langgraph: its savers under a compiled graph with MessagesState.

An append is `graph.update_state`: one checkpoint, the cheapest way a user has of adding a message
(`invoke` writes at least three). A checkpoint holds the whole message list, so the cost grows with
the session; DeltaChannel, which would avoid that, is beta and not what MessagesState uses.
Its saver for Redis asks for RediSearch and RedisJSON, which Debian's redis-server has not.
"""
# The peers live in a venv of their own, so the type checker cannot see them.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .base import Message, Peer, clean_room, server


class LangGraph(Peer):
    """SqliteSaver."""

    name = "langgraph SqliteSaver"
    distribution = "langgraph-checkpoint-sqlite"
    imports = (
        "from langgraph.checkpoint.sqlite import SqliteSaver; "
        "from langgraph.graph import MessagesState, StateGraph"
    )
    # 40 fdatasync of the WAL for 20 appends: the checkpoint and the writes are a commit each.
    syncs = True
    chunk = 100_000  # each call writes all that is there

    def open(self, folder: str) -> None:
        clean_room(folder)
        from langgraph.graph import MessagesState, StateGraph

        self._prepare(folder)
        builder = StateGraph(MessagesState)
        builder.add_node("chat", lambda state: {})
        builder.set_entry_point("chat")
        builder.set_finish_point("chat")
        self._graph = builder.compile(checkpointer=self._saver)

    def _prepare(self, folder: str) -> None:
        import sqlite3

        from langgraph.checkpoint.sqlite import SqliteSaver

        self._connection: Any = sqlite3.connect(f"{folder}/checkpoints.db", check_same_thread=False)
        self._saver: Any = SqliteSaver(self._connection)

    def _update(self, session_id: str, messages: list[dict[str, str]]) -> None:
        self._graph.update_state(_config(session_id), {"messages": messages}, as_node="chat")

    def append(self, session_id: str, role: str, content: str) -> None:
        self._update(session_id, [{"role": role, "content": content}])

    def append_many(self, session_id: str, messages: Sequence[Message]) -> None:
        self._update(session_id, [{"role": role, "content": text} for role, text in messages])

    def load(self, session_id: str) -> Sequence[Any]:
        return self._graph.get_state(_config(session_id)).values["messages"]

    def kept(self, session_id: str) -> int:
        # A lost update is still in the checkpoint that was superseded.
        history = self._graph.get_state_history(_config(session_id))
        return len({m.id for state in history for m in state.values.get("messages", ())})

    def newest(self, n: int) -> Sequence[Any] | None:
        # It lists checkpoints, newest first: walk until n threads are seen.
        threads: dict[str, Any] = {}
        for checkpoint in self._saver.list(None):
            threads.setdefault(checkpoint.config["configurable"]["thread_id"], checkpoint)
            if len(threads) == n:
                break
        return list(threads)

    def close(self) -> None:
        self._connection.close()


class InPostgres(LangGraph):
    """PostgresSaver, on a connection that commits each statement, as its documentation has it."""

    name = "langgraph PostgresSaver"
    distribution = "langgraph-checkpoint-postgres"
    imports = (
        "from langgraph.checkpoint.postgres import PostgresSaver; "
        "from langgraph.graph import MessagesState, StateGraph"
    )
    place = "postgres"

    def _prepare(self, folder: str) -> None:
        from langgraph.checkpoint.postgres import PostgresSaver
        from psycopg import Connection
        from psycopg.rows import dict_row

        rows: Any = dict_row
        self._connection = Connection.connect(
            server(), autocommit=True, prepare_threshold=0, row_factory=rows
        )
        self._saver = PostgresSaver(self._connection)
        self._saver.setup()


class Ours(LangGraph):
    """Our adapter in the same graph."""

    name = "cortext in LangGraph"
    distribution = "cortext-sessions"
    imports = (
        "from cortext.adapters.langgraph import CortextSaver; "
        "from langgraph.graph import MessagesState, StateGraph"
    )
    syncs = True  # 60 for 20 appends: the checkpoint, its writes and the conversation
    ours = True
    replaces = "langgraph"
    no_search = "measured once, with the log"

    def _prepare(self, folder: str) -> None:
        from cortext.adapters.langgraph import CortextSaver

        self._saver = CortextSaver(f"{folder}/threads")

    def newest(self, n: int) -> Sequence[Any] | None:
        return self._saver.threads(limit=n)

    def close(self) -> None:
        self._saver.close()


def _config(session_id: str) -> dict[str, Any]:
    return {"configurable": {"thread_id": session_id}}
