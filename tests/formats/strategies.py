"""Random sessions: every field, every kind of text, and keys that other dialects use."""

import re
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

from hypothesis import strategies as st

from cortext.model.message import SessionMessage, ToolInvocation
from cortext.model.session import Session

_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")

# JSON writes a high and a low surrogate in a row as it writes the character that they
# stand for, so only lone ones can come back.
text = st.text(
    st.one_of(
        st.characters(),
        st.characters(categories=["Cs"]),
        st.sampled_from('\0\u2028\u2029\x85\x0b\x0c\x1c\x7f\ufeff😀é"\\/\n\r\t{},:[] '),
    ),
    max_size=12,
).filter(lambda value: not _PAIR.search(value))

KEYS = (
    "id", "session_id", "conversation_id", "conversation_type", "type", "kind", "status", "version",
    "agent_config", "agent", "command", "system_prompt_hash", "prompt_hash", "model", "tools",
    "context_summary", "summary", "created_at", "createdAt", "updated_at", "updatedAt",
    "last_active", "message_count", "messageCount", "turns_at_update", "token_count", "messages",
    "tool_history", "tool_invocations", "toolInvocations", "extra", "cortext_extra", "metadata",
    "role", "content", "timestamp", "tool_calls", "toolCalls", "tool_call_id", "toolCallId", "name",
    "tokens", "structured_data", "structuredData", "tool_name", "arguments", "result", "duration",
    "success", "error", "position", "invocation", "title", "tags", "owner", "parentId", "pending",
    "native", "stopReason", "workingDir", "totalPromptTokens", "",
)  # fmt: skip
WORDS = ("active", "paused", "completed", "interrupted", "turn", "metadata", "null", "NaN")
keys = st.one_of(st.sampled_from(KEYS), text)
numbers = st.one_of(
    st.integers(),
    st.integers(-(2**70), 2**70),
    st.sampled_from([2**53, 2**63, -(2**63), 2**64, 2**64 - 1, 10**40]),
    st.floats(allow_nan=False, allow_infinity=False),
)
leaves = st.one_of(st.none(), st.booleans(), numbers, text, st.sampled_from(WORDS))
values: st.SearchStrategy[Any] = st.recursive(
    leaves,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(keys, inner, max_size=3)),
    max_leaves=6,
)
objects = st.dictionaries(keys, values, max_size=4)
"""JSON objects, with keys that mean something in one dialect or another."""

zones = st.one_of(
    st.none(),
    st.just(UTC),
    st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes))),
)
_BASE = datetime(2025, 11, 22, 10, 30)
times = st.one_of(
    # A few microseconds apart, so that messages and tool calls fall before, between and together.
    st.integers(-3, 3).map(lambda step: _BASE + timedelta(microseconds=step)),
    st.datetimes(datetime(1, 1, 3), datetime(9999, 12, 29)),
).flatmap(lambda when: zones.map(lambda zone: when.replace(tzinfo=zone)))

small_text = st.one_of(st.just(""), text)
messages = st.builds(
    SessionMessage,
    st.sampled_from(["system", "user", "assistant", "tool"]),
    text,
    times,
    st.one_of(st.just(""), st.uuids().map(str)),
    tool_calls=st.none() | st.lists(objects, max_size=2),
    tool_call_id=st.none() | text,
    name=st.none() | text,
    tokens=st.none() | st.integers(-1, 2**70),
    structured_data=values,
    extra=objects,
)
invocations = st.builds(
    ToolInvocation,
    text,
    objects,
    values,
    st.floats(allow_nan=False, allow_infinity=False),
    st.booleans(),
    st.none() | text,
    st.uuids().map(str),
    times,
    objects,
)
sessions = st.builds(
    Session,
    id=st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,20}", fullmatch=True),
    title=small_text,
    created_at=times,
    updated_at=times,
    working_dir=small_text,
    model=small_text,
    messages=st.lists(messages, max_size=4, unique_by=lambda message: message.id),
    tool_history=st.lists(invocations, max_size=4, unique_by=lambda call: call.id),
    total_prompt_tokens=st.integers(0, 2**70),
    total_completion_tokens=st.integers(0, 10),
    tags=st.lists(text, max_size=3),
    metadata=objects,
    kind=small_text,
    status=st.sampled_from(["active", "paused", "completed"]),
    owner=small_text,
    parent_id=small_text,
    stop_reason=small_text,
    summary=small_text,
    agent=small_text,
    command=small_text,
    prompt_hash=small_text,
    tools=st.lists(text, max_size=2),
    native=st.lists(objects, max_size=2),
    pending=values,
    extra=objects,
)
