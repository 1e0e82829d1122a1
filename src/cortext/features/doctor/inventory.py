"""The inventory of `cortext doctor`: every file that it checks, and the check for each.

A shelf is a folder that contains sessions. It may have a subfolder `.cortext/` for locks and
indexes.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import NamedTuple

from cortext import paths
from cortext.config import Config
from cortext.errors import CortextError, reason_of
from cortext.features.doctor.check_archive import check_copy, list_copies
from cortext.features.doctor.check_conversations import check_conversation
from cortext.features.doctor.check_documents import check_document
from cortext.features.doctor.check_logs import check_log
from cortext.features.doctor.check_results import CheckResult, is_absent
from cortext.features.doctor.check_transcripts import check_transcript, list_transcripts
from cortext.features.listing.standalone_sessions import log_folders, shelves
from cortext.features.secrets.adapter_side_files import adapter_folders
from cortext.stores import workspace_layout
from cortext.stores.ids_in_folder import session_names
from cortext.tools.registry import tools
from cortext.workspace.known_folders import known_workspaces, program_folders

_METADATA = re.compile(rb'[\0\s\xef\xbb\xbf]*\{\s*"type"\s*:\s*"metadata"')


class CheckItem(NamedTuple):
    """One item to check, such as a conversation or a transcript.

    `files` are the files that the function `check` reads. `private` are the paths that only the
    owner should be able to read.
    """

    name: str
    files: tuple[str, ...]
    check: Callable[[], CheckResult]
    private: tuple[str, ...] = ()


class Stores(NamedTuple):
    """All folders of the user that contain sessions.

    `logs` are folders with session logs, and `documents` are folders with session documents.
    `failures` maps each folder that cannot be read to the reason.
    """

    workspaces: list[str]
    logs: list[str]
    documents: list[str]
    failures: dict[str, str]

    @property
    def shelves(self) -> list[str]:
        """All folders that contain sessions. Each may have a subfolder `.cortext/`."""
        spaces = [workspace_layout.conversations_dir(root) for root in self.workspaces]
        return [*spaces, *self.logs, *self.documents]


def list_day_folders(found: Stores) -> list[str]:
    """Return the day folders of all workspaces. A day folder has the conversations of one day."""
    return [
        f"{shelf}/{day}"
        for root in found.workspaces
        for shelf in workspace_layout.shelves(root)
        for day in _list_names(workspace_layout.days, shelf, found.failures)
    ]


def find_stores() -> Stores:
    """Return the folders with sessions that exist now.

    Known workspaces that were moved or deleted are left out.
    """
    failures: dict[str, str] = {}
    current = paths.workspace_root()
    known = dict.fromkeys([*known_workspaces(), current])
    roots = [root for root in known if _is_folder(root, failures)]
    logs = [paths.spawn_sessions(), *program_folders()]
    try:
        config = Config.load(None)
    except CortextError:
        documents = [paths.document_dir()]
    else:
        logs += log_folders(config)
        documents = [shelf.folder for shelf in shelves(config, roots)]
    return Stores(
        roots, _existing_folders(logs, failures), _existing_folders(documents, failures), failures
    )


def _existing_folders(folders: Iterable[str], failures: dict[str, str]) -> list[str]:
    return [folder for folder in dict.fromkeys(folders) if _is_folder(folder, failures)]


def _is_folder(path: str, failures: dict[str, str]) -> bool:
    """Return whether a path is a folder.

    If the path is something else or cannot be examined, add the reason to `failures`.
    """
    try:
        found = os.stat(path)
    except (FileNotFoundError, ValueError):
        return False  # `check_own_files` reports lines of the list that are not paths.
    except OSError as error:
        failures[path] = reason_of(error)
        return False
    if not stat.S_ISDIR(found.st_mode):
        failures[path] = "it is not a folder"
    return stat.S_ISDIR(found.st_mode)


def list_conversation_items(found: Stores) -> Iterator[CheckItem]:
    """Yield a check item for each conversation, session log, session document and archive copy."""
    yield from _collect_items(
        found, found.workspaces, partial(_conversation_items, failures=found.failures)
    )
    yield from _collect_items(found, found.logs, _log_items)
    yield from _collect_items(found, found.documents, _document_items)
    for copy in () if is_absent(paths.archive()) else list_copies(found.failures):
        yield CheckItem(copy.path, (copy.path,), partial(check_copy, copy))


def list_adapter_items(found: Stores) -> Iterator[CheckItem]:
    """Yield a check item for each extra log that a framework adapter stores beside its sessions.

    An adapter stores the sessions of an agent framework. Examples of extra logs are the checkpoints
    of LangGraph, the state that ADK sessions share, and the sessions of sub-agents.
    """
    yield from _collect_items(found, adapter_folders(), _log_items)


def list_transcript_items(found: Stores) -> Iterator[CheckItem]:
    """Yield a check item for each transcript file of the AI tools."""
    for tool in tools():
        for history in () if is_absent(tool.home) else list_transcripts(tool, found.failures):
            yield CheckItem(history.path, (history.path,), partial(check_transcript, history))


def _collect_items(
    found: Stores, folders: Iterable[str], list_items: Callable[[str], Iterable[CheckItem]]
) -> Iterator[CheckItem]:
    for folder in folders:
        try:
            yield from list_items(folder)
        except (CortextError, OSError) as error:
            reason = reason_of(error) if isinstance(error, OSError) else str(error)
            found.failures[folder] = reason


def _list_conversations(
    root: str, failures: dict[str, str]
) -> Iterator[workspace_layout.ConversationPath]:
    """Yield the path of each conversation of a workspace, and skip folders that cannot be read."""
    for shelf in workspace_layout.shelves(root):
        for day in _list_names(workspace_layout.days, shelf, failures):
            for name in _list_names(workspace_layout.folders, f"{shelf}/{day}", failures):
                yield workspace_layout.ConversationPath(shelf, day, name)


def _list_names(
    list_names: Callable[[str], list[str]], folder: str, failures: dict[str, str]
) -> list[str]:
    if not _is_folder(folder, failures):
        return []
    try:
        return list_names(folder)
    except (CortextError, OSError) as error:
        number = getattr(error, "errno", None)
        failures[folder] = os.strerror(number).lower() if number else str(error)
        return []


def _has_session(place: workspace_layout.ConversationPath, failures: dict[str, str]) -> bool:
    """Return whether a conversation's folder contains a session file.

    If the files cannot be examined, add the reason to `failures`.
    """
    for path in (place.head, place.lines):
        try:
            os.lstat(path)
        except FileNotFoundError:
            continue
        except NotADirectoryError:
            failures[place.session] = "it is not a folder"
            return False
        except OSError as error:
            failures[place.session] = reason_of(error)
            return False
        return True
    return False


def _conversation_items(root: str, failures: dict[str, str]) -> Iterator[CheckItem]:
    for place in _list_conversations(root, failures):
        if workspace_layout.is_name(place.name) and _has_session(place, failures):
            files = (place.head, place.lines)
            # A conversation that came with git is not private: other people have it too.
            private = (place.session, *files) if _began_here(root, place) else ()
            yield CheckItem(place.folder, files, partial(check_conversation, root, place), private)


def _began_here(root: str, place: workspace_layout.ConversationPath) -> bool:
    """Return whether a conversation was started on this machine.

    Unlike `Workspace.began`, this does not create the folder `.cortext/`.
    """
    number = place.name.partition("-")[0]
    side = f"{workspace_layout.conversations_dir(root)}/.cortext"
    return os.path.isdir(f"{side}/numbers/{place.day}/{number}")


def _log_items(folder: str) -> Iterator[CheckItem]:
    is_own_folder = folder in (paths.spawn_sessions(), paths.program_sessions())
    for id in session_names(folder, ".jsonl"):
        path = f"{folder}/{id}.jsonl"
        if is_own_folder or _is_log(path):
            yield CheckItem(path, (path,), partial(check_log, folder, id), (path,))


def _is_log(path: str) -> bool:
    """Return whether a `.jsonl` file is a session log, and not a file of another program."""
    try:
        with open(path, "rb") as file:
            return _METADATA.match(file.read(256)) is not None
    except OSError:
        return True  # The check of the file reports why it cannot be read.


def _document_items(folder: str) -> Iterator[CheckItem]:
    for id in session_names(folder, ".json"):
        if id != "index":
            path = f"{folder}/{id}.json"
            yield CheckItem(path, (path,), partial(check_document, folder, id), (path,))
