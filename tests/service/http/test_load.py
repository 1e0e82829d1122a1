"""Many clients at once, and two workers that share one Redis."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import quantiles

import pytest

from tests.service.http.serve_command import Served, served, until
from tests.service.stores.conftest import start_redis as start_redis
from tests.service.stores.servers import RedisServer

ROOT = Path(__file__).parents[3]
StartRedis = Callable[..., RedisServer]


@pytest.mark.timeout(1200)
@pytest.mark.parametrize(
    ("conversations", "posts", "clients"),
    [(50, 20, 4), pytest.param(1000, 50, 8, marks=pytest.mark.slow)],
)
def test_two_workers_keep_every_post_in_order_of_each_client(
    tmp_path: Path,
    start_redis: StartRedis,
    record_property: Callable[[str, object], None],
    conversations: int,
    posts: int,
    clients: int,
) -> None:
    """Two workers on Redis, and every client posts to every conversation: none fails, none is
    lost, and what each client said stands in its order."""
    store = ("--store", start_redis().url, "--window", str(posts + clients))
    with served(tmp_path, *store, "--workers", "2") as server:
        until(lambda: server.ask("GET", "/readyz").status == 200, "a worker")
        ids = [server.create() for _ in range(conversations)]
        shares = {f"c{n}": len(range(n, posts, clients)) for n in range(clients)}
        spent = sorted(_post(server, ids, shares))
        assert len(spent) == conversations * posts
        for id in ids:
            said = [text.split() for text in server.texts(id)]
            assert len(said) == posts
            for name, count in shares.items():
                assert [int(n) for who, n in said if who == name] == list(range(count))
        assert server.stop() == 0
    hundredths = quantiles(spent, n=100)
    for name, value in (("p50", hundredths[49]), ("p99", hundredths[98]), ("max", spent[-1])):
        record_property(f"milliseconds of a post, {name}", round(value, 1))
    print(f"{len(spent)} posts: p50 {hundredths[49]:.1f} ms, p99 {hundredths[98]:.1f} ms")


def _post(server: Served, ids: list[str], shares: dict[str, int]) -> list[float]:
    """All clients at once; the milliseconds of all posts."""
    env = {**os.environ, "POSTER_TOKEN": server.token}
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.service.http.poster", str(server.port), name, str(count)],
            cwd=ROOT, env=env, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
        for name, count in shares.items()
    ]  # fmt: skip
    try:
        # Each reads its ids to the end before it posts: writing to all of them blocks on none.
        for process in processes:
            assert process.stdin is not None
            process.stdin.write("\n".join(ids))
            process.stdin.close()
            process.stdin = None
        done = [process.communicate() for process in processes]
        assert [error for _, error in done] == [""] * len(done)
        return [each for out, _ in done for each in json.loads(out)]
    finally:
        for process in processes:
            process.kill()
            process.wait()
