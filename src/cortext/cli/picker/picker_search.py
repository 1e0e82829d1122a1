"""The background threads of the picker: one reads previews, and one searches the messages.

Each kind of work has its own thread, because a database connection must stay in one thread. If
several requests wait, a thread answers only the latest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from queue import SimpleQueue
from threading import Thread
from typing import Generic, TypeVar

import msgspec
from msgspec.structs import replace

from cortext.catalog.fulltext.fulltext_index import Identity
from cortext.catalog.row import ConversationRow
from cortext.cli.picker.picker_items import PickedText, PickerItems
from cortext.cli.picker.preview_content import as_typed
from cortext.features.search.no_results import explain_no_results
from cortext.features.search.search import TextFilter
from cortext.features.search.search_results import Finder, SearchPage, SearchRequest
from cortext.formats.text_search.search_query import parse
from cortext.model.safe_text import clean

SAID = "found in messages"
LOOSE = "found without the punctuation"
_MAX_RESULTS = 60
"""The most conversations in the result of a search."""
_PROGRESS_STEP = 20
"""The progress is shown again after this many conversations."""
_MAX_TITLES = 3
"""The most titles to suggest if no message has the typed words."""
Q = TypeVar("Q")
A = TypeVar("A")


class ClosedError(Exception):
    """Raised to stop a background search after the picker was closed."""


class Latest(Generic[Q, A]):
    """A thread that answers only the latest request and drops older requests.

    `answer` computes the answer to a request in the thread. Then `tell` is called with the request
    and its answer. If `answer` raises an error, `fail` is called with it, and the thread continues.
    """

    def __init__(
        self,
        answer: Callable[[Q], A],
        tell: Callable[[Q, A], None],
        fail: Callable[[Exception], None],
    ) -> None:
        self._answer, self._tell, self._fail = answer, tell, fail
        self._requests: SimpleQueue[Q | None] = SimpleQueue()
        self.is_closed: bool = False
        # This is a daemon thread, so that the program can exit without waiting for it.
        self._thread = Thread(target=self._run, daemon=True)
        self._thread.start()

    def ask(self, question: Q) -> None:
        self._requests.put(question)

    def close(self) -> None:
        self.is_closed = True
        self._requests.put(None)

    def _run(self) -> None:
        while (question := self._next_request()) is not None:
            try:
                answer = self._answer(question)
                if self._requests.empty():
                    self._tell(question, answer)
            except ClosedError:
                return
            except Exception as error:  # noqa: BLE001  the thread must answer the next request
                self._fail(error)

    def _next_request(self) -> Q | None:
        question = self._requests.get()
        while not self._requests.empty():
            question = self._requests.get()
        return None if self.is_closed else question


class PickerQuery(msgspec.Struct, frozen=True):
    """A request to search the messages of the conversations in the picker.

    `text` is the typed text, and `shelf` has the conversations to search. `is_titled` is True if
    the text matches the title of at least one conversation.
    """

    text: str
    shelf: PickerItems
    is_titled: bool = False


class FinderResult(msgspec.Struct, frozen=True):
    """The result of a search through the messages.

    `found` has the matching conversations, the latest first. `more` is True if there are further
    matches. If `near` is True, no message has all typed words, and `found` has conversations with
    some of the words. `instead` has lines for the user, such as "did you mean". If `near` is True,
    they appear above the conversations. If nothing was found, they replace the list.
    """

    found: Sequence[PickedText] = ()
    more: bool = False
    instead: Sequence[str] = ()
    near: bool = False

    def below(self, titled: Sequence[ConversationRow]) -> Sequence[ConversationRow | str]:
        """Return the found conversations and headings to list below `titled`.

        `titled` are the conversations whose titles match. They are left out of the result. The
        headings say how the conversations below them match.
        """
        known = {row.identity for row in titled}
        new = [match for match in self.found if match.row.identity not in known]
        if self.near:
            return [*self.instead, *(match.row for match in new)]
        exact = [match.row for match in new if match.exact]
        loose = [match.row for match in new if not match.exact]
        return [*([SAID, *exact] if exact else ()), *([LOOSE, *loose] if loose else ())]


def having(finder: Finder, text: str, rows: dict[Identity, ConversationRow]) -> FinderResult:
    """Search the full-text index, and return the conversations with messages that match `text`.

    `rows` are the conversations to search, by their identity.
    """
    query = parse(as_typed(text))
    if not query:
        return FinderResult()
    spots, loose = finder.find_newest_and_inexact(query, rows, TextFilter(), most=_MAX_RESULTS + 1)
    matches = [PickedText(rows[key], spot.number, key not in loose) for key, spot in spots.items()]
    matches.sort(key=lambda match: not match.exact)
    return FinderResult(matches[:_MAX_RESULTS], more=len(matches) > _MAX_RESULTS)


class TextFinder:
    """The search of the picker through the messages of conversations.

    When the picker loads a list, there may be new messages. The first search in that list adds them
    to the full-text index; the picker makes an empty search when it opens. `say` shows the progress
    of this step. `is_closed` returns True after the picker was closed.
    """

    def __init__(self, say: Callable[[str], None], is_closed: Callable[[], bool]) -> None:
        self._say, self._is_closed = say, is_closed
        self._finder: Finder | None = None
        self._indexed_items: PickerItems | None = None
        self._has_shown_progress = False

    def find(self, asked: PickerQuery) -> FinderResult:
        """Return the conversations whose messages match the request.

        If no conversation matches, return suggestions instead.
        """
        finder = self._refreshed_finder(asked.shelf)
        result = having(finder, asked.text, {row.identity: row for row in asked.shelf.rows})
        if result.found or asked.is_titled:
            return result

        return instead(finder, asked)

    def _refreshed_finder(self, shelf: PickerItems) -> Finder:
        if self._finder is None or self._indexed_items is not shelf:
            self._finder, self._indexed_items = Finder(), shelf
            self._finder.refresh(progress=self._progress)
            if self._has_shown_progress:
                self._say("")
        return self._finder

    def _progress(self, done: int, total: int) -> None:
        if self._is_closed():
            raise ClosedError
        if total > _PROGRESS_STEP and done % _PROGRESS_STEP == 0:
            self._has_shown_progress = True
            self._say(f"reading messages: {done} of {total} conversations")


def instead(finder: Finder, asked: PickerQuery) -> FinderResult:
    """Return the result to show if no message matches the typed text.

    If other projects have matches, the result says how many. Otherwise it has conversations that
    contain some of the words, and suggestions.
    """
    if not asked.shelf.is_everywhere and (count := _count_elsewhere(finder, asked.text)):
        return FinderResult(
            instead=["No match in this project.", f"In other projects: {count}. Press Tab."]
        )
    known = {row.identity for row in asked.shelf.rows}
    finder_here = finder.only(lambda row: row.identity in known)
    words, titles = _suggest(finder, asked.text)
    if near := _find_partial(finder_here, asked.text):
        return replace(near, instead=[*near.instead, *words])
    return FinderResult(instead=["No conversation contains these words.", *(words or titles)])


def _find_partial(finder: Finder, text: str) -> FinderResult | None:
    """Return the conversations that have some of the typed words, the best first.

    The result also names the words that they lack. Return None if there are no such conversations.
    """
    answer = finder.answer(SearchRequest(as_typed(text)))
    if not answer.groups:
        return None
    without = clean(", ".join(answer.missing), lines=False)
    lines = ["no exact match; closest results", *([f"missing: {without}"] * bool(without))]
    return FinderResult(_best_messages(answer), more=answer.more, instead=lines, near=True)


def _best_messages(answer: SearchPage) -> Sequence[PickedText]:
    """Return the best matching message of each conversation."""
    return [PickedText(group.row, group.hits[0].number) for group in answer.groups if group.hits]


def _count_elsewhere(finder: Finder, text: str) -> str:
    rows = finder.among(SearchRequest(text))
    result = having(finder, text, rows)
    titled = PickerItems([*rows.values()], finder.conversations).titled(text)
    count = len({row.identity for row in (*titled, *(match.row for match in result.found))})
    return f"{count:,}{' or more' if result.more else ''}" if count else ""


def _suggest(finder: Finder, text: str) -> tuple[list[str], list[str]]:
    """Return two lists of "did you mean" lines: one with similar words, one with similar titles."""
    why = explain_no_results(finder, SearchRequest(text))
    words = dict.fromkeys(near for _, near in why.unknown if near)
    titles = dict.fromkeys(row.title for row in why.titles)

    def did_you_mean(texts: Sequence[str]) -> list[str]:
        return [f'Did you mean "{clean(text, lines=False)}"?' for text in texts]

    return did_you_mean([*words]), did_you_mean([*titles][:_MAX_TITLES])
