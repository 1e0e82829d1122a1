"""A workspace with conversations, and one that is somebody else's business."""

from pathlib import Path

import pytest

from tests.command import begin, ok


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that the server is started in, with two conversations."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "here"
    folder.mkdir()
    ok(folder, "init")
    begin(
        folder,
        "brainstorm",
        "API design",
        "REST or GraphQL for the partners?",
        "I'd recommend REST: it is simpler to cache.",
        "Agreed, let's use REST.",
    )
    begin(folder, "plan", "Paging", "How do we page the orders?", "With opaque cursors.")
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def elsewhere(tmp_path: Path, workspace: Path) -> str:
    """A conversation of another workspace; its id."""
    other = tmp_path / "there"
    other.mkdir()
    ok(other, "init")
    return begin(other, "debug", "Private matter", "The quokka cursors are wrong.", "They are.")
