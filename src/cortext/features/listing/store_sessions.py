"""List the sessions of any session store, and find a session by the start of its id.

A URL names the store, for example `document:FOLDER`.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from cortext import paths
from cortext.catalog.documents.document_index import IndexedStorage, SessionIndex
from cortext.errors import AmbiguousIdError, SessionNotFoundError, SessionStorageError
from cortext.formats.message_lines import Damage
from cortext.model.session import Session
from cortext.model.session_summary import SessionSummary
from cortext.model.title import generate_title
from cortext.stores.port import SessionStore
from cortext.stores.store_registry import SERVERS, open_session_store

log: logging.Logger = logging.getLogger("cortext.features")


class LoadedSession(NamedTuple):
    """A session of a store, and the damage found in its files."""

    session: Session
    damages: Sequence[Damage]


def default_store() -> str:
    """Return the URL of the session store that commands use by default."""
    return os.environ.get("CORTEXT_STORE") or f"document:{paths.document_dir()}"


def list_sessions(
    url: str,
    *,
    limit: int = 50,
    search: str | None = None,
    tags: Sequence[str] = (),
    sort_by: str = "updated_at",
    owner: str | None = None,
) -> list[SessionSummary]:
    """Return summaries of at most `limit` sessions in the store that a URL names.

    A session must have all `tags` and this `owner`, and its title must contain `search`. `sort_by`
    is a field of the summaries. Titles and ids are sorted from A to Z. Times and numbers are sorted
    from the greatest to the smallest. Return [] if the store's folder does not exist.
    """
    store = open_readable(url)
    if store is None:
        return []
    if isinstance(store, IndexedStorage):
        index = SessionIndex(store)
        return index.list(limit=limit, search=search, tags=tags, sort_by=sort_by, owner=owner)
    found = [summary for id in store.list_session_ids() if (summary := _summarize(store, id))]
    wanted = [summary for summary in found if _matches(summary, search, tags, owner)]
    by_name = sort_by in ("title", "id")
    wanted.sort(key=lambda summary: getattr(summary, sort_by), reverse=not by_name)
    return wanted[:limit]


def _summarize(store: SessionStore, id: str) -> SessionSummary | None:
    """Return a summary of the session `id` of a store; None if the session cannot be read.

    The summary gets the id that the store uses.
    """
    try:
        session = store.read(id).session
    except SessionStorageError as error:
        log.warning("not listed: %s", error)
        return None
    summary = SessionSummary.from_session(session)
    # Conversations of a service have no title, so use the first request.
    return msgspec.structs.replace(summary, id=id, title=summary.title or generate_title(session))


def show_session(url: str, given: str) -> LoadedSession:
    """Return the session whose id is `given` or starts with it.

    Unreadable parts are left out and listed as damage. Raises SessionNotFoundError if there is no
    such session, and AmbiguousIdError if there are several.
    """
    store = open_readable(url)
    if store is None:
        raise missing_folder_error(url, given)
    reading = store.read(complete_id(store, given))
    return LoadedSession(reading.session, reading.damages)


def missing_folder_error(url: str, given: str) -> SessionNotFoundError:
    """Return the error to raise for a session of a store whose folder does not exist."""
    error = SessionNotFoundError(given)
    error.hint = f"the folder {os.path.abspath(folder_of(url))} does not exist"
    return error


def open_existing(url: str) -> SessionStore | None:
    """Open the store of a URL that names a folder.

    Return None, and create nothing, if the folder does not exist.
    """
    return open_session_store(url) if os.path.isdir(folder_of(url)) else None


def open_readable(url: str) -> SessionStore | None:
    """Open the store of a URL that names a folder or a server.

    Return None if the folder does not exist. A server is not contacted before the store is used.
    """
    return open_session_store(url) if is_server(url) else open_existing(url)


def is_server(url: str) -> bool:
    """Return whether a store's URL names a server and not a folder."""
    return url.partition(":")[0] in SERVERS


def folder_of(url: str) -> str:
    """Return the folder that a store's URL names."""
    return os.path.expanduser(url.partition(":")[2])


def complete_id(store: SessionStore, given: str) -> str:
    """Return the session id that equals `given`, or the only id that starts with it.

    In an id of the form `DAY/NAME`, the day may be omitted. Raises SessionNotFoundError if there is
    no such id, and AmbiguousIdError if there are several.
    """
    known = store.list_session_ids()
    if store.exists(given) and not any(id.endswith(f"/{given}") for id in known):
        return given
    ids = [id for id in known if id.startswith(given) or id.partition("/")[2].startswith(given)]
    if len(ids) > 1:
        raise AmbiguousIdError(given, ids)
    if not ids:
        raise SessionNotFoundError(given)
    return ids[0]


def _matches(
    summary: SessionSummary, search: str | None, tags: Sequence[str], owner: str | None
) -> bool:
    matches_title = not search or search.casefold() in summary.title.casefold()
    return matches_title and owner in (None, summary.owner) and set(tags) <= set(summary.tags)
