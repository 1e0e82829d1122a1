"""Storage for the conversations of an adapter: one session per conversation, in a cortext store.

The framework's own form of a message is stored in the `extra` of its record, under the name of the
framework. Role and content of the record are for people: lists show them and searches find them.
Therefore every framework can continue a conversation that another framework began. The *head* of a
session is everything except its messages.
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
from cortext.catalog.sanitize import shown
from cortext.durability.file_lock import FileLock
from cortext.durability.replace_file import side_dir, storage_errors
from cortext.errors import CortextError, InvalidIdError, SessionNotFoundError, SessionOwnerError
from cortext.model import derived_ids
from cortext.model.message import SessionMessage
from cortext.model.session import Session
from cortext.stores.document import SessionStorage
from cortext.stores.line_store_base import LineStore
from cortext.stores.log import LogStore
from cortext.stores.memory import MemoryStore
from cortext.stores.port import SessionStore
from cortext.stores.servers.server_base import ServedStore
from cortext.stores.servers.session_parts import Holder, holder
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


def open_kept(path_or_url: PathOrUrl) -> SessionStore:
    """Open the session store at a path or URL.

    None is the default folder for the sessions of programs. Raises ValueError for a URL of an
    unknown kind.
    """
    if path_or_url is None:
        return LogStore(paths.program_sessions())
    if isinstance(path_or_url, str) and (found := _URL.match(path_or_url)):
        kind = found[0].partition(":")[0]
        # Conversations of the HTTP service are stored as session logs too.
        if kind == "file":
            return LogStore(path_or_url[len("file:") :])
        if kind in STORES or kind in SERVERS:
            return open_session_store(path_or_url)
        raise ValueError(
            f"not a store of sessions: {without_password(path_or_url)!r} "
            f"(a path, or one of {kinds()}, file:)"
        )
    return LogStore(path_or_url)


def id_of(*key: str) -> str:
    """Return the id of the session for a key of a framework.

    Raises InvalidIdError if the key is a single empty string. Otherwise all callers that forgot to
    set an id would share one session.
    """
    if len(key) == 1 and not key[0].strip():
        error = InvalidIdError(key[0])
        error.hint = "give the conversation an id that is not empty"
        raise error
    return derived_ids.id_of(*key)


def is_anothers(head: Session, owner: str) -> bool:
    """Return whether a session has an owner, and the owner is not this one."""
    return head.owner not in ("", owner)


class SessionLogRow(NamedTuple):
    """A row of a list of conversations, with the id that the program gave the conversation."""

    id: str
    owner: str
    title: str
    created_at: datetime
    updated_at: datetime
    waits: bool
    """Whether a run of the conversation waits for an approval."""


class SessionLog:
    """The sessions of one framework in one store.

    The methods block while they wait for the disk. In an event loop, call them through `beside`.
    """

    def __init__(self, path_or_url: PathOrUrl, framework: str, *, remembered: bool = True) -> None:
        """Open the store.

        With `remembered`, the folder of the store is recorded when the first session is saved, so
        that `cortext list` shows its sessions.
        """
        self.framework = framework
        self._remembered = remembered
        self.store: SessionStore = open_kept(path_or_url)
        self._one_at_a_time = threading.Lock()
        self._alone = threading.RLock()
        self._mine: set[Holder] = set()

    def append(
        self,
        id: str,
        messages: Sequence[SessionMessage],
        begin: Callable[[], Session],
        *,
        owner: str = "",
    ) -> int:
        """Append messages durably, and return how many of them were new.

        If the session does not exist, `begin` creates it. If two callers create it at the same
        time, the messages of both are stored. If the session belongs to somebody other than
        `owner`, nothing is added and SessionOwnerError is raised. This includes the slower of two
        owners who create the same session at the same time. An empty `owner` skips the check.
        """
        if owner and not self.check_owner(id, owner):
            self._begin(begin(), owner)
        try:
            return self.store.append(id, *messages)
        except SessionNotFoundError:
            self._begin(begin(), owner)
            return self.store.append(id, *messages)

    def _begin(self, session: Session, owner: str) -> None:
        """Save a new session, unless another caller has created it in the meantime."""
        with self.alone(session.id):
            if self.store.exists(session.id):
                self.check_owner(session.id, owner)
                return
            self.store.save(session)
        if self._remembered:
            _remember(self.store)

    def new_session(self, id: str, **fields: Any) -> Session:
        """Return the head of a new session of this framework.

        The working folder is the current folder of the program, unless `fields` names another.
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
        """Return the last `count` messages, oldest first.

        The list is empty if there is no session.
        """
        try:
            return self.store.tail(id, count)
        except SessionNotFoundError:
            return []

    def change(self, id: str, change: Callable[[Session], T]) -> T | None:
        """Load a session, call `change` with it, save it, and return the result of `change`.

        Returns None if the session does not exist. Messages that others append in the meantime are
        not lost. On a server, no other caller of `change` can change the session in the meantime,
        on any machine.
        """
        served = isinstance(self.store, ServedStore)
        with self.alone(id) if served else self._one_at_a_time:
            session = self.read(id)
            if session is None:
                return None
            result = change(session)
            self.store.save(session)
            return result

    def head(self, id: str) -> Session:
        """Return a session, without its messages if the store can read a head separately."""
        return head_of(self.store, id)

    def check_owner(self, id: str, owner: str, name: str = "") -> bool:
        """Check that `owner` may use a session, and return whether the session exists.

        Raises SessionOwnerError, with `name` as the name of the session, if it belongs to another
        owner. A session without an owner is for everyone. Without `owner`, nothing is checked and
        the result is False.
        """
        if not owner:
            return False
        try:
            head = self.head(id)
        except SessionNotFoundError:
            return False
        if is_anothers(head, owner):
            raise SessionOwnerError(name or name_in(head))
        return True

    def amend(self, id: str, **fields: Any) -> None:
        """Change fields of a session's head, and nothing else."""
        if isinstance(self.store, (LogStore, ServedStore)):
            self.store.amend(id, **fields)
        else:
            self.change(id, lambda session: _set(session, fields))

    @contextmanager
    def alone(self, id: str) -> Generator[None]:
        """Hold an exclusive lock on a session.

        Other callers of this method wait, in every process, and on a server on every machine. The
        thread that holds the lock may enter again. This lock is not the lock that the store takes
        for each append.
        """
        mine = holder(id)
        if mine in self._mine:
            yield
            return
        with ExitStack() as held:
            with storage_errors("write", _side_folder(self.store) or id):
                held.enter_context(self._lock(id))
            self._mine.add(mine)
            try:
                yield
            finally:
                self._mine.discard(mine)

    def _lock(self, id: str) -> AbstractContextManager[Any]:
        if isinstance(self.store, ServedStore):
            return self.store.alone(id)
        folder = _side_folder(self.store)
        if folder is None:
            return self._alone
        return FileLock(f"{side_dir(folder)}/alone/{id}.lock", guards=f"{folder}/{id}")

    def delete(self, id: str) -> bool:
        return self.store.delete(id)

    def heads(self, owner: str | None = None, *, last: bool = False) -> Iterator[Session]:
        """Return the heads of all sessions, or of one owner's, whichever framework began them.

        A head comes without messages if the store can read a head separately. With `last`, on a
        server, `updated_at` is not older than the last message.
        """
        if isinstance(self.store, ServedStore):
            return _of(owner, self.store.heads(owner, last=last))
        return _of(owner, self._each_head())

    def latest(self, owner: str | None = None) -> Iterator[tuple[Session, list[SessionMessage]]]:
        """Yield the same heads as `heads`, each with a list that holds its last message, if any."""
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
        """Return the sessions as rows of a list, the most recently used first, at most `limit`."""
        if isinstance(self.store, LogStore):
            return list(islice(self._indexed(self.store.folder, owner), limit))
        if isinstance(self.store, ServedStore):
            rows = [_row(head, head.updated_at) for head in self.heads(owner, last=True)]
        else:
            rows = [_row(head, self._used(head)) for head in self.heads(owner)]
        return sorted(rows, key=lambda row: row.updated_at, reverse=True)[:limit]

    def begun(self, owner: str | None, among: Container[str]) -> Iterator[Session]:
        """Return the heads of the sessions with these ids, the most recently created first."""
        if isinstance(self.store, LogStore):
            rows = [row for row in _listed(self.store.folder, owner) if row.key in among]
            rows.sort(key=lambda row: row.created_at, reverse=True)
            return _of(owner, self._each_head([row.key for row in rows]))
        if isinstance(self.store, ServedStore):
            heads = [head for head in self.heads(owner) if head.id in among]
        else:
            ids = [id for id in self.store.list_session_ids() if id in among]
            heads = list(_of(owner, self._each_head(ids)))
        return iter(sorted(heads, key=lambda head: head.created_at, reverse=True))

    def _indexed(self, folder: str, owner: str | None) -> Iterator[SessionLogRow]:
        """Yield rows in the order of the catalog. Heads are read one by one, without messages."""
        for row in _listed(folder, owner):
            for head in _of(owner, self._each_head([row.key])):
                yield _row(head, row.active_at if row.messages else head.updated_at)

    def _used(self, head: Session) -> datetime:
        last = self.tail(head.id, 1)
        return last[-1].timestamp if last else head.updated_at

    def close(self) -> None:
        self.store.close()


