"""The catalog is in the cache: what an earlier version left with the data is removed, once."""

from pathlib import Path

import pytest

from cortext import paths
from cortext.catalog.catalog import Catalog
from tests.catalog.spaces import Space
from tests.faults.mounts import read_only

SUFFIXES = ("", "-wal", "-shm")


@pytest.fixture
def filled_space(tmp_path: Path) -> Space:
    made = Space(tmp_path / "space")
    made.add("001-a", "one")
    return made


def former() -> list[Path]:
    """The files of an earlier version's."""
    files = [Path(paths.former_catalog() + suffix) for suffix in SUFFIXES]
    files[0].parent.mkdir(parents=True, exist_ok=True)
    for path in files:
        path.write_bytes(b"of old")
    return files


def listed(space: Space) -> list[str]:
    with Catalog.at_home() as catalog:
        return [row.id for row in catalog.list([str(space.root)])]


def test_catalog_is_created_in_cache_folder(filled_space: Space, data_home: Path) -> None:
    """It is made in the cache folder, and nothing with the data."""
    assert listed(filled_space) == ["001-a"]
    assert Path(paths.catalog()) == data_home / "cache/cortext/catalog.sqlite3"
    assert Path(paths.catalog()).is_file()
    assert not (data_home / "cortext").exists()


def test_catalog_of_earlier_version_is_removed_from_data_folder(filled_space: Space) -> None:
    """With the first use of the new one, and nothing beside it."""
    files = former()
    beside = files[0].with_name("workspaces")
    beside.write_bytes(b"/somewhere\n")
    assert listed(filled_space) == ["001-a"]
    assert [path for path in files if path.exists()] == []
    assert beside.read_bytes() == b"/somewhere\n"


def test_catalog_stays_when_data_and_cache_share_one_folder(
    filled_space: Space, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever has data and cache in one folder has one catalog, which stays."""
    for name in ("XDG_DATA_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "all"))
    assert listed(filled_space) == ["001-a"]
    inode = Path(paths.catalog()).stat().st_ino
    assert listed(filled_space) == ["001-a"]
    assert Path(paths.catalog()).stat().st_ino == inode


def test_old_catalog_in_read_only_folder_stays_without_warning(
    filled_space: Space, data_home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It stays, and nobody is troubled with it."""
    files = former()
    with read_only(data_home / "cortext"):
        assert listed(filled_space) == ["001-a"]
    assert all(path.exists() for path in files)
    assert caplog.text == ""
