"""Bodies of requests and responses, and their JSON: camelCase, and no unknown fields."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from difflib import get_close_matches
from functools import cache
from typing import Annotated, Any, TypeVar

import msgspec
from litestar import Response
from msgspec import Meta, Struct

from cortext.model import json_codec, record_dicts
from cortext.model.message import NO_TIME, ROLES, Role
from cortext.service.stores.port import ConversationEntry, Message, Messages

LONGEST_ID = 256
_UNKNOWN = re.compile("Object contains unknown field `([^`]*)`")
_Struct = TypeVar("_Struct", bound=Struct)


class NewConversation(Struct, rename="camel", forbid_unknown_fields=True):
    """With a `conversationId`, that conversation if it is there, else a new one with a new id.
    `owner` is whose it is, of those among whom you divide yours; with null you load anybody's."""

    conversation_id: str | None = None
    metadata: dict[str, Any] | None = None
    owner: Annotated[str, Meta(max_length=LONGEST_ID)] | None = ""


class Changes(Struct, rename="camel", forbid_unknown_fields=True):
    """Keys of the metadata that change; null takes one away, and all others stay."""

    metadata: dict[str, Any]


class NewMessage(Struct, rename="camel", forbid_unknown_fields=True):
    """A message to add. One that is sent again with the same `id` is stored once."""

    role: Role
    content: str
    timestamp: datetime | None = None
    structured_data: Any = None
    id: Annotated[str, Meta(min_length=1, max_length=LONGEST_ID)] | None = None

    def to_message(self) -> Message:
        return Message(
            self.role, self.content, self.timestamp or NO_TIME, self.structured_data, self.id
        )


class MessageHistory(Struct, rename="camel"):
    """The last messages, oldest first."""

    messages: Messages


class ConversationEntries(Struct, rename="camel"):
    """Conversations without their messages, newest first."""

    conversations: Sequence[ConversationEntry]


def decode(data: bytes, kind: type[_Struct]) -> _Struct:
    """Decode the JSON body of a request.

    Raise ValueError with the reason if the body does not fit `kind`. Lone surrogates are accepted.
    Values that JSON does not have, such as NaN, are not.
    """
    if not data:
        raise ValueError("a JSON body is needed")
    try:
        return _decoder(kind).decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        notes: list[str] = []
        value = record_dicts.as_dict(json_codec.decode(data, notes))
        if notes:
            raise ValueError(f"not JSON: {notes[0]}") from error
        try:
            return record_dicts.convert(value, kind)
        except ValueError as wrong:
            raise ValueError(_clearer(str(wrong), kind)) from error


def _clearer(sentence: str, kind: type[Struct]) -> str:
    """Return an error message with the values or names that would be valid."""
    if sentence.endswith("at `$.role`"):
        return f"{sentence}; a role is one of {', '.join(sorted(ROLES))}"
    unknown = _UNKNOWN.match(sentence)
    if unknown is None:
        return sentence
    names = [field.encode_name for field in msgspec.structs.fields(kind)]
    return f"{sentence}{meant(unknown[1], names)}"


def meant(name: str, names: Sequence[str]) -> str:
    """Return the end of a message about an unknown name: the name that was meant, or all names."""
    # Common mistakes are typos, and the snake_case names of the Python API.
    near = get_close_matches(name[:LONGEST_ID], names, 1)
    if near:
        return f": did you mean `{near[0]}`?"
    return f"; there are {', '.join(names)}" if names else "; there is none here"


@cache
def _decoder(kind: type[_Struct]) -> msgspec.json.Decoder[_Struct]:
    return msgspec.json.Decoder(kind)


class JsonResponse(Response[Any]):
    """A response that cortext's own JSON codec encodes."""

    def render(self, content: Any, media_type: str, enc_hook: Any = None) -> bytes:
        if isinstance(content, bytes):
            return content
        return content.encode() if isinstance(content, str) else json_codec.encode(content)
