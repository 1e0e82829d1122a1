"""Every store of a person: where it is, and how each thing in it is looked at."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import NamedTuple

from cortext import paths
from cortext.app.apart import log_folders, shelves
from cortext.app.health.copies import check_copy, copies
from cortext.app.health.documents import check_document
from cortext.app.health.folders import check_folder
from cortext.app.health.logs import check_log
from cortext.app.health.problem import Found
from cortext.app.health.sources import check_history, histories
from cortext.config import Config
from cortext.errors import CortextError
from cortext.lifecycle.known import known_workspaces, program_folders
from cortext.stores import layout
from cortext.stores.names import session_names

_METADATA = re.compile(rb'[\0\s\xef\xbb\xbf]*\{\s*"type"\s*:\s*"metadata"')


class Item(NamedTuple):
    """One thing that is looked at: its files, how, and what of it is nobody else's to read."""

    name: str
    files: tuple[str, ...]
    check: Callable[[], Found]
    private: tuple[str, ...] = ()


class Stores(NamedTuple):
    """The folders of a person. `failures` are places that could not be looked into, and why."""

    workspaces: list[str]
    logs: list[str]
    documents: list[str]
    failures: dict[str, str]

    @property
    def shelves(self) -> list[str]:
        """The folders that have a `.cortext/` of ours."""
        spaces = [layout.conversations_dir(root) for root in self.workspaces]
        return [*spaces, *self.logs, *self.documents]


def stores() -> Stores:
    """All that there are now. A workspace that is gone is one that was moved or deleted."""
    here = paths.workspace_root()
    roots = [root for root in dict.fromkeys([*known_workspaces(), here]) if os.path.isdir(root)]
    logs = [paths.spawn_sessions(), *program_folders()]
    try:
        config = Config.load(None)
    except CortextError:
        documents = [paths.document_dir()]
    else:
        logs += log_folders(config)
        documents = [shelf.folder for shelf in shelves(config, roots)]
    return Stores(roots, _there(logs), _there(documents), {})


def _there(folders: Iterable[str]) -> list[str]:
    return [folder for folder in dict.fromkeys(folders) if os.path.isdir(folder)]


def items(found: Stores) -> Iterator[Item]:
    """Everything that holds conversations."""
    yield from _each(found, found.workspaces, _conversations)
    yield from _each(found, found.logs, _logs)
    yield from _each(found, found.documents, _documents)
    for copy in copies():
        yield Item(copy.path, (copy.path,), partial(check_copy, copy))


def histories_of(found: Stores) -> Iterator[Item]:
    """What the AI tools of this person wrote."""
    for history in histories(found.failures):
        yield Item(history.path, (history.path,), partial(check_history, history))


def _each(
    found: Stores, folders: Iterable[str], look: Callable[[str], Iterable[Item]]
) -> Iterator[Item]:
    for folder in folders:
        try:
            yield from look(folder)
        except (CortextError, OSError) as error:
            found.failures[folder] = str(error)


def _conversations(root: str) -> Iterator[Item]:
    for place in layout.places(root):
        if place.has_session and layout.is_name(place.name):
            files = (place.head, place.lines)
            # What came by git has the modes that git gives, and is others' too.
            private = (place.session, *files) if _began_here(root, place) else ()
            yield Item(place.folder, files, partial(check_folder, root, place), private)


def _began_here(root: str, place: layout.Place) -> bool:
    """As `Workspace.began`, which makes the folder that it looks into."""
    number = place.name.partition("-")[0]
    side = f"{layout.conversations_dir(root)}/.cortext"
    return os.path.isdir(f"{side}/numbers/{place.day}/{number}")


def _logs(folder: str) -> Iterator[Item]:
    ours = folder in (paths.spawn_sessions(), paths.program_sessions())
    for id in session_names(folder, ".jsonl"):
        path = f"{folder}/{id}.jsonl"
        if ours or _is_log(path):
            yield Item(path, (path,), partial(check_log, folder, id), (path,))


def _is_log(path: str) -> bool:
    """Whether a file in a folder that a person named is a log, and not something else of lines."""
    try:
        with open(path, "rb") as file:
            return _METADATA.match(file.read(256)) is not None
    except OSError:
        return True  # looking at it says why


def _documents(folder: str) -> Iterator[Item]:
    for id in session_names(folder, ".json"):
        if id != "index":
            path = f"{folder}/{id}.json"
            yield Item(path, (path,), partial(check_document, folder, id), (path,))
