"""A person whose sessions in a real tool are captured."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from cortext.features.capture.bindings import ConversationRef, bind
from cortext.workspace.workspace import Workspace
from tests.tools.real.four_tools import FOUR
from tests.tools.real.record import Said
from tests.tools.real.stub import Stub


class Person:
    """One person's machine: a tool, a workspace, and the environment of both."""

    def __init__(
        self,
        name: str,
        root: Path,
        stub: Stub,
        monkeypatch: pytest.MonkeyPatch,
        version: str = "",
    ) -> None:
        self.tool = FOUR[name](root, stub.url, version=version)
        for key, value in self.tool.environment().items():
            if key.startswith(("HOME", "XDG_", "CODEX_HOME")):
                monkeypatch.setenv(key, value)
        self.workspace = Workspace.init(self.tool.project)
        started = self.workspace.new("brainstorm", "The cache")
        self.id = started.session.id
        self.bound = ConversationRef(self.workspace.root, self.workspace.store.place_of(self.id))

    @property
    def messages(self) -> list[dict[str, Any]]:
        lines = Path(self.bound.place.lines).read_bytes().split(b"\n")
        return [json.loads(line) for line in lines if line]

    @property
    def said(self) -> Said:
        spoken = [m for m in self.messages if m["role"] in ("user", "assistant")]
        return [(m["role"], m["content"]) for m in spoken if m["content"]]

    @property
    def head(self) -> dict[str, Any]:
        return json.loads(Path(self.bound.place.head).read_bytes())

    def bind(self, after: str | None = None) -> str:
        session = self.tool.sessions()[-1]
        bind(self.bound, self.tool.name, session, after=after)
        return session

    def await_said(self, expected: Said) -> None:
        """Codex does not wait for the program that it notifies."""
        deadline = time.monotonic() + 20
        while self.said != expected and time.monotonic() < deadline:
            time.sleep(0.02)
        assert self.said == expected

    def bytes(self) -> tuple[bytes, bytes]:
        place = self.bound.place
        return Path(place.lines).read_bytes(), Path(place.head).read_bytes()
