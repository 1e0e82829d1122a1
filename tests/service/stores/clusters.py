"""Several real Redis servers that know each other: a cluster, and a master with a sentinel."""

import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from tests.service.stores.servers import START, RedisServer, free_port

_NODES = 6
_BUS = 10_000
_SOON, _NEVER = 1000, 600_000
"""Milliseconds without an answer after which a server counts as dead."""


class RedisCluster:
    """Three masters with a replica each, on loopback.

    No replica takes over by itself, so a busy machine cannot cause a failover. A test that kills or
    pauses a node calls `allow_failover`.
    """

    def __init__(self, folder: Path) -> None:
        self.nodes: dict[int, RedisServer] = {}
        while len(self.nodes) < _NODES:
            port = _free_ports()
            if {port, port - _BUS, port + _BUS} & self.nodes.keys():
                continue
            self.nodes[port] = RedisServer(
                folder / str(port),
                "--cluster-enabled", "yes", "--cluster-node-timeout", str(_NEVER),
                "--cluster-require-full-coverage", "no", "--repl-diskless-sync-delay", "0",
                # A replica may take over even if it lost its master 20 s ago: on a busy machine,
                # elections are late.
                "--cluster-replica-validity-factor", "0",
                port=port,
            )  # fmt: skip

    @property
    def url(self) -> str:
        return "redis+cluster://" + ",".join(f"127.0.0.1:{port}" for port in self.nodes)

    def start(self) -> "RedisCluster":
        for node in self.nodes.values():
            node.start()
        places = [f"127.0.0.1:{port}" for port in self.nodes]
        command = ["redis-cli", "--cluster", "create", *places]
        more = ["--cluster-replicas", "1", "--cluster-yes"]
        subprocess.run([*command, *more], check=True, stdout=subprocess.DEVNULL, timeout=60)
        wait_for(self.is_whole, "the cluster")
        return self

    def stop(self) -> None:
        for node in self.nodes.values():
            node.stop()

    def allow_failover(self, *, away: RedisServer) -> None:
        """Let a replica take over for `away`, a node that was killed or paused."""
        for port, node in self.nodes.items():
            if node is not away and node.process is not None:
                assert "OK" in asked(port, "CONFIG", "SET", "cluster-node-timeout", str(_SOON))

    def is_whole(self) -> bool:
        """Every node that runs says that all slots are served, and each master has a replica."""
        return all(_is_well(port) for port, node in self.nodes.items() if node.process is not None)

    def master_of(self, key: str) -> RedisServer:
        """The node that has a key now, by the word of any that runs."""
        running = next(port for port, node in self.nodes.items() if node.process is not None)
        slot = int(asked(running, "CLUSTER", "KEYSLOT", key))
        for line in asked(running, "CLUSTER", "NODES").splitlines():
            _, place, flags, *rest = line.split(" ")
            ranges = [part.split("-") for part in rest[5:] if not part.startswith("[")]
            if "master" in flags and any(int(r[0]) <= slot <= int(r[-1]) for r in ranges):
                return self.nodes[int(place.partition("@")[0].rpartition(":")[2])]
        raise AssertionError(f"no node has slot {slot}")


class Guarded:
    """A master and a replica with a sentinel, which makes the replica the master if it has to.

    The sentinel does so only after `kill_master`, so a busy machine cannot cause a failover.
    """

    service = "conversations"

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.master = RedisServer(folder / "master", "--repl-diskless-sync-delay", "0")
        self.replica = RedisServer(
            folder / "replica", "--replicaof", "127.0.0.1", str(self.master.port)
        )
        self.sentinel = RedisServer(folder / "sentinel", kind="sentinel")

    @property
    def url(self) -> str:
        return f"redis+sentinel://127.0.0.1:1,127.0.0.1:{self.sentinel.port}/{self.service}/0"

    def start(self) -> "Guarded":
        self.master.start()
        self.replica.start()
        self.sentinel.config = (
            f"sentinel monitor {self.service} 127.0.0.1 {self.master.port} 1\n"
            f"sentinel down-after-milliseconds {self.service} {_NEVER}\n"
            f"sentinel failover-timeout {self.service} 3000\n"
        )
        self.sentinel.start()
        wait_for(lambda: "slaves=1" in asked(self.sentinel.port, "INFO", "sentinel"), "a sentinel")
        # Once the master has an answer from it: before that it counts for no WAIT.
        wait_for(lambda: asked(self.master.port, "WAIT", "1", "100").strip() == "1", "a replica")
        return self

    def kill_master(self) -> None:
        """Kill the master. The sentinel then makes the replica the new master."""
        self.master.kill()
        words = ("SENTINEL", "SET", self.service, "down-after-milliseconds", str(_SOON))
        assert "OK" in asked(self.sentinel.port, *words)

    def stop(self) -> None:
        for server in (self.sentinel, self.replica, self.master):
            server.stop()


def asked(port: int, *command: str) -> str:
    """What a server answers, by redis-cli; nothing from one that is not there."""
    words = ["redis-cli", "-h", "127.0.0.1", "-p", str(port), *command]
    done = subprocess.run(words, check=False, capture_output=True, text=True, timeout=60)
    return done.stdout


def _is_well(port: int) -> bool:
    cluster, copies = asked(port, "CLUSTER", "INFO"), asked(port, "INFO", "replication")
    linked = "state=online" if "role:master" in copies else "master_link_status:up"
    return (
        "cluster_state:ok" in cluster and "cluster_slots_ok:16384" in cluster and linked in copies
    )


def wait_replicated(port: int) -> None:
    """Wait until every replica of a master has what was written to the master so far."""

    def fields() -> dict[str, str]:
        lines = asked(port, "INFO", "replication").split()
        return dict(line.split(":", 1) for line in lines if ":" in line)

    written = int(fields()["master_repl_offset"])

    def have_it() -> bool:
        replicas = [text for name, text in fields().items() if name[:5] == "slave" and "=" in text]
        offsets = [int(text.partition("offset=")[2].partition(",")[0]) for text in replicas]
        return bool(offsets) and min(offsets) >= written

    wait_for(have_it, "a replica with all data")


def wait_for(holds: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + START
    while not holds():
        assert time.monotonic() < deadline, f"{what} is not ready"
        time.sleep(0.05)


def _free_ports() -> int:
    """A free port whose companion, _BUS above it, is free as well: the cluster's own bus."""
    while True:
        port = free_port()
        if port > 55_000:
            continue
        try:
            with socket.socket() as other:
                other.bind(("127.0.0.1", port + _BUS))
                return port
        except OSError:
            continue
