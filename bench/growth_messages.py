"""What each operation takes on one session of so many messages: a function makes the session, and
one measures what is done to it. `growth.py` calls both, each in a process of its own."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
from itertools import count
from typing import NoReturn

from bench.growth_clock import seconds_of
from bench.growth_make import ID, make_conversation, make_log, name_of, text_of
from cortext import SessionMessage, open_session_store
from cortext.adapters.session_log import SessionLog
from cortext.catalog.catalog import Catalog
from cortext.catalog.row import DOCUMENT, ConversationRow
from cortext.features.conversation_store_by_url import open_store
from cortext.features.listing.conversation_list import ConversationList
from cortext.features.resume.agent_briefing import make_briefing
from cortext.features.search.search import Search
from cortext.formats.history_budget import BUDGET
from cortext.formats.openai_items import message_of
from cortext.service.stores.port import Message
from cortext.stores.folder import FolderStore

Figures = dict[str, float]
_new = count(10_000_000)
_FEW, _MANY = 6, 100
"""Messages that are added in a round: those that stay, and those that are cut off again."""


def make_long_log(folder: str, size: int) -> None:
    make_log(f"{folder}/logs", size)
    # What a list knows of it before the message that is new.
    with Catalog.at_home() as catalog:
        catalog.log_sessions(f"{folder}/logs", DOCUMENT)


def add_to_log(folder: str, _: int, __: int) -> Figures:
    """By its store, by an adapter and by the service; and the list after that. A log keeps the few
    messages that lists took in: without them these would begin anew."""
    logs = f"{folder}/logs"
    path = f"{logs}/{ID}.jsonl"
    store, kept = open_session_store(f"log:{logs}"), SessionLog(logs, "bench", remembered=False)
    found: Figures = {}
    with _as_it_was(path):
        found["log append"] = _appends(lambda message: store.append(ID, message))
    with _as_it_was(path):
        found["adapter append"] = _appends(lambda message: kept.append(ID, [message], _never))
    with _as_it_was(path):
        found["service append"] = _service_append(f"file:{logs}")

    def refresh() -> None:
        with Catalog.at_home() as catalog:
            _expect_one(catalog.log_sessions(logs, DOCUMENT))

    found["log list"] = seconds_of(refresh, before=lambda: store.append(ID, _message()), most=_FEW)
    return found


def measure_log(folder: str, size: int, _: int) -> Figures:
    """A log as a program has it: read by its store and by the service."""
    logs = f"{folder}/logs"
    store = open_session_store(f"log:{logs}")
    found: Figures = {"log last 20": seconds_of(lambda: store.tail(ID, 20))}
    found["service history"] = _service_history(f"file:{logs}")
    store.close()
    found["log load"] = seconds_of(lambda: _load(logs, size))
    return found


def make_long_conversation(folder: str, size: int) -> None:
    root = f"{folder}/workspace"
    make_conversation(root, size)
    os.chdir(root)
    Search().refresh(patience=None)


def add_to_conversation(folder: str, _: int, __: int) -> Figures:
    """By its store; and the list after that, of which the same holds as of a log."""
    root, id = f"{folder}/workspace", name_of(0)
    store = open_session_store(f"workspace:{root}")
    with _as_it_was(FolderStore(root).place_of(id).lines):
        found = {"folder append": _appends(lambda message: store.append(id, message))}

    def refresh() -> None:
        with Catalog.at_home() as catalog:
            _expect_one(catalog.list([root]))

    found["conversation list"] = seconds_of(
        refresh, before=lambda: store.append(id, _message()), most=_FEW
    )
    return found


def measure_conversation(folder: str, size: int, _: int) -> Figures:
    """A conversation of a workspace: read, found and resumed."""
    root = f"{folder}/workspace"
    os.chdir(root)
    (row,) = Catalog.at_home().list([root])
    store = open_session_store(f"workspace:{root}")
    found: Figures = {}
    found["folder last 20"] = seconds_of(lambda: store.tail(row.id, 20))

    def append() -> None:
        store.append(row.id, _message())

    Search().refresh()
    found["search refresh"] = seconds_of(_refresh_search, before=append, most=_FEW)
    store.close()
    found["folder load"] = seconds_of(lambda: open_session_store(f"workspace:{root}").load(row.id))
    row = ConversationList(root).list().rows[0]
    found["briefing"] = seconds_of(lambda: _brief(row))
    return found


def _appends(append: Callable[[SessionMessage], object]) -> float:
    """Of messages that are made before the clock starts, as items of openai-agents are that its
    adapter keeps."""
    messages = iter([_item() for _ in range(_MANY)])
    return seconds_of(lambda: append(next(messages)), most=_MANY)


def _service_append(url: str) -> float:
    """The file store of the service, in a loop that runs on."""
    store = open_store(url)
    with asyncio.Runner() as runner:

        def add() -> None:
            message = Message("user", text_of(1), id=f"service-{os.getpid()}-{next(_new)}")
            runner.run(store.add_message(ID, message))

        found = seconds_of(add, most=_MANY)
        runner.run(store.aclose())
    return found


def _service_history(url: str) -> float:
    store = open_store(url)
    with asyncio.Runner() as runner:

        def history() -> None:
            if len(runner.run(store.get_history(ID))) < 20:
                raise SystemExit("the history is not there")

        found = seconds_of(history)
        runner.run(store.aclose())
    return found


def _refresh_search() -> None:
    found = Search().refresh()
    if found.messages != 1 or found.left:
        raise SystemExit(f"the search index took in {found}")


def _brief(row: ConversationRow) -> None:
    if not make_briefing(row, budget=BUDGET).history:
        raise SystemExit("the briefing has no history")


def _load(logs: str, size: int) -> None:
    if len(open_session_store(f"log:{logs}").load(ID).messages) < size:
        raise SystemExit("messages are missing")


def _expect_one(rows: list[ConversationRow]) -> None:
    if len(rows) != 1:
        raise SystemExit(f"{len(rows)} sessions are listed")


def _message() -> SessionMessage:
    number = next(_new)
    return SessionMessage("user", text_of(number), id=f"new-{os.getpid()}-{number}")


def _item() -> SessionMessage:
    return message_of({"role": "user", "content": text_of(next(_new))})


def _never() -> NoReturn:
    raise SystemExit("the session is gone")


@contextmanager
def _as_it_was(path: str) -> Generator[None]:
    """What is added to a file is cut off again: the next round finds the size it is about."""
    size = os.path.getsize(path)
    try:
        yield
    finally:
        os.truncate(path, size)
