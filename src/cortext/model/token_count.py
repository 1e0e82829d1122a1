"""The number of tokens in a conversation, reported by an AI tool or estimated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from cortext.model.message import SessionMessage
from cortext.model.session import Session

_MOST = 10**15


class TokenCount(NamedTuple):
    """The numbers of prompt and completion tokens of a conversation.

    If `reported` is true, an AI tool reported the numbers. If it is false, they are an estimate:
    every four characters count as one token.
    """

    prompt: int
    completion: int
    reported: bool

    @property
    def total(self) -> int:
        return self.prompt + self.completion


def tokens_of(session: Session, messages: Sequence[SessionMessage]) -> TokenCount:
    """Return the numbers of prompt and completion tokens of a conversation.

    The totals in `session` are used if there are any. If not, the counts in `messages` are added.
    If the messages have no counts either, the numbers are estimated from the length of their text.
    """
    if session.total_tokens > 0:
        totals = session.total_prompt_tokens, session.total_completion_tokens
        return TokenCount(_bounded(totals[0]), _bounded(totals[1]), True)
    reported = any(message.tokens for message in messages)
    sums = [0, 0]
    for message in messages:
        number = _bounded(message.tokens or 0) if reported else len(message.content)
        sums[message.role == "assistant"] += number
    prompt, completion = sums if reported else (each // 4 for each in sums)
    return TokenCount(prompt, completion, reported)


def _bounded(number: int) -> int:
    return min(max(number, 0), _MOST)
