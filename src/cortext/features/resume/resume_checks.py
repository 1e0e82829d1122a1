"""Check whether a tool has a conversation open, and find the tool that was used last.

Both are done before a conversation is resumed.
"""

from __future__ import annotations

from cortext.catalog.row import AUR, ConversationRow
from cortext.errors import CortextError
from cortext.features.capture.bindings import ConversationRef, digest_ids, is_sound, row_of
from cortext.features.capture.transcripts import own_transcript
from cortext.features.manage.edit_conversation import fork
from cortext.features.resume.resumable_tool_sessions import row_bindings
from cortext.formats.history_in_order import is_abandoned
from cortext.stores.folder import FolderStore
from cortext.tools.running_sessions import live_sessions

_MAX_RESULT = 1000  # characters that are read of a tool result; enough to compare messages


class LiveError(CortextError):
    """The error for a session that is open in a running process of its tool.

    `pid` is the id of the process; 0 if it is unknown.
    """

    def __init__(self, tool: str, id: str, pid: int = 0) -> None:
        self.tool = tool
        self.id = id
        self.pid = pid
        process = f", process {pid}" if pid else ""
        super().__init__(
            f"this conversation is open in {tool} (session {id}{process})",
            hint="close it there first, or continue in a copy with --fork",
        )


def refuse_live(row: ConversationRow) -> None:
    """Raise LiveError if a running tool has the conversation open.

    Two tools must not continue the same conversation without each other's messages.
    """
    if row.tool == AUR and row.status == "active":
        raise LiveError(row.tool_name, row.key)
    open_sessions = [
        (binding.tool, binding.session_id)
        for binding in row_bindings(row)
        if is_sound(binding) and binding.is_open
    ]
    live = live_sessions() if open_sessions else {}
    for key in reversed(open_sessions):
        if pid := live.get(key):
            raise LiveError(*key, pid)


def find_last_tool(row: ConversationRow) -> str:
    """Return the tool in which a conversation was last used, or "" if it has no tool.

    The result is the tool whose session contains the last message of the conversation. If no
    session on this machine contains this message, the result is the tool of the latest session that
    was used. A session counts as unused if it got all current messages of the conversation at its
    start. If all sessions are unused, the result is the tool of the latest session.
    """
    if row.tool:
        return "" if row.is_standalone else row.tool
    bindings = [binding for binding in row_bindings(row) if is_sound(binding)]
    names = [binding.tool for binding in bindings]
    if len(set(names)) < 2:
        return names[-1] if names else ""
    messages = FolderStore(row.workspace).read(row.path).session.messages
    for binding in reversed(bindings) if messages else ():
        found = own_transcript(binding.tool, binding.session_id)
        if found and any(
            message.id == messages[-1].id
            for message in found[0].decode(found[1], longest=_MAX_RESULT).session.messages
        ):
            return binding.tool
    # No tool has the last message. A session was not used if it got all messages at its start.
    all_seen = digest_ids(message.id for message in messages if not is_abandoned(message))
    used = (each.tool for each in reversed(bindings) if each.seen_digest != all_seen)
    return next(used, names[-1])


def fork_row(row: ConversationRow) -> ConversationRow:
    """Copy a conversation, and return the row of the copy. The original stays unchanged."""
    session = fork(row).session
    place = FolderStore(row.workspace).place_of(session.id, session)
    return row_of(ConversationRef(row.workspace, place))
