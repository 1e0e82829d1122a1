"""The part of a conversation that fits into an agent's next prompt.

A *turn* is one message of the user or of the agent.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import NamedTuple, cast

from cortext.formats.history_text import Left, Past, render_history
from cortext.model.ids import new_id
from cortext.model.message import SessionMessage

MAX_TOKENS = 100_000
FIRST, LAST = 2, 10
"""The numbers of turns, at the start and at the end, that a prompt keeps if it is too long."""
_NOTE_PERCENT, _WARNING_PERCENT = 80, 90  # percent
_FEWEST_LAST = 2
_MOST_TOKENS_IN_TURN = 1_000_000
RETRIES = "retries"
"""A key in a turn's `structured_data`, for the id of the earlier turn that this turn repeats."""


class Prompt(NamedTuple):
    """The text for the agent, and notes for the user about how full the context is."""

    text: str
    notes: list[str]


def estimate(text: str) -> int:
    """Estimate the number of tokens of a text from its length."""
    return len(text) // 4


def tokens_of(turn: SessionMessage) -> int:
    """Return the number of tokens of a turn.

    This is the count stored in the turn. If the count is missing or implausible, it is an estimate.
    """
    count = turn.tokens
    if count is not None and 0 <= count <= _MOST_TOKENS_IN_TURN + len(turn.content):
        return count
    return estimate(turn.content)


class ContextWindow:
    """The turns of a conversation that the next prompt contains.

    The prompt contains all turns until they fill `max_tokens`. Then older turns are left out: the
    first two and the last ten turns stay, or fewer of the last turns if these are too long. The
    `notes` of a `Prompt` warn the user before turns are left out.
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
        self._noted_percent = 0
        self._dropped = 0  # the number of turns left out without a note to the user

    @property
    def percent(self) -> int:
        """The percentage of `max_tokens` that the turns in the window use."""
        return self.used * 100 // self.max_tokens

    @property
    def turns(self) -> int:
        """The number of turns so far, including turns that are left out of the prompt."""
        return len(self._first) + self.trimmed + len(self._last)

    def add(self, turn: SessionMessage) -> None:
        """Add a turn that was completed or read from a file.

        If the turn is a new attempt at an earlier turn, first remove the earlier turn and all turns
        after that turn.
        """
        if turn.structured_data is not None:
            self._drop_from(_retried_id(turn))
        (self._first if len(self._first) < FIRST else self._last).append(turn)
        self.used += tokens_of(turn)
        self._drop_what_does_not_fit()

    def add_all(self, turns: Sequence[SessionMessage]) -> None:
        """Add turns in order. For very many turns, this is faster than calling `add` in a loop."""
        plain = all([turn.structured_data is None for turn in turns])  # noqa: C419  faster
        if not plain or len(self._first) < FIRST:
            for turn in turns:
                self.add(turn)
            return
        self._last.extend(turns)
        self.used += sum(map(tokens_of, turns))
        self._drop_what_does_not_fit()

    def _drop_what_does_not_fit(self) -> None:
        """Drop old turns that no prompt has room for, to save memory. The first two turns stay."""
        last, used, before = self._last, self.used, len(self._last)
        while used > self.max_tokens and len(last) > LAST:
            used -= tokens_of(last.popleft())
        self.used = used
        self.trimmed += before - len(last)
        self._dropped += before - len(last)

    def before(self, id: str) -> ContextWindow:
        """Return a copy of the window that ends just before the turn with the id `id`.

        If the window does not have this turn, the copy has all turns.
        """
        window = ContextWindow(self.max_tokens)
        window.used, window.trimmed, window._noted_percent = (
            self.used,
            self.trimmed,
            self._noted_percent,
        )
        window._first, window._last = self._first.copy(), self._last.copy()
        window._dropped = self._dropped
        window._drop_from(id)
        return window

    def prompt(self, text: str, system: str = "") -> Prompt:
        """Return the prompt: the system text, the history, and the user's new `text`."""
        notes = self._make_room(estimate(system) + estimate(text))
        parts = [system] if system else []
        if self._first:
            nonce = new_id().replace("-", "")
            shown = len(self._first) + len(self._last)
            parts.append(render_history(self._history(), nonce, shown=shown, total=self.turns))
            parts.append("The conversation continues. The user now says:")
        return Prompt("\n\n".join((*parts, text)), notes)

    def _make_room(self, more: int) -> list[str]:
        """Leave out old turns if the next prompt would be too long, and return notes for the user.

        `more` is the number of tokens in the prompt that are not part of the turns.
        """
        percent = (self.used + more) * 100 // self.max_tokens
        if self._dropped or (
            percent >= _WARNING_PERCENT
            and (self._noted_percent >= _WARNING_PERCENT or percent >= 100)
        ):
            return self._trim(more, percent)
        for level, warning in (
            (_WARNING_PERCENT, "; older turns will be left out soon"),
            (_NOTE_PERCENT, ""),
        ):
            if percent >= level > self._noted_percent:
                self._noted_percent = level
                return [f"The context is {percent} % full{warning}."]
        return []

    def _trim(self, more: int, full: int) -> list[str]:
        before, self._dropped = self.trimmed - self._dropped, 0
        while len(self._last) > LAST:
            self._leave_out()
        while len(self._last) > _FEWEST_LAST and self.used + more > self.max_tokens:
            self._leave_out()
        percent = (self.used + more) * 100 // self.max_tokens
        self._noted_percent = percent if percent >= _NOTE_PERCENT else 0
        if self.trimmed == before:
            return [f"The context is {percent} % full, and no turns can be left out."]
        remaining = f"the first {FIRST} and the last {len(self._last)} of {self.turns} turns"
        return [f"The context is full. The agent gets {remaining}. The file keeps all turns."]

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
        history: list[Past | Left] = [Past(t.role, t.timestamp, t.content) for t in self.kept()]
        if self.trimmed:
            history.insert(FIRST, Left(f"{self.trimmed} turns are omitted here"))
        return history


def _retried_id(turn: SessionMessage) -> str:
    data = turn.structured_data
    id = cast("dict[str, object]", data).get(RETRIES) if isinstance(data, dict) else None
    return id if isinstance(id, str) else ""
