"""What is read of sessions on a server."""

from collections.abc import Sequence
from typing import Any

import pytest

from cortext.stores import served


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The records that were read since it was cleared."""
    read: list[bytes] = []
    decode = served._decoded

    def noted(lines: Sequence[bytes]) -> Any:
        read.extend(lines)
        return decode(lines)

    monkeypatch.setattr(served, "_decoded", noted)
    return read
