"""A title for a session that nobody named."""

from __future__ import annotations

from cortext.model.session import Session

LONGEST = 50


def generate_title(session: Session) -> str:
    """The first line of the first request, or the time when the session began."""
    for message in session.messages:
        if message.role == "user":
            for line in message.content.splitlines():
                if line.strip():
                    return shorten(line.strip())
            break
    return f"Session {session.created_at:%Y-%m-%d %H:%M}"


def shorten(line: str) -> str:
    return line if len(line) <= LONGEST else line[: LONGEST - 3] + "..."
