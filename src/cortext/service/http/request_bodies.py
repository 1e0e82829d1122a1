"""The JSON bodies of requests and responses.

Keys are in camelCase. Unknown keys are rejected.
"""

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

from cortext.model import json_codec, message_dicts
from cortext.model.message import NO_TIME, ROLES, Role
from cortext.service.stores.port import ConversationEntry, Message, Messages

LONGEST_ID = 256
_UNKNOWN_FIELD = re.compile("Object contains unknown field `([^`]*)`")
_Struct = TypeVar("_Struct", bound=Struct)


class NewConversation(Struct, rename="camel", forbid_unknown_fields=True):
    """A conversation to load or create. If the conversation with the id `conversationId` exists and
    belongs to `owner`, it is loaded. Otherwise a conversation with a new id is created. `owner` is
    the name of the user to whom your program assigns the conversation. With `owner: null`, a
    conversation of any owner is loaded."""

    conversation_id: str | None = None
    metadata: dict[str, Any] | None = None
    owner: Annotated[str, Meta(max_length=LONGEST_ID)] | None = ""


class Changes(Struct, rename="camel", forbid_unknown_fields=True):
    """New values for keys of the metadata. A key with the value null is removed. Keys that are not
    given stay unchanged."""

    metadata: dict[str, Any]


class NewMessage(Struct, rename="camel", forbid_unknown_fields=True):
    """A message to add. If you send a message again with the same `id`, it is stored only once."""

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
    """Decode the JSON body of a request as a `kind`.

    ValueError is raised with the reason if the body is not valid. Values that JSON does not have,
    such as NaN, are invalid. Lone surrogates (halves of a UTF-16 pair) are valid.
    """
    if not data:
        raise ValueError("the request needs a JSON body")
    try:
        return _decoder(kind).decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        notes: list[str] = []
        value = message_dicts.as_dict(json_codec.decode(data, notes))
        if notes:
            raise ValueError(f"not JSON: {notes[0]}") from error
        try:
            return message_dicts.convert(value, kind)
        except ValueError as wrong:
            raise ValueError(_explain(str(wrong), kind)) from error


def _explain(sentence: str, kind: type[Struct]) -> str:
    """Return an error message of the decoder, with the valid values or keys added.

    `sentence` is the message, and `kind` is the expected type of the body.
    """
    if sentence.endswith("at `$.role`"):
        return f"{sentence}; valid roles are {', '.join(sorted(ROLES))}"
    unknown = _UNKNOWN_FIELD.match(sentence)
    if unknown is None:
        return sentence
    names = [field.encode_name for field in msgspec.structs.fields(kind)]
    return f"{sentence}{meant(unknown[1], names)}"


def meant(name: str, names: Sequence[str]) -> str:
    """Return the end of an error message about the unknown key `name`.

    The text suggests the valid key that is most similar to `name`. If no key is similar, it lists
    all valid keys. `names` are the valid keys.
    """
    # Common mistakes are typos, and the snake_case names of the Python API.
    close = get_close_matches(name[:LONGEST_ID], names, 1)
    if close:
        return f": did you mean `{close[0]}`?"
    return f"; valid names are {', '.join(names)}" if names else "; none is valid here"


@cache
def _decoder(kind: type[_Struct]) -> msgspec.json.Decoder[_Struct]:
    return msgspec.json.Decoder(kind)


class JsonResponse(Response[Any]):
    """A response whose content is encoded with cortext's own JSON codec."""

    def render(self, content: Any, media_type: str, enc_hook: Any = None) -> bytes:
        if isinstance(content, bytes):
            return content
        return content.encode() if isinstance(content, str) else json_codec.encode(content)
