"""The part of a conversation that fits into an agent's next prompt.

A *turn* is one message of the user or of the agent.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import NamedTuple, cast

from cortext.formats.briefing import Left, Past, render_history
from cortext.model.ids import new_id
from cortext.model.message import SessionMessage

MAX_TOKENS = 100_000
FIRST, LAST = 2, 10
"""How many turns at the start and at the end remain when the window is full."""
_NEAR, _NEXT = 80, 90  # percent
_FEWEST = 2
_MOST_IN_ONE = 1_000_000
RETRIES = "retries"
"""The key, in the structured data of a user's turn, for the id of the turn that it repeats."""


class Prompt(NamedTuple):
    """The text for the agent, and notes for the user about how full the context is."""

    text: str
    notes: list[str]


def estimate(text: str) -> int:
    """Estimate the number of tokens of a text from its length."""
    return len(text) // 4


def tokens_of(turn: SessionMessage) -> int:
    """Return the number of tokens of a turn, as its tool counted them or as an estimate.

    The count in a file may be wrong, so an implausible count is ignored.
    """
    told = turn.tokens
    if told is not None and 0 <= told <= _MOST_IN_ONE + len(turn.content):
        return told
    return estimate(turn.content)


class ContextWindow:
    """The turns that the next prompt contains.

    The window has all turns until they fill `max_tokens`. Then it is trimmed to the first two and
    the last ten turns. The `notes` of a `Prompt` warn the user before that happens.
    """

    def __init__(self, max_tokens: int = MAX_TOKENS) -> None:
        self.max_tokens = max_tokens
        self.clear()

    def clear(self) -> None:
        """Remove all turns, so that the next prompt has no history."""
        self.used: int = 0
        self.trimmed: int = 0
        self._first: list[SessionMessage] = []
        self._last: deque[SessionMessage] = deque()
        self._told = 0
        self._dropped = 0  # turns that were left out without a note to the user

    @property
    def percent(self) -> int:
        """How full the window is, in percent of `max_tokens`."""
        return self.used * 100 // self.max_tokens

    @property
    def turns(self) -> int:
        """The number of turns so far, including turns that are left out of the prompt."""
        return len(self._first) + self.trimmed + len(self._last)

    def add(self, turn: SessionMessage) -> None:
        """Add a turn that was completed or read from a file.

        If the turn repeats an earlier turn, the earlier turn and every turn after it are removed
        first.
        """
        if turn.structured_data is not None:
            self._drop_from(_retried(turn))
        (self._first if len(self._first) < FIRST else self._last).append(turn)
        self.used += tokens_of(turn)
        self._drop_what_does_not_fit()

    def add_all(self, turns: Sequence[SessionMessage]) -> None:
        """Add turns in order, faster than repeated calls of `add`.

        A file may have very many turns.
        """
        plain = all([turn.structured_data is None for turn in turns])  # noqa: C419  faster
        if not plain or len(self._first) < FIRST:
            for turn in turns:
                self.add(turn)
            return
        self._last.extend(turns)
        self.used += sum(map(tokens_of, turns))
        self._drop_what_does_not_fit()

    def _drop_what_does_not_fit(self) -> None:
        """Drop old turns that fit into no prompt, to save memory."""
        last, used, before = self._last, self.used, len(self._last)
        while used > self.max_tokens and len(last) > LAST:
            used -= tokens_of(last.popleft())
        self.used = used
        self.trimmed += before - len(last)
        self._dropped += before - len(last)

    def before(self, id: str) -> ContextWindow:
        """Return a copy of the window that ends before the turn with this id.

        If the window does not have the turn, the copy has all turns.
        """
        found = ContextWindow(self.max_tokens)
        found.used, found.trimmed, found._told = self.used, self.trimmed, self._told
        found._first, found._last = self._first.copy(), self._last.copy()
        found._dropped = self._dropped
        found._drop_from(id)
        return found

    def prompt(self, text: str, system: str = "") -> Prompt:
        """Return the prompt: the system text, the history, and the user's new `text`."""
        notes = self._make_room(estimate(system) + estimate(text))
        parts = [system] if system else []
        if self._first:
            nonce = new_id().replace("-", "")
            shown = len(self._first) + len(self._last)
            parts.append(render_history(self._history(), nonce, shown=shown, total=self.turns))
            parts.append("The conversation goes on. The user says now:")
        return Prompt("\n\n".join((*parts, text)), notes)

    def _make_room(self, more: int) -> list[str]:
        """Trim the window if `more` tokens would fill it, and return notes for the user."""
        full = (self.used + more) * 100 // self.max_tokens
        if self._dropped or (full >= _NEXT and (self._told >= _NEXT or full >= 100)):
            return self._trim(more, full)
        for level, means in ((_NEXT, ": trimming is next"), (_NEAR, "")):
            if full >= level > self._told:
                self._told = level
                return [f"The context is {full} % full{means}."]
        return []

    def _trim(self, more: int, full: int) -> list[str]:
        before, self._dropped = self.trimmed - self._dropped, 0
        while len(self._last) > LAST:
            self._leave_out()
        while len(self._last) > _FEWEST and self.used + more > self.max_tokens:
            self._leave_out()
        now = (self.used + more) * 100 // self.max_tokens
        self._told = now if now >= _NEAR else 0
        if self.trimmed == before:
            return [f"The context is {now} % full, and there is nothing to leave out."]
        kept = f"the first {FIRST} and the last {len(self._last)} of {self.turns} turns"
        return [f"The context is full: the agent gets {kept}. The file keeps them all."]

    def _leave_out(self) -> None:
        self.used -= tokens_of(self._last.popleft())
        self.trimmed += 1

    def _drop_from(self, id: str) -> None:
        """Remove a turn and every turn after it, if the window has the turn."""
        while id and any(turn.id == id for turn in self.kept()):
            self.used -= tokens_of((self._last or self._first).pop())

    def kept(self) -> Iterator[SessionMessage]:
        """Yield the turns that the next prompt contains, in order."""
        yield from self._first
        yield from self._last

    def _history(self) -> list[Past | Left]:
        told: list[Past | Left] = [Past(t.role, t.timestamp, t.content) for t in self.kept()]
        if self.trimmed:
            told.insert(FIRST, Left(f"{self.trimmed} turns are left out here"))
        return told


def _retried(turn: SessionMessage) -> str:
    data = turn.structured_data
    found = cast("dict[str, object]", data).get(RETRIES) if isinstance(data, dict) else None
    return found if isinstance(found, str) else ""
