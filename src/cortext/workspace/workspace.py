"""A workspace: a folder with `.workspace/`, and the conversations in it."""

from __future__ import annotations

import builtins
import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
from datetime import datetime

import msgspec
from msgspec import structs

from cortext import clock, paths
from cortext.catalog.catalog import Catalog
from cortext.catalog.row import ConversationRow
from cortext.config import Config
from cortext.durability.durable_files import make_private_dir, side_dir, storage_errors
from cortext.durability.file_lock import FileLock
from cortext.durability.read_files import read_file
from cortext.errors import InvalidTransitionError, SessionLockedError
from cortext.formats.folder import FOLDER
from cortext.formats.message_lines import decode_lines, first_records, in_time_order
from cortext.model.ids import check_workspace_id
from cortext.model.safe_text import clean
from cortext.model.session import Session
from cortext.model.session_summary import SessionSummary
from cortext.model.status import Status, check_transition
from cortext.model.tool_binding import binding_from_json
from cortext.stores.folder import FolderStore
from cortext.stores.workspace_layout import (
    ConversationPath,
    conversations_dir,
    document_in,
    guess_start,
    is_type,
    shelves,
)
from cortext.workspace.conversation_types import Types
from cortext.workspace.idle_conversations import show_effective_status
from cortext.workspace.init_workspace import initialize
from cortext.workspace.known_folders import remember_workspace
from cortext.workspace.slug import slugify

_MOST_TRIES = 10_000


class Started(msgspec.Struct, frozen=True):
    """A new conversation: its session, and the path of its markdown file."""

    session: Session
    document: str


