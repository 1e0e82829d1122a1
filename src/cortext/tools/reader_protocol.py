"""The protocol of bridges. A bridge reads the sessions of one AI tool.

The docstrings below are the contract. A *source* is the location of one transcript: a file, or rows
of a database. A *glance* holds the facts about a transcript that lists of conversations show, such
as its title. A bridge never changes, locks or deletes anything that a tool wrote.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import ClassVar, NamedTuple, Protocol, runtime_checkable

import msgspec

from cortext.formats.message_lines import Damage
from cortext.model.session import Session


class TranscriptSource(msgspec.Struct, frozen=True):
    """The location of a transcript, found without decoding the transcript.

    `tool` is the name of the tool, and `id` is the tool's id for the session. `path` is the path of
    the file or the database. `size` is the size of the file in bytes, or 0 for a session in a
    database. `print` is a fingerprint that changes with the transcript. `cwd` is the working folder
    of the conversation, or "" if the location does not show that folder.
    """

    tool: str
    id: str
    path: str
    size: int
    print: str
    cwd: str = ""


class Glance(NamedTuple):
    """The facts about a transcript that lists of conversations show, such as its title.

    `cwd` is the working folder, and `version` is the version of the tool. A value is "" or None if
    it is not near the beginning or the end of the transcript.
    """

    title: str
    cwd: str
    started_at: datetime | None
    updated_at: datetime
    model: str = ""
    branch: str = ""
    version: str = ""


class DecodedTranscript(msgspec.Struct, frozen=True):
    """A transcript as a cortext session, and the damage found in the transcript.

    The session has the tool's name in `agent`, the kind "chat", and the tool's own id in `native`.
    It has only the messages of the branch that the user sees now. The ids of messages stay the same
    when the transcript grows and is decoded again. `side` holds the conversations of sub-agents,
    each with the id of its parent session.
    """

    session: Session
    damages: Sequence[Damage]
    side: Sequence[Session] = ()


class Bridge(Protocol):
    """A reader for the sessions of one tool. The tool need not run or be installed."""

    tool: ClassVar[str]

    def __init__(self, home: str | None = None) -> None:
        """Open the folder `home`, or the tool's own folder if `home` is None.

        `home` must have the layout of the tool's own folder.
        """
        ...

    def sources(self) -> Iterator[TranscriptSource]:
        """Yield every transcript that exists now. Unreadable places are skipped and logged."""
        ...

    def glance(self, source: TranscriptSource) -> Glance:
        """Return the title, folder, times and model of a transcript, from its beginning and end.

        The middle is not read, so a long transcript takes no more time than a short one. Raises
        FileNotFoundError if the transcript no longer exists.
        """
        ...

    def decode(self, source: TranscriptSource, *, longest: int | None = None) -> DecodedTranscript:
        """Return the whole transcript as a session, with its sub-agents.

        Unreadable parts are reported as damage, and everything else is returned. Tool results of
        more than `longest` characters are cut to their beginning and end.
        """
        ...


@runtime_checkable
class NamesFiles(Protocol):
    """A bridge that can check whether a file is the transcript of a certain session."""

    def is_transcript_of(self, id: str, path: str) -> bool:
        """Return whether the file at `path` is the transcript of the session `id`.

        Raises OSError if the file is unreadable.
        """
        ...


@runtime_checkable
class SearchesStoredBytes(Protocol):
    """A bridge that can search transcripts that are not single files."""

    def has_bytes(self, source: TranscriptSource, is_in: Callable[[Iterable[bytes]], bool]) -> bool:
        """Call `is_in` with the stored bytes of a transcript, and return whether it returns True.

        The argument of `is_in` is an iterable of blocks of bytes, as the tool stores them. The
        method may call `is_in` several times: once for the transcript, and once for each sub-agent.
        The result is True if one of the calls returns True. Raises OSError or SessionCorruptedError
        if the transcript cannot be read.
        """
        ...
