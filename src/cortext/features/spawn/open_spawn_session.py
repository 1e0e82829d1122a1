"""The sessions of `cortext spawn`, each in one file.

As soon as an answer is complete, the question and the answer are written to the file and synced to
disk.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from datetime import datetime
from typing import Any

from cortext import clock
from cortext.durability.live_session_mark import LiveMark
from cortext.errors import (
    CortextError,
    SessionNotFoundError,
    SessionStorageError,
)
from cortext.features.errors_log import write_error
from cortext.features.spawn.spawn_locks_and_recovery import (
    live_path,
    open_store,
    session_path,
    take_session,
)
from cortext.formats.log import LOG
from cortext.formats.message_lines import TORN, Damage, encode_record
from cortext.model.ids import check_id
from cortext.model.message import SessionMessage
from cortext.model.session import Session
from cortext.model.title import WHOLE, generate_title
from cortext.stores.damage_checks import refuse_damage
from cortext.stores.log import LogStore
from cortext.tools.tool_output_parsers import LONGEST_TURN
from cortext.workspace.context_window import MAX_TOKENS, RETRIES, ContextWindow, estimate, tokens_of

_LONGEST_TITLE = 1000


class SpawnSession:
    """A session of `cortext spawn` that this process has open and locked.

    A turn is one message, of the user or of the agent. The head is everything in a session except
    its turns: title, status, agent and so on.
    """

    def __init__(self, store: LogStore, head: Session, mark: LiveMark, max_tokens: int) -> None:
        self._store, self._head, self._mark = store, head, mark
        self.context: ContextWindow = ContextWindow(max_tokens)
        self.count: int = 0
        self.tokens: int = 0
        """The number of tokens of the saved turns, counted or estimated.

        The attribute `count` is the number of these turns.
        """
        self.was = ""
        """The status before the session was opened: "completed" or "interrupted".

        The value is "" if the session is new.
        """
        self.notes: list[str] = []
        """Notes for the user about the session's file, for example about an incomplete line."""
        self.waiting: list[SessionMessage] = []
        """Turns that could not be saved yet. The next save includes them."""
        self._first_question: SessionMessage | None = None
        self._last_question: SessionMessage | None = None
        self._closed = False

    @classmethod
    def begin(
        cls,
        agent: str,
        *,
        id: str = "",
        tool: str = "",
        cwd: str = "",
        parent_id: str = "",
        max_tokens: int = MAX_TOKENS,
    ) -> SpawnSession:
        """Create a session and open it.

        When this method returns, the file of the session is on disk and survives a power cut. If
        `id` is "", a new id is created. Raises SessionStorageError if a session with this id
        exists.
        """
        store = open_store()
        head = Session(agent=agent, working_dir=cwd, kind="spawn", parent_id=parent_id)
        head.id = check_id(id) if id else _new_name(agent, head.created_at)
        head.metadata = {"tool": tool} if tool else {}
        mark = take_session(head.id)
        try:
            if store.exists(head.id):
                raise SessionStorageError(
                    f"the session {head.id} already exists",
                    hint=f"to continue it: --resume {head.id}",
                )
            store.save(head)
        except BaseException:
            mark.release()
            raise
        return cls(store, head, mark, max_tokens)

    @classmethod
    def reopen(cls, id: str, *, max_tokens: int = MAX_TOKENS) -> SpawnSession:
        """Open an existing session, and read the latest turns that fit into `max_tokens`.

        Raises SessionNotFoundError if there is no such session, and SessionLockedError if another
        process has it open. Raises SessionCorruptedError if the file is damaged; the error names
        the first unreadable line.
        """
        store = open_store()
        if not os.path.lexists(session_path(id)):
            raise SessionNotFoundError(id, path=session_path(id))
        mark = take_session(id)
        try:
            session = cls(store, store.head(id), mark, max_tokens)
            session._read()
            completed = session._head.status == "completed"
            session.was = "completed" if completed else "interrupted"
            session._amend(status="active", stop_reason="")
        except BaseException:
            mark.release()
            raise
        return session

    @property
    def id(self) -> str:
        return self._head.id

    @property
    def agent(self) -> str:
        return self._head.agent

    @property
    def tool(self) -> str:
        found = self._head.metadata.get("tool")
        return found if isinstance(found, str) else ""

    @property
    def title(self) -> str:
        return self._head.title

    @property
    def created_at(self) -> datetime:
        return self._head.created_at

    @property
    def path(self) -> str:
        return session_path(self.id)

    def keep(
        self,
        asked: str,
        answered: str,
        *,
        asked_at: datetime | None = None,
        tokens: int | None = None,
        retries: str = "",
    ) -> None:
        """Save a question of the user together with its answer, durably.

        Either both are saved or neither is. If the save fails, raise SessionStorageError; the next
        save includes both. `asked_at` is the time when the question was typed; None means now.
        `tokens` is the number of tokens of the answer; None means an estimate. If the user asked
        the question again, `retries` is the id of the earlier turn.
        """
        question = SessionMessage(
            "user",
            asked,
            timestamp=asked_at or clock.now(),
            tokens=estimate(asked),
            structured_data={RETRIES: retries} if retries else None,
        )
        answer = SessionMessage(
            "assistant", answered, tokens=estimate(answered) if tokens is None else tokens
        )
        self.take_in([question, answer])

    def take_in(self, turns: Iterable[SessionMessage]) -> None:
        """Add turns to the session and save them durably.

        The turns may come from other sessions. If a turn is too long for a session file, raise
        CortextError and add none of the turns. If the save fails, raise SessionStorageError; the
        next save includes the turns.
        """
        turns = list(turns)
        for turn in turns:
            if len(encode_record(turn, LOG.records)) > LONGEST_TURN:
                raise CortextError(f"a turn of more than {LONGEST_TURN >> 20} MB cannot be saved")
        self.waiting += turns
        self.context.add_all(turns)
        self._flush()
        if not self.title and self._first_question:
            self._amend(title=generate_title(Session(messages=[self._first_question]), WHOLE))

    def last(self, count: int) -> list[tuple[int, SessionMessage]]:
        """Return the last `count` turns with their numbers, including unsaved turns."""
        if count <= 0:
            return []
        try:
            saved = self._store.tail(self.id, count)
        except SessionNotFoundError:
            waiting = {turn.id for turn in self.waiting}
            saved = [turn for turn in self.context.kept() if turn.id not in waiting]
        found = [*saved, *self.waiting][-count:]
        return list(enumerate(found, self.count + len(self.waiting) - len(found) + 1))

    def turns(self) -> Iterator[SessionMessage]:
        """Yield all turns of the session, including turns that are not saved yet."""
        for block in self._store.blocks(self.id):
            yield from block.messages
        yield from self.waiting

    def whole(self) -> Session:
        """Return the session with all turns, including turns that are not saved yet.

        If the file was deleted, return only the turns that are in memory.
        """
        try:
            session = self._store.read(self.id).session
        except SessionNotFoundError:
            return self._in_memory()
        session.messages.extend(self.waiting)
        return session

    def last_asked(self) -> tuple[str, str] | None:
        """Return the id and the text of the user's last turn; None if there is no such turn."""
        asked = [
            turn for turn in (self._last_question, *self.waiting) if turn and turn.role == "user"
        ]
        return (asked[-1].id, asked[-1].content) if asked else None

    def rename(self, title: str) -> None:
        """Set the title that the user chose, as one line. Raises CortextError if it is too long."""
        line = " ".join(title.split())
        if len(line) > _LONGEST_TITLE:
            raise CortextError(f"a title has at most {_LONGEST_TITLE:,} characters")
        self._amend(title=line)

    def set_agent(self, name: str) -> None:
        self._amend(agent=name)

    def set_tool(self, name: str) -> None:
        if name != self.tool:
            self._amend(metadata={**self._head.metadata, "tool": name})

    def fork(self) -> SpawnSession:
        """Create a new session with the same turns, open it, and return it.

        This session does not change. If an error occurs, the new session is deleted.
        """
        fork = SpawnSession.begin(
            self.agent,
            tool=self.tool,
            cwd=self._head.working_dir,
            parent_id=self.id,
            max_tokens=self.context.max_tokens,
        )
        try:
            for block in self._store.blocks(self.id):
                fork.take_in(block.messages)
            if self.title:
                fork._amend(title=self.title)  # noqa: SLF001  the same class
        except BaseException:
            fork._discard()  # noqa: SLF001  the same class
            raise
        return fork

    def _discard(self) -> None:
        """Delete this session after its creation failed.

        If it cannot be deleted, it remains with the status "interrupted".
        """
        self._closed = True
        try:
            self._store.delete(self.id)
        except SessionStorageError as error:
            write_error("aur spawn", error)
        finally:
            self._mark.release()
            self._store.close()

    def close(self, *, completed: bool, reason: str = "interrupt") -> None:
        """Save pending turns, set the status and unlock the session.

        The status becomes "completed" or "interrupted"; both kinds of sessions can be reopened.
        `reason` says what interrupted the session. Further calls do nothing.
        """
        if self._closed:
            return
        self._closed = True
        try:
            self._flush()
            status = "completed" if completed else "paused"
            self._amend(status=status, stop_reason="" if completed else reason)
        finally:
            self._mark.release()
            self._store.close()

    def _flush(self) -> None:
        if not self.waiting:
            return
        try:
            self._store.append(self.id, *self.waiting)
        except SessionNotFoundError:
            self._rewrite()
            return
        saved, self.waiting = self.waiting, []
        self._count(saved)

    def _amend(self, **fields: Any) -> None:
        fields["updated_at"] = max(clock.now(), self._head.updated_at)
        try:
            self._head = self._store.amend(self.id, **fields)
        except SessionNotFoundError:
            self._rewrite()
            self._head = self._store.amend(self.id, **fields)

    def _rewrite(self) -> None:
        """Write the session's file again from memory after somebody deleted it.

        Add a note for the user.
        """
        session, known = self._in_memory(), self.count + len(self.waiting)
        if not os.path.exists(live_path(self.id)):
            self._mark = take_session(self.id)
        self._store.save(session)
        self.waiting, self.count, self.tokens = [], 0, 0
        self._count(session.messages)
        lost = known - self.count
        rest = f"; {lost} of {known} turns are lost" if lost else ""
        self.notes.append(f"{self.path} was deleted, and was written again from memory{rest}")

    def _in_memory(self) -> Session:
        """Return the session with the turns that are in memory.

        These are the turns in the agent's context, and the turns that are not saved yet.
        """
        session = copy(self._head)
        session.messages = list(self.context.kept())
        known = {turn.id for turn in session.messages}
        session.messages += [turn for turn in self.waiting if turn.id not in known]
        return session

    def _read(self) -> None:
        for block in self._store.blocks(self.id):
            refuse_damage(block.damages)
            self.notes += [_note(damage) for damage in block.damages]
            self.context.add_all(block.messages)
            self._count(block.messages)

    def _count(self, turns: Sequence[SessionMessage]) -> None:
        self.count += len(turns)
        self.tokens += sum(map(tokens_of, turns))
        asked = [turn for turn in turns if turn.role == "user"]
        self._last_question = asked[-1] if asked else self._last_question
        self._first_question = self._first_question or next(
            (turn for turn in asked if turn.content.strip()), None
        )


def _note(damage: Damage) -> str:
    """Return a note for the user about harmless damage in a session file.

    Damage is harmless if no saved turn was lost.
    """
    if not damage.detail.startswith(TORN):
        return damage.detail
    return f"{damage.detail}; the next turn moves them to a .torn file next to it"


def _new_name(agent: str, when: datetime) -> str:
    """Return a new session id that a user can recognise: agent, time and a random suffix."""
    name = "session" if agent == "default" else agent[:40]
    return f"{name}-{when:%Y%m%d-%H%M%S}-{os.urandom(2).hex()}"
