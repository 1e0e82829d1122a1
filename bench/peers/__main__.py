"""Self test: `python -m bench.peers [KEY...]` runs every peer small and counts what is there."""

from __future__ import annotations

import sys
import tempfile

from bench import race

from . import PEERS

APPENDS = 20


def check(key: str) -> str:
    """One peer through its whole interface, in a folder of its own."""
    with tempfile.TemporaryDirectory(prefix=f"peer-{key}-") as folder:
        peer = PEERS[key]()
        peer.open(f"{folder}/work")
        for number in range(APPENDS):
            peer.append("one", "user", f"{number} {race.TEXT}")
        loaded, last = len(peer.load("one")), len(peer.last("one", 5))
        assert (loaded, last) == (APPENDS, 5), (key, loaded, last)
        peer.create_sessions(5)
        newest = peer.newest(3)
        peer.close()
        result = race.run(key, f"{folder}/race", processes=4, each=10)
        listed = "no listing" if newest is None else f"lists {len(newest)}"
        syncs = "syncs" if peer.syncs else "does not sync"
        return (
            f"{peer.name} {peer.version}: {syncs}, {listed}, acknowledged {result.acknowledged}, "
            f"present {result.present}, errors {result.errors}"
        )


if __name__ == "__main__":
    for name in sys.argv[1:] or PEERS:
        print(check(name), flush=True)
