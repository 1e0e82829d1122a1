"""A conversation as lists show it, and how a day of them is packed into one text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from operator import itemgetter
from typing import NamedTuple

from cortext import clock
from cortext.errors import CortextError
from cortext.stores.workspace_layout import Place
from cortext.tools.registry import display_name

# Texts are cleaned before they come here, so none of these stands in one.
_ROW, _FIELD, _FACT, _TAG = "\x1e", "\x1f", "\n", "\t"
AUR, DOCUMENT = "aur", "document"
"""In the place of a tool: sessions of `aur spawn`, and those that programs keep, as documents or
as logs."""
SPAWN = "spawn"
"""What people are told for `AUR`, which may be the name of another program."""
_OWNERS = {AUR: "`cortext spawn`", DOCUMENT: "a program of yours"}


def name_of_tool(tool: str) -> str:
    return SPAWN if tool == AUR else tool


class NotOursError(CortextError):
    """Something was asked of a tool's session that only a conversation of a workspace can do."""

    def __init__(self, tool: str, id: str) -> None:
        self.tool = tool
        self.id = id
        owner = _OWNERS.get(tool) or display_name(tool)
        super().__init__(
            f"{id} is a session of {owner}, and belongs to no workspace",
            hint=f"`cortext import {id}` makes a conversation of it",
        )


class Listed(NamedTuple):
    """One row of a list: a conversation of a workspace, or a session that belongs to none, of an
    AI tool, of `aur spawn` or of a program. A status of "" is a folder without a session. Times
    are microseconds since 1970. `text` has all that is only shown, cleaned, each on one line.

    Of a tool's session `key` is its own id, `path` where its transcript is, whole, and `root` is
    made by `tool_root`: no workspace has such a path.
    """

    root: str
    path: str
    key: str
    status: str
    last_active: int
    text: str

    @property
    def tool(self) -> str:
        """The tool whose session it is; "" for a conversation of a workspace."""
        return "" if self.root.startswith("/") else self.root.partition(":")[0]

    @property
    def tool_name(self) -> str:
        """The tool as people and programs are told it, and as they ask for it."""
        return name_of_tool(self.tool)

    @property
    def is_apart(self) -> bool:
        """Whether no AI tool has it and no workspace: a session of `aur spawn`, or of a program."""
        return self.tool in (AUR, DOCUMENT)

    @property
    def is_log(self) -> bool:
        """Whether it is apart and a log: its records are lines, and the first line is its head."""
        return self.is_apart and self.path.endswith(".jsonl")

    @property
    def cwd(self) -> str:
        """The folder that it was had in; "" if a tool does not say."""
        return self.root if self.root.startswith("/") else self.root.partition(":")[2]

    @property
    def identity(self) -> tuple[str, str]:
        """What no other row has."""
        if not self.tool:
            return self.root, self.path
        # Programs give their sessions ids of any kind: two of them may have the same.
        return f"{self.tool}:", self.path if self.tool == DOCUMENT else self.key

    @property
    def id(self) -> str:
        return self.key if self.tool else self.path.rpartition("/")[2]

    @property
    def place(self) -> Place:
        """Where a conversation is in its workspace; NotOursError for a tool's session."""
        if self.tool:
            raise NotOursError(self.tool, self.key)
        shelf, day, name = self.path.rsplit("/", 2)
        return Place(f"{self.root}/{shelf}", day, name)

    @property
    def address(self) -> str:
        """`DATE/ID`; its path names it where that is not enough. Of a document it is its file."""
        if self.tool:
            return self.path if self.tool == DOCUMENT else self.key
        return "/".join(self.path.rsplit("/", 2)[1:])

    @property
    def active_at(self) -> datetime:
        return clock.from_micros(self.last_active)

    @property
    def is_damaged(self) -> bool:
        return not self.text.startswith(_FACT)

    @property
    def is_empty(self) -> bool:
        """Whether it has no messages; a damaged session may have some that cannot be read."""
        return not self.is_damaged and self.messages == 0

    @property
    def note(self) -> str:
        """What is wrong with its files."""
        return self._fact(0)

    @property
    def kind(self) -> str:
        return self._fact(1)

    @property
    def title(self) -> str:
        return self._fact(2)

    @property
    def summary(self) -> str:
        return self._fact(3)

    @property
    def tags(self) -> list[str]:
        return [tag for tag in self._fact(4).split(_TAG) if tag]

    @property
    def created_at(self) -> int:
        return int(self._fact(5))

    @property
    def messages(self) -> int:
        return int(self._fact(6))

    @property
    def tokens(self) -> int:
        return int(self._fact(7))

    @property
    def model(self) -> str:
        return self._fact(8)

    @property
    def agent(self) -> str:
        return self._fact(9).partition(_TAG)[0]

    @property
    def owner(self) -> str:
        """Whose it is, as a program says; "" if nobody says."""
        # A list asks this of every row; most have none.
        return self._fact(9).partition(_TAG)[2] if _TAG in self.text else ""

    @property
    def parent_id(self) -> str:
        return self._fact(10)

    @property
    def lines(self) -> str:
        """What the catalog has to remember of the lines."""
        return self._fact(11)

    @property
    def native(self) -> list[str]:
        """The ids of the tools' own sessions that it was had in."""
        return [each.partition(":")[2] for each in self._had_with]

    @property
    def had_in(self) -> str:
        """The folder that a personal conversation was had in; "" if that is not known."""
        return "" if self.tool else self._fact(13)

    @property
    def own_id(self) -> str:
        """By which id its program knows a session, where that is another than its key."""
        return self._fact(13) if self.is_apart else ""

    @property
    def where(self) -> str:
        """The folder that it was had in, as far as that is known: of a conversation of a workspace
        it is the workspace; "" if a tool does not say."""
        if not self.root.startswith("/"):
            return self.root.partition(":")[2]
        return self.had_in or self.root

    @property
    def stop_reason(self) -> str:
        """Why it is not going on; "" if it is, or that is not known."""
        return self.text.rpartition(_FACT)[2]

    @property
    def tools(self) -> set[str]:
        """The tools that it was had in."""
        if self.tool:
            return {self.tool}
        return {each.partition(":")[0] for each in self._had_with}

    @property
    def tool_names(self) -> list[str]:
        """As `tool_name`, those that it was had in."""
        return [SPAWN] if self.tool == AUR else sorted(self.tools)

    @property
    def _had_with(self) -> list[str]:
        # A list asks this of every row; most have none.
        found = self.text.rsplit(_FACT, 3)[1]
        return found.split(_TAG) if found else []

    def _fact(self, number: int) -> str:
        return self.text.split(_FACT)[number]


