"""Titles for sessions that have no name."""

from __future__ import annotations

from cortext.model.session import Session

LONGEST = 50
"""The longest title of a session document in characters, as the specification requires."""
WHOLE = 200
"""The longest title of any other session, in characters. A list shortens it to the space it has."""


def generate_title(session: Session, longest: int = LONGEST) -> str:
    """Return the first line of the user's first message as a title for the session.

    Without such a line, the title is "Session" and the time when the session started.
    """
    for message in session.messages:
        if message.role == "user":
            for line in message.content.splitlines():
                if line.strip():
                    return shorten(line.strip(), longest)
            break
    return f"Session {session.created_at:%Y-%m-%d %H:%M}"


def shorten(line: str, longest: int) -> str:
    return line if len(line) <= longest else line[: longest - 3] + "..."
