"""That nothing is written anew with less than what can be read of it now."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from cortext.errors import CortextError, SessionStorageError
from cortext.features.doctor.problem import UNFORESEEN, counted
from cortext.features.doctor.salvage.broken_utf8 import whole_value
from cortext.model.message import SessionMessage


def refuse_fewer(
    path: str,
    read: Callable[[], Iterable[SessionMessage]],
    new: Iterable[SessionMessage],
) -> None:
    """SessionStorageError, if a message that `read` gives is not among the `new` ones. Whoever
    mends calls it before anything is changed: that the rescue is wrong must cost nobody a word."""
    try:
        now = {whole_value(message.id) for message in read()}
    except CortextError:
        return  # nothing of it can be read as it is
    missing = now - {message.id for message in new}
    if missing:
        what = counted(len(missing), "message")
        text = f"{path} was left as it is: {what} that can be read would not be in it any more"
        raise SessionStorageError(text, path=path, hint=UNFORESEEN)
