"""The message of a commit.

The title of a conversation may be any text. It is reduced to one clean line, and is only a part of
the subject.
"""

from __future__ import annotations

from collections.abc import Iterable

from cortext.git.commit_outcome import one_line

_LONGEST = 60


def what_is_saved(paths: Iterable[str], session: str) -> str:
    """Return the first words of the subject of a commit of these paths.

    `session` is the path prefix of the session files. The words say whether only session files,
    only other files, or both are committed.
    """
    of_session = {path.startswith(session) for path in paths}
    if of_session == {True}:
        return "session update"
    return "Save session state" if True in of_session else "Save conversation"


def subject(title: str, what: str) -> str:
    """Return the first line of a commit message: `what` and the title, shortened if too long."""
    text = one_line(title)
    if len(text) > _LONGEST:
        text = text[: _LONGEST - 1].rstrip() + "…"
    return f"{what}: {text}" if text else what


def message(title: str, id: str, verb: str, what: str) -> bytes:
    """Return a complete commit message, encoded in UTF-8.

    `verb` is the cortext command that saves, and `what` has the first words of the subject.
    """
    first = subject(one_line(title) or id, what)
    return f"{first}\n\nConversation: {one_line(id)}\nSaved by: cortext {one_line(verb)}\n".encode()