class Workspace:
    """The conversations of one workspace. `store` reads and writes their sessions."""

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self.root: str = os.path.abspath(os.fspath(root))
        self.store: FolderStore = FolderStore(self.root)
        self.types: Types = Types(self.root)

    @classmethod
    def find(cls, start: str | os.PathLike[str] | None = None) -> Workspace:
        """Return the workspace that contains the folder `start`.

        If the folder is in no workspace, return the personal workspace. The default for `start` is
        the current folder.
        """
        return cls(paths.workspace_root(start))

    @classmethod
    def init(cls, path: str | os.PathLike[str] = ".") -> Workspace:
        """Make a folder a workspace, and return the workspace.

        Files that a user has changed are not overwritten.
        """
        root: str = os.path.abspath(os.fspath(path))
        initialize(root, overwrite=lambda name, difference: False)
        return cls(root)

    def list(self) -> builtins.list[SessionSummary]:
        """Return a summary of each conversation, the latest first.

        An active conversation without activity for `sessions.pause_minutes` minutes has the status
        `paused`, as in `cortext list`.
        """
        with Catalog.at_home() as catalog:
            rows = [row for row in catalog.list([self.root]) if row.status]
        minutes = float(Config.load(self.root)["sessions.pause_minutes"])
        return [_summary_of_row(row) for row in show_effective_status(rows, minutes)]

    def save(self, id: str, *, summary: str = "", completed: bool = False) -> Session:
        """Pause a conversation, and return its session.

        If `completed` is true, the conversation is completed instead. If `summary` is empty, a
        summary is made from the messages. Nothing is committed to git.
        """
        return self.stop(self.store.place_of(id), summary=summary, completed=completed)

    def resume(self, id: str, *, reopen: bool = False) -> Session:
        """Make a conversation active again, and return its session with all messages.

        Raises InvalidTransitionError for a completed conversation, unless `reopen` is set.
        """
        return self.reactivate(self.store.place_of(id), reopen=reopen)

    def new(self, kind: str, topic: str) -> Started:
        """Create a conversation of the type `kind`: its folder, its markdown and its session.

        The title and the id are made from `topic`. Raises UnknownTypeError for an unknown type.
        """
        self.types.check(kind)
        now = clock.now()
        session = Session(
            title=" ".join(topic.split()) or "Untitled",
            kind=kind,
            created_at=now,
            updated_at=now,
            command=f"/workspace.{kind}",
            prompt_hash=self.types.command_hash(kind),
            working_dir=self._working_folder(),
        )
        return self._create(session, topic, None)

    def chat(
        self,
        title: str,
        native: dict[str, str],
        *,
        cwd: str = "",
        began: datetime | None = None,
        ended: datetime | None = None,
    ) -> Started:
        """Create a conversation for an AI tool's session that has no conversation yet.

        `native` is the link to the tool session, as `session.json` stores it. `cwd` is the folder
        in which the tool session took place. `began` and `ended` are the times at which the tool
        session began and ended. If `ended` is None, the new conversation is active. Otherwise it is
        paused.
        """
        now = clock.now()
        session = Session(
            title=" ".join(title.split()) or "Untitled",
            kind="chat",
            status="paused" if ended else "active",
            created_at=began or now,
            updated_at=ended or now,
            agent=binding_from_json(native).tool,
            native=[native] if native else [],
            working_dir=cwd or self.root,
        )
        return self._create(session, title, None)

    def fork(self, place: ConversationPath, last: int | None, *, key: str, title: str) -> Started:
        """Create a new conversation with a copy of the first messages of another conversation.

        `place` is the folder of the other conversation. `last` is the number of messages to copy;
        None means all. The markdown is copied as well. `title` becomes the title of the new
        conversation, and `key` becomes its `parent_id`.
        """
        parent = self.store.read_readable_part(place)
        lines = read_file(place.lines)
        if last is not None and last < len(parent.messages):
            lines = first_records(lines, FOLDER.records, last)
        cut = decode_lines(lines, FOLDER.records)
        whole = len(cut.messages) == len(parent.messages)
        now = clock.now()
        session = structs.replace(
            parent,
            title=" ".join(title.split()) or parent.title,
            created_at=now,
            updated_at=now,
            status="active",
            stop_reason="",
            summary="",
            parent_id=key,
            messages=cut.messages,
            tool_history=parent.tool_history if whole else [call for _, call in cut.invocations],
            total_prompt_tokens=0,
            total_completion_tokens=0,
            native=[],
            pending=None,
        )
        document = document_in(place.folder)
        text = read_file(f"{place.folder}/{document}") if document else None
        started = self._create(session, session.title, text, lines)
        if text is not None:
            _rename_in_markdown(started, parent)
        return started

    def _create(
        self, session: Session, topic: str, text: bytes | None, lines: bytes | None = None
    ) -> Started:
        """Create the folder of a new conversation, with its session and its markdown file.

        The id consists of a number, the type and the topic, such as `007-plan-login`. `text` is the
        content of the markdown file. If `text` is None, the template of the type is used. `lines`
        is the content of `messages.jsonl`. If `lines` is None, the messages of `session` are
        written.
        """
        kind = session.kind if is_type(session.kind) else "chat"
        day = _day(session.created_at)
        with storage_errors("write", self.root):
            self._make_root()
            number = self._claim_number(day)
            from cortext.model.secrets.detector import mask_text

            # A key that somebody pasted must not become the name of a folder.
            session.id = check_workspace_id(f"{number:03}-{kind}-{slugify(mask_text(topic)[0])}")
            place = ConversationPath(conversations_dir(self.root), day, session.id)
            self.store.create_at(place, session, lines)
            if text is None:
                made = self.types.document(kind, title=session.title, id=session.id, date=day)
                text = made.encode("utf-8", "replace")
            document = f"{place.folder}/{kind}.md"
            with open(document, "xb") as file:
                file.write(text)
        return Started(session, document)

    def stop(
        self,
        place: ConversationPath,
        *,
        summary: str = "",
        completed: bool = False,
        then: Callable[[Session], None] | None = None,
    ) -> Session:
        """Pause the conversation at `place`, and return its session.

        If `completed` is true, the conversation is completed instead. If `summary` is empty, a
        summary is made from the messages. If neither the status nor the summary changes, the time
        of the last activity stays the same. `then` is called with the saved session while the
        conversation is still locked.
        """
        status: Status = "completed" if completed else "paused"

        def change(session: Session) -> bool:
            before = session.status, session.summary
            if session.status != status:
                check_transition(session.status, status)
            session.status = status
            is_current = len(session.messages) == self.store.message_count_at(place)
            session.summary = " ".join(summary.split()) or _summarize(session, is_current)
            session.stop_reason = "user"
            if not in_time_order(session.messages):
                self.store.sort_at(place)
            return before != (session.status, session.summary)

        return self.change(place, change, then)

    def reactivate(self, place: ConversationPath, *, reopen: bool) -> Session:
        """Make a conversation active again, and return its session.

        The session also gets a new hash of its type's command text (the instructions for the
        agent). Raises InvalidTransitionError for a completed conversation, unless `reopen` is set.
        """

        def change(session: Session) -> bool:
            if session.status == "completed" and not reopen:
                raise InvalidTransitionError("completed", "active")
            session.status = "active"
            session.stop_reason = ""
            if session.command:
                session.prompt_hash = self.types.command_hash(session.kind)
            return True

        return self.change(place, change)

    def change(
        self,
        place: ConversationPath,
        change: Callable[[Session], bool],
        then: Callable[[Session], None] | None = None,
    ) -> Session:
        """Change the head of a conversation, and return its session.

        The head is everything except the messages. The function `change` gets the session, changes
        it, and returns whether the change counts as activity. The function `then` is called with
        the saved session. The conversation is locked until both functions have returned.
        """
        with self.changing(place):
            session = self.store.read_readable_part(place)
            if change(session):
                session.touch()
            self.store.checkpoint_at(place, session)
            if then is not None:
                then(session)
        return session

    @contextmanager
    def changing(self, place: ConversationPath) -> Generator[None]:
        """Lock a conversation during a `with` block, so that no other caller changes its head.

        The head is everything except the messages. For example, other callers must wait if they
        want to stop or rename the conversation. They can still add messages.
        """
        with (
            storage_errors("write", place.folder),
            FileLock(self._change_lock(place), guards=place.folder),
        ):
            yield

    def is_locked(self, place: ConversationPath) -> bool:
        """Return whether another process is changing or appending to a conversation now."""
        for path in (self._change_lock(place), self.store.lock_of(place)):
            try:
                if os.path.exists(path):
                    with FileLock(path, wait=0):
                        pass
            except SessionLockedError:
                return True
        return False

    def _change_lock(self, place: ConversationPath) -> str:
        locks = f"{side_dir(conversations_dir(self.root))}/locks"
        return f"{locks}/{place.day}~{place.name}.change.lock"

    def adopt(self, place: ConversationPath, *, title: str, kind: str) -> None:
        """Create a session in the conversation folder `place`, which has no session files.

        `title` and `kind` are the title and the conversation type of the new session. If the folder
        already has a session, nothing changes.
        """
        known = kind in self.types.names()
        now = clock.now()
        session = Session(
            place.name,
            title=title,
            kind=kind,
            created_at=guess_start(place),
            updated_at=now,
            command=f"/workspace.{kind}" if known else "",
            prompt_hash=self.types.command_hash(kind) if known else "",
            working_dir=self.root,
        )
        with self.changing(place):
            if not place.has_session:
                self.store.create_at(place, session)

    def _working_folder(self) -> str:
        """Return the working folder of a new conversation.

        This is the workspace, or the current folder for a personal conversation.
        """
        return os.getcwd() if self.root == paths.personal_workspace() else self.root

    def _make_root(self) -> None:
        if self.root == paths.personal_workspace():
            make_private_dir(self.root)
        os.makedirs(conversations_dir(self.root), exist_ok=True)
        remember_workspace(self.root)

    def began(self, place: ConversationPath) -> bool:
        """Return whether a conversation was created in this copy of the workspace.

        Return False for a conversation that was created elsewhere and arrived by git.
        """
        number = place.name.partition("-")[0]
        return os.path.isdir(os.path.join(self._claims_folder(place.day), number))

    def _claims_folder(self, day: str) -> str:
        return os.path.join(side_dir(conversations_dir(self.root)), "numbers", day)

    def _claim_number(self, day: str) -> int:
        """Reserve a number for a new conversation, and return the number.

        It is the next free number of the day. Creating a folder with this number as its name
        reserves the number.
        """
        claims = self._claims_folder(day)
        make_private_dir(claims)
        folders = [claims, *(f"{shelf}/{day}" for shelf in shelves(self.root))]
        number = max([0, *(number for folder in folders for number in _leading_numbers(folder))])
        for _ in range(_MOST_TRIES):
            number += 1
            try:
                os.mkdir(os.path.join(claims, f"{number:03}"), 0o700)
            except FileExistsError:
                continue
            return number
        raise OSError(f"no number is free for {day}")


