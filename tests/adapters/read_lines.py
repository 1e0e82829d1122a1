"""What is read of sessions on a server."""

from collections.abc import Sequence
from typing import Any

import pytest

from cortext.stores.servers import server_base


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The records that were read since it was cleared."""
    read: list[bytes] = []
    decode = server_base._decoded

    def noted(lines: Sequence[bytes]) -> Any:
        read.extend(lines)
        return decode(lines)

    monkeypatch.setattr(server_base, "_decoded", noted)
    return read
