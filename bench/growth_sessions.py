"""What each operation takes among so many sessions: a function makes them, and one measures.
`growth.py` calls both, each in a process of its own. What is created is deleted again."""

from __future__ import annotations

import asyncio
import os
from itertools import count

from bench import ours
from bench.growth_clock import seconds_of
from bench.growth_make import make_logs, make_workspace, name_of, text_of
from cortext import (
    Session,
    SessionManager,
    SessionMessage,
    SessionStorage,
    open_session_store,
    paths,
)
from cortext.adapters.session_log import SessionLog
from cortext.catalog.catalog import Catalog
from cortext.catalog.row import DOCUMENT, ConversationRow
from cortext.features.conversation_store_by_url import open_store
from cortext.features.doctor.checkup import run_checkup
from cortext.features.listing.conversation_list import ConversationList
from cortext.features.manage import trash
from cortext.features.search.search import Search
from cortext.workspace.workspace import Workspace

Figures = dict[str, float]
_new = count(10_000_000)
_FEW = 12
"""Sessions that are made in one round beside those that are there."""


def make_documents(folder: str, size: int) -> None:
    ours.make_sessions(f"{folder}/documents", size)


def measure_documents(folder: str, size: int, _: int) -> Figures:
    """The documents of a program that has a `SessionManager`."""
    documents = f"{folder}/documents"
    found = {"index list": seconds_of(lambda: ours.list_newest(documents))}
    manager = SessionManager(SessionStorage(documents), auto_save_interval=0)
    made: list[str] = []
    found["index create"] = seconds_of(
        lambda: made.append(manager.create(title="new").id), most=_FEW
    )
    manager.create(title="the current one cannot be deleted")
    left = iter(made)
    found["index delete"] = seconds_of(lambda: manager.delete(next(left)), most=len(made))
    manager.close()
    found["index life"] = seconds_of(lambda: ours.create_and_close(documents), most=_FEW)
    found["index list after"] = seconds_of(
        lambda: ours.list_newest(documents),
        before=lambda: ours.create_and_close(documents),
        most=_FEW,
    )
    storage = SessionStorage(documents)
    for id in {*storage.list_session_ids()}.difference(f"s-{n:06}" for n in range(size)):
        storage.delete(id)
    ours.settle(documents)
    return found


def make_many_logs(folder: str, size: int) -> None:
    logs = paths.program_sessions()
    os.makedirs(os.path.dirname(logs))
    make_logs(logs, size)
    for _ in range(2):
        _list_logs(size)


def measure_logs(folder: str, size: int, _: int) -> Figures:
    """The logs of a program: listed by us, by the adapter itself and by the service."""
    logs = paths.program_sessions()
    kept, made = SessionLog(None, "bench"), list[str]()
    _list_logs(size)
    found = {"logs list": seconds_of(lambda: _list_logs(size))}
    touched = iter(range(size))
    found["logs list after"] = seconds_of(
        lambda: _list_logs(size),
        before=lambda: kept.append(f"s-{next(touched):06}", [_message()], Session),
        most=_FEW,
    )

    def create() -> None:
        made.append(f"new-{next(_new)}")
        kept.append(made[-1], [_message()], lambda: kept.new_session(made[-1]))

    found["logs create"] = seconds_of(create, most=_FEW)
    left = iter(made)
    found["logs delete"] = seconds_of(lambda: kept.delete(next(left)), most=len(made))
    for id in left:
        kept.delete(id)
    found["adapter list"] = seconds_of(lambda: _expect(len(kept.rows()), size))
    kept.close()
    store = open_store(f"file:{logs}")
    with asyncio.Runner() as runner:
        found["service list"] = seconds_of(
            lambda: _expect(len(runner.run(store.list(limit=50))), 50)
        )
        runner.run(store.aclose())
    return found


def make_conversations(folder: str, size: int) -> None:
    root = f"{folder}/workspace"
    make_workspace(root, size)
    os.chdir(root)
    Search().refresh(patience=None)


def measure_conversations(folder: str, size: int, number: int) -> Figures:
    """A workspace of conversations, as a person lists, searches and arranges it."""
    root = f"{folder}/workspace"
    os.chdir(root)
    workspace = Workspace(root)
    _search(size)
    found = {"list": seconds_of(lambda: _expect(len(_listed(root)), size))}
    search = Search()
    asked = iter(range(0, size, max(size // 50, 1)))
    found["search"] = seconds_of(lambda: _find(search, next(asked)))
    found["search all"] = seconds_of(lambda: _search(size))
    middle = next(row for row in search.rows if row.id == name_of(size // 2))
    found["resolve"] = seconds_of(lambda: _resolve(root, middle.id))
    found["open"] = seconds_of(lambda: _open(root, middle.address))
    found["open by id"] = seconds_of(lambda: _open(root, middle.id))
    made: list[str] = []

    def create() -> None:
        made.append(workspace.new("brainstorm", f"new {next(_new)}").session.id)

    found["create"] = seconds_of(create, most=_FEW)
    found["list after"] = seconds_of(
        lambda: _expect(len(_listed(root)), size + len(made)), before=create, most=_FEW
    )
    rows = iter([row for row in _listed(root) if row.id in {*made}])
    found["delete"] = seconds_of(lambda: trash.delete(next(rows)), most=len(made))
    for row in rows:
        trash.delete(row)
    _search(size)
    if not number:
        # Only once: it takes long, and after it doctor knows what is sound.
        found["doctor deep"] = seconds_of(lambda: _look_over(size, deep=True))
    found["doctor"] = seconds_of(lambda: _look_over(size, deep=False))
    return found


def _listed(root: str) -> list[ConversationRow]:
    return ConversationList(root).list().rows


def _list_logs(size: int) -> None:
    with Catalog.at_home() as catalog:
        _expect(len(catalog.log_sessions(paths.program_sessions(), DOCUMENT)), size)


def _find(search: Search, number: int) -> None:
    # A word that a single conversation has.
    _expect(len(search.find(f"rare{number}")), 1)


def _search(size: int) -> None:
    """As a command does it: look at everything for what is new, and find."""
    search = Search()
    search.refresh(patience=None)
    _find(search, size // 2)


def _resolve(root: str, name: str) -> None:
    (row,) = ConversationList(root).find(name[:-1])
    if row.id != name:
        raise SystemExit(f"the beginning of {name} is that of {row.id}")


def _open(root: str, id: str) -> None:
    """Its last message, by a store that knows nothing yet."""
    _expect(len(open_session_store(f"workspace:{root}").tail(id, 1)), 1)


def _look_over(size: int, *, deep: bool) -> None:
    looked = run_checkup(deep=deep)
    _expect(looked.conversations, size)
    if any(problem.path and "conversations" in problem.path for problem in looked.problems):
        raise SystemExit(f"something is wrong: {looked.problems[0]}")


def _message() -> SessionMessage:
    number = next(_new)
    return SessionMessage("user", text_of(number), id=f"new-{os.getpid()}-{number}")


def _expect(found: int, wanted: int) -> None:
    if found != wanted:
        raise SystemExit(f"{found} sessions are there, not {wanted}")
