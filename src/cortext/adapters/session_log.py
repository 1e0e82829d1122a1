"""Where an adapter keeps its conversations: in a session store of ours, a session for each.

What a framework says in its own words stands in a record's `extra`, under the framework's name;
role and content are what people read, lists show and searches find. So a conversation that was
begun elsewhere can be continued by any of them.
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
    """The store at a path or of a URL; without either, where programs keep theirs."""
    if path_or_url is None:
        return LogStore(paths.program_sessions())
    if isinstance(path_or_url, str) and (found := _URL.match(path_or_url)):
        kind = found[0].partition(":")[0]
        # Conversations of the service are logs of sessions too.
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
    """The id of the session for a key of a framework; InvalidIdError for a single one that is
    empty: all who forgot to give one would share a session."""
    if len(key) == 1 and not key[0].strip():
        error = InvalidIdError(key[0])
        error.hint = "give the conversation an id that is not empty"
        raise error
    return derived_ids.id_of(*key)


def is_anothers(head: Session, owner: str) -> bool:
    """Whether a session has an owner, and it is not this one."""
    return head.owner not in ("", owner)


class SessionLogRow(NamedTuple):
    """One of a list of conversations, under the id that the program gave it."""

    id: str
    owner: str
    title: str
    created_at: datetime
    updated_at: datetime
    waits: bool
    """Whether a run waits there for an approval."""


class SessionLog:
    """The sessions of one framework in one store. Its methods wait for the disk: in an event loop
    call them by `beside`."""

    def __init__(self, path_or_url: PathOrUrl, framework: str, *, remembered: bool = True) -> None:
        """With `remembered`, lists show what is there from the first session on."""
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
        """Add messages, durably, and how many were new. The session is made by `begin` if there is
        none; where two do that at once, all their messages are kept. With an `owner`, nothing is
        added to another's: SessionOwnerError, also for whoever came second of two who began it."""
        if owner and not self.check_owner(id, owner):
            self._begin(begin(), owner)
        try:
            return self.store.append(id, *messages)
        except SessionNotFoundError:
            self._begin(begin(), owner)
            return self.store.append(id, *messages)

    def _begin(self, session: Session, owner: str) -> None:
        """Save a new session, unless somebody else has made it meanwhile."""
        with self.alone(session.id):
            if self.store.exists(session.id):
                self.check_owner(session.id, owner)
                return
            self.store.save(session)
        if self._remembered:
            _remember(self.store)

    def new_session(self, id: str, **fields: Any) -> Session:
        """The head of a session of this framework, which is had where the program runs if nobody
        says where."""
        metadata = {"framework": self.framework, **fields.pop("metadata", {})}
        fields["working_dir"] = fields.get("working_dir") or _current_folder()
        return Session(id, metadata=metadata, **fields)

    def read(self, id: str) -> Session | None:
        """All of a session; None if there is none."""
        try:
            return self.store.load(id)
        except SessionNotFoundError:
            return None

    def tail(self, id: str, count: int) -> list[SessionMessage]:
        """The last messages, oldest first; none if there is no session."""
        try:
            return self.store.tail(id, count)
        except SessionNotFoundError:
            return []

    def change(self, id: str, change: Callable[[Session], T]) -> T | None:
        """Read a session, change it and save it; None if there is none. What others add meanwhile
        is kept; on a server nobody else changes it meanwhile, wherever they are."""
        served = isinstance(self.store, ServedStore)
        with self.alone(id) if served else self._one_at_a_time:
            session = self.read(id)
            if session is None:
                return None
            result = change(session)
            self.store.save(session)
            return result

    def head(self, id: str) -> Session:
        """A session, without its messages where the store can read a head alone."""
        return head_of(self.store, id)

    def check_owner(self, id: str, owner: str, name: str = "") -> bool:
        """SessionOwnerError if a session, which a caller has by this name, is another's than of the
        owner whom he names. Who names none may have all; and what has no owner is for all. Whether
        one was found."""
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
        """Change fields of a head, and nothing else."""
        if isinstance(self.store, (LogStore, ServedStore)):
            self.store.amend(id, **fields)
        else:
            self.change(id, lambda session: _set(session, fields))

    @contextmanager
    def alone(self, id: str) -> Generator[None]:
        """Nobody else who asks for it, in any process, has this session meanwhile; on a server, on
        any machine. The thread that has it may ask again. It is not the lock of the store, which
        each append takes for itself."""
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
        """All sessions, of one owner or of all, whichever framework began them: each can go on
        with what another began. Without their messages where the store can read a head alone;
        with `last`, on a server as recent as their last message."""
        if isinstance(self.store, ServedStore):
            return _of(owner, self.store.heads(owner, last=last))
        return _of(owner, self._each_head())

    def latest(self, owner: str | None = None) -> Iterator[tuple[Session, list[SessionMessage]]]:
        """The same, each with its last message, if it has one."""
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
        """The same as a list shows them, the one used last first; at most `limit`."""
        if isinstance(self.store, LogStore):
            return list(islice(self._indexed(self.store.folder, owner), limit))
        if isinstance(self.store, ServedStore):
            rows = [_row(head, head.updated_at) for head in self.heads(owner, last=True)]
        else:
            rows = [_row(head, self._used(head)) for head in self.heads(owner)]
        return sorted(rows, key=lambda row: row.updated_at, reverse=True)[:limit]

    def begun(self, owner: str | None, among: Container[str]) -> Iterator[Session]:
        """The heads of those that are among these ids, the last begun first."""
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
        """In the order of the index: a head is read for each row that is wanted, and no
        messages."""
        for row in _listed(folder, owner):
            for head in _of(owner, self._each_head([row.key])):
                yield _row(head, row.active_at if row.messages else head.updated_at)

    def _used(self, head: Session) -> datetime:
        last = self.tail(head.id, 1)
        return last[-1].timestamp if last else head.updated_at

    def close(self) -> None:
        self.store.close()


