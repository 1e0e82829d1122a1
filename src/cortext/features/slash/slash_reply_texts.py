"""Short texts that the slash commands print."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence

from cortext.catalog.row import ConversationRow
from cortext.clock import ago
from cortext.durability.read_files import read_file
from cortext.features.capture.bindings import ConversationRef
from cortext.features.setup.tool_setup import has_hooks
from cortext.formats.history_text import render_text
from cortext.model.safe_text import clean
from cortext.stores.workspace_layout import document_in
from cortext.tools.surrounding_session import Inside
from cortext.workspace.conversation_types import built_in
from cortext.workspace.workspace import Workspace

_LONGEST_TITLE = 80


def entries(rows: Sequence[ConversationRow]) -> str:
    """Return a numbered list of conversations, in the format of spec 000.

    Each entry has the type, title, last activity, status and summary.
    """
    now = time.time()
    return "\n\n".join(
        f"{number}. [{row.kind or 'chat'}] {row.title}\n"
        f"   Last active: {ago(row.last_active, now)} | Status: {row.status}{_tool(row)}\n"
        f"   Summary: {row.summary or 'none yet'}"
        for number, row in enumerate(rows, 1)
    )


def _tool(row: ConversationRow) -> str:
    """Return the names of a conversation's tools, as text to append to a line of a list.

    Return "" if the conversation has no tools.
    """
    return f" | Tool: {', '.join(row.tool_names)}" if row.tools else ""


def title_of(topic: str) -> str:
    """Return a topic as a title: one line of at most 80 characters."""
    line = " ".join(topic.split())
    if len(line) <= _LONGEST_TITLE:
        return line
    return f"{line[: _LONGEST_TITLE - 1].rpartition(' ')[0] or line[: _LONGEST_TITLE - 1]}…"


def document_of(bound: ConversationRef) -> str:
    name = document_in(bound.place.folder)
    return f"{bound.place.folder}/{name}" if name else ""


def explain_already_bound(bound: ConversationRef, kind: str, topic: str) -> str:
    """Return the text for an agent whose session already has a conversation.

    The user typed the command for a new conversation of type `kind`. `topic` is the text after the
    command, and `bound` is the conversation that the session already has.
    """
    workspace = Workspace(bound.root)
    session = workspace.store.head_at(bound.place)
    title = plain(session.title)
    document = document_of(bound)
    lines = [
        workspace.types.command(session.kind).rstrip("\n"),
        "",
        f'This session already belongs to the conversation "{title}". Continue that one.',
        "No new conversation was made. To make one, run `/workspace.stop-conversation` first.",
        f"The ID of this conversation: {bound.place.day}/{bound.place.name}",
        f"The markdown of this conversation: {document}"
        if document
        else "This conversation has no markdown file.",
    ]
    if topic.strip():
        said = f"The person wrote this after `/workspace.{kind}` (each line starts with a bar):"
        lines += ["", said, render_text(topic.strip())]
    return "\n".join(lines)


def plain(text: str) -> str:
    return clean(text, lines=False)


def section(root: str, heading: str) -> str:
    """Return one section of the instructions of `/workspace.resume`; "" if there is none.

    The workspace `root` may have its own instructions. If they lack the section, it comes from the
    built-in instructions.
    """
    for text in (text_of(root, "resume"), (built_in("commands", "resume") or b"").decode()):
        _, heading_found, rest = text.partition(f"## {heading}\n")
        if heading_found:
            return rest.partition("\n## ")[0].strip("\n")
    return ""


def text_of(root: str, name: str) -> str:
    """Return the instructions of the slash command `name`.

    The workspace `root` may have its own instructions. Otherwise return the built-in instructions.
    """
    path = os.path.join(root, ".workspace", "commands", f"{name}.md")
    data = read_file(path) if os.path.isfile(path) else built_in("commands", name)
    return (data or b"").decode("utf-8", "replace")


def saves(inside: Inside | None) -> list[str]:
    """Return a list with one line that tells the agent not to offer to save the conversation.

    Return [] if the tool has no hooks of cortext, because then nothing saves the messages
    automatically.
    """
    if inside and has_hooks(inside.tool):
        return ["cortext saves this session automatically. Do not offer to save it."]
    return []
