"""The session of an AI tool that a command was started in, and its conversation."""

from __future__ import annotations

import logging
import os

from cortext.catalog.catalog import Catalog
from cortext.catalog.row import ConversationRow
from cortext.errors import CortextError, SessionNotFoundError
from cortext.features.capture.bindings import Bound, bound
from cortext.features.capture.capture import capture
from cortext.features.capture.consent import allow
from cortext.features.capture.pending_bindings import bound_to_process, settle_all, told_apart
from cortext.features.capture.session_facts import unnamed
from cortext.features.capture.transcripts import find_transcript
from cortext.features.listing.conversation_list import ConversationList
from cortext.tools.scan import home_of
from cortext.tools.tool_context import Inside, here
from cortext.workspace.workspace import Workspace

log: logging.Logger = logging.getLogger("cortext.features")


def conversation_of_session(conversations: ConversationList) -> ConversationRow | None:
    """The conversation that this tool session is bound to, or a new one made for it; None outside
    any tool, and in one whose session cannot be told."""
    inside = here()
    if inside is None:
        return None
    inside = told_apart(inside)
    found = bound_here(inside)
    if found is None and inside.id:
        found = chat_of(conversations.root, inside.tool, inside.id, cwd=os.getcwd())
    return row_of(conversations, found) if found else None


def bound_here(inside: Inside, *, surely: bool = False) -> Bound | None:
    """The conversation that a tool session is bound to, if it is certain which. `surely`: also
    none of the other sessions that it may be belongs to nothing."""
    if inside.process and not inside.is_told:
        settle_all(inside.tool)
        if waiting := bound_to_process(inside.tool, inside.process):
            return waiting
    found = [bound(inside.tool, id) for id in inside.ids]
    if not surely:
        found = [each for each in found if each]
    return found[0] if len(set(found)) == 1 else None


def chat_of(
    root: str, tool: str, id: str, path: str = "", *, cwd: str = "", at_rest: bool = False
) -> Bound:
    """A new conversation of type `chat` for all of a tool session, with what was said in it, had
    where the session was, or in `cwd` if it does not say. One that is `at_rest` has the times of
    the session."""
    found = find_transcript(tool, id, path)
    glance = None
    if found:
        bridge, source = found
        path = "" if home_of(tool, source.path) else source.path
        try:
            glance = bridge.glance(source)
        except (OSError, CortextError) as error:
            log.warning("the transcript of %s cannot be read: %s", id, error)
    entry = {"tool": tool, "session_id": id, "path": path, "from": "", "to": ""}
    workspace = Workspace(root)
    title = (glance.title if glance else "") or unnamed(tool, id)
    cwd = (glance.cwd if glance else "") or cwd
    if at_rest and glance:
        began, ended = glance.started_at or glance.updated_at, glance.updated_at
        started = workspace.chat(title, entry, cwd=cwd, began=began, ended=ended)
    else:
        started = workspace.chat(title, entry, cwd=cwd)
    made = Bound(root, workspace.store.place_of(started.session.id, started.session))
    allow(made.place, tool, id)
    capture(made.root, made.place, whole=True)
    return made


def row_of(conversations: ConversationList, found: Bound) -> ConversationRow | None:
    """A conversation as lists have it; None if it is gone."""
    try:
        return row_in_list(found)
    except SessionNotFoundError:
        return None


def row_in_list(found: Bound) -> ConversationRow:
    """A conversation as lists have it."""
    with Catalog.at_home() as catalog:
        rows = catalog.list([found.root])
    row = next((row for row in rows if row.place == found.place), None)
    if row is None:
        raise SessionNotFoundError(found.place.name, path=found.place.folder)
    return row
