"""Telling copies of messages from new ones, whatever was masked in them meanwhile."""

from datetime import UTC, datetime

import pytest

from cortext import SessionMessage
from cortext.features.capture.message_reconciliation import Copies
from tests.features.secrets.tool_sessions import KEY, TOKEN

AT = datetime(2026, 1, 2, tzinfo=UTC)


def said(words: str) -> SessionMessage:
    return SessionMessage("user", words, AT)


@pytest.mark.parametrize(
    "there",
    [
        f"Use {TOKEN} and {KEY}.",
        f"Use [secret removed: github-token] and {KEY}.",
        "Use [secret removed: github-token] and [secret removed: anthropic-key].",
        "Use [redacted github-token 0123456789ab] and [redacted anthropic-key ba9876543210].",
        f"Use [redacted github-token 0123456789ab] and {KEY}.",
        "Use [redacted github-token ffffffffffff] and [secret removed: anthropic-key].",
    ],
)
def test_reconcile_matches_message_with_its_redacted_copy(there: str) -> None:
    """With either mask, with any key, all of it or one alone: it is the same message, once."""
    copies = Copies([said(there)])
    assert copies.take(said(f"Use {TOKEN} and {KEY}."))
    assert not copies.take(said(f"Use {TOKEN} and {KEY}."))


def test_reconcile_rejects_copy_with_different_text_or_secret_kind() -> None:
    """Also where the secret is the same, and where another kind was masked."""
    copies = Copies([said("Use [redacted github-token 0123456789ab] now.")])
    assert not copies.take(said(f"Use {TOKEN} later."))
    assert not copies.take(said(f"Use {KEY} now."))
    assert copies.take(said(f"Use {TOKEN} now."))


def test_reconcile_finds_no_copy_in_empty_conversation() -> None:
    assert not Copies([]).take(said("Hello."))
