"""Processes that append and say what they were promised; and whether it was kept."""

import json
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cortext.catalog.documents.document_index import SessionIndex
from cortext.durability.gzip_members import read_packed
from cortext.stores.store_registry import open_session_store
from tests.faults import appends
from tests.faults.inject import environment


@contextmanager
def appending(
    home: Path, times: int, name: str, *urls: str, under: Iterable[str] = ()
) -> Iterator[subprocess.Popen[str]]:
    """A process that is ready to append, and ended with the test whatever happens."""
    home.mkdir(exist_ok=True)
    process = subprocess.Popen(
        [*under, sys.executable, appends.__file__, str(times), name, *urls],
        env=environment(home),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "ready\n"
        yield process
    finally:
        process.kill()
        process.communicate(timeout=60)


def go(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


# As what their files can be read: the rest of it is derived, or a window.
_READ_AS = {"file": "log", "index": "document"}


def _copies(folder: Path) -> dict[str, list[str | None]]:
    """The messages of each session that both of its copies have, of its log and its document."""
    found: dict[str, list[str | None]] = {}
    archive = folder / "cortext/archive"
    for log in archive.glob("claude/projects/*/*.jsonl.gz"):
        id = log.name.removesuffix(".jsonl.gz")
        messages: list[Any] = []
        # The one that was being copied when the power went may have none yet.
        for document in archive.glob(f"gemini/tmp/*/chats/{id}.json.gz"):
            messages = json.loads(b"".join(read_packed(str(document))))["messages"]
        lines = b"".join(read_packed(str(log))).splitlines()
        found[id] = [line["id"] for line in map(json.loads, lines) if line in messages]
    return found


def lost(lines: Iterable[str], urls: Iterable[str]) -> list[str]:
    """The acknowledged messages that are not there exactly once, and what the index passes over."""
    found: dict[tuple[str, str], list[str | None]] = {}
    missing: list[str] = []
    for url in urls:
        kind, _, folder = url.partition(":")
        if kind == "archive":
            found |= {(kind, id): ids for id, ids in _copies(Path(folder)).items()}
            continue
        store: Any = open_session_store(f"{_READ_AS.get(kind, kind)}:{folder}")
        ids = store.list_session_ids()
        for id in ids:
            found[kind, id] = [message.id for message in store.load(id).messages]
        if kind == "index":
            index = SessionIndex(store)
            listed = {summary.id for summary in index.list(limit=len(ids) + 1)}
            missing += [f"the index has no {id}" for id in ids if id not in listed]
            index.close()
    for line in lines:
        said, kind, session, message = line.split()[:4]
        if said == "ack" and found.get((kind, session), []).count(message) != 1:
            missing.append(line)
    return missing
