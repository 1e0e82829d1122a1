"""Before a conversation goes on: is it open elsewhere, where was it had last, what is new in it."""

from __future__ import annotations

from cortext.catalog.row import AUR, ConversationRow
from cortext.errors import CortextError
from cortext.features.capture.bindings import Bound, digest_of, is_sound
from cortext.features.capture.transcripts import own_transcript
from cortext.features.resume.native_sessions import entries_of
from cortext.formats.message_history import is_abandoned
from cortext.tools.running import live_sessions
from cortext.workspace.workspace import Workspace

_SHORT = 1000  # characters of a result are enough to know the message that holds it


class LiveError(CortextError):
    """The session is open in a running process of its tool; `pid` is 0 if that is not known."""

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
    """LiveError if any tool has a conversation open, whichever it is to go on in: two tools would
    go on with it without knowing of each other."""
    if row.tool == AUR and row.status == "active":
        raise LiveError(row.tool_name, row.key)
    going_on = [
        (str(entry["tool"]), str(entry["session_id"]))
        for entry in entries_of(row)
        if is_sound(entry) and not entry.get("to")
    ]
    live = live_sessions() if going_on else {}
    for key in reversed(going_on):
        if pid := live.get(key):
            raise LiveError(*key, pid)


def last_used(row: ConversationRow) -> str:
    """The tool that a conversation was last had in; "" if in none. One that it was only made
    ready for is not, unless there is no other, or no tool here has any part of it and something
    was said elsewhere since."""
    if row.tool:
        return "" if row.is_standalone else row.tool
    entries = [entry for entry in entries_of(row) if is_sound(entry)]
    names = [str(entry["tool"]) for entry in entries]
    if len(set(names)) < 2:
        return names[-1] if names else ""
    said = Workspace(row.workspace).store.read(row.path).session.messages
    for entry in reversed(entries) if said else ():
        found = own_transcript(str(entry["tool"]), str(entry["session_id"]))
        if found and any(
            message.id == said[-1].id
            for message in found[0].decode(found[1], longest=_SHORT).session.messages
        ):
            return str(entry["tool"])
    # No tool here has it: one that was told of all that was said has had nothing said in it.
    told = digest_of(message.id for message in said if not is_abandoned(message))
    return next((str(e["tool"]) for e in reversed(entries) if e.get("held") != told), names[-1])


def branch(row: ConversationRow) -> ConversationRow:
    """A new conversation with all that was said in this one, which stays as it is: what is said
    from now on would else be mixed with what is said there."""
    from cortext.features.capture.current_session import row_in_list
    from cortext.features.manage.edit import fork

    session = fork(row).session
    place = Workspace(row.workspace).store.place_of(session.id, session)
    return row_in_list(Bound(row.workspace, place))
