"""Checks before a conversation continues: whether it is open elsewhere, and its last tool."""

from __future__ import annotations

from cortext.catalog.row import AUR, ConversationRow
from cortext.errors import CortextError
from cortext.features.capture.bindings import ConversationRef, digest_ids, is_sound, row_of
from cortext.features.capture.transcripts import own_transcript
from cortext.features.manage.edit_conversation import fork
from cortext.features.resume.native_sessions import row_bindings
from cortext.formats.message_history import is_abandoned
from cortext.stores.folder import FolderStore
from cortext.tools.running_sessions import live_sessions

_SHORT = 1000  # characters of a result that are enough to recognize its message


class LiveError(CortextError):
    """The error that a session is open in a running process of its tool.

    `pid` is 0 if the process is unknown.
    """

    def __init__(self, tool: str, id: str, pid: int = 0) -> None:
        self.tool = tool
        self.id = id
        self.pid = pid
        process = f", process {pid}" if pid else ""
        super().__init__(
            f"it is open in {tool} now (session {id}{process})",
            hint="`--fork` goes on in a copy; or close it there first",
        )


def refuse_live(row: ConversationRow) -> None:
    """Raise LiveError if a running tool has the conversation open.

    Otherwise, two tools would continue the same conversation without each other's messages.
    """
    if row.tool == AUR and row.status == "active":
        raise LiveError(row.tool_name, row.key)
    open_ones = [
        (binding.tool, binding.session_id)
        for binding in row_bindings(row)
        if is_sound(binding) and binding.is_open
    ]
    live = live_sessions() if open_ones else {}
    for key in reversed(open_ones):
        if pid := live.get(key):
            raise LiveError(*key, pid)


def find_last_tool(row: ConversationRow) -> str:
    """Return the tool that has the last message of a conversation, or "" if it has no tool.

    If no tool on this machine has that message, return the last tool that was used, otherwise the
    last tool. A tool counts as unused if its session knew all current messages from the start.
    """
    if row.tool:
        return "" if row.is_standalone else row.tool
    bindings = [binding for binding in row_bindings(row) if is_sound(binding)]
    names = [binding.tool for binding in bindings]
    if len(set(names)) < 2:
        return names[-1] if names else ""
    said = FolderStore(row.workspace).read(row.path).session.messages
    for binding in reversed(bindings) if said else ():
        found = own_transcript(binding.tool, binding.session_id)
        if found and any(
            message.id == said[-1].id
            for message in found[0].decode(found[1], longest=_SHORT).session.messages
        ):
            return binding.tool
    # No tool has the last message. A session was not used if it knew all messages from the start.
    all_seen = digest_ids(message.id for message in said if not is_abandoned(message))
    used = (each.tool for each in reversed(bindings) if each.seen_digest != all_seen)
    return next(used, names[-1])


def fork_row(row: ConversationRow) -> ConversationRow:
    """Copy a conversation, and return the row of the copy. The original stays unchanged."""
    session = fork(row).session
    place = FolderStore(row.workspace).place_of(session.id, session)
    return row_of(ConversationRef(row.workspace, place))
