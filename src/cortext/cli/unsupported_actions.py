"""Errors for actions that sessions of `spawn` or of programs do not support."""

from __future__ import annotations

from cortext.catalog.row import ConversationRow
from cortext.errors import CortextError


def cannot_stop_error(row: ConversationRow) -> CortextError:
    """Return the error for an attempt to stop a session of `spawn`.

    Such a session cannot be stopped, because `spawn` saves every message at once.
    """
    return CortextError(
        f"{row.key} is a session of `cortext spawn`, which saves each message at once",
        hint=f"you need not stop it; `cortext import {row.key}` makes a conversation from it",
    )


def cannot_delete_error(row: ConversationRow) -> CortextError:
    """Return the error for an attempt to delete a session that a program stores.

    Only the program may delete such a session.
    """
    return CortextError(
        f"{row.key} belongs to a program and was not deleted",
        hint=f"delete it in the program, or delete its file: {row.path}",
    )
