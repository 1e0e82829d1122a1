"""A workspace: a folder with `.workspace/`, and the conversations below it."""

from __future__ import annotations

import logging
import os
from datetime import datetime
from typing import NamedTuple, cast

from cortext import clock, paths
from cortext.durability.replace import make_private_dir, side_dir, storage_errors
from cortext.errors import SessionStorageError
from cortext.lifecycle.types import Types
from cortext.model.session import Session
from cortext.model.slug import slugify
from cortext.model.status import Status, check_transition
from cortext.stores.folder import FolderStore

_MOST_TRIES = 10_000

log = logging.getLogger("cortext.lifecycle")


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
        folder: str = os.path.abspath(os.fspath(start or os.getcwd()))
        while True:
            if os.path.isdir(os.path.join(folder, ".workspace")):
                return cls(folder)
            parent = os.path.dirname(folder)
            if parent == folder:
                return cls(paths.personal_workspace())
            folder = parent

    def new(self, kind: str, topic: str) -> Started:
        """Begin a conversation: its folder, its markdown and its session."""
        self.types.check(kind)
        now = clock.now()
        title = " ".join(topic.split()) or "Untitled"
        with storage_errors("write", self.root):
            self._make_root()
            number = self._claim_number(now)
            id = f"{number:03}-{kind}-{slugify(topic)}"
            session = Session(
                id,
                title=title,
                kind=kind,
                created_at=now,
                updated_at=now,
                command=f"/workspace.{kind}",
                prompt_hash=self.types.command_hash(kind),
                working_dir=self.root,
            )
            self.store.save(session)
            document = os.path.join(self.store.folder_of(id, session), f"{kind}.md")
            text = self.types.document(kind, title=title, id=id, date=_day(now))
            with open(document, "x", encoding="utf-8") as file:
                file.write(text)
        return Started(session, document)

    def heads(self) -> list[tuple[str, Session]]:
        """Every conversation by the id that names it, with its head; the newest first."""
        found = [(id, self._head(id)) for id in self.store.list_session_ids()]
        heads = [(id, head) for id, head in found if head is not None]
        return sorted(heads, key=lambda pair: pair[1].updated_at, reverse=True)

    def _head(self, id: str) -> Session | None:
        """A head that cannot be read is named, and hides neither its messages nor the others."""
        try:
            return self.store.head(id)
        except SessionStorageError as error:
            log.warning("%s", error)
        try:
            return self.store.read(id).session
        except SessionStorageError:
            return None

    def set_status(self, id: str, status: str, *, summary: str, reason: str) -> Session:
        """Pause or complete a conversation; pausing a paused one saves it again."""
        session = self.store.load(id)
        if session.status != status or status == "completed":
            check_transition(session.status, status)
        session.status = cast(Status, status)
        session.summary = summary
        session.stop_reason = reason
        session.touch()
        self.store.checkpoint(session)
        return session

    def reactivate(self, id: str) -> None:
        """Go on with a conversation, whatever it was, by the instructions of today."""
        session = self.store.load(id)
        session.status = "active"
        session.stop_reason = ""
        if session.command:
            session.prompt_hash = self.types.command_hash(session.kind)
        session.touch()
        self.store.checkpoint(session)

    def _make_root(self) -> None:
        if self.root == paths.personal_workspace():
            make_private_dir(self.root)
        os.makedirs(os.path.join(self.root, "conversations"), exist_ok=True)

    def _claim_number(self, now: datetime) -> int:
        """The next number of the day: a folder can be made only once, so nobody else has it."""
        conversations = os.path.join(self.root, "conversations")
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
