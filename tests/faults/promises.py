"""Processes that append and say what they were promised; and whether it was kept."""

import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from cortext.stores.registry import open_session_store
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
        process.communicate(timeout=10)


def go(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


def lost(lines: Iterable[str], urls: Iterable[str]) -> list[str]:
    """The acknowledged messages that are not there exactly once."""
    stores = {url.partition(":")[0]: open_session_store(url) for url in urls}
    found = {
        (kind, session): [message.id for message in store.load(session).messages]
        for kind, store in stores.items()
        for session in store.list_session_ids()
    }
    missing: list[str] = []
    for line in lines:
        said, kind, session, message = line.split()[:4]
        if said == "ack" and found.get((kind, session), []).count(message) != 1:
            missing.append(line)
    return missing
