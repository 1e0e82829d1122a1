"""What an archive holds, read back for comparison."""

from typing import Any

from cortext.features.archive.archive_copy_states import folder_of
from cortext.model.session import Session
from cortext.tools.reader_protocol import DecodedTranscript, Glance
from cortext.tools.registry import open_bridge


def said(session: Session) -> dict[str, Any]:
    """All of a session but where it was read from."""
    assert len(session.native) == 1
    told = {name: getattr(session, name) for name in session.__struct_fields__}
    return {**told, "native": [{**session.native[0], "path": ""}]}


def everything(decoded: DecodedTranscript) -> tuple[Any, ...]:
    damages = [(damage.detail, damage.line, damage.fatal) for damage in decoded.damages]
    return said(decoded.session), damages, [said(one) for one in decoded.side]


def contents(tool: str, home: str | None = None) -> dict[str, tuple[Any, ...]]:
    """What a bridge tells of every transcript: how it looks in lists, and all of it."""
    bridge = open_bridge(tool, home)
    found: dict[str, tuple[Any, ...]] = {}
    for source in bridge.sources():
        glance: Glance = bridge.glance(source)
        found[source.id] = (glance, *everything(bridge.decode(source)))
    return found


def archived(tool: str) -> dict[str, tuple[Any, ...]]:
    return contents(tool, folder_of(tool))
