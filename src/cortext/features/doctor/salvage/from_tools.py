"""Messages that a conversation lost, from the AI tool that they were said in."""

from __future__ import annotations

import os
from typing import Any, cast

from cortext import paths
from cortext.durability.replace_file import remove_if_there
from cortext.errors import CortextError, where_and_why
from cortext.features.capture.capture import capture
from cortext.features.capture.capture_progress import path_of
from cortext.features.capture.ledger import OUT, Taken, add_taken
from cortext.model import record_dicts
from cortext.stores.folder import FolderStore
from cortext.stores.workspace_layout import Place


def take_again(root: str, place: Place, most: int | None) -> str:
    """Take what is missing, and was taken before, from the tool again: not more than `most`
    messages, since a person may have taken out others. A clause that says how many; "" for none.

    Who redacts does not want to see a secret again: for such a person there are none in it.
    """
    try:
        missing = _forget_missing(root, place, most)
        if not missing:
            return ""
        new = capture(root, place, whole=True).new
        masked = _mask(root, place, missing) if os.path.exists(paths.redaction_key()) else 0
    except (CortextError, OSError) as error:
        return f"; what is missing could not be had from the tool again: {where_and_why(error)}"
    if not new:
        return ""
    secrets = "1 secret in them is" if masked == 1 else f"{masked} secrets in them are"
    were = "1 was" if new == 1 else f"{new} were"
    return f", and {were} taken from the tool again{f'; {secrets} masked' if masked else ''}"


def _mask(root: str, place: Place, ids: set[str]) -> int:
    """Mask the secrets in messages that came back, and say how many those were: nobody knows any
    more which of them were masked before."""
    from cortext.features.secrets.redact_value import Marker, masked_value

    mask = Marker()

    def change(value: Any) -> Any:
        record = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
        return masked_value(record, mask) if record.get("id") in ids else cast("Any", value)

    FolderStore(root).rewrite_at(place, change)
    return len(mask.used)


def _forget_missing(root: str, place: Place, most: int | None) -> set[str]:
    """The ids of what is missing that a capture may take again: it is not known as taken now."""
    store = FolderStore(root)
    head = store.head_at(place)
    if not head.native:
        return set()
    of = f"{head.id} {record_dicts.iso(head.created_at)}"
    there = {message.id for message in store.read(place.folder[len(root) + 1 :]).session.messages}
    known = Taken(place, of).found
    missing = {id for id, took in known.items() if id not in there and took.print != OUT}
    if not missing or (most is not None and len(missing) > most):
        return set()
    remove_if_there(f"{path_of(place)}.taken")
    add_taken(place, of, [took for id, took in known.items() if id not in missing])
    return missing
