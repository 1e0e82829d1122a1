"""A server for all tests of a module that leave it running."""

from collections.abc import Iterator

import pytest

from tests.service.http.serve_command import Served, served


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("serve")
    homes = {"XDG_DATA_HOME": str(folder / "data"), "XDG_CACHE_HOME": str(folder / "cache")}
    with served(folder, env=homes) as it:
        yield it
