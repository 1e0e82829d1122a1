"""What a tool session says about a conversation besides its messages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from cortext.features.capture.bindings import Entry
from cortext.features.capture.transcript_reader import find_model
from cortext.model.message import SessionMessage
from cortext.model.session import Session
from cortext.stores.workspace_layout import ConversationPath
from cortext.tools import scan
from cortext.tools.mcp_servers import mcp_servers, merge_tools, record_tools, server_alone
from cortext.tools.registry import find_tool
from cortext.workspace.workspace import Workspace


class TranscriptFacts(NamedTuple):
    """As a transcript has them; `tools` are those that were called and the servers there are."""

    title: str
    model: str
    tools: tuple[str, ...]
    tokens: tuple[int, int]
    path: str


def facts_of(session: Session, messages: Sequence[SessionMessage], path: str) -> TranscriptFacts:
    """The facts of a decoded session, of which these messages are the conversation's."""
    servers = mcp_servers(session.agent, session.working_dir)
    tools = tuple(record_tools(session.agent, _called_in(messages), servers))
    whole = len(messages) == len(session.messages)
    tokens = (session.total_prompt_tokens, session.total_completion_tokens) if whole else (0, 0)
    return TranscriptFacts(session.title, session.model, tools, tokens, path)


def facts_of_new(
    entry: Entry, head: Session, messages: Sequence[SessionMessage]
) -> TranscriptFacts:
    """Return the facts of new messages. Only a whole session tells title and tokens: they are
    empty."""
    tool, called = str(entry["tool"]), _called_in(messages)
    model = find_model(tool, str(entry["session_id"]), str(entry.get("path") or ""))
    marked = find_tool(tool).marks_mcp_tools
    servers = mcp_servers(tool, head.working_dir) if called and not marked else ()
    tools = [name for name in record_tools(tool, called, servers) if not server_alone(name)]
    return TranscriptFacts("", model, tuple(tools), (0, 0), str(entry.get("path") or ""))


def _called_in(messages: Sequence[SessionMessage]) -> list[str]:
    """Return the names of the called tools, each once."""
    calls = [call for message in messages for call in message.tool_calls or ()]
    return [*dict.fromkeys(name for call in calls if (name := str(call.get("name") or "")))]


def unnamed(tool: str, session_id: str) -> str:
    """The title of a conversation whose tool session says none yet."""
    return f"{tool} session {session_id[:8]}"


def note_facts(
    workspace: Workspace, place: ConversationPath, found: Sequence[tuple[Entry, TranscriptFacts]]
) -> None:
    """Have them in the head of a conversation; nothing is written if they are there."""
    if not found or not _apply(workspace.store.head_at(place), found):
        return

    def change(session: Session) -> bool:
        _apply(session, found)
        return False

    workspace.change(place, change)


def _apply(session: Session, found: Iterable[tuple[Entry, TranscriptFacts]]) -> bool:
    """Whether something is new."""
    before = session.to_dict()
    for entry, facts in found:
        session.model = facts.model or session.model
        session.agent = session.agent or str(entry["tool"])
        session.tools = merge_tools(session.tools, facts.tools)
        if session.title == unnamed(str(entry["tool"]), str(entry["session_id"])):
            session.title = facts.title or session.title
        for own in session.native:
            if all(own.get(name) == entry.get(name) for name in ("tool", "session_id", "from")):
                if scan.home_of(str(own.get("tool")), facts.path) is None:
                    own["path"] = facts.path
                if any(facts.tokens):
                    own["tokens"] = list(facts.tokens)
    counted = [own["tokens"] for own in session.native if "tokens" in own]
    if counted:
        session.total_prompt_tokens = sum(int(pair[0]) for pair in counted)
        session.total_completion_tokens = sum(int(pair[1]) for pair in counted)
    return session.to_dict() != before
