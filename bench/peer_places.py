"""Where contestants keep their messages: filling such a place fast, how large it is, and what is
lost of it when the end of what was written last is gone."""

from __future__ import annotations

import glob
import os
import shutil
import tempfile
from collections.abc import Callable
from typing import TYPE_CHECKING

from bench.peer_bounds import CUT

if TYPE_CHECKING:
    from bench.peers import Peer

_MEMORY = "/dev/shm"


def seed(make: type[Peer], folder: str, fill: Callable[[Peer], None]) -> None:
    """Fill a store through its own API without waiting for a disk, and put it where it belongs:
    only what is measured afterwards is to be durable."""
    if make.place == "files" and os.path.isdir(_MEMORY):
        with tempfile.TemporaryDirectory(dir=_MEMORY, prefix="cortext-bench-") as quick:
            _fill(make, quick, fill)
            shutil.copytree(quick, folder, dirs_exist_ok=True, symlinks=True)
    else:
        _relax(make.place, True)
        try:
            _fill(make, folder, fill)
        finally:
            _relax(make.place, False)
    os.sync()


def _fill(make: type[Peer], folder: str, fill: Callable[[Peer], None]) -> None:
    peer = make()
    peer.open(folder)
    try:
        fill(peer)
    finally:
        peer.close()
        os.chdir("/")


def _relax(place: str, relaxed: bool) -> None:
    from bench.peers.base import server

    if place == "redis":
        from redis import Redis

        with Redis.from_url(server()) as client:
            client.config_set("appendfsync", "no" if relaxed else "always")
    elif place == "postgres":
        import psycopg

        with psycopg.connect(server(), autocommit=True) as db:
            db.execute(f"ALTER SYSTEM SET synchronous_commit = {'off' if relaxed else 'on'}")
            db.execute("SELECT pg_reload_conf()")
            if not relaxed:
                db.execute("CHECKPOINT")


def size(peer: Peer, folder: str) -> int:
    """Bytes on the disk: of all files, of Redis's log, of the database."""
    if peer.place == "redis":
        from redis import Redis

        from bench.peers.base import server

        with Redis.from_url(server()) as client:
            return int(client.info("persistence")["aof_current_size"])  # type: ignore[index]
    if peer.place == "postgres":
        import psycopg

        from bench.peers.base import server

        with psycopg.connect(server()) as db:
            row = db.execute("SELECT pg_database_size(current_database())").fetchone()
            return int(row[0]) if row else 0
    paths = (f"{root}/{name}" for root, _, names in os.walk(folder) for name in names)
    return sum(os.stat(path).st_blocks * 512 for path in paths)


def cut_files(folder: str) -> str:
    """Cut the end off the file that was written last; its name. Locks and shared memory, which
    have no message, are not meant."""
    paths = [f"{root}/{name}" for root, _, names in os.walk(folder) for name in names]
    data = [path for path in paths if os.path.getsize(path) > CUT and not path.endswith("-shm")]
    newest = max(data, key=lambda path: os.stat(path).st_mtime_ns)
    end = _end_of_wal(newest) if newest.endswith("-wal") else os.path.getsize(newest)
    os.truncate(newest, end - CUT)
    return os.path.basename(newest)


def _end_of_wal(path: str) -> int:
    """Where SQLite's log ends: it is written from its start again and again, and what is older
    stands behind. A frame that is of now has the salt of the head."""
    with open(path, "rb") as file:
        data = file.read()
    step, salt, end = 24 + int.from_bytes(data[8:12]), data[16:24], 32
    while data[end + 8 : end + 16] == salt:
        end += step
    return min(end, len(data))


def cut_redis(folder: str) -> str:
    """The same of Redis's log."""
    (newest,) = glob.glob(f"{folder}/appendonlydir/*.incr.aof")
    os.truncate(newest, os.path.getsize(newest) - CUT)
    return os.path.basename(newest)


def cut_postgres(folder: str) -> str:
    """The same of PostgreSQL's log, whose files are made in advance: the last bytes in it that were
    written are zero again."""
    logs = [path for path in glob.glob(f"{folder}/data/pg_wal/*") if os.path.isfile(path)]
    newest = max(logs, key=lambda path: os.stat(path).st_mtime_ns)
    with open(newest, "r+b") as file:
        end = len(file.read().rstrip(b"\0"))
        file.seek(max(end - CUT, 0))
        file.write(bytes(CUT))
    return os.path.basename(newest)
