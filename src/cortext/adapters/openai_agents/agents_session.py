"""The `Session` for openai-agents, which stores its items in a cortext store."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

from cortext.adapters.missing_framework import needs
from cortext.adapters.openai_agents.unanswered_calls import repair_items
from cortext.adapters.session_log import PathOrUrl, SessionLog, beside, id_of, log
from cortext.errors import InvalidIdError, SessionNotFoundError
from cortext.formats.openai_items import KEY, items_of, message_of
from cortext.model.json_values import json_copy
from cortext.model.message import SessionMessage
from cortext.model.session import Session
from cortext.model.title import WHOLE, generate_title
from cortext.stores.log import LogStore
from cortext.stores.port import SessionStore

with needs("openai-agents"):
    from agents import RunState
    from agents.memory import SessionABC, SessionSettings
    from agents.memory.session_settings import coerce_session_settings, resolve_session_limit

if TYPE_CHECKING:
    from agents import Agent, RunContextWrapper, TResponseInputItem

__all__ = ["CortextSession", "SessionRow"]
_PENDING = "state"
T = TypeVar("T")


class SessionRow(NamedTuple):
    """One session in a list. A program opens the session with its `session_id`."""

    session_id: str
    owner: str
    title: str
    created_at: datetime
    updated_at: datetime
    waits: bool
    """True if a run of the session waits for an approval."""


class CortextSession(SessionABC):
    """The history of one conversation of openai-agents, stored with cortext.

    Items are durable when `add_items` returns. Any number of processes may add items at once.
    Messages of other frameworks and tools become items, so a program can continue a conversation
    that began elsewhere. If `owner` is given and the session belongs to another owner, the methods
    raise SessionOwnerError before anything is read or written. `path_or_url` is the path or URL of
    the store; None means the default folder.
    """

    def __init__(
        self,
        session_id: str,
        path_or_url: PathOrUrl = None,
        *,
        owner: str = "",
        session_settings: SessionSettings | dict[str, Any] | None = None,
    ) -> None:
        self.session_id = session_id
        settings = coerce_session_settings(session_settings or SessionSettings())
        self.session_settings: SessionSettings | None = settings
        self.owner = owner
        self._session_log = SessionLog(path_or_url, KEY)
        self._id = _stored_id(self._session_log.store, session_id)

    async def get_items(
        self, limit: int | None = None, *, wrapper: RunContextWrapper[Any] | None = None
    ) -> list[TResponseInputItem]:
        """Return all items of the history, or only the last `limit` items, oldest first.

        The framework passes `wrapper` (the context of a run) when a new run starts. If `wrapper` is
        given and there is no limit, each tool call without a result gets a substitute result.
        """
        most = resolve_session_limit(limit, self.session_settings)
        items = await beside(self._items, most)
        # Only a new run requests all items and passes its context. The runner drops calls without a
        # result, so add substitutes to let the model know of these calls. Do not store them: a call
        # that waits for approval may still get a result. A request for the last items gets no
        # substitutes, because the runner compares these items with the items that it wrote.
        if most is None and wrapper is not None:
            items = repair_items(items)
        return cast("list[TResponseInputItem]", items)

    async def add_items(
        self, items: list[TResponseInputItem], *, wrapper: RunContextWrapper[Any] | None = None
    ) -> None:
        """Append items to the history. They are durable when the call returns."""
        if items:
            await beside(self._add, [message_of(item) for item in items])

    async def pop_item(
        self, *, wrapper: RunContextWrapper[Any] | None = None
    ) -> TResponseInputItem | None:
        """Remove the last item of the history and return it. Return None if there are no items."""
        popped = await beside(self._change, _pop_item)
        return cast("TResponseInputItem | None", popped)

    async def clear_session(self, *, wrapper: RunContextWrapper[Any] | None = None) -> None:
        """Remove all items, and the stored run that waits for an approval. Owner and title stay."""
        await beside(self._change, _clear)

    async def _atomic_replace_items(self, items: list[TResponseInputItem]) -> bool:
        # The framework's compaction calls this method if it exists. Without it, compaction clears
        # the session and then adds items: a process that dies in between loses everything.
        messages = [message_of(item) for item in items]
        replaced = await beside(self._change, lambda found: _replace_messages(found, messages))
        return replaced is not None

    async def save_pending(self, state: RunState[Any] | None) -> None:
        """Store a run that waits for an approval, so that any process can continue it.

        None removes the stored run.
        """
        # Store the framework's own text, because the framework checks the version in it.
        pending = None if state is None else {"framework": KEY, _PENDING: state.to_string()}
        await beside(self._set_pending, pending)

    async def load_pending(self, agent: Agent[Any], **options: Any) -> RunState[Any] | None:
        """Return the run that `save_pending` stored, or None if no run waits for an approval.

        `agent` and `options` are passed to `RunState.from_string`.
        """
        head = await beside(self._head)
        found = head.pending if head is not None else None
        if not isinstance(found, dict):
            return None
        pending = cast("dict[str, Any]", found)
        if pending.get("framework") != KEY or not isinstance(pending.get(_PENDING), str):
            return None
        return await RunState.from_string(agent, pending[_PENDING], **options)

    @classmethod
    async def list_sessions(
        cls, path_or_url: PathOrUrl = None, *, owner: str | None = None, limit: int | None = None
    ) -> list[SessionRow]:
        """Return at most `limit` sessions of a store, the most recently used first.

        With `owner`, return only the sessions of this owner. Sessions that another framework began
        are included, because this framework can continue them.
        """
        rows = await beside(SessionLog(path_or_url, KEY).rows, owner, limit)
        return [SessionRow(*row) for row in rows]

    def close(self) -> None:
        """Close the open files. The session can be used again afterwards."""
        self._session_log.close()

    def _check_owner(self) -> None:
        self._session_log.check_owner(self._id, self.owner, self.session_id)

    def _change(self, change: Callable[[Session], T]) -> T | None:
        self._check_owner()
        return self._session_log.change(self._id, change)

    def _items(self, most: int | None) -> list[dict[str, Any]]:
        self._check_owner()
        items = _items_of(self._messages()) if most is None or most < 0 else self._last_items(most)
        # Other stores may return objects that they share with other callers, so copy them.
        return items if isinstance(self._session_log.store, LogStore) else json_copy(items, "items")

    def _messages(self) -> Sequence[SessionMessage]:
        try:
            session, damages = self._session_log.store.read(self._id)
        except SessionNotFoundError:
            return ()
        for damage in damages:
            log.warning("%s, line %s: %s", damage.path, damage.line, damage.detail)
        return session.messages

    def _last_items(self, most: int) -> list[dict[str, Any]]:
        count = most
        while count:
            messages = self._session_log.tail(self._id, count)
            items = _items_of(messages)
            if len(items) >= most or len(messages) < count:
                return items[-most:]
            count *= 2  # a record of another program may contain no item
        return []

    def _add(self, messages: list[SessionMessage]) -> None:
        self._session_log.append(
            self._id, messages, lambda: self._new_session(messages), owner=self.owner
        )

    def _new_session(self, messages: Sequence[SessionMessage] = ()) -> Session:
        session = self._session_log.new_session(
            self._id, owner=self.owner, metadata={"session_id": self.session_id}
        )
        if any(message.role == "user" and message.content.strip() for message in messages):
            session.title = generate_title(Session(messages=list(messages)), WHOLE)
        return session

    def _head(self) -> Session | None:
        self._check_owner()
        try:
            return self._session_log.head(self._id)
        except SessionNotFoundError:
            return None

    def _set_pending(self, pending: dict[str, Any] | None) -> None:
        self._session_log.append(self._id, [], self._new_session, owner=self.owner)
        self._session_log.amend(self._id, pending=pending)


def _stored_id(store: SessionStore, session_id: str) -> str:
    """Return the id under which the store has a session.

    `session_id` is the id that the program chose, or the store's own id of an existing session.
    """
    made = id_of(session_id)
    try:
        return session_id if made != session_id and store.exists(session_id) else made
    except InvalidIdError:
        return made


def _items_of(messages: Sequence[SessionMessage]) -> list[dict[str, Any]]:
    return [item for message in messages for item in items_of(message)]


def _pop_item(session: Session) -> dict[str, Any] | None:
    """Remove the last item of a session and return it, or None if there are no items.

    If a record holds several items, its other items stay.
    """
    while session.messages:
        message = session.messages.pop()
        items = items_of(message)
        if not items:
            continue
        if len(items) > 1:
            when = message.timestamp
            session.messages += [message_of(item, timestamp=when) for item in items[:-1]]
        return items[-1]
    return None


def _replace_messages(session: Session, messages: list[SessionMessage]) -> bool:
    """Replace all messages of a session, and remove its recorded tool calls.

    Messages that others append in the meantime come after the new messages. Always returns True.
    """
    session.messages, session.tool_history = messages, []
    return True


def _clear(session: Session) -> None:
    session.messages, session.tool_history, session.pending = [], [], None
