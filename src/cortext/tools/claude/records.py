"""The fields of the lines in a Claude Code transcript, and the text in them."""

from __future__ import annotations

import re
from typing import Any

from msgspec import Struct, field

from cortext.model.message import Role
from cortext.tools.jsonl_transcripts import Cost, Count

_SHELL = ("<bash-input>", "</bash-input>")
_TAGS = re.compile(r"</?(?:local-command-std(?:out|err)|bash-std(?:out|err))>")
_TOOL_TEXTS = (
    "<local-command-", "<bash-std", "<task-notification>", "<user-prompt-submit-hook>",
    "[Request interrupted by user",
)  # fmt: skip
SYNTHETIC = "<synthetic>"
OURS = "msg_cortext"
"""The prefix of message ids in sessions that cortext wrote for Claude Code."""


class Media(Struct, gc=False):
    media_type: str = "unknown type"


class ContentBlock(Struct, gc=False):
    type: str = ""
    text: str = ""
    id: str = ""
    name: str = ""
    input: Any = None
    tool_use_id: str = ""
    tool_name: str = ""
    content: str | list[ContentBlock | str] | None = None
    is_error: bool | None = None
    source: Media | None = None
    title: str | None = None


Content = str | list[ContentBlock | str] | None


class ClaudeUsage(Struct, gc=False):
    input_tokens: Count | None = None
    cache_creation_input_tokens: Count | None = None
    cache_read_input_tokens: Count | None = None
    output_tokens: Count | None = None


class ApiMessage(Struct, gc=False):
    id: str | None = None
    model: str | None = None
    content: Content = None
    usage: ClaudeUsage | None = None


class Attachment(Struct, gc=False, rename="camel"):
    type: str = ""
    prompt: Content = None
    command_mode: str | None = None


class Fork(Struct, gc=False, rename="camel"):
    session_id: str = ""


class TranscriptLine(Struct, gc=False, rename="camel"):
    type: str = ""
    subtype: str | None = None
    uuid: str | None = None
    parent_uuid: str | None = None
    logical_parent_uuid: str | None = None
    timestamp: str | int | float | None = None
    session_id: str | None = None
    agent_id: str | None = None
    cwd: str | None = None
    version: str | None = None
    git_branch: str | None = None
    is_sidechain: bool | None = None
    is_meta: bool | None = None
    is_compact_summary: bool | None = None
    forked_from: Fork | None = None
    cost: Cost | None = field(default=None, name="costUSD")
    total_cost: Cost | None = field(default=None, name="totalCostUSD")
    message: ApiMessage | None = None
    attachment: Attachment | None = None
    custom_title: str | None = None
    ai_title: str | None = None
    summary: str | None = None
    leaf_uuid: str | None = None

    @property
    def content(self) -> Content:
        """The text and tool calls that the user or the model wrote, or None for other lines."""
        if self.is_meta or self.is_compact_summary:
            return None
        if self.type in ("user", "assistant"):
            return self.message.content if self.message else None
        queued = self.attachment  # text that the user typed while the model was working
        if queued and queued.type == "queued_command" and queued.command_mode in (None, "prompt"):
            return queued.prompt
        return None

    @property
    def is_main(self) -> bool:
        return self.type in ("user", "assistant") and not self.is_sidechain


def split_content(content: Content) -> tuple[str, list[dict[str, Any]], list[ContentBlock]]:
    """Split the content of a message into its text, its tool calls and its tool results."""
    calls: list[dict[str, Any]] = []
    results: list[ContentBlock] = []
    if not isinstance(content, list):
        return text_of(content), calls, results
    texts: list[ContentBlock | str] = []
    for block in content:
        if isinstance(block, str) or block.type == "text":
            texts.append(block)
        elif block.type.endswith("tool_use"):
            calls.append({"id": block.id, "name": block.name or "tool", "arguments": block.input})
        elif block.type.endswith("tool_result"):
            results.append(block)
        else:
            texts.append(block)
    return text_of(texts) if texts else "", calls, results


def said(text: str, role: Role) -> tuple[Role, str]:
    """Return the real role and the text of a message, without the markup of Claude Code.

    A slash or shell command becomes the line that the user typed. Claude Code stores some of its
    own texts with the role `user`. These texts get the role `system`.
    """
    if role != "user" or not text:
        return role, text
    beginning = text[:100].lstrip()
    if beginning.startswith("<command-") and (name := _element(text, "command-name")) is not None:
        arguments = _element(text, "command-args") or ""
        return role, f"/{name.strip().lstrip('/')} {arguments.strip()}".strip()
    bare = text.strip()
    if bare.startswith(_SHELL[0]) and bare.endswith(_SHELL[1]):
        return role, f"!{bare[len(_SHELL[0]) : -len(_SHELL[1])]}"
    if beginning.startswith(_TOOL_TEXTS):
        return "system", _TAGS.sub("", text).strip()
    return role, text


def _element(text: str, tag: str) -> str | None:
    """Return the text between the first `<tag>` and `</tag>`, or None if either is missing."""
    _, _, rest = text.partition(f"<{tag}>")
    inside, closing, _ = rest.partition(f"</{tag}>")
    return inside if closing else None


def text_of(content: Content) -> str:
    if isinstance(content, list):
        texts = [block if isinstance(block, str) else _block_text(block) for block in content]
        return "\n".join([text for text in texts if text and not text.isspace()])
    return content if content and not content.isspace() else ""


def _block_text(block: ContentBlock) -> str:
    if block.type == "text":
        return block.text
    if block.type not in ("image", "document"):
        return block.tool_name or block.title or ""
    kind = block.source.media_type if block.source else "unknown type"
    return f"[image: {kind}]" if block.type == "image" else f"[file: {block.title or kind}]"
