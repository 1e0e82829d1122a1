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
from cortext.formats.briefing import render_text
from cortext.model.safe_text import clean
from cortext.stores.workspace_layout import document_in
from cortext.tools.tool_context import Inside
from cortext.workspace.type_templates import built_in
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
    """Return the names of a conversation's tools as the end of a line; "" if there are none."""
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


def going_on(bound: ConversationRef, kind: str, topic: str) -> str:
    """Return the text for an agent that should start a conversation but already has one.

    `bound` is the conversation of the session. The user typed the command for a new conversation of
    type `kind`, and `topic` after it.
    """
    workspace = Workspace(bound.root)
    session = workspace.store.head_at(bound.place)
    title = plain(session.title)
    lines = [
        workspace.types.command(session.kind).rstrip("\n"),
        "",
        f'This session is already the conversation "{title}": go on with it. Nothing new was',
        "made; `/workspace.stop-conversation` ends it first.",
        f"The ID of this conversation: {bound.place.day}/{bound.place.name}",
        f"The markdown of this conversation: {document_of(bound) or 'there is none yet'}",
    ]
    if topic.strip():
        said = f"What the person wrote after `/workspace.{kind}`, each line behind a bar:"
        lines += ["", said, render_text(topic.strip())]
    return "\n".join(lines)


def plain(text: str) -> str:
    return clean(text, lines=False)


def section(root: str, heading: str) -> str:
    """Return one section of the instructions of `/workspace.resume`; "" if there is none.

    The workspace may have its own instructions. A section that they lack comes from the built-in
    instructions.
    """
    for text in (text_of(root, "resume"), (built_in("commands", "resume") or b"").decode()):
        _, found, rest = text.partition(f"## {heading}\n")
        if found:
            return rest.partition("\n## ")[0].strip("\n")
    return ""


def text_of(root: str, name: str) -> str:
    """Return the instructions of a slash command: those of the workspace, or the built-in ones."""
    path = os.path.join(root, ".workspace", "commands", f"{name}.md")
    data = read_file(path) if os.path.isfile(path) else built_in("commands", name)
    return (data or b"").decode("utf-8", "replace")


def saves(inside: Inside | None) -> list[str]:
    """Return a line that tells an agent not to offer saving; [] if no hooks save its messages."""
    if inside and has_hooks(inside.tool):
        return ["cortext saves what is said here by itself; do not offer to save it."]
    return []
