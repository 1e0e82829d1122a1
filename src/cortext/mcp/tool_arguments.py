"""The arguments of the MCP tools, with the allowed values."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

_ALL = "Include conversations of all folders on this machine. Only if the person asks for it."
_LIMIT = "The most conversations to return. With `id`, the most texts."
_BUDGET = "The most tokens in the answer. Four characters count as one token."
_DATES = "YYYY, YYYY-MM or YYYY-MM-DD; A..B for a range; today, yesterday, last week, last 10 days."
Id = Annotated[
    str,
    Meta(min_length=1, max_length=300, description="An id from an answer, or the start of an id."),
]
Topic = Annotated[str, Meta(min_length=1, max_length=2000, description="Words about the topic.")]
Kind = Annotated[
    str, Meta(max_length=100, description="Only conversations of this type: brainstorm, chat, …")
]
Dates = Annotated[str | None, Meta(description=_DATES)]
_FIRST = "The number of the first conversation to return. Counts from 1."
First = Annotated[int, Meta(ge=1, le=1_000_000, description=_FIRST)]
Everywhere = Annotated[bool, Meta(description=_ALL)]


def _json_name(name: str) -> str:
    """Return the name that a field has in JSON.

    The field `first` is called `from` in JSON, and `everywhere` is called `all`. In Python, `from`
    is a keyword, and `all` is a built-in function. Any other field has the same name in JSON.
    """
    return {"everywhere": "all", "first": "from"}.get(name, name)


class _Arguments(Struct, kw_only=True, forbid_unknown_fields=True, rename=_json_name):
    """The base class for the arguments of a tool. Unknown arguments are rejected."""


class SearchArguments(_Arguments):
    query: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=2000,
            description='A question, or words in any order. "A phrase", AND, OR and NOT narrow it.',
        ),
    ]
    type: Kind = "all"
    date_range: Dates = None
    limit: Annotated[int, Meta(ge=1, le=50, description=_LIMIT)] = 10
    first: First = 1
    id: Annotated[str, Meta(max_length=300, description="Search only this conversation.")] = ""
    max_tokens: Annotated[int, Meta(ge=100, le=50_000, description=_BUDGET)] = 2000
    everywhere: Everywhere = False


class ContextArguments(_Arguments):
    topic: Topic
    max_results: Annotated[int, Meta(ge=1, le=20)] = 5
    everywhere: Everywhere = False


class List(_Arguments):
    type: Kind = "all"
    status: Literal["active", "paused", "completed", "interrupted"] | None = None
    date_range: Dates = None
    limit: Annotated[int, Meta(ge=1, le=100)] = 20
    first: First = 1
    everywhere: Everywhere = False


class Get(_Arguments):
    id: Id
    first: Annotated[int, Meta(ge=1, description="The first message to read, from 1.")] = 1
    limit: Annotated[int, Meta(ge=1, le=200, description="The most messages to return.")] = 50
    full: Annotated[
        bool, Meta(description="Show tool calls and results in full, not as one line each.")
    ] = False
    part: Annotated[
        Literal["messages", "document", "agents"],
        Meta(description="The part to read: messages, markdown document or sub-agents."),
    ] = "messages"
    everywhere: Everywhere = False


class Save(_Arguments):
    id: Id
    summary: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=1000,
            description="One sentence on where you stopped: what is settled and what is open.",
        ),
    ]
    everywhere: Everywhere = False


class Resume(_Arguments):
    id: Id
    reopen: Annotated[
        bool, Meta(description="Also resume a completed conversation. Only if the person agrees.")
    ] = False
    everywhere: Everywhere = False


class DecisionsArguments(_Arguments):
    topic: Topic
    limit: Annotated[int, Meta(ge=1, le=50)] = 10
    everywhere: Everywhere = False
