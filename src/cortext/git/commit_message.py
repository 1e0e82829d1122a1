"""What a commit says. A title is somebody's text: one clean line, and never the whole subject."""

from __future__ import annotations

from collections.abc import Iterable

from cortext.git.commit_outcome import one_line

_LONGEST = 60


def what_is_saved(paths: Iterable[str], session: str) -> str:
    """What a commit of these files does, where `session` is how those of the session begin."""
    of_session = {path.startswith(session) for path in paths}
    if of_session == {True}:
        return "session update"
    return "Save session state" if True in of_session else "Save conversation"


def subject(title: str, what: str) -> str:
    """The first line of a commit message."""
    text = one_line(title)
    if len(text) > _LONGEST:
        text = text[: _LONGEST - 1].rstrip() + "…"
    return f"{what}: {text}" if text else what


def message(title: str, id: str, verb: str, what: str) -> bytes:
    """A whole commit message, in UTF-8."""
    first = subject(one_line(title) or id, what)
    return f"{first}\n\nConversation: {one_line(id)}\nSaved by: cortext {one_line(verb)}\n".encode()
