"""strands-agents: FileSessionManager, one JSON file per message."""
# The peers live in a venv of their own, so the type checker cannot see them.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .base import Peer, clean_room

AGENT = "bench"


class Strands(Peer):
    name = "strands-agents FileSessionManager"
    distribution = "strands-agents"
    imports = "from strands.session.file_session_manager import FileSessionManager"
    syncs = False  # no fsync at all: a temporary file and a rename per message

    def open(self, folder: str) -> None:
        clean_room(folder)
        from strands import Agent
        from strands.models.model import Model
        from strands.session.file_session_manager import FileSessionManager

        class NoModel(Model):
            """An Agent must have a model; this one is never asked."""

            def update_config(self, **model_config: Any) -> None: ...

            def get_config(self) -> Any:
                return {}

            def structured_output(self, *args: Any, **kwargs: Any) -> Any:
                raise NotImplementedError

            def stream(self, *args: Any, **kwargs: Any) -> Any:
                raise NotImplementedError

        self._agent, self._model, self._manager = Agent, NoModel, FileSessionManager
        self._folder = f"{folder}/sessions"
        self._open: dict[str, tuple[Any, Any]] = {}

    def _session(self, session_id: str) -> tuple[Any, Any]:
        pair = self._open.get(session_id)
        if pair is None:
            manager = self._manager(session_id=session_id, storage_dir=self._folder)
            agent = self._agent(
                model=self._model(),
                agent_id=AGENT,
                session_manager=manager,
                callback_handler=None,
            )
            pair = self._open[session_id] = manager, agent
        return pair

    def append(self, session_id: str, role: str, content: str) -> None:
        manager, agent = self._session(session_id)
        # The two calls an Agent's MessageAddedEvent makes. agent.messages is not grown: its
        # default conversation manager would trim it, and that is not the store's cost.
        manager.append_message({"role": role, "content": [{"text": content}]}, agent)
        manager.sync_agent(agent)

    def last(self, session_id: str, n: int) -> Sequence[Any]:
        # Its window counts from the start; a negative offset is undocumented, works, and is
        # the cheapest way there is: it lists the folder and reads only n files.
        manager = self._manager(session_id=session_id, storage_dir=self._folder)
        return manager.list_messages(session_id, AGENT, offset=-n)

    def load(self, session_id: str) -> Sequence[Any]:
        manager = self._manager(session_id=session_id, storage_dir=self._folder)
        return manager.list_messages(session_id, AGENT)

    def create_session(self, number: int) -> None:
        super().create_session(number)
        self._open.clear()

    def close(self) -> None:
        self._open.clear()
