"""An adapter's tests run where its framework is: `make adapters` has a place for each."""

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from cortext.stores.servers import server_store_base
from tests.service.stores.servers import RedisServer

_FRAMEWORKS = {
    "claude_agent_sdk": "claude_agent_sdk",
    "google_adk": "google.adk",
    "langgraph": "langgraph",
    "llm": "llm",
    "openai_agents": "agents",
    "pydantic_ai": "pydantic_ai",
}


def _is_there(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:
        return False


collect_ignore = [folder for folder, package in _FRAMEWORKS.items() if not _is_there(package)]

PLACES: dict[str, Callable[[Path], Any]] = {
    "path": lambda path: path / "kept",
    "default": lambda path: None,
    "log": lambda path: f"log:{path}/kept",
    "document": lambda path: f"document:{path}/kept",
    "memory": lambda path: "memory:",
}
_spaces = count()


@pytest.fixture(params=PLACES)
def kept_place(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """What a person may give an adapter to say where it keeps its sessions."""
    return PLACES[request.param](tmp_path)


@pytest.fixture(autouse=True)
def data_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where programs keep their sessions by default, each test's own."""
    for name in ("DATA", "CONFIG", "CACHE", "STATE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / f"home-{name.lower()}"))
    monkeypatch.setenv("AURORA_HOME", str(tmp_path / "home-aurora"))
    return tmp_path / "home-data"


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """One server for all tests, each in a space of its own. It syncs what it acknowledges."""
    if shutil.which("redis-server") is None:
        pytest.skip("redis-server is not installed; needed to keep sessions on it")
    options = ("--appendonly", "yes", "--appendfsync", "always")
    server = RedisServer(tmp_path_factory.mktemp("redis"), *options).start()
    yield server
    server.stop()


@pytest.fixture
def redis_url(redis_server: RedisServer) -> str:
    return f"{redis_server.url}/t{os.getpid()}-{next(_spaces)}"


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The records that were read since it was cleared."""
    read: list[bytes] = []
    decode = server_store_base._decode_records

    def noted(lines: Sequence[bytes]) -> Any:
        read.extend(lines)
        return decode(lines)

    monkeypatch.setattr(server_store_base, "_decode_records", noted)
    return read
