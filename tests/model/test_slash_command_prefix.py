"""Slash commands of ours are no part of what a conversation is about."""

import pytest

from cortext.model.extractive_summary import digest
from cortext.model.message import SessionMessage
from cortext.model.slash_command_prefix import without_command
from cortext.model.title import first_line


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("/workspace.resume 3", ""),
        ("/workspace.resume parser", ""),
        ("/cortext parser", ""),
        ("/workspace.stop-conversation We chose REST.", ""),
        ("/workspace.brainstorm API design", "API design"),
        ("/workspace.plan", ""),
        ("/workspace.my-own\nTwo lines", "Two lines"),
        ("/compact now", "/compact now"),
        ("/cortexts now", "/cortexts now"),
        ("See /workspace.resume 3", "See /workspace.resume 3"),
    ],
)
def test_own_slash_commands_are_removed_from_text_and_title(text: str, left: str) -> None:
    assert without_command(text) == left
    assert first_line(text) == left


def test_summary_ignores_own_slash_commands() -> None:
    """What was typed to find it says nothing of it."""
    said = ["/workspace.resume 3", "Here it is.", "How do we make the parser faster?"]
    roles = ("user", "assistant")
    messages = [SessionMessage(roles[n % 2], text) for n, text in enumerate(said)]  # type: ignore[arg-type]
    assert digest(messages) == "How do we make the parser faster?"
