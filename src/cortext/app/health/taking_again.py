"""Messages that a conversation lost, from the AI tool that they were said in."""

from __future__ import annotations

from cortext.app.capture import capture
from cortext.app.progress import path_of
from cortext.app.taken import OUT, Taken, add_taken
from cortext.durability.replace import remove_if_there
from cortext.errors import CortextError
from cortext.model import wire
from cortext.stores.folder import FolderStore
from cortext.stores.layout import Place


def take_again(root: str, place: Place, most: int | None) -> str:
    """Take what is missing, and was taken before, from the tool again: not more than `most`
    messages, since a person may have taken out others. A clause that says how many; "" for none.
    """
    try:
        if not _forget_missing(root, place, most):
            return ""
        new = capture(root, place, whole=True).new
    except (CortextError, OSError) as error:
        return f"; what is missing could not be had from the tool again: {error}"
    return f", and {new} were taken from the tool again" if new else ""


def _forget_missing(root: str, place: Place, most: int | None) -> bool:
    """Whether something is missing that a capture may take again: it is not known as taken now."""
    store = FolderStore(root)
    head = store.head_at(place)
    if not head.native:
        return False
    of = f"{head.id} {wire.iso(head.created_at)}"
    there = {message.id for message in store.read(place.folder[len(root) + 1 :]).session.messages}
    known = Taken(place, of).found
    missing = {id for id, took in known.items() if id not in there and took.print != OUT}
    if not missing or (most is not None and len(missing) > most):
        return False
    remove_if_there(f"{path_of(place)}.taken")
    add_taken(place, of, [took for id, took in known.items() if id not in missing])
    return True
