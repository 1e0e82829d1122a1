"""Each test has a place of its own for what llm logs."""

from pathlib import Path

import pytest

ECHO = Path(__file__).with_name("echo.py")


@pytest.fixture(autouse=True)
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where llm logs by itself, each test's own."""
    monkeypatch.setenv("LLM_USER_PATH", str(tmp_path / "llm"))


@pytest.fixture
def echo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The echo model, installed as plug-ins are, for each `llm` that is started."""
    folder = tmp_path / "plug-ins"
    about = folder / "llm_echo-1.dist-info"
    about.mkdir(parents=True)
    (folder / "llm_echo.py").write_bytes(ECHO.read_bytes())
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: llm-echo\nVersion: 1\n")
    (about / "entry_points.txt").write_text("[llm]\necho = llm_echo\n")
    monkeypatch.setenv("PYTHONPATH", str(folder))
    return folder
