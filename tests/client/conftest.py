"""As for stores: what a server logs is seen by the tests of the contract."""

from collections.abc import Iterator

import pytest

from tests.client.wire import Wire
from tests.service.http.background import Background
from tests.service.stores.conftest import all_is_logged as all_is_logged


@pytest.fixture
def cut_wire(server: Background) -> Iterator[Wire]:
    with Wire(server.port) as it:
        yield it
