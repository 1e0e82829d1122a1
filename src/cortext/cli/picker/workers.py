"""The background work of the picker: reading previews, and searching the messages.

Each kind of work has its own thread, so that a database connection is always used by the same
thread. If several requests wait, only the latest is answered.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from queue import SimpleQueue
from threading import Thread
from typing import Generic, NamedTuple, TypeVar

from cortext.catalog.fulltext.fulltext_index import Identity
from cortext.catalog.row import ConversationRow
from cortext.cli.picker.picker_items import PickedText, PickerItems
from cortext.cli.picker.preview_content import as_typed
from cortext.features.search.no_results import explain_no_results
from cortext.features.search.partial_matches import find_partial_matches
from cortext.features.search.search import TextFilter
from cortext.features.search.search_results import Finder, SearchPage, SearchRequest
from cortext.formats.text_search.search_query import parse
from cortext.model.safe_text import clean

SAID = "said in these"
LOOSE = "with the words, not the signs"
_MOST = 60
"""The most conversations in the result of a search."""
_FEW = 20
"""The progress is shown after this many conversations, and then after each further so many."""
_TITLES = 3
"""The most titles to suggest if no message has the typed words."""
Q = TypeVar("Q")
A = TypeVar("A")


class ClosedError(Exception):
    """The picker was closed, so nobody waits for the answer."""


class Latest(Generic[Q, A]):
    """A thread that answers only the latest request and drops older ones.

    `answer` computes the answer in the thread. `tell` then gets the request and the answer. If
    `answer` raises, `fail` gets the error, and the thread continues.
    """

    def __init__(
        self,
        answer: Callable[[Q], A],
        tell: Callable[[Q, A], None],
        fail: Callable[[Exception], None],
    ) -> None:
        self._answer, self._tell, self._fail = answer, tell, fail
        self._asked: SimpleQueue[Q | None] = SimpleQueue()
        self.is_closed: bool = False
        # A daemon thread, so that leaving the picker does not wait for it.
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
            except Exception as error:  # noqa: BLE001  the thread must answer the next request
                self._fail(error)

    def _latest(self) -> Q | None:
        question = self._asked.get()
        while not self._asked.empty():
            question = self._asked.get()
        return None if self.is_closed else question


class PickerQuery(NamedTuple):
    """A search request of the picker.

    `text` is what the user typed, and `shelf` has the conversations to search. `is_titled` tells
    whether the title of a conversation matches.
    """

    text: str
    shelf: PickerItems
    is_titled: bool = False


class FinderResult(NamedTuple):
    """The result of a search through the messages, the latest conversation first.

    `more` tells whether there are further matches. `instead` are lines to show if nothing was
    found, or above partial matches. With `near`, `found` has only partial matches.
    """

    found: Sequence[PickedText] = ()
    more: bool = False
    instead: Sequence[str] = ()
    near: bool = False

    def below(self, titled: Sequence[ConversationRow]) -> Sequence[ConversationRow | str]:
        """Return the rows to list below `titled`, the rows with matching titles.

        Rows of `titled` are left out. Headings between the rows explain how they match.
        """
        known = {row.identity for row in titled}
        said = [one for one in self.found if one.row.identity not in known]
        if self.near:
            return [*self.instead, *(one.row for one in said)]
        exact = [one.row for one in said if one.exact]
        loose = [one.row for one in said if not one.exact]
        return [*([SAID, *exact] if exact else ()), *([LOOSE, *loose] if loose else ())]


def having(finder: Finder, text: str, rows: dict[Identity, ConversationRow]) -> FinderResult:
    """Return the conversations whose messages match the typed text, from the full-text index alone.

    `rows` are the conversations to search.
    """
    query = parse(as_typed(text))
    if not query:
        return FinderResult()
    spots, loose = finder.telling_signs(query, rows, TextFilter(), most=_MOST + 1)
    found = [PickedText(rows[key], spot.number, key not in loose) for key, spot in spots.items()]
    found.sort(key=lambda one: not one.exact)
    return FinderResult(found[:_MOST], more=len(found) > _MOST)


class TextFinder:
    """The search through the messages of conversations.

    The first search in a list indexes the new messages. `say` shows the progress, and `is_closed`
    tells whether the picker was closed.
    """

    def __init__(self, say: Callable[[str], None], is_closed: Callable[[], bool]) -> None:
        self._say, self._is_closed = say, is_closed
        self._finder: Finder | None = None
        self._of: PickerItems | None = None
        self._has_said = False

    def find(self, asked: PickerQuery) -> FinderResult:
        """Return the conversations whose messages match, or suggestions if there are none."""
        finder = self._up_to_date(asked.shelf)
        said = having(finder, asked.text, {row.identity: row for row in asked.shelf.rows})
        if said.found or asked.is_titled:
            return said

        return instead(finder, asked)

    def _up_to_date(self, shelf: PickerItems) -> Finder:
        if self._finder is None or self._of is not shelf:
            self._finder, self._of = Finder(), shelf
            self._finder.refresh(progress=self._progress)
            if self._has_said:
                self._say("")
        return self._finder

    def _progress(self, done: int, of: int) -> None:
        if self._is_closed():
            raise ClosedError
        if of > _FEW and done % _FEW == 0:
            self._has_said = True
            self._say(f"reading what was said: {done} of {of}")


def instead(finder: Finder, asked: PickerQuery) -> FinderResult:
    """Return what to show if no message matches the query.

    If other folders have matches, this is their number. Otherwise it is partial matches and
    suggestions.
    """
    if not asked.shelf.is_everywhere and (count := _elsewhere(finder, asked.text)):
        return FinderResult(instead=[f"nothing here; {count} elsewhere: Tab"])
    known = {row.identity for row in asked.shelf.rows}
    here = finder.only(lambda row: row.identity in known)
    words, titles = _meant(finder, asked.text)
    if near := _near(here, asked.text):
        return near._replace(instead=[*near.instead, *words])
    return FinderResult(instead=["nothing has these words", *(words or titles)])


def _near(finder: Finder, text: str) -> FinderResult | None:
    """Return partial matches, the best first, with the words that they lack.

    Return None if there are no partial matches.
    """
    found = find_partial_matches(finder, SearchRequest(as_typed(text)))
    if found is None:
        return None
    without = clean(", ".join(found.without), lines=False)
    said = ["none has it all; these come near", *([f"without: {without}"] * bool(without))]
    return FinderResult(_first(found.answer), more=found.answer.more, instead=said, near=True)


def _first(answer: SearchPage) -> Sequence[PickedText]:
    """Return the best matching message of each conversation."""
    return [PickedText(group.row, group.hits[0].number) for group in answer.groups if group.hits]


def _elsewhere(finder: Finder, text: str) -> str:
    rows = finder.among(SearchRequest(text))
    said = having(finder, text, rows)
    titled = PickerItems([*rows.values()], finder.conversations).titled(text)
    count = len({row.identity for row in (*titled, *(one.row for one in said.found))})
    return f"{count:,}{' or more' if said.more else ''}" if count else ""


def _meant(finder: Finder, text: str) -> tuple[list[str], list[str]]:
    """Return two lists of "did you mean" lines: with similar words, and with similar titles."""
    why = explain_no_results(finder, SearchRequest(text))
    words = dict.fromkeys(near for _, near in why.unknown if near)
    titles = dict.fromkeys(row.title for row in why.titles)

    def asked(texts: Sequence[str]) -> list[str]:
        return [f'did you mean "{clean(text, lines=False)}"?' for text in texts]

    return asked([*words]), asked([*titles][:_TITLES])
