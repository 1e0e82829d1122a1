"""What cannot be done to sessions of `spawn` and of programs, and what does it instead."""

from __future__ import annotations

from cortext.catalog.row import ConversationRow
from cortext.errors import CortextError


def not_stopped(row: ConversationRow) -> CortextError:
    """Of a session of `spawn`, which nobody has to stop."""
    return CortextError(
        f"{row.key} is a session of `cortext spawn`, which saves it turn by turn",
        hint=f"nothing has to be done; `cortext import {row.key}` makes a conversation of it",
    )


def not_deleted(row: ConversationRow) -> CortextError:
    """Of a session that a program keeps: only the program knows whether it needs it."""
    return CortextError(
        f"{row.key} is kept by a program, and was not deleted",
        hint=f"the program deletes it, or you do: its file is {row.path}",
    )