def _rename_in_markdown(started: Started, parent: Session) -> None:
    """Replace the parent's id and title by the fork's id and title in the fork's markdown file."""
    with open(started.document, "rb+") as file:
        text = file.read().replace(parent.id.encode(), started.session.id.encode())
        titles = parent.title, started.session.title
        old, new = (f"# {clean(title, lines=False)}\n".encode() for title in titles)
        file.seek(0)
        file.write(text.replace(old, new, 1) if text.startswith(old) else text)
        file.truncate()


def _summarize(session: Session, is_current: bool) -> str:
    """Return the stored summary of a session, or make a new summary from its messages.

    The stored summary is used if it is up to date (`is_current`), or if no summary can be made from
    the messages.
    """
    if is_current and session.summary:
        return session.summary
    from cortext.model.extractive_summary import digest

    return digest(session.messages) or session.summary


def _summary_of_row(row: ConversationRow) -> SessionSummary:
    return SessionSummary(
        id=row.key,
        title=row.title,
        created_at=clock.from_micros(row.created_at),
        updated_at=row.active_at,
        working_dir=row.workspace,
        model=row.model,
        message_count=row.messages,
        total_tokens=row.tokens,
        tags=list(row.tags),
        kind=row.kind,
        status=row.status,
        summary=row.summary,
    )


def _day(when: datetime) -> str:
    return f"{when.astimezone():%Y-%m-%d}"


def _leading_numbers(folder: str) -> list[int]:
    """Return the numbers at the start of the names in a folder, such as 7 for `007-plan-x`."""
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return []
    prefixes = (name.partition("-")[0] for name in names)
    return [int(prefix) for prefix in prefixes if prefix.isascii() and prefix.isdecimal()]
