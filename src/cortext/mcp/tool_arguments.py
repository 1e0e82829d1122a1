"""The arguments of the MCP tools, with the allowed values."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

_ALL = "Also conversations of other folders on this machine; only if the person asks for that."
_DATES = (
    "YYYY, YYYY-MM, YYYY-MM-DD, A..B with two of these, today, yesterday, last week, last 10 days."
)
Id = Annotated[
    str,
    Meta(min_length=1, max_length=300, description="As it stands in an answer, or its beginning."),
]
Topic = Annotated[str, Meta(min_length=1, max_length=2000, description="Words of the topic.")]
Kind = Annotated[
    str, Meta(max_length=100, description="Only conversations of this type: brainstorm, chat, …")
]
Dates = Annotated[str | None, Meta(description=_DATES)]
_FIRST = "The number of the first one, from 1."
Next = Annotated[
    str,
    Meta(
        pattern=r"^([01]\.-?[0-9]{1,18}\.[0-9]{1,18})?$",
        max_length=42,
        description="The `next` of the page before; nothing for the first one.",
    ),
]
First = Annotated[int, Meta(ge=1, le=1_000_000, description=_FIRST)]
Everywhere = Annotated[bool, Meta(description=_ALL)]


def _renamed(name: str) -> str:
    """`all` and `from` are words of Python."""
    return {"everywhere": "all", "first": "from"}.get(name, name)


class _Asked(Struct, kw_only=True, forbid_unknown_fields=True, rename=_renamed):
    """What every tool takes: nothing that it does not know."""


class SearchArguments(_Asked):
    query: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=2000,
            description='Words in any order; "a phrase"; AND, OR, NOT; a word* with any ending.',
        ),
    ]
    type: Kind = "all"
    date_range: Dates = None
    limit: Annotated[int, Meta(ge=1, le=50)] = 10
    first: Next = ""
    everywhere: Everywhere = False


class ContextArguments(_Asked):
    topic: Topic
    max_results: Annotated[int, Meta(ge=1, le=20)] = 5
    everywhere: Everywhere = False


class List(_Asked):
    type: Kind = "all"
    status: Literal["active", "paused", "completed", "interrupted"] | None = None
    date_range: Dates = None
    limit: Annotated[int, Meta(ge=1, le=100)] = 20
    first: First = 1
    everywhere: Everywhere = False


class Get(_Asked):
    id: Id
    first: Annotated[int, Meta(ge=1, description="The number of the first message, from 1.")] = 1
    limit: Annotated[int, Meta(ge=1, le=200, description="How many messages.")] = 50
    full: Annotated[
        bool, Meta(description="Tool calls and their results in full, not in one line each.")
    ] = False
    part: Annotated[
        Literal["messages", "document", "agents"],
        Meta(description="Its messages, its markdown document, or what its sub-agents said."),
    ] = "messages"
    everywhere: Everywhere = False


class Save(_Asked):
    id: Id
    summary: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=1000,
            description="One sentence on where you stopped: what is settled, what is open.",
        ),
    ]
    everywhere: Everywhere = False


class Resume(_Asked):
    id: Id
    reopen: Annotated[
        bool, Meta(description="Also one that was marked complete, if the person wants that.")
    ] = False
    everywhere: Everywhere = False


class DecisionsArguments(_Asked):
    topic: Topic
    limit: Annotated[int, Meta(ge=1, le=50)] = 10
    everywhere: Everywhere = False
