"""What every contestant offers the bench, ours and others, and the clean room it runs in."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, ClassVar

Message = tuple[str, str]  # role, content
URL = "BENCH_SERVER"
"""The variable that names the server of a contestant which needs one."""


class Peer:
    """One contestant behind one interface. What it stands for is imported in `open`, never
    before."""

    name: ClassVar[str]
    distribution: ClassVar[str]
    # What a user of the peer imports: the bench times this line for import time.
    imports: ClassVar[str]
    # Does an append, as the peer ships, reach stable storage before it returns? Found by
    # strace -f -e trace=fsync,fdatasync over 20 appends to an open session; the counts are
    # beside each answer. On a server it is the server who answers for that.
    syncs: ClassVar[bool]
    # What it keeps its messages on: "files" (SQLite too), "redis" or "postgres".
    place: ClassVar[str] = "files"
    ours: ClassVar[bool] = False
    # Of an adapter of ours, the key of whom a program takes it for.
    replaces: ClassVar[str] = ""
    # "peers" share a virtual environment; "" is ours, any other is that of an adapter.
    venv: ClassVar[str] = "peers"
    # Who cannot append through an API: the reason, which the table gives.
    no_append: ClassVar[str] = ""
    no_list: ClassVar[str] = "it has no listing"
    no_search: ClassVar[str] = "it has no search"
    # Messages that are seeded in one call.
    chunk: ClassVar[int] = 10_000

    @property
    def version(self) -> str:
        if self.ours:
            from cortext import __version__

            return __version__
        from importlib.metadata import version

        return version(self.distribution)

    def open(self, folder: str) -> None:
        raise NotImplementedError

    def append(self, session_id: str, role: str, content: str) -> None:
        raise NotImplementedError

    def append_many(self, session_id: str, messages: Sequence[Message]) -> None:
        """Seed a session, in bulk where the peer's API or its database has a bulk way."""
        for role, content in messages:
            self.append(session_id, role, content)

    def last(self, session_id: str, n: int) -> Sequence[Any]:
        """The last n messages; all loaded and sliced where the peer has no window."""
        return self.load(session_id)[-n:]

    def load(self, session_id: str) -> Sequence[Any]:
        """The conversation as the peer would give it to the next turn."""
        raise NotImplementedError

    def recovered(self, session_id: str) -> Sequence[Any]:
        """The conversation after damage, by what the contestant offers for that."""
        return self.load(session_id)

    def kept(self, session_id: str) -> int:
        """Messages the peer's API still finds anywhere, also outside the conversation."""
        return len(self.load(session_id))

    def create_session(self, number: int) -> None:
        """One of the many that are listed."""
        self.append(f"session-{number:05}", "user", f"hello {number}")

    def newest(self, n: int) -> Sequence[Any] | None:
        """The newest n sessions, None where the peer has no listing."""
        return None

    def find(self, words: str) -> Sequence[Any] | None:
        """The messages that have these words, at most 20; None where the peer has no search."""
        return None

    def close(self) -> None:
        raise NotImplementedError


def server() -> str:
    """The URL of the server that the bench started for this contestant."""
    return os.environ[URL]


def clean_room(folder: str) -> None:
    """Keep every file a peer writes inside folder, and its telemetry off."""
    for variable, path in (
        ("HOME", folder),
        ("XDG_CONFIG_HOME", f"{folder}/config"),
        ("XDG_DATA_HOME", f"{folder}/data"),
        ("XDG_STATE_HOME", f"{folder}/state"),
        ("XDG_CACHE_HOME", f"{folder}/cache"),
        ("LLM_USER_PATH", f"{folder}/llm"),
        ("CLAUDE_CONFIG_DIR", f"{folder}/claude"),
        ("AURORA_HOME", f"{folder}/aurora"),
    ):
        os.makedirs(path, exist_ok=True)
        os.environ[variable] = path
    os.environ.update(
        AGNO_TELEMETRY="false",
        OPENAI_AGENTS_DISABLE_TRACING="1",
        LANGSMITH_TRACING="false",
        LANGCHAIN_TRACING_V2="false",
        OTEL_SDK_DISABLED="true",
        ADK_DISABLE_LOAD_DOTENV="1",
    )
