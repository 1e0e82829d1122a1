"""Appends, for ever or `COUNT` times, to sessions of stores: `appends.py COUNT NAME URL...`.

A line on stdin starts it. Each `ack KIND SESSION MESSAGE` on stdout is a promise; after an
`err` the same message is tried once more, and a second one ends the process. A COUNT with a
minus sign makes every sync a lie.
"""

import os
import sys
from itertools import count

from cortext.errors import CortextError
from cortext.model.message import SessionMessage
from cortext.model.session import Session
from cortext.stores.port import SessionStore
from cortext.stores.registry import open_session_store

SHARED = "shared"


def say(*words: object) -> None:
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


def attempt(kind: str, store: SessionStore, session: str, message: SessionMessage) -> bool:
    try:
        if store.exists(session):
            store.append(session, message)
        else:
            store.save(Session(session, messages=[message]))
    except CortextError as error:
        say("err", kind, session, message.id, error)
        return False
    say("ack", kind, session, message.id)
    return True


def main(times: str, name: str, *urls: str) -> None:
    if times.startswith("-"):
        os.fsync = os.fdatasync = lambda fd: None
    stores = [(url.partition(":")[0], open_session_store(url)) for url in urls]
    say("ready")
    sys.stdin.readline()
    for number in range(abs(int(times))) if int(times) else count():
        for kind, store in stores:
            session = SHARED if number % 5 else f"{name}-{number}"
            message = SessionMessage("user", "x" * 300, id=f"{name}-{number}")
            if not any(attempt(kind, store, session, message) for _ in range(2)):
                return


if __name__ == "__main__":
    main(*sys.argv[1:])
