"""Find the model and the MCP servers of an agent before its transcript names them.

A hook names the model when a session starts. At that time, the session is often not bound to a
conversation. Therefore the model is stored in a file until the session ends. The MCP servers come
from the tool's own settings. The model and the servers are written into `agent_config` of
`session.json`. Unknown values stay null there.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from hashlib import blake2b

import msgspec

from cortext import paths
from cortext.durability.durable_files import remove_if_there, replace
from cortext.durability.read_files import read_file
from cortext.features.capture.transcripts import find_model
from cortext.features.resume.agent_temp_files import MODELS, folder_of, prepare_handoff_dir
from cortext.model.session import Session
from cortext.stores.workspace_layout import ConversationPath
from cortext.tools.mcp_server_names import mcp_servers, merge_tools, record_tools
from cortext.tools.surrounding_session import here
from cortext.workspace.workspace import Workspace


class AgentConfig(msgspec.Struct, frozen=True):
    """The AI tool of a session, and the known part of its configuration.

    `agent` is the name of the AI tool. `model` is "" if it is unknown. `tools` holds the names of
    MCP servers and their tools.
    """

    agent: str
    model: str = ""
    tools: Sequence[str] = ()


def find_config(tool: str, session_id: str = "", *, model: str = "", cwd: str = "") -> AgentConfig:
    """Return the model and the MCP servers of a tool's session, as far as they are known.

    If `model` is "", the model that a hook stored for the session is used. `cwd` is the folder of
    the session; "" means the current folder.
    """
    servers = mcp_servers(tool, cwd or paths.current_folder())
    model = model or (recall_model(tool, session_id) if session_id else "")
    return AgentConfig(tool, model, record_tools(tool, (), servers))


def fill_in(session: Session, known: AgentConfig) -> bool:
    """Add the agent, model and MCP servers in `known` to a session that lacks them.

    A model that the session already has stays. Return whether the session changed.
    """
    before = session.agent, session.model, session.tools
    session.agent = session.agent or known.agent
    session.model = session.model or known.model
    session.tools = merge_tools(session.tools, known.tools)
    return before != (session.agent, session.model, session.tools)


def note_config(workspace: Workspace, place: ConversationPath, known: AgentConfig) -> None:
    """Add the agent, model and MCP servers in `known` to the `session.json` of a conversation.

    Add only values that the file lacks. If the file lacks none of them, do not write it.
    """
    if not fill_in(workspace.store.head_at(place), known):
        return

    def change(session: Session) -> bool:
        fill_in(session, known)
        return False

    workspace.change(place, change)


def note_current_config(workspace: Workspace, session: Session) -> None:
    """Write the model and the MCP servers of the current AI tool into a new conversation.

    The current tool is the tool that started this process. Outside a tool, nothing is written.
    """
    inside = here()
    if inside is None:
        return
    model = find_model(inside.tool, inside.id) if inside.id else ""
    known = find_config(inside.tool, inside.id, model=model)
    note_config(workspace, workspace.store.place_of(session.id, session), known)


def remember_model(tool: str, session_id: str, model: str) -> None:
    """Store the model of a tool session in a file, until the session ends."""
    prepare_handoff_dir(MODELS)
    replace(_path(tool, session_id), [model.encode("utf-8", "replace")])


def recall_model(tool: str, session_id: str) -> str:
    """Return the model that a hook stored for a tool session, or "" if there is none."""
    try:
        return read_file(_path(tool, session_id)).decode("utf-8", "replace")
    except FileNotFoundError:
        return ""


def forget_model(tool: str, session_id: str) -> None:
    """Delete the stored model of a tool session that has ended."""
    remove_if_there(_path(tool, session_id))


def _path(tool: str, session_id: str) -> str:
    # Use a digest as the name: an id comes from outside, and may not be a safe file name.
    name = blake2b(f"{tool}\n{session_id}".encode("utf-8", "replace"), digest_size=16).hexdigest()
    return os.path.join(folder_of(MODELS), name)
