"""What a commit says. A title is somebody's text: one clean line, and never the whole subject."""

from __future__ import annotations

from cortext.vcs.outcome import one_line

_LONGEST = 60


def subject(title: str, *, session_only: bool) -> str:
    """The first line of a commit message."""
    text = one_line(title)
    if len(text) > _LONGEST:
        text = text[: _LONGEST - 1].rstrip() + "…"
    what = "session update" if session_only else "Save session state"
    return f"{what}: {text}" if text else what


def message(title: str, id: str, verb: str, *, session_only: bool) -> bytes:
    """A whole commit message, in UTF-8."""
    first = subject(one_line(title) or id, session_only=session_only)
    return f"{first}\n\nConversation: {one_line(id)}\nSaved by: cortext {one_line(verb)}\n".encode()
