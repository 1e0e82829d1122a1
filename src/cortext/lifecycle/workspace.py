"""A workspace: a folder with `.workspace/`, and the conversations below it."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import datetime
from typing import NamedTuple

from msgspec import structs

from cortext import clock, paths
from cortext.durability.lock import FileLock
from cortext.durability.read import read_file
from cortext.durability.replace import make_private_dir, side_dir, storage_errors
from cortext.lifecycle.types import Types
from cortext.model.session import Session
from cortext.model.slug import slugify
from cortext.model.status import Status, check_transition
from cortext.stores.folder import FolderStore
from cortext.stores.layout import Place, conversations_dir, document_in

_MOST_TRIES = 10_000


class Started(NamedTuple):
    """A conversation that has just begun, and its markdown."""

    session: Session
    document: str


class Workspace:
    """The conversations of one workspace."""

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self.root: str = os.path.abspath(os.fspath(root))
        self.store = FolderStore(self.root)
        self.types = Types(self.root)

    @classmethod
    def find(cls, start: str | os.PathLike[str] | None = None) -> Workspace:
        """The workspace of the nearest parent that is one; else the personal one."""
        return cls(paths.workspace_root(start))

    def new(self, kind: str, topic: str) -> Started:
        """Begin a conversation: its folder, its markdown and its session."""
        self.types.check(kind)
        now = clock.now()
        session = Session(
            title=" ".join(topic.split()) or "Untitled",
            kind=kind,
            created_at=now,
            updated_at=now,
            command=f"/workspace.{kind}",
            prompt_hash=self.types.command_hash(kind),
            working_dir=self.root,
        )
        return self._begin(session, topic, None)

    def fork(self, parent: Session, last: int, *, key: str, title: str, place: Place) -> Started:
        """A new conversation with the first `last` messages of another, and its markdown."""
        messages = parent.messages[:last]
        left = parent.messages[last:]
        calls = [
            call for call in parent.tool_history if not left or call.timestamp < left[0].timestamp
        ]
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
            messages=messages,
            tool_history=calls,
            native=[],
            pending=None,
        )
        document = document_in(place.folder)
        text = read_file(f"{place.folder}/{document}") if document else None
        return self._begin(session, session.title, text)

    def _begin(self, session: Session, topic: str, text: bytes | None) -> Started:
        """Give a session its number, id and folder, and a markdown."""
        kind = session.kind or "chat"
        with storage_errors("write", self.root):
            self._make_root()
            number = self._claim_number(session.created_at)
            session.id = f"{number:03}-{kind}-{slugify(topic)}"
            self.store.save(session)
            folder = self.store.place_of(session.id, session).folder
            if text is None:
                day = _day(session.created_at)
                made = self.types.document(kind, title=session.title, id=session.id, date=day)
                text = made.encode()
            document = f"{folder}/{kind}.md"
            with open(document, "xb") as file:
                file.write(text)
        return Started(session, document)

    def set_status(
        self,
        id: str,
        status: Status,
        *,
        summarize: Callable[[Session], str],
        reason: str,
        then: Callable[[Session], None] | None = None,
    ) -> Session:
        """Pause or complete a conversation; pausing a paused one saves it again."""

        def change(session: Session) -> None:
            if session.status != status or status == "completed":
                check_transition(session.status, status)
            session.status = status
            session.summary = summarize(session)
            session.stop_reason = reason

        return self.change(id, change, then)

    def reactivate(self, id: str) -> Session:
        """Go on with a conversation, whatever it was, by the instructions of today."""

        def change(session: Session) -> None:
            session.status = "active"
            session.stop_reason = ""
            if session.command:
                session.prompt_hash = self.types.command_hash(session.kind)

        return self.change(id, change)

    def change(
        self,
        id: str,
        change: Callable[[Session], None],
        then: Callable[[Session], None] | None = None,
    ) -> Session:
        """Change the head of a conversation, and do what comes `then`; two who do so at once do
        so in turn."""
        with self.changing(id):
            session = self.store.load(id)
            change(session)
            session.touch()
            self.store.checkpoint(session)
            if then is not None:
                then(session)
        return session

    def changing(self, id: str) -> FileLock:
        """Held while a conversation is stopped, resumed or renamed: a second one waits. Messages
        come in all the while."""
        return self.changing_at(self.store.place_of(id))

    def changing_at(self, place: Place) -> FileLock:
        """As `changing`, for a conversation whose place is known."""
        locks = f"{side_dir(conversations_dir(self.root))}/locks"
        name = f"{place.day}~{place.name}.change.lock"
        return FileLock(f"{locks}/{name}", guards=place.folder)

    def adopt(self, place: Place, *, title: str, kind: str) -> Session:
        """Give a session to a folder that has none."""
        known = kind in self.types.names()
        day = datetime.fromisoformat(place.day).replace(hour=12).astimezone()
        session = Session(
            place.name,
            title=title,
            kind=kind,
            created_at=day,
            updated_at=clock.now(),
            command=f"/workspace.{kind}" if known else "",
            prompt_hash=self.types.command_hash(kind) if known else "",
            working_dir=self.root,
        )
        self.store.save(session)
        return session

    def _make_root(self) -> None:
        if self.root == paths.personal_workspace():
            make_private_dir(self.root)
        os.makedirs(conversations_dir(self.root), exist_ok=True)

    def _claim_number(self, now: datetime) -> int:
        """The next number of the day: a folder can be made only once, so nobody else has it."""
        conversations = conversations_dir(self.root)
        claims = os.path.join(side_dir(conversations), "numbers", _day(now))
        make_private_dir(claims)
        number = max([0, *_numbers(os.path.join(conversations, _day(now))), *_numbers(claims)])
        for _ in range(_MOST_TRIES):
            number += 1
            try:
                os.mkdir(os.path.join(claims, f"{number:03}"), 0o700)
            except FileExistsError:
                continue
            return number
        raise OSError(f"no number is free for {_day(now)}")


def _day(when: datetime) -> str:
    return f"{when.astimezone():%Y-%m-%d}"


def _numbers(folder: str) -> list[int]:
    """The numbers that names in a folder begin with."""
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return []
    heads = (name.partition("-")[0] for name in names)
    return [int(head) for head in heads if head.isascii() and head.isdecimal()]