latest: itemgetter[tuple[int, int]] = itemgetter(4, 1)
"""Sorts rows by when they were last active, and by their paths where several were at once."""


def tool_root(tool: str, cwd: str) -> str:
    """What stands in the place of a workspace for a session of a tool."""
    return f"{tool}:{cwd}"


def facts(
    *,
    kind: str,
    title: str,
    note: str = "",
    summary: str = "",
    tags: Sequence[str] = (),
    created_at: int = 0,
    messages: int = 0,
    tokens: int = 0,
    model: str = "",
    agent: str = "",
    owner: str = "",
    parent_id: str = "",
    lines: str = "",
    native: Sequence[str] = (),
    had_in: str = "",
    own_id: str = "",
    stop_reason: str = "",
) -> str:
    """What `Listed.text` is made of, in its order. `native` are TOOL:ID. What has an `own_id` was
    not `had_in` a folder: where it was is in its root."""
    # What has no owner is as it was before there were any: a search need not read it again.
    agent = f"{agent}{_TAG}{owner}" if owner else agent
    numbers = (str(created_at), str(messages), str(tokens))
    return _FACT.join(
        (
            *(note, kind, title, summary, _TAG.join(tags), *numbers),
            *(model, agent, parent_id, lines, _TAG.join(native), own_id or had_in, stop_reason),
        )
    )


def pack(rows: Iterable[Listed]) -> str:
    """The rows of a day as one text."""
    return _ROW.join(
        _FIELD.join((row.id, row.status, str(row.last_active), row.text)) for row in rows
    )


def unpack(root: str, folder: str, text: str) -> list[Listed]:
    """The inverse of `pack`; ValueError for what it did not write."""
    rows: list[Listed] = []
    for row in text.split(_ROW) if text else ():
        name, status, last_active, shown = row.split(_FIELD)
        rows.append(Listed(root, f"{folder}/{name}", name, status, int(last_active), shown))
    return rows
