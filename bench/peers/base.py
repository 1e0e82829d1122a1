"""What every peer adapter offers the bench, and the clean room it runs in."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, ClassVar

Message = tuple[str, str]  # role, content


class Peer:
    """One peer behind one interface. The peer itself is imported in `open`, never before."""

    name: ClassVar[str]
    distribution: ClassVar[str]
    # What a user of the peer imports: the bench times this line for import time and RSS.
    imports: ClassVar[str]
    # Does an append, as the peer ships, reach stable storage before it returns? Found by
    # strace -f -e trace=fsync,fdatasync over 20 appends to an open session; the counts are
    # beside each answer.
    syncs: ClassVar[bool]
    # Single appends to one session beyond which the run takes a minute or more. Seeding, which
    # may go in bulk, needs no such bound.
    max_appends: ClassVar[int | None] = None

    @property
    def version(self) -> str:
        from importlib.metadata import version

        return version(self.distribution)

    def open(self, folder: str) -> None:
        raise NotImplementedError

    def append(self, session_id: str, role: str, content: str) -> None:
        raise NotImplementedError

    def append_many(self, session_id: str, messages: Sequence[Message]) -> None:
        """Seed a session, in bulk where the peer's API has a bulk way."""
        for role, content in messages:
            self.append(session_id, role, content)

    def last(self, session_id: str, n: int) -> list[Any]:
        """The last n messages; all loaded and sliced where the peer has no window."""
        return self.load(session_id)[-n:]

    def load(self, session_id: str) -> list[Any]:
        """The conversation as the peer would give it to the next turn."""
        raise NotImplementedError

    def kept(self, session_id: str) -> int:
        """Messages the peer's API still finds anywhere, also outside the conversation."""
        return len(self.load(session_id))

    def create_sessions(self, count: int) -> None:
        for number in range(count):
            self.append(f"session-{number:05}", "user", f"hello {number}")

    def newest(self, n: int) -> list[Any] | None:
        """The newest n sessions, None where the peer has no listing."""
        return None

    def close(self) -> None:
        raise NotImplementedError


def clean_room(folder: str) -> None:
    """Keep every file a peer writes inside folder, and its telemetry off."""
    for variable, path in (
        ("HOME", folder),
        ("XDG_CONFIG_HOME", f"{folder}/config"),
        ("XDG_DATA_HOME", f"{folder}/data"),
        ("XDG_STATE_HOME", f"{folder}/state"),
        ("XDG_CACHE_HOME", f"{folder}/cache"),
        ("LLM_USER_PATH", f"{folder}/llm"),
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
