"""Find the tool session in which a command was started, and its conversation."""

from __future__ import annotations

import logging
import os

from cortext.catalog.row import ConversationRow
from cortext.errors import CortextError, SessionNotFoundError
from cortext.features.capture.bindings import ConversationRef, find_binding, link_session, row_of
from cortext.features.capture.capture import capture
from cortext.features.capture.capture_permission import allow
from cortext.features.capture.pending_bindings import (
    disambiguate_session,
    find_pending,
    resolve_pending_all,
)
from cortext.features.capture.transcript_metadata import default_title
from cortext.features.capture.transcripts import find_transcript
from cortext.model.tool_binding import ToolBinding, binding_to_json
from cortext.tools.surrounding_session import Inside, here
from cortext.tools.transcript_folders import home_of
from cortext.workspace.workspace import Workspace

log: logging.Logger = logging.getLogger("cortext.features")


def conversation_of_session(root: str) -> ConversationRow | None:
    """Return the conversation of the tool session in which this command runs.

    If the session has no conversation, create one in the workspace `root`. The result is None
    outside a tool, or if the session is unknown.
    """
    inside = here()
    if inside is None:
        return None
    inside = disambiguate_session(inside)
    found = find_current_binding(inside)
    if found is None and inside.id:
        found = make_conversation(root, inside.tool, inside.id, cwd=os.getcwd())
    return find_row(found) if found else None


def find_current_binding(inside: Inside, *, surely: bool = False) -> ConversationRef | None:
    """Return the conversation of the current tool session, or None if it is uncertain.

    `inside` describes the tool that runs this command. `inside.ids` are the sessions that may be
    the current session.

    If a conversation has a pending binding to the tool's process, return this conversation. A
    pending binding waits until the id of the session is known. Otherwise, return the conversation
    to which the sessions are bound. The result is None if they are bound to different
    conversations. Sessions that are not bound are ignored, unless `surely` is true. If `surely` is
    true, one session that is not bound makes the result None.
    """
    if inside.process and not inside.is_told:
        resolve_pending_all(inside.tool)
        if pending := find_pending(inside.tool, inside.process):
            return pending
    found = [find_binding(inside.tool, id) for id in inside.ids]
    if not surely:
        found = [each for each in found if each]
    return found[0] if len(set(found)) == 1 else None


def make_conversation(
    root: str, tool: str, id: str, path: str = "", *, cwd: str = "", at_rest: bool = False
) -> ConversationRef:
    """Create a conversation of type `chat` from a tool session, and capture all its messages.

    `root` is the workspace, and `id` is the session id. `path` is the path of the transcript, or ""
    if it is unknown. `cwd` becomes the working folder if the session names none. If `at_rest` is
    true, the new conversation is paused, and has the times of the session.
    """
    found = find_transcript(tool, id, path)
    glance = None
    if found:
        bridge, source = found
        path = "" if home_of(tool, source.path) else source.path
        try:
            glance = bridge.glance(source)
        except (OSError, CortextError) as error:
            log.warning("the transcript of %s cannot be read: %s", id, error)
    binding = ToolBinding(tool=tool, session_id=id, path=path, start="", end="")
    native = binding_to_json(binding)
    workspace = Workspace(root)
    title = (glance.title if glance else "") or default_title(tool, id)
    cwd = (glance.cwd if glance else "") or cwd
    if at_rest and glance:
        began, ended = glance.started_at or glance.updated_at, glance.updated_at
        started = workspace.chat(title, native, cwd=cwd, began=began, ended=ended)
    else:
        started = workspace.chat(title, native, cwd=cwd)
    ref = ConversationRef(root, workspace.store.place_of(started.session.id, started.session))
    allow(ref.place, tool, id)
    link_session(ref, id)
    capture(ref.root, ref.place, whole=True)
    return ref


def find_row(ref: ConversationRef) -> ConversationRow | None:
    """Return the current row (list entry) of a conversation; None if it no longer exists."""
    try:
        return row_of(ref)
    except SessionNotFoundError:
        return None
