"""The program that the tests start as a second process, in order to write to a store.

    python -m cortext.testing.child_process URL VERB ID NAME COUNT

The program opens the store at URL and makes COUNT writes to the session ID, or writes without end
if COUNT is 0. VERB is a key of `VERBS`. NAME makes the ids that it writes unique. After each write,
it prints one line: the write is acknowledged.
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
    """Append one message at each step, and yield the id of the message after it was stored."""
    for step in steps:
        said = f"{name}-{step}"
        store.append(id, message(said, step, id=said))
        yield said


def save(store: SessionStore, id: str, name: str, steps: Iterable[int]) -> Iterator[str]:
    """Load the session, add a message and save the session, at each step.

    Yields the id of the message after each save.
    """
    for step in steps:
        session = store.load(id)
        session.title = said = f"{name}-{step}"
        session.messages.append(message(said, step, id=said))
        store.save(session)
        yield said


def checkpoint(store: SessionStore, id: str, name: str, steps: Iterable[int]) -> Iterator[str]:
    """Load the session, change its title and write a checkpoint (only the head), at each step.

    Yields the new title after each checkpoint.
    """
    for step in steps:
        session = store.load(id)
        session.title = said = f"{name}-{step}"
        store.checkpoint(session)
        yield said


def create(store: SessionStore, id: str, name: str, steps: Iterable[int]) -> Iterator[str]:
    """Save a new session at each step, and yield the id of the session after each save."""
    for step in steps:
        said = f"{id}-{name}-{step}"
        store.save(Session(said, messages=[message(said, step, id=said)]))
        yield said


VERBS: dict[str, Callable[[SessionStore, str, str, Iterable[int]], Iterator[str]]] = {
    "append": append, "checkpoint": checkpoint, "create": create, "save": save,
}  # fmt: skip


def main(url: str, verb: str, id: str, name: str, count: str) -> None:
    steps = range(int(count)) if int(count) else itertools.count()
    for said in VERBS[verb](open_store(url), id, name, steps):
        sys.stdout.write(said + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
