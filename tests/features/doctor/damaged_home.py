"""Make a home with every kind of damage: `python -m tests.features.doctor.damaged_home FOLDER`."""

import json
import os
import sys
import time
from pathlib import Path
from typing import NamedTuple

from cortext.features.archive.archive_sync import sync
from cortext.workspace.known_folders import remember_workspace
from tests.features.doctor.damage import DAMAGES, Kept, flipped_bit, from_the_future

_SAID = ("first", "second", "third")
FETCHED = "11111111-2222-4333-8444-555555555555"
GONE = "99999999-2222-4333-8444-555555555555"
ZEROS = "77777777-2222-4333-8444-555555555555"
_LONG_AGO = time.time() - 7200


class Home(NamedTuple):
    """Where it is, and the environment that makes it the person's."""

    root: Path

    @property
    def environment(self) -> dict[str, str]:
        return {
            "HOME": str(self.root),
            "XDG_DATA_HOME": str(self.root / "data"),
            "XDG_CACHE_HOME": str(self.root / "cache"),
            "XDG_CONFIG_HOME": str(self.root / "config"),
            "AURORA_HOME": str(self.root / "aurora"),
            "PATH": f"{self.root}/bin:{os.defpath}",
        }

    @property
    def workspace(self) -> Path:
        return self.root / "work"

    @property
    def folders(self) -> dict[str, Path]:
        """Where the sessions of each kind are."""
        return {
            "workspace": self.workspace,
            "log": self.root / "aurora/spawn/sessions",
            "document": self.root / "data/src/opencode/sessions",
        }

    def copy(self, id: str) -> Path:
        return self.root / f"data/cortext/archive/claude/projects/-x/{id}.jsonl.gz"

    def transcript(self, id: str) -> Path:
        return self.root / f".claude/projects/-x/{id}.jsonl"

    def sessions(self) -> list[Kept]:
        """Every session that was made."""
        found = [
            Kept(kind, self.folders[kind], f"{number:03}-debug-{_name(how.__name__)}")
            for number, (how, kinds) in enumerate(DAMAGES.items(), 1)
            for kind in kinds
        ]
        return [*found, *(self.of_the_future(kind) for kind in self.folders)]

    def of_the_future(self, kind: str) -> Kept:
        return Kept(kind, self.folders[kind], "090-debug-later")

    def readable(self) -> dict[tuple[str, str], list[str]]:
        """The ids of all messages that can be read, by kind and session."""
        future = [self.of_the_future(kind) for kind in self.folders]
        return {(k.kind, k.id): k.ids() for k in self.sessions() if k not in future}


def build(root: Path) -> Home:
    """All of it. The environment has to be this home's already: see `Home.environment`."""
    home = Home(root)
    (home.workspace / ".workspace").mkdir(parents=True)
    remember_workspace(str(home.workspace))
    for how, kinds in DAMAGES.items():
        for kind in kinds:
            kept = next(k for k in home.sessions() if k.kind == kind and _made_for(k, how.__name__))
            how(kept.make(checksums=how is flipped_bit))
    for kind in home.folders:
        from_the_future(home.of_the_future(kind).make())
    _damage_archive(home)
    _leave_things(home)
    return home


def _made_for(kept: Kept, name: str) -> bool:
    return kept.id.endswith(f"-debug-{_name(name)}")


def _name(how: str) -> str:
    return how.replace("_", "-")


def _damage_archive(home: Home) -> None:
    """One copy whose transcript the tool still has, and one whose transcript is gone."""
    for id in (FETCHED, GONE):
        path = home.transcript(id)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"".join(_line(id, n, text) for n, text in enumerate(_SAID)))
        os.utime(path, (_LONG_AGO, _LONG_AGO))
        sync(tools=["claude"])
        with path.open("ab") as file:
            file.write(_line(id, 3, "fourth " * 400))
        os.utime(path, (_LONG_AGO + 60, _LONG_AGO + 60))
        sync(tools=["claude"])
    for copy in (home.copy(FETCHED), home.copy(GONE)):
        os.truncate(copy, copy.stat().st_size - 12)
    home.transcript(GONE).unlink()


def _line(id: str, number: int, text: str) -> bytes:
    line = {
        "type": "user", "sessionId": id, "uuid": f"u{number}", "cwd": "/x",
        "parentUuid": f"u{number - 1}" if number else None,
        "timestamp": f"2025-11-22T09:0{number}:00.000Z",
        "message": {"role": "user", "content": text},
    }  # fmt: skip
    return json.dumps(line).encode() + b"\n"


def _leave_things(home: Home) -> None:
    """What killed processes, a careless umask and other programs leave."""
    temp = home.workspace / "conversations/.cortext/.messages.jsonl.0123456789abcdef.tmp"
    temp.write_bytes(b"half")
    os.utime(temp, (_LONG_AGO, _LONG_AGO))
    catalog = home.root / "cache/cortext/catalog.sqlite3"
    catalog.parent.mkdir(parents=True, mode=0o700, exist_ok=True)
    catalog.write_bytes(b"SQLite format 3\0" + b"\xff" * 4096)
    catalog.chmod(0o600)
    tokens = home.root / "data/cortext/tokens"
    tokens.mkdir(mode=0o700)
    (tokens / "phone").write_text("secret\n", encoding="utf-8")
    (tokens / "phone").chmod(0o644)
    home.of_the_future("log").lines.chmod(0o644)
    _leave_notes(home)
    program = home.root / "bin/aur"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho I install packages\n", encoding="utf-8")
    program.chmod(0o755)


def _leave_notes(home: Home) -> None:
    """What cortext wrote down for itself, and was not written to its end."""
    known = home.root / "data/cortext/archive/.known/claude.json"
    known.write_bytes(known.read_bytes()[:40])
    with (home.root / "data/cortext/workspaces").open("ab") as file:
        file.write(b"\0" * 20 + b"\n/nowhere/at/al")
    (home.folders["document"] / "index.json").write_text('{"version": 1, "sess', encoding="utf-8")
    with home.transcript(GONE).with_name(f"{ZEROS}.jsonl").open("wb") as file:
        file.write(_line(ZEROS, 0, "first") + b"\0" * 32 + b"\n")


if __name__ == "__main__":
    made = Home(Path(sys.argv[1]).absolute())
    os.environ.update(made.environment)
    build(made.root)
    print("\n".join(f"export {name}={value}" for name, value in made.environment.items()))
