"""The fields of the lines in a Codex transcript, and the text in them."""

from __future__ import annotations

import re
from typing import Any, cast

from msgspec import DecodeError, Struct
from msgspec.json import Decoder

from cortext.model import json_codec
from cortext.model.message import Role
from cortext.tools import jsonl_transcripts

UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_is_empty = re.compile(r"(?:\s*</?image\b[^>]*>)?\s*").fullmatch
REQUEST = "## My request for Codex:"
# Texts that Codex adds to messages in the role of the user.
INJECTED = (
    "# AGENTS.md instructions", "<INSTRUCTIONS>", "<apps_instructions>", "<collaboration_mode>",
    "<environment_context>", "<environments", "<hook_prompt", "<model_switch>", "<permissions",
    "<personality_spec>", "<plugins_instructions>", "<recommended_plugins>", "<skill>",
    "<skills_instructions>", "<subagent_notification>", "<turn_aborted>", "<user_instructions>",
)  # fmt: skip


class ContentPart(Struct, gc=False):
    type: str = ""
    text: str = ""
    filename: str | None = None


Content = str | list[ContentPart] | None


class Output(Struct, gc=False):
    content: Content = None
    success: bool | None = None


class GitInfo(Struct, gc=False):
    branch: str | None = None


class CodexUsage(Struct, gc=False):
    input_tokens: jsonl_transcripts.Count | None = None
    output_tokens: jsonl_transcripts.Count | None = None


class TokenInfo(Struct, gc=False):
    total_token_usage: CodexUsage | None = None


class Base(Struct, gc=False):
    thread_id: str = ""
    end_ordinal_exclusive: int | None = None


class ResponseItem(Struct, gc=False):
    type: str = ""
    id: str | None = None
    content: Content = None


class Payload(Struct, gc=False):
    type: str = ""
    timestamp: str | int | float | None = None
    id: str | None = None
    role: str | None = None
    content: Content = None
    name: str | None = None
    namespace: str | None = None
    call_id: str | None = None
    arguments: Any = None
    input: Any = None
    action: Any = None
    output: str | list[ContentPart] | Output | None = None
    cwd: str | None = None
    cli_version: str | None = None
    git: GitInfo | None = None
    model: str | None = None
    message: str | None = None
    info: TokenInfo | None = None
    num_turns: int | None = None
    thread_name: str | None = None
    source: Any = None
    thread_source: str | None = None
    forked_from_id: str | None = None
    parent_thread_id: str | None = None
    new_thread_id: str | None = None
    history_base: Base | None = None
    item: ResponseItem | None = None
    revised_prompt: str | None = None


class RolloutLine(Payload, gc=False):
    """A line of a Codex transcript (rollout): an object that contains the record as `payload`.

    In the oldest versions of Codex, the line itself is the record. Such a line has the fields of
    the record, and its `payload` is None.
    """

    ordinal: int | None = None
    payload: Payload | None = None

    @property
    def body(self) -> Payload:
        return self.payload or self

    @property
    def is_meta(self) -> bool:
        return self.type == "session_meta" or (not self.payload and not self.type and bool(self.id))


class ThreadIndexEntry(Struct, gc=False):
    id: str = ""
    thread_name: str = ""


class CommandMetadata(Struct, gc=False):
    exit_code: int | None = None


class Wrapped(Struct, gc=False):
    output: str
    metadata: CommandMetadata | None = None


_wrapped_decoder = Decoder(Wrapped)
_arguments_decoder = Decoder(dict[str, Any])


def text_of(content: Content, role: Role = "tool") -> str:
    """Return the text of a message's content.

    If `role` is "user", texts that Codex itself added to the user's message are left out.
    """
    if isinstance(content, str):
        return content if is_said(content, role) else ""
    if not content:
        return ""
    texts = [part.text or _placeholder(part) for part in content]
    return "\n".join([text for text in texts if is_said(text, role)])


def is_said(text: str, role: Role = "tool") -> bool:
    """Return whether a text is part of the conversation.

    The result is False for an empty text, and for a text that Codex itself added to a message with
    the role "user".
    """
    if text[:1].isalnum():
        return True  # fast path for nearly all texts
    if _is_empty(text):
        return False
    return role != "user" or not text[:100].lstrip().startswith(INJECTED)


def _placeholder(part: ContentPart) -> str:
    """Return a placeholder such as "[image]" for an image or file, otherwise ""."""
    kind = part.type.lower()
    if "image" in kind:
        return "[image]"
    return f"[file: {part.filename or 'without a name'}]" if "file" in kind else ""


def request_of(text: str) -> str:
    """Return the user's request in the text of a user's message.

    The list of open files that editors put before the request is left out.
    """
    return text.partition(REQUEST)[2] or text


def unwrap(text: str) -> Wrapped | None:
    """Decode a command's output, which older versions of Codex stored as a JSON object.

    The result is None if the text is not such an object.
    """
    try:
        return _wrapped_decoder.decode(text)
    except (DecodeError, UnicodeEncodeError):
        return None  # the output only looks like JSON


def call_of(body: Payload) -> dict[str, Any]:
    name = body.name or body.type.removesuffix("_call")
    if body.namespace:
        name = f"{body.namespace}__{name}"
    call: dict[str, Any] = {"id": body.call_id or body.id or "", "name": name}
    if not body.call_id:  # the model's server ran this call, and its result is not recorded
        call["output"] = ""
    given = body.arguments
    if given is None:
        others = (body.input, body.action, body.revised_prompt)
        given = next((value for value in others if value is not None), None)
    call["arguments"] = arguments_of(given)
    return call


def arguments_of(given: Any) -> dict[str, Any]:
    if isinstance(given, str) and given.startswith("{"):
        try:
            return _arguments_decoder.decode(given)
        except (DecodeError, UnicodeEncodeError, RecursionError):
            given = _tolerant(given)
    if isinstance(given, dict):
        return cast("dict[str, Any]", given)
    return {} if given is None else {"input": given}


def _tolerant(given: str) -> Any:
    try:
        return json_codec.decode(given.encode("utf-8", "surrogatepass"))
    except ValueError:
        return given  # unchanged, as the model wrote it


def parent_of(meta: Payload) -> str:
    """Return the id of the session that started a sub-agent, or "" for a session of the user.

    `meta` is the first record of the sub-agent's transcript.
    """
    match = re.search(rf'"parent_thread_id":"({UUID})"', json_codec.encode(meta.source).decode())
    spawned = meta.thread_source == "subagent" and meta.parent_thread_id
    return match[1] if match else spawned or ""
