"""A process that does anything to one home, one thing after the other, until it is killed.

It says on a pipe what it begins, where that matters, and what it was told to be done: lines of
JSON, `["begin" or "ack", VERB, WHERE, TEXT]`, or `["bad", SENTENCE]` for what must not be.
"""

import asyncio
import json
import os
import random
import traceback
from collections.abc import Callable
from typing import Any

from cortext.errors import CortextError, SessionLockedError
from cortext.model.session import Session
from cortext.stores.store_registry import open_session_store
from tests.faults.home import Home, said, say_in_claude
from tests.faults.scenes import TALK

SHARED = "shared"
FIRST = "first"
"""What a session of a worker's own is called, until it has a title."""
_SESSIONS = ("document", "spawned", "service")
_LONGEST = 1500
_OLDER = 2
"""So many sessions of its own has a worker before it deletes one."""


class Worker:
    """One process: it does one thing after the other until it is killed."""

    def __init__(self, home: Home, number: int, told: int) -> None:
        self._home, self._told = home, told
        self._name = f"w{number}"
        self._pick = random.Random(number)
        self._count = 0
        self._own: list[str] = []
        self._stores: dict[str, Any] = {
            kind: open_session_store(url) for kind, url in home.stores.items()
        }

    def run(self) -> None:
        verbs: list[Callable[[], None]] = [
            *(self._append, self._append, self._append, self._create, self._title, self._delete),
            *(self._serve, self._serve, self._sync, self._list, self._search, self._index),
            *(self._begin, self._arrange),
        ]
        # What needs something of its own that is older comes up late otherwise, or never.
        for verb in (*[self._create] * _OLDER, self._title, self._delete):
            self._do(verb)
        while True:
            self._do(self._pick.choice(verbs))

    def _do(self, verb: Callable[[], None]) -> None:
        """Nothing that goes wrong is right but that eight at once have to wait for each other."""
        try:
            verb()
        except SessionLockedError as error:
            self._say("ack", "waited", "", str(error))
        except CortextError as error:
            self._say("bad", f"{verb.__name__}: {type(error).__name__}: {error}")
        except Exception:
            self._say("bad", traceback.format_exc())

    def _say(self, *words: str) -> None:
        # Short enough that nobody writes into the middle of it.
        os.write(self._told, json.dumps([word[-_LONGEST:] for word in words]).encode() + b"\n")

    def _text(self) -> str:
        self._count += 1
        return f"{self._name}-{self._count}"

    def _append(self) -> None:
        kind = self._pick.choice([*_SESSIONS[:2], "workspace"])
        id = TALK if kind == "workspace" else SHARED
        (message,) = said(self._text(), 0)
        self._stores[kind].append(id, message)
        self._say("ack", "append", f"{kind}/{id}", message.content)

    def _create(self) -> None:
        kind, id = self._pick.choice(_SESSIONS), self._text()
        (message,) = said(id, 0)
        self._stores[kind].save(Session(id, title=FIRST, messages=[message]))
        self._own.append(f"{kind}/{id}")
        self._say("ack", "append", f"{kind}/{id}", message.content)

    def _title(self) -> None:
        if not self._own:
            return
        name, text = self._pick.choice(self._own), self._text()
        kind, _, id = name.partition("/")
        session = self._stores[kind].load(id)
        session.title = text
        self._say("begin", "title", name, text)
        self._stores[kind].checkpoint(session)
        self._say("ack", "title", name, text)

    def _delete(self) -> None:
        if len(self._own) < _OLDER:
            return
        name = self._own.pop(0)
        kind, _, id = name.partition("/")
        self._say("begin", "delete", name, "")
        self._stores[kind].delete(id)
        self._say("ack", "delete", name, "")

    def _serve(self) -> None:
        from cortext.service.stores.conversation_store_registry import open_store
        from cortext.service.stores.port import Message
        from cortext.stores.log import LogStore

        text = self._text()

        async def add() -> None:
            store = open_store(f"file:{self._home.root}/service", open_log=LogStore)
            await store.add_message(SHARED, Message("user", text, id=text))
            await store.aclose()

        asyncio.run(add())
        self._say("ack", "serve", f"service/{SHARED}", text)

    def _sync(self) -> None:
        from cortext.features.archive.archive_sync import sync

        id = f"{os.getpid():08}-aaaa-4bbb-8ccc-0123456789ab"
        numbers = [self._count, self._count + 1]
        self._count += 2
        say_in_claude(self._home, id, *numbers)
        if not sync(tools=["claude"]).errors:
            for number in numbers:
                self._say("ack", "sync", f"archive/{id}.jsonl.gz", f"{id[:8]} said {number}")

    def _list(self) -> None:
        from cortext.features.listing.conversation_list import ConversationList

        rows = ConversationList(str(self._home.work), everywhere=True).list().rows
        if not any(row.key == TALK for row in rows):
            self._say("bad", f"the list has no {TALK}: {[row.key for row in rows][:5]}")
        self._say("ack", "list", "", "")

    def _search(self) -> None:
        from cortext.features.search.search_results import Finder, SearchRequest

        finder = Finder()
        finder.refresh()
        if not finder.answer(SearchRequest("said")).groups:
            self._say("bad", "the search found nothing")
        self._say("ack", "search", "", "")

    def _index(self) -> None:
        from cortext.catalog.documents.document_index import SessionIndex

        index = SessionIndex(self._stores["document"])
        if not any(summary.id == SHARED for summary in index.list(limit=100_000)):
            self._say("bad", f"the index has no {SHARED}")
        index.close()
        self._say("ack", "index", "", "")

    def _begin(self) -> None:
        from cortext.workspace.workspace import Workspace

        started = Workspace(str(self._home.work)).new("plan", self._text())
        id = started.session.id
        (message,) = said(self._text(), 0)
        self._stores["workspace"].append(id, message)
        self._say("ack", "append", f"workspace/{id}", message.content)

    def _arrange(self) -> None:
        """A conversation to the trash and back."""
        from cortext.features.capture.bindings import ConversationRef, row_of
        from cortext.features.manage.trash import delete, restore
        from cortext.workspace.workspace import Workspace

        workspace = Workspace(str(self._home.work))
        started = workspace.new("learn", self._text())
        id = started.session.id
        (message,) = said(self._text(), 0)
        self._stores["workspace"].append(id, message)
        self._say("begin", "delete", f"workspace/{id}", "")
        place = workspace.store.place_of(id, started.session)
        entry = delete(row_of(ConversationRef(workspace.root, place)))
        self._say("ack", "append", f"trash/{entry.id}/0", message.content)
        self._say("begin", "delete", f"trash/{entry.id}/0", "")
        restore(entry.id)
        self._say("ack", "append", f"workspace/{id}", message.content)
        self._say("ack", "restore", f"workspace/{id}", "")
