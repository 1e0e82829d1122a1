"""Bindings: a binding says that the messages of a tool session belong to a conversation.

A binding is a `ToolBinding` in the head of the conversation. The head is the conversation's session
without its messages. The function `bind` writes the binding, and a link from the tool session to
the conversation. The link is in the catalog, the database of all conversations. The function
`find_binding` follows the links of a tool session, and checks the binding in each head, because
links can be outdated.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from datetime import datetime
from hashlib import blake2b

from msgspec import Struct, structs

from cortext import clock, paths
from cortext.catalog.catalog import Catalog
from cortext.catalog.conversation_row_reader import read_conversation
from cortext.catalog.row import ConversationRow
from cortext.catalog.workspace_scan import stat_files
from cortext.durability.read_files import read_file
from cortext.errors import CortextError, SessionCorruptedError, SessionNotFoundError
from cortext.features.capture.agent_config import AgentConfig, fill_in, find_config
from cortext.features.capture.capture_permission import allow, may_capture
from cortext.features.capture.transcripts import Found, find_transcript
from cortext.features.errors_log import write_error
from cortext.formats.folder import FOLDER
from cortext.formats.history_in_order import is_abandoned
from cortext.formats.message_lines import decode_lines
from cortext.model import message_dicts
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
    """A reference to a conversation.

    `root` is the folder of its workspace, and `place` is the path of the conversation itself.
    """

    root: str
    place: ConversationPath

    @property
    def path(self) -> str:
        """The path of the conversation's folder, relative to the workspace.

        `ConversationRow.path` and `FolderStore` use the same form.
        """
        return self.place.folder[len(self.root) + 1 :]

    @property
    def workspace(self) -> str:
        """The folder of the workspace, under the same name as in `ConversationRow`."""
        return self.root

    @classmethod
    def at(cls, root: str, path: str) -> ConversationRef:
        """Return a reference to the conversation in a folder.

        `root` is the folder of the workspace. `path` is the conversation's folder relative to
        `root`. Raises ValueError if `path` has fewer than three parts.
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
    """Bind a tool session, so that its new messages are copied into a conversation.

    `after` is the point where the binding starts. Only messages after this point belong to the
    conversation. `after` has one of these values:

    - a time
    - the id of a message
    - "" for the start of the session
    - None for the start of the current exchange, which is the user's latest request with its answer

    If the session is already bound to this conversation, nothing changes. If the session is bound
    to another conversation, the old binding ends where the new binding starts. `path` is the path
    of the transcript, or "" if it is unknown. `cwd` is the working folder of the tool.
    """
    find_tool(tool)
    ref = ConversationRef(conversation.workspace, conversation.place)
    if any(each.is_open_for(tool, session_id) for each in _bindings_at(ref)):
        return
    bound = bound_conversations(tool, session_id, cwd)
    others = [each for each in bound if each.place != ref.place]
    found = find_transcript(tool, session_id, path)
    model, messages = _model_and_messages(found)
    now = message_dicts.iso(clock.now())
    start = find_exchange_start(messages) if after is None else _time_to_message_id(messages, after)
    start = start or (now if others and after is None else "")
    times = {message.id: message_dicts.iso(message.timestamp) for message in messages}
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
    """Write a binding into `session.json` of a conversation.

    Also record that the conversation may copy the messages of the bound session. If the file lacks
    the agent, the model or the MCP servers, add them from `known`.
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
    """Store in the catalog (the database of conversations) which conversation a session belongs to.

    Hooks use this link to find the conversation of a tool session quickly.
    """
    if session_id:
        with Catalog.at_home() as catalog:
            catalog.add_link(ref.root, ref.path, session_id)


def end_binding(
    ref: ConversationRef, tool: str, session_id: str, end: str, end_time: str | None
) -> None:
    """End the open binding of a tool session to a conversation.

    `end` is the id of the last message that still belongs to the conversation, or a time.
    `end_time` is the time of that message, or None if it is unknown.
    """

    def change(session: Session) -> bool:
        times = {"end_time": end_time} if end_time else {}
        change_bindings(session, lambda b: b.is_open_for(tool, session_id), end=end, **times)
        return False

    Workspace(ref.root).change(ref.place, change)


def mark_all_seen(
    conversation: ConversationRow | ConversationRef, tool: str, session_id: str
) -> None:
    """Record that the agent of a tool session knows all current messages of a conversation.

    The record is a digest in the binding of the session. The digest is made from the ids of all
    messages that do not come from this session.
    """
    live = _live_messages(conversation.place)

    def mark(binding: ToolBinding) -> ToolBinding:
        if not binding.is_open_for(tool, session_id):
            return binding
        _, messages = _model_and_messages(find_transcript(tool, session_id, binding.path))
        own = {message.id for message in bound_messages(binding, messages)}
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

    `cwd` is the folder in which the tool works. If `refresh` is true, update the catalog (the
    database of conversations) before the search.
    """
    found = bound_conversations(tool, session_id, cwd, refresh=refresh)
    return _choose_checkout(found, session_id, cwd or paths.current_folder())


