"""A row of a list, as a value."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec

from cortext import clock
from cortext.errors import CortextError
from cortext.model import json_codec
from cortext.stores.workspace_layout import ConversationPath
from cortext.tools.registry import display_name

# Texts are cleaned before they come here, so none of these stands in one.
_ROW, _FIELD, _FACT, _TAG = "\x1e", "\x1f", "\n", "\t"
AUR, DOCUMENT = "aur", "document"
"""In place of a tool: sessions of `aur spawn`, and sessions that programs keep as documents or
logs."""
SPAWN = "spawn"
"""What people are told for `AUR`, which may be the name of another program."""
_OWNERS = {AUR: "`cortext spawn`", DOCUMENT: "a program of yours"}


def name_of_tool(tool: str) -> str:
    return SPAWN if tool == AUR else tool


class NotOursError(CortextError):
    """A command for conversations of a workspace was given a session that belongs to none."""

    def __init__(self, tool: str, id: str) -> None:
        self.tool = tool
        self.id = id
        owner = _OWNERS.get(tool) or display_name(tool)
        super().__init__(
            f"{id} is a session of {owner}, and belongs to no workspace",
            hint=f"`cortext import {id}` makes a conversation of it",
        )


class BoundSession(msgspec.Struct, frozen=True, gc=False):
    """A tool's session that a conversation took place in."""

    tool: str
    session_id: str


class ReadPosition(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """How far the lines of a session were read, and what was counted up to there.

    The next refresh reads only what follows. `start` is where the messages begin and `size` where
    the last complete line ends, in bytes. `last` is the time of the last message and `latest` the
    latest time of any. The checksums are of the last bytes and of everything from `start`.
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
    """One row of a list: a conversation of a workspace, or a session of an AI tool, of `aur spawn`
    or of a program.

    Texts are sanitized and on one line. Times are microseconds since 1970.
    """

    workspace: str = ""
    """The folder of the workspace; "" for a session that belongs to no workspace."""
    tool: str = ""
    """The tool whose session it is, `AUR` or `DOCUMENT`; "" for a conversation of a workspace."""
    path: str
    """The folder of a conversation below its workspace; otherwise the absolute path of a file."""
    key: str
    """The name that lists print: the id, or as much of the path as makes it unique."""
    status: str
    """"" for a folder whose session was deleted."""
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
    """Who owns the session, as its program says; "" if unknown."""
    parent_id: str = ""
    bindings: tuple[BoundSession, ...] = ()
    working_dir: str = ""
    """Where the session took place, if that is known and is not its workspace."""
    own_id: str = ""
    """The id that a program gave its session, where that differs from `key`."""
    stop_reason: str = ""
    note: str = ""
    """What is wrong with the files; "" if nothing is."""
    fingerprint: str = ""
    """The fingerprint of a transcript or document: it changes when a message is added."""
    position: ReadPosition | None = None

    @property
    def id(self) -> str:
        return self.key if self.tool else self.path.rpartition("/")[2]

    @property
    def identity(self) -> tuple[str, str]:
        """A pair that no other row has. Links of the web pages are derived from it."""
        if not self.tool:
            return self.workspace, self.path
        # Programs choose the ids of their documents, so two folders may have the same id.
        return f"{self.tool}:", self.path if self.tool == DOCUMENT else self.key

    @property
    def address(self) -> str:
        """`DATE/ID` of a conversation, the path of a document, otherwise the id."""
        if self.tool:
            return self.path if self.tool == DOCUMENT else self.key
        return "/".join(self.path.rsplit("/", 2)[1:])

    @property
    def place(self) -> ConversationPath:
        """Where a conversation is in its workspace; NotOursError for a tool's session."""
        if self.tool:
            raise NotOursError(self.tool, self.key)
        shelf, day, name = self.path.rsplit("/", 2)
        return ConversationPath(f"{self.workspace}/{shelf}", day, name)

    @property
    def absolute_path(self) -> str:
        return self.path if self.tool else f"{self.workspace}/{self.path}"

    @property
    def folder(self) -> str:
        """The folder that the session took place in, or its workspace; "" if unknown."""
        return self.working_dir or self.workspace

    @property
    def tool_name(self) -> str:
        """The tool under the name that people use for it."""
        return name_of_tool(self.tool)

    @property
    def tools(self) -> set[str]:
        """The tools that the conversation took place in."""
        return {self.tool} if self.tool else {each.tool for each in self.bindings}

    @property
    def tool_names(self) -> list[str]:
        return [SPAWN] if self.tool == AUR else sorted(self.tools)

    @property
    def session_ids(self) -> list[str]:
        """The ids of the tools' sessions that the conversation took place in."""
        return [each.session_id for each in self.bindings]

    @property
    def source_ids(self) -> tuple[str, ...]:
        """The standalone session that a conversation was made of, as TOOL:ID."""
        is_copy = self.parent_id.startswith((f"{AUR}:", f"{DOCUMENT}:"))
        return (self.parent_id,) if is_copy else ()

    @property
    def is_standalone(self) -> bool:
        """Whether it is a session of `aur spawn` or of a program."""
        return self.tool in (AUR, DOCUMENT)

    @property
    def is_log(self) -> bool:
        """Whether it is a standalone session that is kept as a log."""
        return self.is_standalone and self.path.endswith(".jsonl")

    @property
    def is_damaged(self) -> bool:
        return bool(self.note)

    @property
    def is_empty(self) -> bool:
        """Whether it has no messages; a damaged session may have some that cannot be read."""
        return not self.note and self.messages == 0

    @property
    def active_at(self) -> datetime:
        return clock.from_micros(self.last_active)


def recency(row: ConversationRow) -> tuple[int, str]:
    """Return the key that sorts rows by their last activity."""
    return row.last_active, row.path


def encode_row(row: ConversationRow) -> bytes:
    """Return a row as JSON. Names of files that are not UTF-8 are kept."""
    return json_codec.encode(row)


def decode_rows(rows: Sequence[bytes]) -> list[ConversationRow]:
    """Return the rows that `encode_row` encoded; ValueError for anything else."""
    data = b"[%s]" % b",".join(rows)
    try:
        found = _decode(data)
    except msgspec.ValidationError as error:
        raise ValueError(str(error)) from None
    except (msgspec.DecodeError, UnicodeDecodeError):
        # The standard library decodes the lone surrogates of a name that is not UTF-8.
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
