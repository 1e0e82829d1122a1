"""The catalog row: one conversation or session, as lists show it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec

from cortext import clock
from cortext.errors import CortextError
from cortext.model import json_codec
from cortext.stores.workspace_layout import ConversationPath
from cortext.tools.registry import display_name

AUR, DOCUMENT = "aur", "document"
"""Values of `ConversationRow.tool` for sessions that no AI tool wrote.

`AUR` marks sessions of `aur spawn`. `DOCUMENT` marks documents and logs of other programs.
"""
SPAWN = "spawn"
"""The name that users see for `AUR`, because another program may be called `aur`."""
_OWNERS = {AUR: "`cortext spawn`", DOCUMENT: "a program of yours"}


def name_of_tool(tool: str) -> str:
    """Return the name that users see for a value of `ConversationRow.tool`."""
    return SPAWN if tool == AUR else tool


class NotOursError(CortextError):
    """A command that needs a workspace conversation was given a session of no workspace."""

    def __init__(self, tool: str, id: str) -> None:
        self.tool = tool
        self.id = id
        owner = _OWNERS.get(tool) or display_name(tool)
        super().__init__(
            f"{id} is a session of {owner}, and belongs to no workspace",
            hint=f"`cortext import {id}` makes a conversation of it",
        )


class BoundSession(msgspec.Struct, frozen=True, gc=False):
    """A tool session that a conversation is bound to: its messages belong to the conversation."""

    tool: str
    session_id: str


class ReadPosition(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """How far a refresh has read a message file, and what it counted up to there.

    The next refresh reads only the lines after this position. `start` is the byte where the
    messages begin. `size` is the byte where the last complete line ends. `last` is the time of the
    last message, and `latest` is the latest time of any message. `end_checksum` covers the last
    bytes before the position, and `checksum` covers everything from `start`.
    """

    inode: int = 0
    start: int = 0
    size: int = 0
    lines: int = 0
    messages: int = 0
    last: int = 0
    latest: int = 0
    end_checksum: int = 0
    checksum: int = 0


class ConversationRow(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One conversation or session, as lists show it.

    The row describes a conversation of a workspace, or a session of an AI tool, of `aur spawn` or
    of another program. Texts are on one line and without secrets. Times are microseconds since
    1970.
    """

    workspace: str = ""
    """The folder of the workspace; "" for a session that belongs to no workspace."""
    tool: str = ""
    """The tool that wrote the session, `AUR` or `DOCUMENT`; "" for a workspace conversation."""
    path: str
    """A conversation's folder, relative to its workspace; a session's absolute file path."""
    key: str
    """The name that lists print: the id, or `DATE/ID` or the path if the id is not unique."""
    status: str
    """The status; "" for a folder whose session was deleted, or a file without a session."""
    last_active: int
    kind: str = ""
    title: str = ""
    summary: str = ""
    tags: tuple[str, ...] = ()
    created_at: int = 0
    messages: int = 0
    tokens: int = 0
    model: str = ""
    agent: str = ""
    owner: str = ""
    """The owner of the session, as its program recorded the owner; "" if unknown."""
    parent_id: str = ""
    bindings: tuple[BoundSession, ...] = ()
    working_dir: str = ""
    """The folder where the session took place; "" if it is unknown or is the workspace."""
    own_id: str = ""
    """The id that another program gave the session; "" if it is the same as `key`."""
    stop_reason: str = ""
    note: str = ""
    """The problem with the session's files; "" if there is none."""
    fingerprint: str = ""
    """The fingerprint of a transcript or document. It changes whenever a message is added."""
    position: ReadPosition | None = None

    @property
    def id(self) -> str:
        return self.key if self.tool else self.path.rpartition("/")[2]

    @property
    def identity(self) -> tuple[str, str]:
        """A pair of strings that identifies the row: no other row has the same pair.

        The web pages derive their links from this pair.
        """
        if not self.tool:
            return self.workspace, self.path
        # Programs choose the ids of their documents, so two folders may have the same id.
        return f"{self.tool}:", self.path if self.tool == DOCUMENT else self.key

    @property
    def address(self) -> str:
        """The shortest text that locates the row.

        `DATE/ID` for a conversation, the path for a document, and the id for any other session.
        """
        if self.tool:
            return self.path if self.tool == DOCUMENT else self.key
        return "/".join(self.path.rsplit("/", 2)[1:])

    @property
    def place(self) -> ConversationPath:
        """The location of a conversation's folder in its workspace.

        Raises NotOursError for a session that is in no workspace.
        """
        if self.tool:
            raise NotOursError(self.tool, self.key)
        shelf, day, name = self.path.rsplit("/", 2)
        return ConversationPath(f"{self.workspace}/{shelf}", day, name)

    @property
    def absolute_path(self) -> str:
        """The absolute path of the conversation's folder, or of the session's file."""
        return self.path if self.tool else f"{self.workspace}/{self.path}"

    @property
    def folder(self) -> str:
        """The folder where the session took place, or its workspace; "" if both are unknown."""
        return self.working_dir or self.workspace

    @property
    def tool_name(self) -> str:
        """The name that users see for the tool that wrote the session; "" for a conversation."""
        return name_of_tool(self.tool)

    @property
    def tools(self) -> set[str]:
        """The names of the tools in which the conversation or session took place."""
        return {self.tool} if self.tool else {each.tool for each in self.bindings}

    @property
    def tool_names(self) -> list[str]:
        """The names of the same tools as `tools`, sorted and as users see them."""
        return [SPAWN] if self.tool == AUR else sorted(self.tools)

    @property
    def session_ids(self) -> list[str]:
        """The ids of the tool sessions that the conversation is bound to."""
        return [each.session_id for each in self.bindings]

    @property
    def source_ids(self) -> tuple[str, ...]:
        """The standalone session that the conversation was imported from, as TOOL:ID.

        The tuple has one item, or none if the conversation is not an import.
        """
        is_copy = self.parent_id.startswith((f"{AUR}:", f"{DOCUMENT}:"))
        return (self.parent_id,) if is_copy else ()

    @property
    def is_standalone(self) -> bool:
        """Whether the row is a session of `aur spawn` or of a program, and not of an AI tool."""
        return self.tool in (AUR, DOCUMENT)

    @property
    def is_log(self) -> bool:
        """Whether the row is a standalone session that is stored as a log (one JSONL file)."""
        return self.is_standalone and self.path.endswith(".jsonl")

    @property
    def is_damaged(self) -> bool:
        return bool(self.note)

    @property
    def is_empty(self) -> bool:
        """Whether the session has no messages.

        Always False for a damaged session, because its messages may be unreadable.
        """
        return not self.note and self.messages == 0

    @property
    def active_at(self) -> datetime:
        return clock.from_micros(self.last_active)


def recency(row: ConversationRow) -> tuple[int, str]:
    """Return the sort key that orders rows by their last activity, the oldest first."""
    return row.last_active, row.path


def encode_row(row: ConversationRow) -> bytes:
    """Encode a row as JSON. File names that are not valid UTF-8 are preserved."""
    return json_codec.encode(row)


def decode_rows(rows: Sequence[bytes]) -> list[ConversationRow]:
    """Decode rows that `encode_row` encoded.

    Raises ValueError if one of them is not a valid row.
    """
    data = b"[%s]" % b",".join(rows)
    try:
        found = _decode(data)
    except msgspec.ValidationError as error:
        raise ValueError(str(error)) from None
    except (msgspec.DecodeError, UnicodeDecodeError):
        # The standard library can decode lone surrogates, from file names that are not UTF-8.
        found = _convert(json_codec.decode(data))
    if len(found) != len(rows):
        raise ValueError("a row is empty")
    return found


def _convert(found: object) -> list[ConversationRow]:
    try:
        return msgspec.convert(found, list[ConversationRow])
    except msgspec.ValidationError as error:
        raise ValueError(str(error)) from None


_decode = msgspec.json.Decoder(list[ConversationRow]).decode
