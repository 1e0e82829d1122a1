"""The facts in a transcript besides its messages: title, model, tools and token counts.

They go into the head of a conversation, which is its session without the messages.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct, structs

from cortext.model.message import SessionMessage
from cortext.model.session import Session
from cortext.model.tool_binding import ToolBinding, bindings_of, set_bindings
from cortext.stores.folder import FolderStore
from cortext.stores.workspace_layout import ConversationPath
from cortext.tools import transcript_folders
from cortext.tools.mcp_server_names import mcp_servers, merge_tools, parse_server_name, record_tools
from cortext.tools.registry import find_tool
from cortext.workspace.workspace import Workspace


class TranscriptFacts(Struct, frozen=True):
    """The title, model, tools, token counts and path of a transcript.

    `tools` holds the called tools and the configured MCP servers. `tokens` are the tokens read and
    written, or zeros if unknown.
    """

    title: str = ""
    model: str = ""
    tools: tuple[str, ...] = ()
    tokens: tuple[int, int] = (0, 0)
    path: str = ""


FactsOfBinding = tuple[ToolBinding, TranscriptFacts]


def facts_of_session(
    session: Session, messages: Sequence[SessionMessage], path: str
) -> TranscriptFacts:
    """Return the title, model, tools and token counts of a decoded tool session.

    `messages` are the messages that belong to the conversation. Tokens are counted only if these
    are all messages of the session.
    """
    servers = mcp_servers(session.agent, session.working_dir)
    tools = tuple(record_tools(session.agent, _called_tools(messages), servers))
    is_whole = len(messages) == len(session.messages)
    tokens = (session.total_prompt_tokens, session.total_completion_tokens) if is_whole else (0, 0)
    return TranscriptFacts(session.title, session.model, tools, tokens, path)


def facts_of_messages(
    binding: ToolBinding, head: Session, messages: Sequence[SessionMessage], model: str
) -> TranscriptFacts:
    """Return the facts of new messages: their model and the tools that they call.

    `head` is the conversation's session without its messages. The title and the token counts stay
    empty, because they are known only for a whole session.
    """
    facts = TranscriptFacts(model=model, path=binding.path)
    called = _called_tools(messages)
    if not called:
        return facts
    marked = find_tool(binding.tool).marks_mcp_tools
    servers = () if marked else mcp_servers(binding.tool, head.working_dir)
    names = record_tools(binding.tool, called, servers)
    tools = tuple(name for name in names if not parse_server_name(name))
    return structs.replace(facts, tools=tools)


def _called_tools(messages: Sequence[SessionMessage]) -> list[str]:
    calls = [call for message in messages for call in message.tool_calls or ()]
    return [*dict.fromkeys(name for call in calls if (name := str(call.get("name") or "")))]


def default_title(tool: str, session_id: str) -> str:
    """Return the title for a conversation whose transcript has no title yet."""
    return f"{tool} session {session_id[:8]}"


def note_facts(root: str, place: ConversationPath, found: Sequence[FactsOfBinding]) -> None:
    """Write the facts of bound sessions into `session.json` of a conversation, if they change it.

    The facts are title, model, tools and token counts.
    """
    if not found or not _apply_facts(FolderStore(root).head_at(place), found):
        return

    def change(session: Session) -> bool:
        _apply_facts(session, found)
        return False

    Workspace(root).change(place, change)


def _apply_facts(session: Session, found: Iterable[FactsOfBinding]) -> bool:
    """Add the facts (title, model, tools, tokens) of bound sessions to a conversation's session.

    Return whether the session changed.
    """
    before = session.to_dict()
    for binding, facts in found:
        session.model = facts.model or session.model
        session.agent = session.agent or binding.tool
        if facts.tools:
            session.tools = merge_tools(session.tools, facts.tools)
        if session.title == default_title(binding.tool, binding.session_id):
            session.title = facts.title or session.title
        set_bindings(session, (_with_facts(b, binding, facts) for b in bindings_of(session)))
    counted = [each.tokens for each in bindings_of(session) if each.tokens]
    if counted:
        session.total_prompt_tokens = sum(prompt for prompt, _ in counted)
        session.total_completion_tokens = sum(completion for _, completion in counted)
    return session.to_dict() != before


def _with_facts(own: ToolBinding, binding: ToolBinding, facts: TranscriptFacts) -> ToolBinding:
    """Return the binding `own`, updated with the path and the tokens in `facts`.

    `facts` are the facts of `binding`. If `own` is a different binding, return `own` unchanged.
    """
    if not own.is_of(binding.tool, binding.session_id) or own.start != binding.start:
        return own
    archived = transcript_folders.home_of(own.tool, facts.path) is not None
    path = own.path if archived else facts.path
    return structs.replace(own, path=path, tokens=facts.tokens if any(facts.tokens) else own.tokens)
