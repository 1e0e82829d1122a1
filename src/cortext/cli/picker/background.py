"""What the picker has done beside itself: reading pages, and looking into what was said.

Each has a thread of its own, so that its database connections are always used by the same one.
Of several questions only the latest is answered.
"""

from __future__ import annotations

from collections.abc import Callable
from queue import SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Generic, TypeVar

from cortext.cli.picker.pages import as_typed
from cortext.cli.picker.shelf import Found, Shelf

if TYPE_CHECKING:
    from cortext.app.search import Search

_MOST = 60
_FEW = 20
"""Conversations that are read before anybody needs to know of it."""
Q = TypeVar("Q")
A = TypeVar("A")


class ClosedError(Exception):
    """Nobody waits for the answer any more."""


class Latest(Generic[Q, A]):
    """Answers the latest question that was asked, in a thread."""

    def __init__(
        self,
        answer: Callable[[Q], A],
        tell: Callable[[Q, A], None],
        fail: Callable[[Exception], None],
    ) -> None:
        self._answer, self._tell, self._fail = answer, tell, fail
        self._asked: SimpleQueue[Q | None] = SimpleQueue()
        self.is_closed = False
        # A person who leaves does not wait for what is being read.
        self._thread = Thread(target=self._run, daemon=True)
        self._thread.start()

    def ask(self, question: Q) -> None:
        self._asked.put(question)

    def close(self) -> None:
        self.is_closed = True
        self._asked.put(None)

    def _run(self) -> None:
        while (question := self._latest()) is not None:
            try:
                answer = self._answer(question)
                if self._asked.empty():
                    self._tell(question, answer)
            except ClosedError:
                return
            except Exception as error:  # noqa: BLE001  the next question is answered all the same
                self._fail(error)

    def _latest(self) -> Q | None:
        question = self._asked.get()
        while not self._asked.empty():
            question = self._asked.get()
        return None if self.is_closed else question


class Asked:
    """What was typed, and among what to look."""

    def __init__(self, text: str, shelf: Shelf) -> None:
        self.text, self.shelf = text, shelf


class Contents:
    """Finds what was said. The first question has everything read that is new."""

    def __init__(self, say: Callable[[str], None], is_closed: Callable[[], bool]) -> None:
        self._say, self._is_closed = say, is_closed
        self._search: Search | None = None
        self._of: Shelf | None = None
        self._has_said = False

    def find(self, asked: Asked) -> list[Found]:
        """Conversations of the shelf in which it was said, the latest first."""
        from cortext.app.search import Narrow, Search

        if self._search is None or self._of is not asked.shelf:
            self._search, self._of = Search(), asked.shelf
            self._search.refresh(progress=self._progress)
            if self._has_said:
                self._say("")
        folder = "" if asked.shelf.is_everywhere else asked.shelf.folder
        hits = self._search.find(as_typed(asked.text), narrow=Narrow(folder=folder), most=_MOST)
        here = {row.identity: row for row in asked.shelf.rows}
        found: dict[tuple[str, str], Found] = {}
        for hit in hits:
            row = here.get(hit.row.identity)
            if row is not None:
                found.setdefault(row.identity, Found(row, max(hit.number, 0)))
        return list(found.values())

    def _progress(self, done: int, of: int) -> None:
        if self._is_closed():
            raise ClosedError
        if of > _FEW and done % _FEW == 0:
            self._has_said = True
            self._say(f"reading what was said: {done} of {of}")