def _listed(folder: str, owner: str | None) -> list[ConversationRow]:
    """Return the rows that `cortext list` has of a folder of logs and that may be the owner's."""
    with Catalog.at_home() as catalog:
        listed = catalog.log_sessions(folder, DOCUMENT)
    if owner is None:
        return listed
    whose = shown(owner)  # as rows have it; heads have all of it
    return [row for row in listed if row.owner == whose or row.note]


def _of(owner: str | None, heads: Iterable[Session]) -> Iterator[Session]:
    return (head for head in heads if owner is None or head.owner == owner)


def name_in(head: Session) -> str:
    """What a program names a session by: what the one that began it gave, where that alone leads
    to the session, else the session's id."""
    for name in ("session_id", "thread_id", "conversation_id"):
        given = head.metadata.get(name)
        if isinstance(given, str) and given.strip() and id_of(given) == head.id:
            return given
    return head.id


def _remember(store: SessionStore) -> None:
    """Have lists show what is in a folder of files."""
    if isinstance(store, LogStore):
        remember_program(store.folder)
    elif isinstance(store, SessionStorage):
        remember_documents(str(store.storage_dir))


def _current_folder() -> str:
    """Where the program runs; "" where that was removed, or may not be known."""
    try:
        return os.getcwd()
    except OSError:
        return ""


def _row(head: Session, used: datetime) -> SessionLogRow:
    # A message may be a little older than the session that was made for it.
    used, waits = max(used, head.created_at), head.pending is not None
    return SessionLogRow(name_in(head), head.owner, head.title, head.created_at, used, waits)


def head_of(store: SessionStore, id: str) -> Session:
    """A session, without its messages where a store can read a head alone."""
    return store.head(id) if isinstance(store, (LogStore, ServedStore)) else store.load(id)


def inner_store(store: SessionStore, name: str) -> SessionStore:
    """Where an adapter keeps what is no conversation: in a folder of its own, which no list
    shows."""
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
    """Where a store has its side folder; None if it has no files."""
    if isinstance(store, SessionStorage):
        return str(store.storage_dir)
    if isinstance(store, LogStore):
        return store.folder
    return f"{store.folder}/conversations" if isinstance(store, LineStore) else None


async def beside(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Do what waits for the disk in a thread; it is finished even if the caller is cancelled
    meanwhile."""
    task = asyncio.ensure_future(asyncio.to_thread(work, *args, **kwargs))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        raise
