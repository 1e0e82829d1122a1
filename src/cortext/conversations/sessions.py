"""The log of sessions that conversations in files stand on, as far as they need it.

The log store of `cortext.stores` is one. That is a layer beside this one, so it is given to us.
"""

from __future__ import annotations

from typing import Protocol

from cortext.model.message import SessionMessage
from cortext.model.session import Session


class SessionLog(Protocol):
    """What these do is said in `cortext.stores.port` and `cortext.stores.log`."""

    def save(self, session: Session) -> None: ...

    def append(self, id: str, *messages: SessionMessage) -> None: ...

    def head(self, id: str) -> Session: ...

    def tail(self, id: str, count: int) -> list[SessionMessage]: ...

    def delete(self, id: str) -> bool: ...

    def list_session_ids(self) -> list[str]: ...

    def close(self) -> None: ...