def bound_conversations(
    tool: str, session_id: str, cwd: str = "", *, refresh: bool = False
) -> list[ConversationRef]:
    """Return every conversation that new messages of a tool session belong to.

    The conversations are looked up in the catalog, which may lack new conversations, for example
    from another machine. If the catalog has no such conversation in the workspace of `cwd`, the
    catalog is updated, and the lookup is repeated. If `refresh` is true, the catalog is updated
    before the first lookup. The update reads the workspace of `cwd`, the personal workspace, and
    workspaces that the catalog does not know yet.
    """
    cwd_root = paths.workspace_root(cwd or None)
    with Catalog.at_home() as catalog:
        found = [] if refresh else _follow_links(catalog, tool, session_id)
        if os.path.realpath(cwd_root) not in {os.path.realpath(ref.root) for ref in found}:
            known = catalog.known_workspaces()
            new = [root for root in known_workspaces() if root not in known]
            roots = dict.fromkeys([cwd_root, paths.personal_workspace(), *new])
            catalog.list([root for root in roots if os.path.isdir(root)])
            found = _follow_links(catalog, tool, session_id)
    return found


def _follow_links(catalog: Catalog, tool: str, session_id: str) -> list[ConversationRef]:
    links = catalog.conversations_of_session(session_id)
    found = [ConversationRef.at(root, path) for root, path in links]
    return [ref for ref in found if is_bound(ref, tool, session_id)]


