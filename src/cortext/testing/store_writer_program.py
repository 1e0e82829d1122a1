"""A program that writes to a store. The tests start it as a second process.

    python -m cortext.testing.store_writer_program URL VERB ID NAME COUNT

The program opens the store at URL and makes COUNT writes to the session ID. If COUNT is 0, it
writes until it is killed. VERB is a key of `VERBS`. NAME is a part of all ids that the program
writes, so that they are unique. After each write the program prints one line, which acknowledges
the write.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module

from cortext.model.session import Session
from cortext.stores.port import SessionStore
from cortext.stores.store_registry import open_session_store
from cortext.testing.suite_base import message


def open_store(url: str) -> SessionStore:
    """Open the store at a URL that cortext knows, or at `python:MODULE:NAME:PLACE`.

    The second form imports MODULE and calls its class or function NAME with PLACE.
    """
    if not url.startswith("python:"):
        return open_session_store(url)
    _, module, name, place = url.split(":", 3)
    return getattr(import_module(module), name)(place)


def append(store: SessionStore, id: str, name: str, steps: Iterable[int]) -> Iterator[str]:
    """Append a message for each number in `steps`. Yield the message id after each append."""
    for step in steps:
        message_id = f"{name}-{step}"
        store.append(id, message(message_id, step, id=message_id))
        yield message_id


def save(store: SessionStore, id: str, name: str, steps: Iterable[int]) -> Iterator[str]:
    """Load the session, add a message and save the session, once for each number in `steps`.

    Yield the id of the message after each save.
    """
    for step in steps:
        session = store.load(id)
        session.title = title = f"{name}-{step}"
        session.messages.append(message(title, step, id=title))
        store.save(session)
        yield title


def checkpoint(store: SessionStore, id: str, name: str, steps: Iterable[int]) -> Iterator[str]:
    """Change the title of the session with a checkpoint, once for each number in `steps`.

    A checkpoint writes only the head: everything except the messages. Yield the new title after
    each checkpoint.
    """
    for step in steps:
        session = store.load(id)
        session.title = title = f"{name}-{step}"
        store.checkpoint(session)
        yield title


def create(store: SessionStore, id: str, name: str, steps: Iterable[int]) -> Iterator[str]:
    """Save a new session for each number in `steps`. Yield the session id after each save."""
    for step in steps:
        session_id = f"{id}-{name}-{step}"
        store.save(Session(session_id, messages=[message(session_id, step, id=session_id)]))
        yield session_id


VERBS: dict[str, Callable[[SessionStore, str, str, Iterable[int]], Iterator[str]]] = {
    "append": append, "checkpoint": checkpoint, "create": create, "save": save,
}  # fmt: skip


def main(url: str, verb: str, id: str, name: str, count: str) -> None:
    steps = range(int(count)) if int(count) else itertools.count()
    for line in VERBS[verb](open_store(url), id, name, steps):
        sys.stdout.write(line + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
