"""What was said in a tool comes into the conversation that it belongs to when that is looked at."""

from __future__ import annotations

from msgspec.structs import replace

from cortext.catalog.row import ConversationRow
from cortext.errors import CortextError
from cortext.stores.folder import FolderStore


def take_in(row: ConversationRow) -> ConversationRow:
    """Take in what was said in the tools that have a conversation, also where nobody stopped it
    and no hook told us; the row as it is then. What cannot be is logged: there is something to
    show all the same."""
    if row.tool or not row.status:
        return row
    try:
        # Most are had in no tool, and then the modules that read those are not even loaded.
        if not FolderStore(row.workspace).head_at(row.place).native:
            return row
        from cortext.features.capture.bindings import Bound
        from cortext.features.capture.capture import capture
        from cortext.features.capture.current_session import row_in_list

        if not capture(row.workspace, row.place).new:
            return row
        return replace(row_in_list(Bound(row.workspace, row.place)), key=row.key)
    except (OSError, CortextError) as error:
        import logging

        log = logging.getLogger("cortext.features")
        log.info("what is new in %s was not taken in: %s", row.key, error)
        return row
