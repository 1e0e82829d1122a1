"""Bindings: which conversation the messages of a tool session belong to.

The head of a conversation is everything of its session but the messages. `bind` writes a
`ToolBinding` into the head, and a link from the session to the conversation into the catalog.
`find_binding` follows the links of a session and checks the heads of these conversations. A link is
only a hint: the head decides.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from datetime import datetime
from hashlib import blake2b

from msgspec import Struct, structs

from cortext import clock, paths
from cortext.catalog.catalog import Catalog
from cortext.catalog.row import ConversationRow
from cortext.durability.read_files import read_file
from cortext.errors import CortextError, SessionCorruptedError, SessionNotFoundError
from cortext.features.capture.consent import allow, may_capture
from cortext.features.capture.model_and_servers import AgentConfig, fill_in, find_config
from cortext.features.capture.transcripts import Found, find_transcript
from cortext.features.errors_log import write_error
from cortext.formats.folder import FOLDER
from cortext.formats.message_history import is_abandoned
from cortext.formats.record_lines import decode_lines
from cortext.model import record_dicts
from cortext.model.json_values import parse_time
from cortext.model.message import SessionMessage
from cortext.model.session import Session
from cortext.model.tool_binding import ToolBinding, bindings_of, change_bindings, set_bindings
from cortext.stores.folder import FolderStore
from cortext.stores.workspace_layout import ConversationPath
from cortext.tools.registry import find_tool, is_tool
from cortext.workspace.known_folders import known_workspaces
from cortext.workspace.workspace import Workspace


class ConversationRef(Struct, frozen=True):
    """A reference to a conversation: the folder of its workspace, and its place in there."""

    root: str
    place: ConversationPath

    @property
    def path(self) -> str:
        """The folder of the conversation below the workspace, as rows and stores name it."""
        return self.place.folder[len(self.root) + 1 :]

    @property
    def workspace(self) -> str:
        """The folder of the workspace. `ConversationRow` has the same property."""
        return self.root

    @classmethod
    def at(cls, root: str, path: str) -> ConversationRef:
        """Return the conversation in the folder `path`, relative to the workspace `root`.

        Raises ValueError if the path has fewer than three parts.
        """
        shelf, day, name = path.rsplit("/", 2)
        return cls(root, ConversationPath(f"{root}/{shelf}", day, name))


def bind(
    conversation: ConversationRow | ConversationRef,
    tool: str,
    session_id: str,
    path: str = "",
    *,
    after: str | None = None,
    cwd: str = "",
) -> None:
    """Bind a tool session to a conversation, unless it is bound already.

    Only messages after `after` belong to the conversation. `after` is a time or a message id, or ""
    for the whole session. None means that the current exchange (the user's latest request) is the
    first that belongs to the conversation.

    If the session is bound to another conversation, that binding ends at the same message. `path`
    is the transcript, if it is known. `cwd` is the working folder of the tool.
    """
    find_tool(tool)
    ref = ConversationRef(conversation.workspace, conversation.place)
    if any(each.is_open_for(tool, session_id) for each in _bindings_at(ref)):
        return
    bound = bound_conversations(tool, session_id, cwd)
    others = [each for each in bound if each.place != ref.place]
    found = find_transcript(tool, session_id, path)
    model, said = _model_and_messages(found)
    now = record_dicts.iso(clock.now())
    start = find_exchange_start(said) if after is None else _pin_time(said, after)
    start = start or (now if others and after is None else "")
    times = {message.id: record_dicts.iso(message.timestamp) for message in said}
    for other in others:
        end_binding(other, tool, session_id, start or now, times.get(start))
    binding = ToolBinding(
        tool=tool,
        session_id=session_id,
        path=found[1].path if found else path,
        start=start,
        end="",
        start_time=times.get(start) if start else None,
        seen_digest=digest_ids(m.id for m in _live_messages(ref.place)) if start else None,
    )
    add_binding(ref, binding, find_config(tool, session_id, model=model, cwd=cwd))


def add_binding(ref: ConversationRef, binding: ToolBinding, known: AgentConfig) -> None:
    """Write a binding into the head of a conversation, and allow the capture of its session.

    `known` is the agent's configuration. It fills in what the head lacks.
    """
    if binding.session_id:
        # A user who binds a session allows the conversation to capture it.
        allow(ref.place, binding.tool, binding.session_id)

    def change(session: Session) -> bool:
        set_bindings(session, [*bindings_of(session), binding])
        fill_in(session, known)
        return False

    Workspace(ref.root).change(ref.place, change)
    link_session(ref, binding.session_id)


def link_session(ref: ConversationRef, session_id: str) -> None:
    """Add a link to the catalog, so that hooks find the conversation of a tool session quickly."""
    if session_id:
        with Catalog.at_home() as catalog:
            catalog.add_link(ref.root, ref.path, session_id)


def end_binding(
    ref: ConversationRef, tool: str, session_id: str, end: str, end_time: str | None
) -> None:
    """End the open binding of a session to a conversation after the message or time `end`.

    Later messages of the session belong to another conversation. `end_time` is the time of the
    message `end`, or None.
    """

    def change(session: Session) -> bool:
        times = {"end_time": end_time} if end_time else {}
        change_bindings(session, lambda b: b.is_open_for(tool, session_id), end=end, **times)
        return False

    Workspace(ref.root).change(ref.place, change)


def mark_all_seen(
    conversation: ConversationRow | ConversationRef, tool: str, session_id: str
) -> None:
    """Record that a tool session knows all messages that its conversation has now.

    The record is a digest of message ids in the binding.
    """
    live = _live_messages(conversation.place)

    def mark(binding: ToolBinding) -> ToolBinding:
        if not binding.is_open_for(tool, session_id):
            return binding
        _, said = _model_and_messages(find_transcript(tool, session_id, binding.path))
        own = {message.id for message in bound_messages(binding, said)}
        return structs.replace(
            binding, seen_digest=digest_ids(m.id for m in live if m.id not in own)
        )

    def change(session: Session) -> bool:
        set_bindings(session, map(mark, bindings_of(session)))
        return False

    Workspace(conversation.workspace).change(conversation.place, change)


def find_binding(
    tool: str, session_id: str, cwd: str = "", *, refresh: bool = False
) -> ConversationRef | None:
    """Return the conversation that new messages of a tool session belong to, or None.

    `cwd` is the folder in which the tool works. If `refresh` is true, the workspace of that folder
    is read again even if the catalog has a link.
    """
    found = bound_conversations(tool, session_id, cwd, refresh=refresh)
    return _choose_checkout(found, session_id, cwd or paths.current_folder())


def bound_conversations(
    tool: str, session_id: str, cwd: str = "", *, refresh: bool = False
) -> list[ConversationRef]:
    """Return every conversation that new messages of a tool session belong to.

    The catalog may not know the latest conversations, for example those from another machine.
    Therefore, if the workspace of `cwd` has no such conversation, or if `refresh` is true, three
    kinds of workspaces are read again: that workspace, the personal workspace, and workspaces that
    are new to the catalog.
    """
    here = paths.workspace_root(cwd or None)
    with Catalog.at_home() as catalog:
        found = [] if refresh else _linked(catalog, tool, session_id)
        if os.path.realpath(here) not in {os.path.realpath(ref.root) for ref in found}:
            known = catalog.known_workspaces()
            new = [root for root in known_workspaces() if root not in known]
            roots = dict.fromkeys([here, paths.personal_workspace(), *new])
            catalog.list([root for root in roots if os.path.isdir(root)])
            found = _linked(catalog, tool, session_id)
    return found


def _linked(catalog: Catalog, tool: str, session_id: str) -> list[ConversationRef]:
    links = catalog.conversations_of_session(session_id)
    found = [ConversationRef.at(root, path) for root, path in links]
    return [ref for ref in found if is_bound(ref, tool, session_id)]


def is_bound(ref: ConversationRef, tool: str, session_id: str) -> bool:
    """Return whether new messages of a tool session belong to a conversation.

    The conversation must have an open binding, and this machine must allow the capture.
    """
    try:
        bindings = _bindings_at(ref)
    except (SessionNotFoundError, SessionCorruptedError):
        return False  # `doctor` and lists report a damaged head
    if not any(each.is_open_for(tool, session_id) for each in bindings):
        return False
    return may_capture(ref.root, ref.place, tool, session_id)


def is_sound(binding: ToolBinding) -> bool:
    """Return whether a binding names a session of a known tool, and has a valid start and end."""
    bad = {"path", "from", "to"}.intersection(binding.malformed)
    return is_tool(binding.tool) and bool(binding.session_id) and not bad


def row_of(ref: ConversationRef) -> ConversationRow:
    """Return the current row of a conversation from the catalog.

    Raises SessionNotFoundError if the conversation no longer exists.
    """
    with Catalog.at_home() as catalog:
        rows = catalog.list([ref.root])
    row = next((row for row in rows if row.place == ref.place), None)
    if row is None:
        raise SessionNotFoundError(ref.place.name, path=ref.place.folder)
    return row


def bound_messages(
    binding: ToolBinding, messages: Sequence[SessionMessage]
) -> list[SessionMessage]:
    """Return the messages of a tool session that belong to the conversation of a binding.

    `messages` are all messages of the session.
    """
    start = find_start(binding, messages)
    return [] if start is None else list(messages[start : _find_end(binding, messages, start)])


def find_start(binding: ToolBinding, messages: Sequence[SessionMessage]) -> int | None:
    """Return the index of the first message that belongs to the conversation of a binding.

    The result is None if the session has no such message yet. If the binding starts after a
    message id, the order of the messages decides, because times can go backwards.
    """
    if not binding.start:
        return 0
    at = _index_of(binding.start, messages)
    if at is not None:
        return at + 1
    when = _time(binding.start) or _time(binding.start_time)
    return _first_after(when, messages) if when else 0


def _find_end(binding: ToolBinding, messages: Sequence[SessionMessage], start: int) -> int:
    if not binding.end:
        return len(messages)
    at = _index_of(binding.end, messages)
    if at is not None:
        return at + 1
    when = _time(binding.end) or _time(binding.end_time)
    if when is None:
        return start  # the end is unknown, so later messages may belong to another conversation
    after = _first_after(when, messages[start:])
    return len(messages) if after is None else start + after


def find_exchange_start(messages: Sequence[SessionMessage]) -> str:
    """Return the id of the last message before the current exchange, or "" if there is none.

    An exchange is a request of the user and everything up to the next request. After a complete
    answer, the current request is not in the transcript yet: tools write a request only after the
    commands in it have run. Then the result is the id of that answer.
    """
    if not messages:
        return ""
    last = messages[-1]
    if last.role in ("assistant", "system") and not last.tool_calls:
        return last.id
    asked = [place for place, message in enumerate(messages) if message.role == "user"]
    return messages[asked[-1] - 1].id if asked and asked[-1] else ""


def digest_ids(ids: Iterable[str]) -> str:
    """Return a digest of message ids that does not depend on their order, or "" without ids."""
    listed = "\n".join(sorted(ids)).encode("utf-8", "surrogatepass")
    return blake2b(listed, digest_size=16).hexdigest() if listed else ""


def _choose_checkout(
    found: Sequence[ConversationRef], session_id: str, cwd: str
) -> ConversationRef | None:
    """Choose among copies of a conversation the copy in the checkout in which the tool works.

    If that is uncertain, log an error and return None. A late capture is better than a capture into
    the wrong checkout.
    """
    # A workspace may be known under several names.
    found = [*{os.path.realpath(ref.place.folder): ref for ref in found}.values()]
    if len(found) < 2:
        return found[0] if found else None
    folder = f"{os.path.realpath(cwd)}/"
    roots = {ref: os.path.realpath(ref.root) for ref in found}
    around = [ref for ref in found if folder.startswith(f"{roots[ref]}/")]
    nearest = max((len(roots[ref]) for ref in around), default=0)
    left = [ref for ref in around if len(roots[ref]) == nearest] or found
    if len(left) == 1:
        return left[0]
    names = ", ".join(ref.place.folder for ref in left)
    write_error("capture", CortextError(f"session {session_id} belongs to several: {names}"))
    return None


def _bindings_at(ref: ConversationRef) -> list[ToolBinding]:
    return bindings_of(FolderStore(ref.root).head_at(ref.place))


def _live_messages(place: ConversationPath) -> list[SessionMessage]:
    """Return the stored messages of a conversation, without messages that the user abandoned."""
    try:
        data = read_file(place.lines)
    except FileNotFoundError:
        return []
    return [m for m in decode_lines(data, FOLDER.records).messages if not is_abandoned(m)]


def _pin_time(messages: Sequence[SessionMessage], after: str) -> str:
    """Return the id of the last message at or before the time `after`, if there is one.

    Otherwise, or if `after` is a message id, return `after`. An id is more exact than a time,
    because later messages may have earlier times.
    """
    when = _time(after)
    if when is None or _index_of(after, messages) is not None:
        return after
    first = _first_after(when, messages)
    before = messages if first is None else messages[:first]
    return before[-1].id if before else after


def _index_of(id: str, messages: Sequence[SessionMessage]) -> int | None:
    return next((place for place, message in enumerate(messages) if message.id == id), None)


def _first_after(when: datetime, messages: Sequence[SessionMessage]) -> int | None:
    return next((n for n, message in enumerate(messages) if message.timestamp > when), None)


def _model_and_messages(found: Found | None) -> tuple[str, Sequence[SessionMessage]]:
    """Return the model that a transcript names, and its messages, or "" and () without one."""
    if found is None:
        return "", ()
    bridge, source = found
    try:
        session = bridge.decode(source, longest=1000).session
    except FileNotFoundError:
        return "", ()
    return session.model, session.messages


def _time(text: str | None) -> datetime | None:
    try:
        return parse_time(text) if text else None
    except (ValueError, OverflowError):
        return None
