"""Appends, for ever or `COUNT` times, to sessions of stores: `appends.py COUNT NAME URL...`.

A line on stdin starts it. Each `ack KIND SESSION MESSAGE` on stdout is a promise; after an
`err` the same message is tried once more, and a second one ends the process. A COUNT with a
minus sign makes every sync a lie. Beside the session stores there is `file:`, the conversation
store of a service, `index:`, documents with their index, and `archive:`, our copies of what
tools wrote.
"""

import asyncio
import atexit
import json
import logging
import os
import sys
from itertools import count
from pathlib import Path
from typing import Any

from cortext.catalog.documents.document_index import SessionIndex
from cortext.errors import CortextError
from cortext.model.message import SessionMessage
from cortext.model.session import Session
from cortext.service.stores.conversation_store_registry import open_store
from cortext.service.stores.port import Message
from cortext.stores.log import LogStore
from cortext.stores.store_registry import open_session_store

SHARED = "shared"


class Served:
    """Conversations of a service; it gives them names of its own."""

    def __init__(self, folder: str) -> None:
        self._store = open_store(f"file:{folder}", open_log=LogStore)
        self._loop = asyncio.new_event_loop()
        # Else the end of the interpreter closes it, after what it stands on.
        atexit.register(self._loop.close)
        self._ids: dict[str, str] = {}

    def add(self, session: str, message: SessionMessage) -> str:
        if session not in self._ids:
            self._ids[session] = self._loop.run_until_complete(self._store.create())
        id, text = self._ids[session], Message("user", message.content, id=message.id)
        self._loop.run_until_complete(self._store.add_message(id, text))
        return id


class Kept:
    """Sessions of a store; with an index, if they are documents that have one."""

    def __init__(self, url: str) -> None:
        kind, _, folder = url.partition(":")
        self._store: Any = open_session_store(f"document:{folder}" if kind == "index" else url)
        self._index = SessionIndex(self._store) if kind == "index" else None

    def add(self, session: str, message: SessionMessage) -> str:
        if self._store.exists(session):
            self._store.append(session, message)
        else:
            self._store.save(Session(session, messages=[message]))
        if self._index is not None:
            self._index.update(self._store.load(session))
            self._index.save_if_dirty()
        return session


class Archived:
    """Transcripts of a tool that goes on writing them and of one that writes each anew, copied as
    soon as something was said. The tools' own are at home: only the copies lose their power."""

    def __init__(self, folder: str) -> None:
        os.environ["XDG_DATA_HOME"] = folder
        # That less is known of the archive than there is in it: it is found again.
        logging.getLogger("cortext.archive").setLevel(logging.ERROR)
        self._logs = Path.home() / ".claude/projects/-work"
        self._documents = Path.home() / ".gemini/tmp/work/chats"
        for path in (self._logs, self._documents):
            path.mkdir(parents=True, exist_ok=True)

    def add(self, session: str, message: SessionMessage) -> str:
        from cortext.features.archive.archive_sync import sync

        log, document = self._logs / f"{session}.jsonl", self._documents / f"{session}.json"
        said = json.dumps({"id": message.id, "content": message.content})
        if said not in (lines := log.read_text().splitlines() if log.exists() else []):
            lines.append(said)
        log.write_text("".join(f"{line}\n" for line in lines))
        document.write_text(json.dumps({"messages": [*map(json.loads, lines)]}))
        try:
            failed = sync(tools=["claude", "gemini"]).errors
        except OSError as error:
            raise CortextError(str(error)) from error
        if failed:
            raise CortextError(failed[0].reason)
        return session


Store = Served | Kept | Archived


def say(*words: object) -> None:
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


def attempt(kind: str, store: Store, session: str, message: SessionMessage) -> bool:
    try:
        id = store.add(session, message)
    except CortextError as error:
        say("err", kind, session, message.id, error)
        return False
    say("ack", kind, id, message.id)
    return True


def main(times: str, name: str, *urls: str) -> None:
    if times.startswith("-"):
        os.fsync = os.fdatasync = lambda fd: None
    stores: list[tuple[str, Store]] = []
    for url in urls:
        kind, _, folder = url.partition(":")
        own = {"file": Served, "archive": Archived}.get(kind)
        stores.append((kind, own(folder) if own else Kept(url)))
    say("ready")
    sys.stdin.readline()
    for number in range(abs(int(times))) if int(times) else count():
        for kind, store in stores:
            session = SHARED if number % 5 else f"{name}-{number}"
            message = SessionMessage("user", "x" * 300, id=f"{name}-{number}")
            if not any(attempt(kind, store, session, message) for _ in range(2)):
                return


if __name__ == "__main__":
    main(*sys.argv[1:])
