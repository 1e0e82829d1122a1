"""A person's whole home in a folder: a workspace in git, sessions of all kinds, Claude Code."""

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any, NamedTuple

from cortext.model.message import SessionMessage
from cortext.model.session import Session
from cortext.stores.store_registry import open_session_store

# In parts: this file holds no secret.
SECRET = "sk-ant-" + "api03-" + "q7Wn2Zx9Lk4Tb8Vr3Mp6Yd1Hs5Jc0Gf" + "EuXoKqWvB"
CHAT = "5e0c9d1e-aaaa-4bbb-8ccc-0123456789ab"
"""A session of Claude Code that a conversation of the workspace is bound to."""
LOOSE = "77777777-bbbb-4bbb-8ccc-0123456789ab"
"""One that belongs to none."""
HELD = "88888888-cccc-4bbb-8ccc-0123456789ab"
"""One that has a secret in it."""
SPAWNED, DOCUMENT, SERVED = "coder-1", "document-1", "served-1"


class Home(NamedTuple):
    """Where everything is below a folder."""

    root: Path

    @property
    def environment(self) -> dict[str, str]:
        return {
            "HOME": str(self.root),
            "XDG_DATA_HOME": str(self.root / "data"),
            "XDG_CACHE_HOME": str(self.root / "cache"),
            "XDG_CONFIG_HOME": str(self.root / "config"),
            "XDG_STATE_HOME": str(self.root / "state"),
            "XDG_RUNTIME_DIR": str(self.root / "run"),
            "AURORA_HOME": str(self.root / "aurora"),
            "PATH": os.pathsep.join(
                [str(self.root / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]]
            ),
            "TZ": "UTC",
            "LC_ALL": "C.UTF-8",
            # No process of its own keeps the archive by the way, and nothing rests meanwhile.
            "CI": "true",
            "CORTEXT_SESSIONS_PAUSE_MINUTES": "600",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            **{
                f"GIT_{who}_{what}": value
                for who in ("AUTHOR", "COMMITTER")
                for what, value in (("NAME", "A Tester"), ("EMAIL", "tester@example.invalid"))
            },
        }

    @property
    def work(self) -> Path:
        return self.root / "work"

    @property
    def archive(self) -> Path:
        return self.root / "data/cortext/archive"

    @property
    def trash(self) -> Path:
        return self.root / "data/cortext/trash"

    @property
    def log(self) -> Path:
        return self.root / "data/cortext/errors.log"

    @property
    def stores(self) -> dict[str, str]:
        return {
            "workspace": f"workspace:{self.work}",
            "spawned": f"log:{self.root}/aurora/spawn/sessions",
            "document": f"document:{self.root}/data/src/opencode/sessions",
            "service": f"log:{self.root}/service",
            "program": f"log:{self.root}/data/cortext/programs",
        }

    def transcript(self, id: str) -> Path:
        folder = str(self.work).replace("/", "-").replace(".", "-")
        return self.root / f".claude/projects/{folder}/{id}.jsonl"

    def fresh(self, prepared: "Home") -> None:
        """Make it a copy of another one."""
        shutil.rmtree(self.root, ignore_errors=True)
        shutil.copytree(prepared.root, self.root, symlinks=True)

    def names(self) -> set[str]:
        """All files and folders, but what git keeps for itself."""
        found = (path.relative_to(self.root) for path in self.root.rglob("*"))
        return {str(path) for path in found if ".git" not in path.parts}

    def head(self, id: str) -> dict[str, Any]:
        (path,) = self.work.glob(f"conversations/*/{id}/.session/session.json")
        return json.loads(path.read_text(encoding="utf-8"))

    def conversations(self) -> list[dict[str, Any]]:
        found = sorted(self.work.glob("conversations/*/*/.session/session.json"))
        return [json.loads(path.read_text(encoding="utf-8")) for path in found]


def said(name: str, *numbers: int) -> list[SessionMessage]:
    """Messages that say whose they are, and are the only ones that say it."""
    roles = ("user", "assistant")
    return [
        SessionMessage(roles[number % 2], f"{name} said {number}", id=f"{name}-{number}")  # type: ignore[arg-type]
        for number in numbers
    ]


def say_in_claude(home: Home, id: str, *numbers: int, text: str = "") -> None:
    """Claude Code writes lines to a transcript; `text` is what they say beside whose they are."""
    path = home.transcript(id)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        for number in numbers:
            role, words = (
                ("user", "assistant")[number % 2],
                f"{id[:8]} said {number} {text}".rstrip(),
            )
            content: Any = [{"type": "text", "text": words}] if number % 2 else words
            line = {
                "type": role,
                "uuid": f"{id[:8]}-{number}",
                "parentUuid": f"{id[:8]}-{number - 1}" if number else None,
                "timestamp": f"2026-01-01T00:00:{number:02}.000Z",
                "sessionId": id,
                "cwd": str(home.work),
                "message": {"role": role, "content": content, "model": "m", "id": f"m{number}"},
            }
            file.write(json.dumps(line).encode() + b"\n")


def install_claude(home: Home) -> None:
    """A program of that name, which nothing starts: without it nothing is written for it."""
    (home.root / "bin").mkdir()
    (home.root / "bin/claude").write_text("#!/bin/sh\nexit 0\n")
    (home.root / "bin/claude").chmod(0o755)


def keep_elsewhere(home: Home) -> None:
    """A session of each kind that is no conversation of the workspace."""
    for kind, id in (("spawned", SPAWNED), ("document", DOCUMENT), ("service", SERVED)):
        store: Any = open_session_store(home.stores[kind])
        store.save(Session(id, title=f"A {kind} one", messages=said(id, 0, 1, 2, 3)))
        store.close()
