"""One contestant through the whole comparison: `python -m bench.peer_run KEY FOLDER full|quick`, by
a Python that has it, prints what was found as JSON. It has a server of its own if it needs one;
each piece of work is a process of its own."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench import peer_race, peer_work, starts
from bench.forks import Told, in_child
from bench.peer_bounds import FULL, QUICK, TORN, Bounds
from bench.peer_places import cut_files, cut_postgres, cut_redis
from bench.peers import PEERS, Peer
from bench.peers.base import URL
from tests.service.stores.databases import PostgresServer
from tests.service.stores.servers import RedisServer

AT_ONCE = ("--appendonly", "yes", "--appendfsync", "always", "--auto-aof-rewrite-percentage", "0")
Server = RedisServer | PostgresServer | None


@contextmanager
def server_of(make: type[Peer], folder: str) -> Iterator[Server]:
    """A server of its own, on loopback, that syncs before it answers; None for who needs none."""
    if make.place == "redis":
        redis = RedisServer(Path(folder, "redis"), *AT_ONCE).start()
        try:
            yield redis
        finally:
            _forget_dead(redis)
            redis.stop()
    elif make.place == "postgres":
        postgres = PostgresServer()
        try:
            yield postgres.start()
        finally:
            _forget_dead(postgres)
            postgres.remove()
    else:
        yield None


class Contestant:
    """One of them, and what was found of it so far."""

    def __init__(self, key: str, folder: str, bounds: Bounds) -> None:
        self.make, self.folder, self.bounds = PEERS[key], folder, bounds
        make = self.make
        self.found: dict[str, Any] = {
            "name": make.name,
            "version": make().version,
            "ours": make.ours,
            "place": make.place,
            "syncs": make.syncs,
            "cells": {},
            "why": {},
            "rounds": {},
            "floors": {},
            "errors": [],
            "seconds": {},
        }

    def measure(self) -> dict[str, Any]:
        """All that the table says of it. What fails has its error there, and the rest goes on."""
        spent = starts.seconds(self.make.imports, sys.executable, self.bounds.starts)
        self.found["cells"]["import"] = spent
        exec(self.make.imports, {})
        with server_of(self.make, self.folder) as server:
            os.environ[URL] = server.url if server else ""
            for name, step in peer_work.STEPS.items():
                self._take(name, lambda step=step: step(self.make, self.folder, self.bounds))
            if self.make.no_append:
                self.found["why"].update(rate=self.make.no_append, writers=self.make.no_append)
            else:
                began = time.monotonic()
                self.found["cells"] |= peer_race.run(self.make, f"{self.folder}/race", self.bounds)
                self.found["seconds"]["race"] = round(time.monotonic() - began, 1)
            self._cut(server)
        return self.found

    def _take(self, name: str, work: Any) -> None:
        began = time.monotonic()
        told: Told = in_child(work, self.bounds.patience)
        self.found["seconds"][name] = round(time.monotonic() - began, 1)
        if told.error:
            self.found["errors"].append(f"{name}: {told.error.replace(self.folder, '…')}")
        else:
            for part, values in told.found.items():
                self.found[part] |= values

    def _cut(self, server: Server) -> None:
        """What is read of a conversation whose writer was killed, and then the end of the file
        cut."""
        folder = f"{self.folder}/torn"
        os.makedirs(folder)
        told = in_child(lambda: peer_work.begin(self.make, folder), self.bounds.patience)
        cut, error = "", told.error
        if not error:
            try:
                cut = _cut_off(server, folder)
            except AssertionError:  # by which a server tells that it does not start
                error = "the server does not start again"
        if not error:
            told = in_child(lambda: peer_work.count(self.make, folder), self.bounds.patience)
            error = told.error
        self.found["cells"]["torn"] = [0 if error else told.found, TORN]
        self.found["torn"] = {"file": cut, "error": error.replace(folder, "…")}


def _cut_off(server: Server, folder: str) -> str:
    if server is None:
        return cut_files(folder)
    server.kill()
    where = str(server.folder)
    cut = cut_redis(where) if isinstance(server, RedisServer) else cut_postgres(where)
    server.start()
    return cut


def _forget_dead(server: RedisServer | PostgresServer) -> None:
    """One that ended by itself cannot be stopped."""
    if server.process is not None and server.process.poll() is not None:
        server.process = None


if __name__ == "__main__":
    # A server goes with the one that started it.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    key, place, how = sys.argv[1:]
    os.makedirs(place)
    said = json.dumps(Contestant(key, place, QUICK if how == "quick" else FULL).measure())
    print(said, flush=True)
    os._exit(0)
