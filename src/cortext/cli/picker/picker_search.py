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

from cortext.catalog.row import ConversationRow
from cortext.cli.picker.picker_items import PickedText, PickerItems
from cortext.features.search.no_results import explain_no_results
from cortext.features.search.ranked_search import RankedResults, useful_texts
from cortext.features.search.search_results import Finder, SearchRequest
from cortext.features.search.transcript_scan_result import NO_SCAN, ScanLimits
from cortext.model.safe_text import clean

TITLED = "other titles, tags and ids"
_NEAR = "no exact match; closest results"
_MAX_RESULTS = 60
"""The most conversations in the result of a search."""
_SCAN_SECONDS = 2.0
"""The seconds that a search of the transcripts may take while the user types."""
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

    The thread calls `answer` with a request, and then calls `tell` with the request and the answer.
    If `answer` raises an error, the thread calls `fail` with the error, and continues.
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

    `found` has the matching conversations in the order of `cortext search`. `more` is True if there
    are further matches. If `near` is True, no conversation has all typed words, and `found` has the
    closest conversations. `notes` has lines for the user, such as the missing words. The picker
    shows them above the conversations, or in place of the list if nothing was found.
    """

    found: Sequence[PickedText] = ()
    more: bool = False
    notes: Sequence[str] = ()
    near: bool = False

    def with_titled(self, titled: Sequence[ConversationRow]) -> Sequence[ConversationRow | str]:
        """Return the rows of the picker's list: conversations and headings.

        `titled` are the conversations whose title or other fields match the typed text. They come
        after the conversations in `found`. If `near` is True, they come first, because the
        conversations in `found` match only partly. A conversation that is in both groups appears
        only among the conversations in `found`.
        """
        found = [match.row for match in self.found]
        known = {row.identity for row in found}
        others = [row for row in titled if row.identity not in known]
        if not found:
            return others
        if self.near:
            return [*others, *self.notes, *found]
        return [*self.notes, *found, *([TITLED, *others] if others else ())]


class TextFinder:
    """The search of the picker through the messages of conversations.

    The first search after the picker loads a list also adds new messages to the full-text index.
    Therefore the picker makes an empty search when it opens, so that this work begins before the
    user types. `say` shows the progress of the indexing. `is_closed` returns True after the picker
    was closed.
    """

    def __init__(self, say: Callable[[str], None], is_closed: Callable[[], bool]) -> None:
        self._say, self._is_closed = say, is_closed
        self._finders: tuple[Finder, Finder] | None = None
        self._indexed_items: PickerItems | None = None
        self._has_shown_progress = False

    def find(self, asked: PickerQuery) -> FinderResult:
        """Search the messages for the typed text.

        If neither a message nor a title matches, the result has only suggestions for the user.
        """
        finder, everywhere = self._refreshed_finders(asked.shelf)
        if not asked.text:
            return FinderResult()
        results = finder.rank(SearchRequest(asked.text, scan=ScanLimits(_SCAN_SECONDS)))
        if results.conversations:
            return _make_result(results, asked, everywhere)
        return FinderResult() if asked.is_titled else _explain(asked, everywhere)

    def _refreshed_finders(self, shelf: PickerItems) -> tuple[Finder, Finder]:
        """Return a finder for the conversations of `shelf`, and one for all conversations.

        Index new messages first.
        """
        if self._finders is None or self._indexed_items is not shelf:
            everywhere, self._indexed_items = Finder(), shelf
            known = {row.identity for row in shelf.rows}
            self._finders = everywhere.only(lambda row: row.identity in known), everywhere
            everywhere.refresh(progress=self._progress)
            if self._has_shown_progress:
                self._say("")
        return self._finders

    def _progress(self, done: int, total: int) -> None:
        if self._is_closed():
            raise ClosedError
        if total > _PROGRESS_STEP and done % _PROGRESS_STEP == 0:
            self._has_shown_progress = True
            self._say(f"reading messages: {done} of {total} conversations")


def _make_result(results: RankedResults, asked: PickerQuery, everywhere: Finder) -> FinderResult:
    """Return the ranked conversations, with notes for the user if they match only partly."""
    rows = {row.identity: row for row in asked.shelf.rows}
    shown = results.conversations[:_MAX_RESULTS]
    found = [PickedText(rows[each.identity], useful_texts(each.texts)[0].number) for each in shown]
    near = not results.complete
    notes = [_NEAR, *_describe_difference(results)] if near else []
    if near and not asked.shelf.is_everywhere:
        count = len(everywhere.rank(SearchRequest(asked.text, scan=NO_SCAN)).complete)
        notes += [f"all words in other projects: {count}; press Tab"] * bool(count)
    if inexact := sum(each.identity in results.inexact for each in shown):
        notes.append(f"{inexact} only without the punctuation")
    return FinderResult(found, len(results.conversations) > len(shown), notes, near)


def _describe_difference(results: RankedResults) -> list[str]:
    """Return lines that name the corrected words and the missing words."""
    lines = [
        f'showing results for "{clean(used, lines=False)}"' for used in results.corrections.values()
    ]
    missing = clean(", ".join(results.missing), lines=False)
    return [*lines, *([f"missing: {missing}"] * bool(missing))]


def _explain(asked: PickerQuery, everywhere: Finder) -> FinderResult:
    """Return the notes to show if no conversation matches the typed text.

    If other projects have matches, the notes say how many. Otherwise the notes have suggestions.
    """
    if not asked.shelf.is_everywhere and (count := _count_matches(everywhere, asked.text)):
        return FinderResult(
            notes=["No match in this project.", f"In other projects: {count:,}. Press Tab."]
        )
    return FinderResult(
        notes=["No conversation contains these words.", *_suggest(everywhere, asked.text)]
    )


def _count_matches(finder: Finder, text: str) -> int:
    """Return how many conversations match a text, in their titles or in their messages."""
    rows = [*finder.among(SearchRequest(text)).values()]
    titled = PickerItems(rows, finder.conversations).titled(text)
    found = finder.rank(SearchRequest(text, scan=NO_SCAN)).conversations
    return len({*(row.identity for row in titled), *(each.identity for each in found)})


def _suggest(finder: Finder, text: str) -> list[str]:
    """Return "did you mean" lines with similar words. If no word is similar, use similar titles."""
    why = explain_no_results(finder, SearchRequest(text))
    words = dict.fromkeys(near for _, near in why.unknown if near)
    titles = dict.fromkeys(row.title for row in why.titles)
    texts = [*words] or [*titles][:_MAX_TITLES]
    return [f'Did you mean "{clean(text, lines=False)}"?' for text in texts]
