"""The catalog row: one conversation or session, as lists show it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from operator import attrgetter

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
_OWNER_NAMES = {AUR: "`cortext spawn`", DOCUMENT: "one of your programs"}


def name_of_tool(tool: str) -> str:
    """Return the name that users see for a value of the field `ConversationRow.tool`.

    This is `spawn` for `AUR`. For any other value, it is the value itself.
    """
    return SPAWN if tool == AUR else tool


class NotInWorkspaceError(CortextError):
    """A command needs a conversation of a workspace, but the given session belongs to none."""

    def __init__(self, tool: str, id: str) -> None:
        self.tool = tool
        self.id = id
        owner = _OWNER_NAMES.get(tool) or display_name(tool)
        super().__init__(
            f"{id} is a session of {owner} and does not belong to a workspace",
            hint=f"make it a conversation with `cortext import {id}`",
        )


class BoundSession(msgspec.Struct, frozen=True, gc=False):
    """A session of an AI tool that is bound (linked) to a conversation."""

    tool: str
    session_id: str


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
    """The user for whom a program keeps the session, as the program states; "" if unknown."""
    parent_id: str = ""
    bindings: tuple[BoundSession, ...] = ()
    working_dir: str = ""
    """The folder where the session took place; "" if it is unknown or is the workspace."""
    branch: str = ""
    """The git branch on which the session took place last; "" if it is unknown."""
    own_id: str = ""
    """The id that another program gave the session; "" if it is the same as `key`."""
    stop_reason: str = ""
    note: str = ""
    """The problem with the session's files; "" if there is none."""
    fingerprint: str = ""
    """The fingerprint of a transcript or document. It changes whenever a message is added."""
    latest_message: int = 0
    """The latest time of any message, if the last message has an earlier time; otherwise 0."""

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
        """A short text that locates the row.

        This is `DATE/ID` for a conversation, the path for a session of a program, and the id for a
        session of an AI tool or of `aur spawn`.
        """
        if self.tool:
            return self.path if self.tool == DOCUMENT else self.key
        return "/".join(self.path.rsplit("/", 2)[1:])

    @property
    def place(self) -> ConversationPath:
        """The location of a conversation's folder in its workspace.

        Raises NotInWorkspaceError for a session that is in no workspace.
        """
        if self.tool:
            raise NotInWorkspaceError(self.tool, self.key)
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
        """The name that users see for the tool of a session; "" for cortext's own conversations."""
        return name_of_tool(self.tool)

    @property
    def tools(self) -> set[str]:
        """The internal names of the tools in which the session took place, such as `codex`."""
        return {self.tool} if self.tool else {each.tool for each in self.bindings}

    @property
    def tool_names(self) -> list[str]:
        """The sorted names that users see for the tools in which the session took place."""
        return [SPAWN] if self.tool == AUR else sorted(self.tools)

    @property
    def session_ids(self) -> list[str]:
        """The ids of the AI tools' sessions whose messages belong to the conversation."""
        return [each.session_id for each in self.bindings]

    @property
    def source_ids(self) -> tuple[str, ...]:
        """The TOOL:ID of the session from which the conversation was imported, as a tuple.

        The tuple is empty unless the conversation was imported from a session of `aur spawn` or of
        a program.
        """
        is_copy = self.parent_id.startswith((f"{AUR}:", f"{DOCUMENT}:"))
        return (self.parent_id,) if is_copy else ()

    @property
    def is_standalone(self) -> bool:
        """Whether the row is a session of `aur spawn` or of a program, and not of an AI tool."""
        return self.tool in (AUR, DOCUMENT)

    @property
    def is_log(self) -> bool:
        """Whether the row is a session of `aur spawn` or a program, stored as one JSONL file."""
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


recency: Callable[[ConversationRow], tuple[int, str]] = attrgetter("last_active", "path")
"""The sort key that orders rows by their last activity, the oldest first."""


def encode_row(row: ConversationRow) -> bytes:
    """Encode a row as JSON. File names that are not valid UTF-8 are preserved."""
    return json_codec.encode(row)


def decode_rows(rows: Sequence[bytes]) -> list[ConversationRow]:
    """Decode rows that `encode_row` encoded. Raises ValueError if a row is not valid."""
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
