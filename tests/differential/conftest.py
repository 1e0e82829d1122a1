from pathlib import Path

import pytest

from tests.differential.releases import WHEELS, install_release


@pytest.fixture(scope="session")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of 0.1.0."""
    if not WHEELS.is_dir():
        pytest.skip("the wheels are not downloaded; `make test` does that")
    return install_release("0.1.0", tmp_path_factory.mktemp("release"))
