"""Recovering a damaged session of `aur spawn`."""

from __future__ import annotations

from typing import NamedTuple

from cortext.durability.replace_file import set_aside, storage_errors
from cortext.features.spawn.session_paths import open_store, path_of, take


class Recovered(NamedTuple):
    """What became of a damaged session: turns that were kept, lines that were lost, and where the
    file is as it was."""

    kept: int
    lost: int
    aside: str


def recover(id: str) -> Recovered:
    """Keep every line of a damaged session that can be read, and beside it the file as it was."""
    store, path = open_store(), path_of(id)
    mark = take(id)
    try:
        reading = store.read(id)
        lost = sum(damage.fatal for damage in reading.damages)
        with storage_errors("set aside", path):
            aside = set_aside(path, "corrupt")
        session = reading.session
        session.agent = session.agent or "default"
        session.status = "paused"
        store.save(session)
    finally:
        mark.release()
    return Recovered(len(session.messages), lost, aside)