def is_bound(ref: ConversationRef, tool: str, session_id: str) -> bool:
    """Return whether new messages of a tool session belong to a conversation.

    The conversation must have an open binding to the session. It must also have the permission to
    capture the session on this machine (see `may_capture`).
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
    """Return the current row (the list entry) of a conversation from the catalog.

    If another process keeps the catalog busy, the row is read from the conversation's files. Raises
    SessionNotFoundError if the conversation no longer exists.
    """
    with Catalog.at_home() as catalog:
        rows = catalog.list([ref.root])
    row = next((row for row in rows if row.place == ref.place), None)
    if row is None:
        read = read_conversation(ref.root, ref.path, None, stat_files(ref.place.folder))
        if read is None:
            raise SessionNotFoundError(ref.place.name, path=ref.place.folder)
        row, _ = read
    return row


def bound_messages(
    binding: ToolBinding, messages: Sequence[SessionMessage]
) -> list[SessionMessage]:
    """Select the messages that belong to a conversation, and return them.

    `messages` are all messages of a tool session. `binding` links the session to the conversation.
    """
    start = find_start(binding, messages)
    return [] if start is None else list(messages[start : _find_end(binding, messages, start)])


def find_start(binding: ToolBinding, messages: Sequence[SessionMessage]) -> int | None:
    """Return the index of the first message that belongs to a conversation.

    `messages` are all messages of a tool session. `binding` links the session to the conversation.
    If the binding starts at a message id, return the index after that message, even if no message
    follows yet. If the binding starts at a time, return None if there is no later message.
    """
    if not binding.start:
        return 0
    at = _index_of(binding.start, messages)
    if at is not None:
        return at + 1
    when = _parse_time(binding.start) or _parse_time(binding.start_time)
    return _first_after(when, messages) if when else 0


def _find_end(binding: ToolBinding, messages: Sequence[SessionMessage], start: int) -> int:
    if not binding.end:
        return len(messages)
    at = _index_of(binding.end, messages)
    if at is not None:
        return at + 1
    when = _parse_time(binding.end) or _parse_time(binding.end_time)
    if when is None:
        return start  # the end is unknown, so later messages may belong to another conversation
    after = _first_after(when, messages[start:])
    return len(messages) if after is None else start + after


def find_exchange_start(messages: Sequence[SessionMessage]) -> str:
    """Return the id of the last message before the current exchange.

    The result is "" if no message comes before the current exchange. An exchange is a request of
    the user and everything up to the next request. Some tools write a request to the transcript
    only after the commands of the request have run. Therefore, if the last message is a complete
    answer, the current request is still missing, and the id of this answer is returned.
    """
    if not messages:
        return ""
    last = messages[-1]
    if last.role in ("assistant", "system") and not last.tool_calls:
        return last.id
    requests = [index for index, message in enumerate(messages) if message.role == "user"]
    return messages[requests[-1] - 1].id if requests and requests[-1] else ""


def digest_ids(ids: Iterable[str]) -> str:
    """Return a digest of message ids that does not depend on their order, or "" without ids."""
    listed = "\n".join(sorted(ids)).encode("utf-8", "surrogatepass")
    return blake2b(listed, digest_size=16).hexdigest() if listed else ""


def _choose_checkout(
    found: Sequence[ConversationRef], session_id: str, cwd: str
) -> ConversationRef | None:
    """Return the copy of a conversation that is in the git checkout where the tool works.

    `found` are the copies, for example in several clones. `cwd` is the folder in which the tool
    works. If several copies are possible, log an error and return None: a late capture is better
    than a capture into the wrong checkout.
    """
    # A workspace may be known under several names.
    found = [*{os.path.realpath(ref.place.folder): ref for ref in found}.values()]
    if len(found) < 2:
        return found[0] if found else None
    folder = f"{os.path.realpath(cwd)}/"
    roots = {ref: os.path.realpath(ref.root) for ref in found}
    containing = [ref for ref in found if folder.startswith(f"{roots[ref]}/")]
    nearest = max((len(roots[ref]) for ref in containing), default=0)
    candidates = [ref for ref in containing if len(roots[ref]) == nearest] or found
    if len(candidates) == 1:
        return candidates[0]
    names = ", ".join(ref.place.folder for ref in candidates)
    text = f"session {session_id} is bound to several conversations: {names}"
    write_error("capture", CortextError(text))
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


def _time_to_message_id(messages: Sequence[SessionMessage], after: str) -> str:
    """Convert the time `after` to the id of the last message at or before that time.

    If `after` is already a message id, or if there is no such message, return `after`. An id is
    more exact than a time, because later messages may have earlier times.
    """
    when = _parse_time(after)
    if when is None or _index_of(after, messages) is not None:
        return after
    first = _first_after(when, messages)
    before = messages if first is None else messages[:first]
    return before[-1].id if before else after


def _index_of(id: str, messages: Sequence[SessionMessage]) -> int | None:
    return next((index for index, message in enumerate(messages) if message.id == id), None)


def _first_after(when: datetime, messages: Sequence[SessionMessage]) -> int | None:
    return next((n for n, message in enumerate(messages) if message.timestamp > when), None)


def _model_and_messages(found: Found | None) -> tuple[str, Sequence[SessionMessage]]:
    """Return the model that a transcript names, and its messages.

    The result is "" and () if there is no transcript.
    """
    if found is None:
        return "", ()
    bridge, source = found
    try:
        session = bridge.decode(source, longest=1000).session
    except FileNotFoundError:
        return "", ()
    return session.model, session.messages


def _parse_time(text: str | None) -> datetime | None:
    try:
        return parse_time(text) if text else None
    except (ValueError, OverflowError):
        return None
