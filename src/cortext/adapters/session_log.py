"""Storage for the conversations of an adapter: one session per conversation, in a cortext store.

A session is a head and a list of records. The *head* is everything except the messages, such as
the title and the owner. A record stores one message: role and content in plain text, and in `extra`
the framework's own form of the message, under the name of the framework. Lists and searches use the
plain text. With the plain text, a framework can also continue a conversation of another framework.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
import threading
from collections.abc import (
    Callable,
    Container,
    Generator,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import AbstractContextManager, ExitStack, contextmanager
from datetime import datetime
from itertools import islice
from typing import Any, NamedTuple, ParamSpec, TypeVar

from cortext import paths
from cortext.catalog.catalog import Catalog
from cortext.catalog.row import DOCUMENT, ConversationRow
from cortext.catalog.row_text_redaction import shown
from cortext.durability.durable_files import side_dir, storage_errors
from cortext.durability.file_lock import FileLock
from cortext.errors import CortextError, InvalidIdError, SessionNotFoundError, SessionOwnerError
from cortext.model import framework_key_ids
from cortext.model.message import SessionMessage
from cortext.model.session import Session
from cortext.stores.document import SessionStorage
from cortext.stores.line_store_base import LineStore
from cortext.stores.log import LogStore
from cortext.stores.memory import MemoryStore
from cortext.stores.port import SessionStore
from cortext.stores.servers.server_store_base import ServedStore
from cortext.stores.servers.stored_session_parts import Holder, holder
from cortext.stores.store_registry import (
    SERVERS,
    STORES,
    kinds,
    open_session_store,
    without_password,
)
from cortext.workspace.known_folders import remember_documents, remember_program

log: logging.Logger = logging.getLogger("cortext.adapters")
P = ParamSpec("P")
T = TypeVar("T")
PathOrUrl = str | os.PathLike[str] | None
_URL = re.compile(r"[a-z][a-z0-9+]+:|[A-Za-z][A-Za-z0-9+.-]+://")


def open_adapter_store(path_or_url: PathOrUrl) -> SessionStore:
    """Open the session store at a path or URL.

    None opens the default folder for sessions of programs. Raises ValueError for a URL of an
    unknown kind.
    """
    if path_or_url is None:
        return LogStore(paths.program_sessions())
    if isinstance(path_or_url, str) and (found := _URL.match(path_or_url)):
        kind = found[0].partition(":")[0]
        # `file:` names a folder of the HTTP service, which also stores session logs.
        if kind == "file":
            return LogStore(path_or_url[len("file:") :])
        if kind in STORES or kind in SERVERS:
            return open_session_store(path_or_url)
        raise ValueError(
            f"not a session store: {without_password(path_or_url)!r} "
            f"(use a path, or one of {kinds()}, file:)"
        )
    return LogStore(path_or_url)


def id_of(*key: str) -> str:
    """Return the store's session id for the key with which a framework identifies a session.

    The key of LangGraph is one text, the thread id. The key of the ADK has three texts: the ids of
    app, user and session. Equal keys give equal ids. Raises InvalidIdError if the key is one blank
    text. Without this check, all callers that forgot to set an id would share one session.
    """
    if len(key) == 1 and not key[0].strip():
        error = InvalidIdError(key[0])
        error.hint = "give the conversation an id that is not empty"
        raise error
    return framework_key_ids.id_of(*key)


def has_other_owner(head: Session, owner: str) -> bool:
    """Return whether a session belongs to another owner than `owner`.

    `head` is the session without its messages. The result is False for a session without an owner.
    """
    return head.owner not in ("", owner)


class SessionLogRow(NamedTuple):
    """One conversation in a list. A program opens the conversation with its `id`."""

    id: str
    owner: str
    title: str
    created_at: datetime
    updated_at: datetime
    waits: bool
    """True if the conversation waits for an approval or an answer of the user."""


class SessionLog:
    """Access to the sessions in one store, for the adapter of one framework.

    The methods block while they wait for the disk. In an event loop, call them with `beside`, which
    runs them in a thread.
    """

    def __init__(self, path_or_url: PathOrUrl, framework: str, *, remembered: bool = True) -> None:
        """Open the store at `path_or_url` for the adapter of `framework`.

        If `remembered` is True, creating a session records the folder of the store, so that
        `cortext list` shows the sessions in it.
        """
        self.framework = framework
        self._is_remembered = remembered
        self.store: SessionStore = open_adapter_store(path_or_url)
        self._change_lock = threading.Lock()
        self._memory_lock = threading.RLock()
        self._lock_holders: set[Holder] = set()

    def append(
        self,
        id: str,
        messages: Sequence[SessionMessage],
        begin: Callable[[], Session],
        *,
        owner: str = "",
    ) -> int:
        """Append messages to a session durably, and return the number of new messages.

        Messages that are stored already are skipped. If the session does not exist, `begin` returns
        the session to create. If two callers create it at the same time, the messages of both are
        stored. Raises SessionOwnerError and stores nothing if the session has another owner than
        `owner`. An empty `owner` skips this check.
        """
        if owner and not self.check_owner(id, owner):
            self._create(begin(), owner)
        try:
            return self.store.append(id, *messages)
        except SessionNotFoundError:
            self._create(begin(), owner)
            return self.store.append(id, *messages)

    def _create(self, session: Session, owner: str) -> None:
        """Save a new session, unless another caller has created it in the meantime.

        In that case, raise SessionOwnerError if the stored session has another owner than `owner`.
        """
        with self.alone(session.id):
            if self.store.exists(session.id):
                self.check_owner(session.id, owner)
                return
            self.store.save(session)
        if self._is_remembered:
            _remember(self.store)

    def new_session(self, id: str, **fields: Any) -> Session:
        """Return a new, unsaved session of this framework.

        `fields` are fields of `Session`. The default for `working_dir` is the current folder of the
        program.
        """
        metadata = {"framework": self.framework, **fields.pop("metadata", {})}
        fields["working_dir"] = fields.get("working_dir") or _current_folder()
        return Session(id, metadata=metadata, **fields)

    def read(self, id: str) -> Session | None:
        """Return a session with its messages, or None if it does not exist."""
        try:
            return self.store.load(id)
        except SessionNotFoundError:
            return None

    def tail(self, id: str, count: int) -> list[SessionMessage]:
        """Return the last `count` messages of a session, oldest first.

        The list is empty if the session does not exist.
        """
        try:
            return self.store.tail(id, count)
        except SessionNotFoundError:
            return []

    def change(self, id: str, change: Callable[[Session], T]) -> T | None:
        """Load a session, let `change` modify it, save it, and return the result of `change`.

        Returns None if the session does not exist. Messages that others append in the meantime are
        not lost. Other threads wait until this call is finished. If the store is on a server,
        callers on other machines wait too.
        """
        served = isinstance(self.store, ServedStore)
        with self.alone(id) if served else self._change_lock:
            session = self.read(id)
            if session is None:
                return None
            result = change(session)
            self.store.save(session)
            return result

    def head(self, id: str) -> Session:
        """Return the head of a session: the session without its messages.

        A store that cannot read a head separately returns the whole session. Raises
        SessionNotFoundError if there is no session.
        """
        return head_of(self.store, id)

    def check_owner(self, id: str, owner: str, name: str = "") -> bool:
        """Check that `owner` may use a session, and return whether the session exists.

        Raises SessionOwnerError if the session has another owner. The error text calls the session
        `name`. Everyone may use a session without an owner. If `owner` is empty, nothing is checked
        and the result is False.
        """
        if not owner:
            return False
        try:
            head = self.head(id)
        except SessionNotFoundError:
            return False
        if has_other_owner(head, owner):
            raise SessionOwnerError(name or name_of_session(head))
        return True

    def amend(self, id: str, **fields: Any) -> None:
        """Set fields of a session, such as the title. Its messages do not change."""
        if isinstance(self.store, (LogStore, ServedStore)):
            self.store.amend(id, **fields)
        else:
            self.change(id, lambda session: _set_fields(session, fields))

    @contextmanager
    def alone(self, id: str) -> Generator[None]:
        """Return a context manager that holds an exclusive lock on a session.

        Other callers of this method wait, also in other processes. If the store is on a server,
        callers on other machines wait too. A thread that holds the lock may take it again. Appends
        do not wait for this lock: the store has another lock for them.
        """
        caller = holder(id)
        if caller in self._lock_holders:
            yield
            return
        with ExitStack() as stack:
            with storage_errors("write", _side_folder(self.store) or id):
                stack.enter_context(self._lock(id))
            self._lock_holders.add(caller)
            try:
                yield
            finally:
                self._lock_holders.discard(caller)

    def _lock(self, id: str) -> AbstractContextManager[Any]:
        if isinstance(self.store, ServedStore):
            return self.store.alone(id)
        folder = _side_folder(self.store)
        if folder is None:
            return self._memory_lock
        return FileLock(f"{side_dir(folder)}/alone/{id}.lock", guards=f"{folder}/{id}")

    def delete(self, id: str) -> bool:
        return self.store.delete(id)

    def heads(self, owner: str | None = None, *, last: bool = False) -> Iterator[Session]:
        """Return the heads (sessions without messages) of all sessions in the store.

        Sessions of every framework are included. With `owner`, return only the sessions of this
        owner. A store that cannot read heads separately returns whole sessions. `last` matters only
        for a store on a server. If `last` is True, `updated_at` is at least the time of the last
        message.
        """
        if isinstance(self.store, ServedStore):
            return _filter_by_owner(owner, self.store.heads(owner, last=last))
        return _filter_by_owner(owner, self._each_head())

    def latest(self, owner: str | None = None) -> Iterator[tuple[Session, list[SessionMessage]]]:
        """Yield a pair for each session: its head, and a list with only its last message.

        The head is the session without its messages. The list is empty for a session without
        messages. With `owner`, yield only the sessions of this owner.
        """
        if isinstance(self.store, ServedStore):
            for head, last in self.store.latest(owner):
                if owner is None or head.owner == owner:
                    yield head, last
        else:
            for head in self.heads(owner):
                yield head, self.tail(head.id, 1)

    def _each_head(self, ids: Iterable[str] | None = None) -> Iterator[Session]:
        for id in self.store.list_session_ids() if ids is None else ids:
            try:
                yield self.head(id)
            except SessionNotFoundError:
                continue
            except CortextError as error:
                log.warning("a session is not listed: %s", error)

    def rows(self, owner: str | None = None, limit: int | None = None) -> list[SessionLogRow]:
        """Return at most `limit` sessions as rows for a list, the most recently used first.

        If `limit` is None, return all sessions. With `owner`, return only the sessions of this
        owner.
        """
        if isinstance(self.store, LogStore):
            return list(islice(self._rows_from_catalog(self.store.folder, owner), limit))
        if isinstance(self.store, ServedStore):
            rows = [_row(head, head.updated_at) for head in self.heads(owner, last=True)]
        else:
            rows = [_row(head, self._last_used(head)) for head in self.heads(owner)]
        return sorted(rows, key=lambda row: row.updated_at, reverse=True)[:limit]

    def begun(self, owner: str | None, among: Container[str]) -> Iterator[Session]:
        """Return the heads (sessions without messages) of the sessions whose id is in `among`.

        The most recently created session comes first. With `owner`, return only the sessions of
        this owner.
        """
        if isinstance(self.store, LogStore):
            rows = [row for row in _catalog_rows(self.store.folder, owner) if row.key in among]
            rows.sort(key=lambda row: row.created_at, reverse=True)
            return _filter_by_owner(owner, self._each_head([row.key for row in rows]))
        if isinstance(self.store, ServedStore):
            heads = [head for head in self.heads(owner) if head.id in among]
        else:
            ids = [id for id in self.store.list_session_ids() if id in among]
            heads = list(_filter_by_owner(owner, self._each_head(ids)))
        return iter(sorted(heads, key=lambda head: head.created_at, reverse=True))

    def _rows_from_catalog(self, folder: str, owner: str | None) -> Iterator[SessionLogRow]:
        """Yield a list row for each session in a folder of session logs, the latest first.

        The catalog (the database of conversations) gives the order.
        """
        for row in _catalog_rows(folder, owner):
            for head in _filter_by_owner(owner, self._each_head([row.key])):
                yield _row(head, row.active_at if row.messages else head.updated_at)

    def _last_used(self, head: Session) -> datetime:
        last = self.tail(head.id, 1)
        return last[-1].timestamp if last else head.updated_at

    def close(self) -> None:
        self.store.close()


def _catalog_rows(folder: str, owner: str | None) -> list[ConversationRow]:
    """Return the catalog rows of the sessions in a folder of session logs, the latest first.

    The catalog is the database with one row for each conversation. With `owner`, rows of other
    owners are left out. Rows of damaged sessions stay, because their owner is not certain.
    """
    with Catalog.at_home() as catalog:
        rows = catalog.log_sessions(folder, DOCUMENT)
    if owner is None:
        return rows
    short_owner = shown(owner)  # rows hold a shortened owner, heads hold the full text
    return [row for row in rows if row.owner == short_owner or row.note]


def _filter_by_owner(owner: str | None, heads: Iterable[Session]) -> Iterator[Session]:
    return (head for head in heads if owner is None or head.owner == owner)


def name_of_session(head: Session) -> str:
    """Return the name with which a program can open a session.

    `head` is the session without its messages. The name is the one that the program chose when it
    created the session. If the program chose no name, or if the session id was made from more than
    this name, the session id is returned.
    """
    for name in ("session_id", "thread_id", "conversation_id"):
        given = head.metadata.get(name)
        if isinstance(given, str) and given.strip() and id_of(given) == head.id:
            return given
    return head.id


def _remember(store: SessionStore) -> None:
    """Record the folder of a store, so that `cortext list` shows its sessions."""
    if isinstance(store, LogStore):
        remember_program(store.folder)
    elif isinstance(store, SessionStorage):
        remember_documents(str(store.storage_dir))


def _current_folder() -> str:
    """Return the current folder, or "" if it was removed or cannot be read."""
    try:
        return os.getcwd()
    except OSError:
        return ""


def _row(head: Session, used: datetime) -> SessionLogRow:
    # A message may be slightly older than its session, because it was created first.
    used, waits = max(used, head.created_at), head.pending is not None
    return SessionLogRow(
        name_of_session(head), head.owner, head.title, head.created_at, used, waits
    )


def head_of(store: SessionStore, id: str) -> Session:
    """Return the head of a session: the session without its messages.

    A store that cannot read a head separately returns the whole session. Raises
    SessionNotFoundError if there is no session.
    """
    return store.head(id) if isinstance(store, (LogStore, ServedStore)) else store.load(id)


def inner_store(store: SessionStore, name: str) -> SessionStore:
    """Return a second store for internal data of an adapter, in a subfolder of `store`.

    `name` is the name of the subfolder. Lists of conversations do not show the sessions in it. For
    a store without a folder, the second store is on the same server or in memory.
    """
    if isinstance(store, ServedStore):
        return store.inner(name)
    if isinstance(store, LogStore):
        return LogStore(f"{store.folder}/{name}")
    if isinstance(store, LineStore):
        return LogStore(f"{store.folder}/.workspace/{name}")
    if isinstance(store, SessionStorage):
        return LogStore(store.storage_dir / name)
    return MemoryStore()


def _set_fields(session: Session, fields: Mapping[str, Any]) -> None:
    for name, value in fields.items():
        setattr(session, name, value)


def _side_folder(store: SessionStore) -> str | None:
    """Return the folder in which a store has its lock files.

    Return None for a store without files.
    """
    if isinstance(store, SessionStorage):
        return str(store.storage_dir)
    if isinstance(store, LogStore):
        return store.folder
    return f"{store.folder}/conversations" if isinstance(store, LineStore) else None


async def beside(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call the blocking function `work` in a thread, and return its result.

    If the caller is cancelled, wait until the function has ended. Then raise CancelledError.
    """
    task = asyncio.ensure_future(asyncio.to_thread(work, *args, **kwargs))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        raise
