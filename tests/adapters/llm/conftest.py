"""Each test has a place of its own for what llm logs, and for what is kept by default."""

from pathlib import Path

import pytest

ECHO = Path(__file__).with_name("echo.py")


@pytest.fixture(autouse=True)
def data_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where programs keep their sessions by default, each test's own."""
    for name in ("DATA", "CONFIG", "CACHE", "STATE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / f"home-{name.lower()}"))
    monkeypatch.setenv("AURORA_HOME", str(tmp_path / "home-aurora"))
    monkeypatch.setenv("LLM_USER_PATH", str(tmp_path / "llm"))
    return tmp_path / "home-data"


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
