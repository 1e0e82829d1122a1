"""llm: its logs.db, through a Conversation with an echo model and `log_to_db`.

Each turn stores one message: a user message is a prompt with an empty answer, an assistant message
an answer without a prompt. `log_to_db` re-hashes and looks up the whole chain on every turn.
"""
# The peers live in a venv of their own, so the type checker cannot see them.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .base import Message, Peer, clean_room


class Llm(Peer):
    name = "llm logs.db"
    distribution = "llm"
    imports = "import llm"
    # 80 fdatasync for 20 appends (journal twice, database, folder): rollback journal at FULL.
    syncs = True

    def open(self, folder: str) -> None:
        clean_room(folder)
        import llm
        import sqlite_utils
        from llm import logs, parts

        class Echo(llm.Model):
            model_id = "echo"
            answer = ""

            def execute(self, prompt: Any, stream: Any, response: Any, conversation: Any) -> Any:
                if self.answer:
                    yield self.answer

        self._llm, self._logs, self._parts = llm, logs, parts
        self._model = Echo()
        self._db = sqlite_utils.Database(f"{llm.user_dir()}/logs.db")
        self._store = logs.LogStore(self._db)
        self._open: dict[str, Any] = {}

    def _conversation(self, session_id: str) -> Any:
        conversation = self._open.get(session_id)
        if conversation is None:
            conversation = self._llm.Conversation(self._model, id=session_id)
            try:
                conversation.loaded_messages = self._store.thread_messages(session_id)
            except KeyError:  # a new conversation
                pass
            self._open[session_id] = conversation
        return conversation

    def append(self, session_id: str, role: str, content: str) -> None:
        asked = role != "assistant"
        self._model.answer = "" if asked else content
        response = self._conversation(session_id).prompt(content if asked else None)
        response.text()
        try:
            response.log_to_db(self._db)
        except Exception:
            # The conversation in memory now holds a message that was not stored, and the next
            # turn would store it: reload, as `llm -c` after a failed command does.
            del self._open[session_id]
            raise

    def append_many(self, session_id: str, messages: Sequence[Message]) -> None:
        chain = [
            self._parts.Message(role=role, parts=[self._parts.TextPart(text=content)])
            for role, content in messages
        ]
        with self._db.atomic():
            self._store.ensure_thread(session_id)
            self._store.append(session_id, chain)
        self._open.pop(session_id, None)

    def load(self, session_id: str) -> Sequence[Any]:
        return self._store.thread_messages(session_id)

    def kept(self, session_id: str) -> int:
        # `llm logs --cid` shows every turn, also those that a resumed conversation lacks.
        return len(self._logs.merged_log_rows(self._store, thread_id=session_id))

    def newest(self, n: int) -> Sequence[Any] | None:
        # `llm logs -n`: the newest turns, each with its conversation.
        rows = self._logs.merged_log_rows(self._store, count=n)
        return list({row["conversation_id"]: row for row in rows}.values())

    def find(self, words: str) -> Sequence[Any] | None:
        # `llm logs -q WORDS -l`: the newest that have them.
        return self._logs.merged_log_rows(self._store, count=20, query=words, latest=True)

    def close(self) -> None:
        self._db.close()
