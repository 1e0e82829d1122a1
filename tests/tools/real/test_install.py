"""The cache of the AI tools: ours alone, filled once, never half."""

import os
import threading
from pathlib import Path

import pytest

from tests.tools.real import install
from tests.tools.real.install import Refused, cache_folder, installed

NPM = """#!/bin/sh
echo "$HOME $@" >> "$npm_config_test_log"
mkdir -p "$3/node_modules/.bin"
touch "$3/node_modules/.bin/claude"
"""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CORTEXT_TEST_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def npm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An npm that installs an empty program and writes down how it was called."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "npm").write_text(NPM, encoding="utf-8")
    (folder / "npm").chmod(0o700)
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)
    monkeypatch.setenv("npm_config_test_log", str(tmp_path / "log"))
    return tmp_path / "log"


def test_new_tool_cache_is_private(cache: Path) -> None:
    """Whatever the umask."""
    before = os.umask(0)
    try:
        assert cache_folder().stat().st_mode & 0o777 == 0o700
    finally:
        os.umask(before)


def test_cache_writable_by_others_is_refused(cache: Path) -> None:
    """Its programs would be theirs."""
    cache.mkdir()
    cache.chmod(0o770)
    with pytest.raises(Refused, match="others can write"):
        cache_folder()


def test_cache_that_is_symbolic_link_is_refused(cache: Path, tmp_path: Path) -> None:
    """Somebody else may have put it there first."""
    (tmp_path / "elsewhere").mkdir()
    cache.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(Refused, match="is not a folder"):
        cache_folder()


@pytest.mark.skipif(os.geteuid() != 0, reason="kernel: only root can give a folder away")
def test_cache_of_other_user_is_refused(cache: Path) -> None:
    """Even where it is closed to others."""
    cache.mkdir(mode=0o700)
    os.chown(cache, 12345, -1)
    with pytest.raises(Refused, match="belongs to user 12345"):
        cache_folder()


def test_eight_parallel_installs_run_npm_once(cache: Path, npm: Path, tmp_path: Path) -> None:
    """The others wait and find it there; HOME is not ours meanwhile."""
    found: list[Path] = []
    threads = [
        threading.Thread(target=lambda: found.append(installed("claude", "2.1.197")))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [cache / "claude-2.1.197/node_modules/.bin/claude"] * 8
    (call,) = npm.read_text(encoding="utf-8").splitlines()
    home, _, arguments = call.partition(" ")
    assert Path(home).parent.parent == cache
    assert arguments.startswith("install --prefix ")
    assert arguments.endswith(" --no-audit --no-fund @anthropic-ai/claude-code@2.1.197")
    assert sorted(path.name for path in cache.iterdir()) == [
        "claude-2.1.197",
        "claude-2.1.197.lock",
    ]


def test_failed_install_leaves_nothing_and_shows_npm_error(
    cache: Path, npm: Path, tmp_path: Path
) -> None:
    """The next run begins again, and what npm said is told."""
    (tmp_path / "bin/npm").write_text("#!/bin/sh\necho no network >&2\nexit 1\n", encoding="utf-8")
    with pytest.raises(Refused, match="no network"):
        installed("claude")
    assert [path.suffix for path in cache.iterdir()] == [".lock"]


def test_full_disk_is_reported_before_download(
    cache: Path, npm: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """npm is not even started."""
    monkeypatch.setattr(install, "ROOM", 10**9)
    with pytest.raises(Refused, match="MB free"):
        installed("claude")
    assert not npm.exists()


def test_version_that_is_not_pinned_is_refused(cache: Path) -> None:
    """Tests say what holds for the versions that we name."""
    with pytest.raises(Refused, match="not a pinned version"):
        installed("claude", "1.0.0")
