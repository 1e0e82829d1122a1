"""The session manager, which has one current session and saves it automatically."""

from __future__ import annotations

import atexit
import os
import threading
import weakref
from collections.abc import Sequence
from typing import Any, ClassVar

from cortext.catalog.documents.document_index import SessionIndex
from cortext.durability.durable_files import side_dir
from cortext.durability.live_session_mark import LiveMark, mark_path
from cortext.errors import SessionCorruptedError, SessionNotFoundError
from cortext.model import json_codec
from cortext.model.message import Role, SessionMessage, ToolInvocation
from cortext.model.session import Session
from cortext.model.session_head_codec import HEAD, encode_head
from cortext.model.session_summary import SessionSummary
from cortext.model.title import generate_title
from cortext.stores.document import SessionStorage
from cortext.workspace.autosave import start_auto_save, start_thread, stop_auto_save
from cortext.workspace.session_hooks import Hook, Hooks, log

_State = tuple[tuple[SessionMessage, ...], tuple[ToolInvocation, ...], bytes]


class SessionManager:
    """Creates, resumes, saves and closes sessions. The manager has at most one current session.

    Changes to the current session are in memory until they are saved. They become durable by
    `save`, auto-save, `close`, or the end of the interpreter. Several threads may call the methods.
    """

    _instance: ClassVar[SessionManager | None] = None
    _instance_lock: ClassVar[threading.Lock] = threading.Lock()

    def __init__(
        self,
        storage: SessionStorage | str | os.PathLike[str] | None = None,
        auto_save_interval: float = 60.0,
    ) -> None:
        self.storage: SessionStorage = _open_storage(storage)
        self.index: SessionIndex = SessionIndex(self.storage)
        if self.storage.on_change is None:
            self.storage.on_change = self.index.note
        self.auto_save_interval = auto_save_interval
        self.current_session: Session | None = None
        self.last_save_error: Exception | None = None
        self._auto_save_task: Any = None
        self._hooks, self._log = Hooks(), log()
        self._mark: LiveMark | None = None
        self._saved: _State | None = None
        self._lock = threading.RLock()
        _save_at_exit(self)

    def __del__(self) -> None:
        # A manager that is dropped without `close` still saves its changes.
        if getattr(self, "current_session", None) is not None:
            self._auto_save()

    def __enter__(self) -> SessionManager:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def has_current(self) -> bool:
        """Whether there is a current session."""
        return self.current_session is not None

    @classmethod
    def get_instance(cls) -> SessionManager:
        """Return the shared manager of the program. The first call creates the manager."""
        with cls._instance_lock:
            if cls._instance is None:
                cls._instance = cls()
            return cls._instance

    @classmethod
    def reset_instance(cls) -> None:
        """Close the shared manager, if there is one.

        The next `get_instance` creates a new manager.
        """
        with cls._instance_lock:
            manager, cls._instance = cls._instance, None
        if manager is not None:
            manager.close()

    def create(
        self,
        *,
        title: str = "",
        working_dir: str | None = None,
        model: str = "",
        tags: Sequence[str] | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> Session:
        """Create a session, save it, and make it the current session.

        If another session is open, that session is saved and ended first. Its hooks `session:save`
        and `session:end` run before `session:start` of the new session.
        """
        session = Session(
            title=title,
            working_dir=_current_dir() if working_dir is None else working_dir,
            model=model,
            tags=_tag_list(tags),
            metadata=metadata or {},
        )
        with self._lock:
            ended = self._switch_to(session)
        self._announce(session, ended)
        return session

    def resume(self, id: str) -> Session:
        """Make a saved session the current session, and save its new `updated_at`.

        If another session is open, that session is saved and ended first, as in `create`. A session
        that cannot be read is restored from its backup, with a warning in the log. Raises
        SessionNotFoundError if there is no such session, and SessionCorruptedError if there is no
        readable backup either.
        """
        with self._lock:
            # The session may be the open one: load it with its latest changes.
            self._save_changes()
            session = self._load(id)
            session.touch()
            ended = self._switch_to(session)
        self._announce(session, ended)
        return session

    def resume_latest(self) -> Session | None:
        """Resume the most recently updated session. Return None if there is no session."""
        with self._lock:
            self._save_changes()
        # Outside the lock, because `resume` runs hooks.
        while newest := self.index.list(limit=1):
            try:
                return self.resume(newest[0].id)
            except SessionNotFoundError:
                self.index.remove(newest[0].id)
        return None

    def resume_or_create(
        self,
        *,
        title: str = "",
        working_dir: str | None = None,
        model: str = "",
        tags: Sequence[str] | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> Session:
        """Resume the most recently updated session. If there is no session, create one.

        The arguments have the same meaning as in `create`. They are used only for a new session.
        """
        return self.resume_latest() or self.create(
            title=title, working_dir=working_dir, model=model, tags=tags, metadata=metadata
        )

    def get_session(self, id: str) -> Session | None:
        """Return a session without making it current; None if there is no such session.

        For the id of the current session, return the current object with its unsaved changes.
        Raises SessionCorruptedError if the file cannot be read.
        """
        with self._lock:
            if self.current_session is not None and self.current_session.id == id:
                return self.current_session
        try:
            return self.storage.load(id)
        except SessionNotFoundError:
            return None

    def save(self) -> None:
        """Make the current session durable. Raises ValueError if there is no current session."""
        with self._lock:
            session = self._current()
            self._store(session)
        self._hooks.fire("session:save", session)

    def close(self) -> None:
        """Save and end the current session, if there is one, and write `index.json`."""
        with self._lock:
            session = self.current_session
            if session is not None:
                self._store(session)
                self._forget_current()
        if session is not None:
            self._announce_end(session)
        self.index.save_if_dirty()

    def delete(self, id: str) -> bool:
        """Delete a session permanently. Return False if there is no such session.

        If it is the current session, there is no current session afterwards.
        """
        with self._lock:
            gone = self.storage.delete(id)
            if self.current_session is not None and self.current_session.id == id:
                self._forget_current()
            return self.index.remove(id) or gone

    def list_sessions(self, **query: Any) -> list[SessionSummary]:
        """Return summaries of sessions.

        `query` has the arguments of `SessionIndex.list`, such as `limit`, `tags` and `search`.
        """
        return self.index.list(**query)

    def add_message(self, role: Role, content: str, **fields: Any) -> SessionMessage:
        """Add a message to the current session, and return the message.

        `fields` are further fields of `SessionMessage`. The message is in memory until `save`,
        auto-save, `close` or the end of the interpreter makes it durable. Raises ValueError if
        there is no current session.
        """
        with self._lock:
            session = self._current()
            message = session.add_message_from_dict(role, content, **fields)
        self._hooks.fire("session:message", session, message)
        return message

    def record_tool_call(
        self,
        tool_name: str,
        arguments: dict[str, Any],
        result: Any = None,
        duration: float = 0.0,
        success: bool = True,
        error: str | None = None,
    ) -> ToolInvocation:
        with self._lock:
            return self._current().record_tool_call(
                tool_name, arguments, result, duration, success, error
            )

    def update_usage(self, prompt: int, completion: int) -> None:
        with self._lock:
            self._current().update_usage(prompt, completion)

    def generate_title(self, session: Session | None = None) -> str:
        """Return a title made from the user's first request. The session is not changed.

        The default for `session` is the current session.
        """
        return generate_title(session or self._current())

    def set_title(self, title: str) -> None:
        with self._lock:
            session = self._current()
            _require_text("title", title)
            session.title = title
            session.touch()

    def add_tag(self, tag: str) -> bool:
        """Add a tag to the current session. Return False if the session has the tag already."""
        with self._lock:
            session = self._current()
            _require_text("tag", tag)
            if tag in session.tags:
                return False
            session.tags.append(tag)
            session.touch()
            return True

    def remove_tag(self, tag: str) -> bool:
        """Remove a tag from the current session.

        Return False if the session does not have the tag.
        """
        with self._lock:
            session = self._current()
            if tag not in session.tags:
                return False
            session.tags.remove(tag)
            session.touch()
            return True

    def register_hook(self, event: str, hook: Hook) -> None:
        """Register `hook`, a function that is called each time the event happens.

        The function gets the session. For `session:message`, it also gets the message. A coroutine
        function runs on the event loop. Raises ValueError for an unknown event, and RuntimeError
        for a coroutine function if no event loop is running.
        """
        self._hooks.register(event, hook)

    def unregister_hook(self, event: str, hook: Hook) -> bool:
        """Remove a hook from an event. Return False if the hook was not registered."""
        return self._hooks.unregister(event, hook)

    def _current(self) -> Session:
        if self.current_session is None:
            raise ValueError("no session is open; call create() or resume() first")
        return self.current_session

    def _load(self, id: str) -> Session:
        try:
            return self.storage.load(id)
        except SessionCorruptedError as error:
            if not self.storage.recover_from_backup(id):
                raise
            self._log.warning("%s; the session was restored from its backup", error)
            return self.storage.load(id)

    def _make_current(self, session: Session) -> None:
        self.current_session = session
        try:
            folder = str(self.storage.storage_dir)
            side_dir(folder)
            self._mark = LiveMark(mark_path(folder, session.id))
            holder = self._mark.take()
        except OSError as error:
            self._log.warning("could not mark session %s as open: %s", session.id, error)
        else:
            if holder is not None:
                self._log.warning("session %s is also open in %s", session.id, holder)
        save, ref = weak_auto_save(self), weakref.ref(self)

        def on_end(task: Any) -> None:
            manager = ref()
            # The callback must not keep the manager alive, so it cannot use `self`.
            if manager is not None and manager._auto_save_task is task:  # noqa: SLF001
                # The loop has ended but the session has not, so a thread continues to save.
                task = start_thread(manager.auto_save_interval, save)
                manager._auto_save_task = task  # noqa: SLF001

        self._auto_save_task = start_auto_save(self.auto_save_interval, save, on_end)

    def _switch_to(self, session: Session) -> Session | None:
        """Save `session` and make it the current session. Return the session that was open before.

        Return None if no other session was open. If a save fails, the current session stays the
        same.
        """
        before = self.current_session
        self._save_changes()
        saved = self._write(session)
        self._forget_current()
        self._saved = saved
        self._make_current(session)
        return before if before is not None and before.id != session.id else None

    def _announce(self, session: Session, ended: Session | None) -> None:
        if ended is not None:
            self._announce_end(ended)
        self._hooks.fire("session:start", session)

    def _announce_end(self, session: Session) -> None:
        self._hooks.fire("session:save", session)
        self._hooks.fire("session:end", session)

    def _forget_current(self) -> None:
        task, self._auto_save_task = self._auto_save_task, None
        if task is not None:
            stop_auto_save(task)
        if self._mark is not None:
            self._mark.release()
            self._mark = None
        self.current_session = self._saved = None

    def _store(self, session: Session) -> None:
        self._saved = self._write(session)

    def _write(self, session: Session) -> _State:
        """Save a session and its summary. Return a snapshot of the session from before the save."""
        # Take the snapshot first: a message that arrives during the save may not be saved.
        state = _state(session)
        self.storage.save(session)
        self.index.update(session)
        self.last_save_error = None
        return state

    def _save_changes(self) -> bool:
        session = self.current_session
        if session is None or _state(session) == self._saved:
            return False
        self._store(session)
        return True

    def _auto_save(self) -> None:
        """Save the current session if it changed. After an error, which is logged, retry later."""
        try:
            with self._lock:
                session = self.current_session
                saved = self._save_changes()
        except Exception as error:  # noqa: BLE001  auto-save must continue after any error
            self.last_save_error = error
            self._log.error("auto-save failed and will be tried again: %s", error)
            return
        if saved:
            self._hooks.fire("session:save", session)


def _state(session: Session) -> _State:
    """Return a snapshot of a session. If two snapshots differ, the session has changed.

    Messages and tool calls never change in place, so the snapshot only refers to them.
    """
    head = json_codec.encode(encode_head(session, HEAD))
    return tuple(session.messages), tuple(session.tool_history), head


def _require_text(name: str, value: Any) -> None:
    if type(value) is not str:
        raise ValueError(f"{name} must be text, not {type(value).__name__}")


def _current_dir() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError:
        return ""


def _open_storage(storage: SessionStorage | str | os.PathLike[str] | None) -> SessionStorage:
    if storage is None or isinstance(storage, (str, os.PathLike)):
        return SessionStorage(storage)
    if not isinstance(storage, SessionStorage):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValueError("a SessionManager needs a SessionStorage or a path")
    return storage


def _tag_list(tags: Sequence[str] | None) -> list[str]:
    if isinstance(tags, str):
        raise ValueError(f"tags must be a list, such as [{tags!r}]")
    return list(tags or ())


def weak_auto_save(manager: SessionManager) -> Any:
    """Return a function that saves the manager's current session if the session has changed.

    The function has only a weak reference to the manager. It returns False when the manager no
    longer exists, otherwise True.
    """
    ref = weakref.ref(manager)

    def auto_save() -> bool:
        alive = ref()
        if alive is None:
            return False
        alive._auto_save()  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]  # its own module
        return True

    return auto_save


def _save_at_exit(manager: SessionManager) -> None:
    save = weak_auto_save(manager)
    atexit.register(save)
    # At exit, the finalizer must not run, because it would unregister the save too early.
    weakref.finalize(manager, atexit.unregister, save).atexit = False