def _listed(folder: str, owner: str | None) -> list[ConversationRow]:
    """Return the catalog's rows for a folder of logs, except rows that belong to other owners.

    Rows of damaged sessions are included, because their owner is not certain.
    """
    with Catalog.at_home() as catalog:
        listed = catalog.log_sessions(folder, DOCUMENT)
    if owner is None:
        return listed
    whose = shown(owner)  # rows hold a shortened owner, heads hold the full text
    return [row for row in listed if row.owner == whose or row.note]


def _of(owner: str | None, heads: Iterable[Session]) -> Iterator[Session]:
    return (head for head in heads if owner is None or head.owner == owner)


def name_in(head: Session) -> str:
    """Return the name of a session that a program can use to open it.

    This is the id that the program gave when it created the session, if that id alone leads to the
    session. Otherwise it is the id of the session.
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
    # A message may be slightly older than the session that was created for it.
    used, waits = max(used, head.created_at), head.pending is not None
    return SessionLogRow(name_in(head), head.owner, head.title, head.created_at, used, waits)


def head_of(store: SessionStore, id: str) -> Session:
    """Return a session, without its messages if the store can read a head separately."""
    return store.head(id) if isinstance(store, (LogStore, ServedStore)) else store.load(id)


def inner_store(store: SessionStore, name: str) -> SessionStore:
    """Return a store for an adapter's internal data, in a folder of its own that no list shows."""
    if isinstance(store, ServedStore):
        return store.inner(name)
    if isinstance(store, LogStore):
        return LogStore(f"{store.folder}/{name}")
    if isinstance(store, LineStore):
        return LogStore(f"{store.folder}/.workspace/{name}")
    if isinstance(store, SessionStorage):
        return LogStore(store.storage_dir / name)
    return MemoryStore()


def _set(session: Session, fields: Mapping[str, Any]) -> None:
    for name, value in fields.items():
        setattr(session, name, value)


def _side_folder(store: SessionStore) -> str | None:
    """Return the folder in which a store keeps its locks, or None for a store without files."""
    if isinstance(store, SessionStorage):
        return str(store.storage_dir)
    if isinstance(store, LogStore):
        return store.folder
    return f"{store.folder}/conversations" if isinstance(store, LineStore) else None


async def beside(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a blocking function in a thread, and return its result.

    If the caller is cancelled, the function still runs to its end before CancelledError is raised.
    """
    task = asyncio.ensure_future(asyncio.to_thread(work, *args, **kwargs))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        raise
