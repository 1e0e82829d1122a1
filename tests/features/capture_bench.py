"""A conversation of a workspace, bound to a transcript that a real tool once wrote."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from cortext.features.capture.bindings import ConversationRef, bind
from cortext.features.capture.capture import Captured, capture
from cortext.tools.registry import open_bridge
from cortext.workspace.workspace import Workspace

GOLDEN = Path(__file__).parent.parent / "tools/golden"
VERSIONS = {"claude": "2.1.325", "codex": "0.166.0", "gemini": "0.61.0"}


class Bench:
    """The tool's own folder with the longest of its recorded transcripts, and a workspace."""

    def __init__(self, tool: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.tool, self.home = tool, folder / "person"
        own = self.home / f".{tool}"
        shutil.copytree(GOLDEN / tool / VERSIONS[tool], own)
        monkeypatch.setenv("HOME", str(self.home))
        for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME"):
            monkeypatch.delenv(name, raising=False)
        source = max(open_bridge(tool).sources(), key=lambda source: source.size)
        self.session, self.transcript = source.id, Path(source.path)
        self.lines = self.transcript.read_bytes().splitlines(keepends=True)
        self.workspace = Workspace.init(folder / "work")
        self.bound = self.begin("The cache")

    def begin(self, topic: str) -> ConversationRef:
        started = self.workspace.new("brainstorm", topic)
        place = self.workspace.store.place_of(started.session.id, started.session)
        return ConversationRef(self.workspace.root, place)

    def write(self, lines: list[bytes]) -> None:
        """The transcript as it is when the tool has written so much."""
        with self.transcript.open("r+b") as file:
            file.truncate(0)
            file.write(b"".join(lines))

    def append(self, *lines: bytes) -> None:
        with self.transcript.open("ab") as file:
            file.write(b"".join(lines))

    def bind(self, after: str | None = "", bound: ConversationRef | None = None) -> None:
        bind(bound or self.bound, self.tool, self.session, str(self.transcript), after=after)

    def capture(self, *, whole: bool = False) -> Captured:
        return capture(self.bound.root, self.bound.place, whole=whole)

    @property
    def files(self) -> tuple[bytes, bytes]:
        place = self.bound.place
        return Path(place.lines).read_bytes(), Path(place.head).read_bytes()

    def head(self, bound: ConversationRef | None = None) -> dict[str, Any]:
        return json.loads(Path((bound or self.bound).place.head).read_bytes())

    def messages(self, bound: ConversationRef | None = None) -> list[dict[str, Any]]:
        lines = Path((bound or self.bound).place.lines).read_bytes().split(b"\n")
        return [json.loads(line) for line in lines if line]

    def said(self, bound: ConversationRef | None = None) -> list[list[str]]:
        """What people and agents said, as `said.json` has it."""
        spoken = [m for m in self.messages(bound) if m["role"] in ("user", "assistant")]
        return [[m["role"], m["content"]] for m in spoken if m["content"]]

    @property
    def expected(self) -> list[list[str]]:
        path = GOLDEN / self.tool / VERSIONS[self.tool] / "said.json"
        return json.loads(path.read_text(encoding="utf-8"))[self.session]

    def say(self, role: str, text: str, number: int, parent: str = "") -> str:
        """Claude Code writes one more line, years later; its id."""
        id = f"{role[0]}{number}"
        message: dict[str, Any] = {"role": role, "content": text}
        if role == "assistant":
            content = [{"type": "text", "text": text}]
            message = {"id": f"msg_{id}", "role": role, "model": "m", "content": content}
        line = {"type": role, "uuid": id, "parentUuid": parent or self.tip}
        line |= {"timestamp": f"2031-01-01T00:00:{number:02}.000Z", "sessionId": self.session}
        line |= {"cwd": "/home/you/project", "message": message}
        self.append(json.dumps(line).encode() + b"\n")
        return id

    @property
    def tip(self) -> str:
        """The id of the last line that somebody said."""
        lines = [json.loads(line) for line in self.transcript.read_bytes().splitlines()]
        return [line["uuid"] for line in lines if line["type"] in ("user", "assistant")][-1]
