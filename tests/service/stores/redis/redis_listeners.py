"""The connections that listen on a Redis server."""

from tests.service.stores.clusters import asked


def listeners(*ports: int) -> list[int]:
    """The ports at which somebody listens, once for each connection that does."""
    lines = [(port, line) for port in ports for line in asked(port, "CLIENT", "LIST").splitlines()]
    return [port for port, line in lines if " flags=P" in line and " name=sentinel" not in line]
