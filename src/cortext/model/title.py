"""A title for a session that nobody named."""

from __future__ import annotations

from cortext.model.session import Session

LONGEST = 50
"""Characters of the title of a document, as its specification has it."""
WHOLE = 200
"""Characters of any other: whoever draws one cuts it where the room ends."""


def generate_title(session: Session, longest: int = LONGEST) -> str:
    """The first line of the first request, or the time when the session began."""
    for message in session.messages:
        if message.role == "user":
            for line in message.content.splitlines():
                if line.strip():
                    return shorten(line.strip(), longest)
            break
    return f"Session {session.created_at:%Y-%m-%d %H:%M}"


def shorten(line: str, longest: int) -> str:
    return line if len(line) <= longest else line[: longest - 3] + "..."
