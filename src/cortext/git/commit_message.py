"""Write the message of a commit.

The title of a conversation may be any text. It is reduced to one clean line, which follows the
first words of the subject line.
"""

from __future__ import annotations

from collections.abc import Iterable

from cortext.git.commit_outcome import one_line

_LONGEST_TITLE = 60


def subject_prefix(paths: Iterable[str], session: str) -> str:
    """Return the first words of a commit's subject line, such as "session update".

    The words say whether only session files, only other files, or both are committed. `paths` has
    the paths of the committed files. The paths of session files begin with `session`.
    """
    of_session = {path.startswith(session) for path in paths}
    if of_session == {True}:
        return "session update"
    return "Save session state" if True in of_session else "Save conversation"


def subject(title: str, what: str) -> str:
    """Return the first line of a commit message, such as "session update: TITLE".

    `what` has the words before the colon. A long title is shortened.
    """
    text = one_line(title)
    if len(text) > _LONGEST_TITLE:
        text = text[: _LONGEST_TITLE - 1].rstrip() + "…"
    return f"{what}: {text}" if text else what


def message(title: str, id: str, verb: str, what: str) -> bytes:
    """Return a complete commit message, encoded in UTF-8.

    `verb` is the cortext command that made the commit, such as "stop". `what` has the first words
    of the subject line, from `subject_prefix`.
    """
    first = subject(one_line(title) or id, what)
    return f"{first}\n\nConversation: {one_line(id)}\nSaved by: cortext {one_line(verb)}\n".encode()
