"""Listing sessions and finding one, in any store."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from cortext import paths
from cortext.catalog.document_index import IndexedStorage, SessionIndex
from cortext.errors import AmbiguousIdError, SessionNotFoundError, SessionStorageError
from cortext.formats.record_lines import Damage
from cortext.model.session import Session
from cortext.model.session_summary import SessionSummary
from cortext.model.title import generate_title
from cortext.stores.port import SessionStore
from cortext.stores.store_registry import SERVERS, open_session_store

log: logging.Logger = logging.getLogger("cortext.features")


class LoadedSession(NamedTuple):
    """A session, with what is wrong with its files."""

    session: Session
    damages: Sequence[Damage]


def default_store() -> str:
    """The URL of the store that commands use unless another is given."""
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
    """The sessions of a store, newest first unless `sort_by` says otherwise."""
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
    """What can be read of a session, under the id that names it in its store."""
    try:
        session = store.read(id).session
    except SessionStorageError as error:
        log.warning("left out of the list: %s", error)
        return None
    summary = SessionSummary.from_session(session)
    # A service gives its conversations no titles, and people know them by what was asked.
    return msgspec.structs.replace(summary, id=id, title=summary.title or generate_title(session))


def show_session(url: str, given: str) -> LoadedSession:
    """One session by its id or the beginning of it, as far as it can be read."""
    store = open_readable(url)
    if store is None:
        raise no_folder(url, given)
    reading = store.read(complete_id(store, given))
    return LoadedSession(reading.session, reading.damages)


def no_folder(url: str, given: str) -> SessionNotFoundError:
    """Return the error for a session of a store that has no folder."""
    missing = SessionNotFoundError(given)
    missing.hint = f"the folder {os.path.abspath(folder_of(url))} does not exist"
    return missing


def open_existing(url: str) -> SessionStore | None:
    """The store of a URL; None, and nothing is made, when its folder is not there."""
    return open_session_store(url) if os.path.isdir(folder_of(url)) else None


def open_readable(url: str) -> SessionStore | None:
    """As `open_existing`; that of a server as well, which is asked nothing before it is used."""
    return open_session_store(url) if is_server(url) else open_existing(url)


def is_server(url: str) -> bool:
    """Whether a store is no folder."""
    return url.partition(":")[0] in SERVERS


def folder_of(url: str) -> str:
    """Where a store is."""
    return os.path.expanduser(url.partition(":")[2])


def complete_id(store: SessionStore, given: str) -> str:
    """The id that is given, or the only one that begins with it, with or without its day."""
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
    titled = not search or search.casefold() in summary.title.casefold()
    return titled and owner in (None, summary.owner) and set(tags) <= set(summary.tags)
