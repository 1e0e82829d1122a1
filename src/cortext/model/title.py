"""Titles for sessions that have no name."""

from __future__ import annotations

from cortext.model.session import Session

LONGEST = 50
"""The longest title of a document in characters, as the specification requires."""
WHOLE = 200
"""The longest title anywhere else, in characters. A view shortens it to the available space."""


def generate_title(session: Session, longest: int = LONGEST) -> str:
    """Return the first line of the first request, or else a title with the session's start time."""
    for message in session.messages:
        if message.role == "user":
            for line in message.content.splitlines():
                if line.strip():
                    return shorten(line.strip(), longest)
            break
    return f"Session {session.created_at:%Y-%m-%d %H:%M}"


def shorten(line: str, longest: int) -> str:
    return line if len(line) <= longest else line[: longest - 3] + "..."
