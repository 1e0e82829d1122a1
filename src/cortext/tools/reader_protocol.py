"""The port of bridges: our connection to one AI tool. Its docstrings are the contract.

Terms: a *source* is one transcript as the tool keeps it, a file or rows of a database; a
*glance* is what lists show of it. A bridge never changes, locks or deletes what a tool wrote.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import ClassVar, NamedTuple, Protocol, runtime_checkable

from cortext.formats.record_lines import Damage
from cortext.model.session import Session


class TranscriptSource(NamedTuple):
    """Where a transcript is, known without reading it. `print` changes whenever it changes; `cwd`
    is the folder that the conversation was had in, as far as its place tells."""

    tool: str
    id: str
    path: str
    size: int
    print: str
    cwd: str = ""


class Glance(NamedTuple):
    """What lists show of a transcript; "" and None for what it does not say near its ends."""

    title: str
    cwd: str
    started_at: datetime | None
    updated_at: datetime
    model: str = ""
    branch: str = ""
    version: str = ""


class DecodedTranscript(NamedTuple):
    """A transcript as our session, and all that is wrong with it.

    The session has the tool's name in `agent`, kind "chat", the tool's own id in `native`, and
    the live branch of the conversation in time order. Ids of messages are derived from the
    tool's own, so that decoding twice, or after more was said, gives the same ids. `side` are
    the conversations of sub-agents, each with the parent's id.
    """

    session: Session
    damages: Sequence[Damage]
    side: Sequence[Session] = ()


class Bridge(Protocol):
    """What every bridge can do without the tool running, or being installed."""

    tool: ClassVar[str]

    def __init__(self, home: str | None = None) -> None:
        """Over the tool's own folder, wherever the tool would look for it, or over another that
        is laid out like it."""
        ...

    def sources(self) -> Iterator[TranscriptSource]:
        """Every transcript that is there now; a place that cannot be read is passed over, and
        said in the log."""
        ...

    def glance(self, source: TranscriptSource) -> Glance:
        """The head and the tail of a transcript, never its middle, in a time that does not grow
        with its length. FileNotFoundError if it is gone."""
        ...

    def decode(self, source: TranscriptSource, *, longest: int | None = None) -> DecodedTranscript:
        """All of it. What cannot be read is named and hides nothing else. Of results above
        `longest` characters only the ends are kept."""
        ...


@runtime_checkable
class NamesFiles(Protocol):
    """A bridge that can tell from one file whether it is the transcript of a session."""

    def is_transcript_of(self, id: str, path: str) -> bool:
        """Whether a file is the transcript of this session. OSError if it cannot be read."""
        ...
