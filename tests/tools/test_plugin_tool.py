"""A tool of another package, which cortext can only read, through a real entry point."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

DESCRIPTION = """
from cortext.tools.descriptor import Tool

TOOL = Tool(
    name="toy",
    display_name="Toy",
    folder="~/.toy",
    folder_variable="TOY_HOME",
    transcripts=("talks",),
    reader="toy_tool.reader:ToyBridge",
)
"""
READER = """
import json
import os
from datetime import UTC, datetime

from cortext.model.message import SessionMessage
from cortext.model.session import Session
from cortext.tools import jsonl_transcripts
from cortext.tools.reader_protocol import DecodedTranscript, Glance
from cortext.tools.transcript_folders import own_home


class ToyBridge:
    tool = "toy"

    def __init__(self, home=None):
        self.home = home or own_home(self.tool)

    def sources(self):
        for entry in jsonl_transcripts.listed(os.path.join(self.home, "talks")):
            id = jsonl_transcripts.plain(entry.name).removesuffix(".jsonl")
            yield from jsonl_transcripts.source(self.tool, id, entry)

    def glance(self, source):
        said = self._said(source)
        return Glance(said[0]["text"], said[0]["cwd"], _when(said[0]), _when(said[-1]))

    def decode(self, source, *, longest=None):
        said = self._said(source)
        messages = [
            SessionMessage(id=f"{source.id}-{n}", role=m["role"], content=m["text"],
                           timestamp=_when(m))
            for n, m in enumerate(said)
        ]
        session = Session(
            source.id, title=said[0]["text"], agent=self.tool, kind="chat", messages=messages,
            working_dir=said[0]["cwd"], created_at=_when(said[0]), updated_at=_when(said[-1]),
            native=[{"tool": self.tool, "session_id": source.id}],
        )
        return DecodedTranscript(session, [])

    def _said(self, source):
        data = b"".join(jsonl_transcripts.read_blocks(source.path, []))
        return [json.loads(line) for line in data.splitlines()]


def _when(message):
    return datetime.fromtimestamp(message["at"], UTC)
"""
ID = "toy-session-1"


class Person(NamedTuple):
    """A person with the toy tool: a home, and packages on the path of Python."""

    home: Path
    packages: Path

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        environment = {
            "HOME": str(self.home),
            "PATH": f"{self.home}/bin:/usr/bin:/bin",
            "PYTHONPATH": str(self.packages),
        }
        command = [sys.executable, "-m", "cortext", *words]
        return subprocess.run(
            command, env=environment, cwd=self.home / "project", capture_output=True, text=True,
            check=False, timeout=60,
        )  # fmt: skip

    def ok(self, *words: str) -> str:
        done = self.run(*words)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def register(self, package: str, entry: str) -> None:
        folder = self.packages / f"{package}-1.0.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        (folder / "entry_points.txt").write_text(f"[cortext.tools]\n{entry}\n")


@pytest.fixture
def toy_person(tmp_path: Path) -> Person:
    made = Person(tmp_path / "home", tmp_path / "packages")
    (made.packages / "toy_tool").mkdir(parents=True)
    (made.packages / "toy_tool/__init__.py").write_text(DESCRIPTION)
    (made.packages / "toy_tool/reader.py").write_text(READER)
    made.register("toy_tool", "toy = toy_tool:TOOL")
    project, talks, programs = (made.home / name for name in ("project", ".toy/talks", "bin"))
    for folder in (project, talks, programs):
        folder.mkdir(parents=True)
    said = [("user", "Why does the zeppelin drift?"), ("assistant", "The ballast is uneven.")]
    lines = [
        json.dumps({"role": role, "text": text, "at": 1_790_000_000 + n, "cwd": str(project)})
        for n, (role, text) in enumerate(said)
    ]
    (talks / f"{ID}.jsonl").write_text("\n".join(lines) + "\n")
    program = programs / "claude"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    return made


def test_read_only_tool_sessions_are_listed_searched_shown_and_exported(
    toy_person: Person,
) -> None:
    (row,) = json.loads(toy_person.ok("list", "--json"))
    assert (row["id"], row["tool"]) == (ID, "toy")
    assert "ballast" in toy_person.ok("search", "ballast")
    assert "The ballast is uneven." in toy_person.ok("show", ID)
    assert "The ballast is uneven." in toy_person.ok("export", ID)


def test_read_only_tool_session_is_shown_from_archive_after_deletion(toy_person: Person) -> None:
    result: dict[str, Any] = json.loads(toy_person.ok("sync", "--json"))
    assert {one["tool"]: one["new"] for one in result["tools"]}["toy"] == 1
    os.unlink(toy_person.home / f".toy/talks/{ID}.jsonl")
    assert "The ballast is uneven." in toy_person.ok("show", ID)


def test_read_only_tool_session_resumes_in_another_tool(toy_person: Person) -> None:
    printed = toy_person.ok("resume", ID, "--tool", "claude", "--print", "--write")
    assert "claude --resume " in printed
    (written,) = (toy_person.home / ".claude/projects").glob("*/*.jsonl")
    assert "The ballast is uneven." in written.read_text()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("resume", ID, "--tool", "toy", "--print", "--write"), "cortext cannot start Toy"),
        (("ask", ID, "Why?", "--tool", "toy"), "cortext cannot start Toy"),
        (("setup", "--tools", "toy", "--yes"), "cortext has nothing to set up in Toy"),
    ],
)
def test_read_only_tool_explains_missing_capability_in_one_sentence(
    toy_person: Person, words: tuple[str, ...], sentence: str
) -> None:
    done = toy_person.run(*words)
    assert done.returncode == 1
    assert f"error: {sentence}\nhint: " in done.stderr


def test_doctor_and_tool_names_work_with_read_only_tool(toy_person: Person) -> None:
    assert "toy" in toy_person.run("sync", "--tools", "nothing").stderr
    assert "Traceback" not in toy_person.run("doctor").stderr


def test_sessions_leave_list_when_package_of_tool_is_removed(toy_person: Person) -> None:
    assert ID in toy_person.ok("list", "--json")
    (toy_person.packages / "toy_tool-1.0.dist-info/entry_points.txt").unlink()
    assert ID not in toy_person.ok("list", "--json")


@pytest.mark.parametrize(
    "entry",
    ["bad = no_such_module:TOOL", "bad = toy_tool:no_such_name", "bad = toy_tool.reader:ToyBridge"],
)
def test_broken_entry_point_is_named_and_breaks_no_command(toy_person: Person, entry: str) -> None:
    toy_person.register("broken", entry)
    done = toy_person.run("list", "--json")
    assert done.returncode == 0
    assert [row["id"] for row in json.loads(done.stdout)] == [ID]
    assert "the tool bad" in done.stderr
    assert "Traceback" not in done.stderr


def test_entry_point_cannot_replace_built_in_tool(toy_person: Person) -> None:
    (toy_person.packages / "toy_tool/other.py").write_text(
        DESCRIPTION.replace('name="toy"', 'name="claude"')
    )
    toy_person.register("other", "claude = toy_tool.other:TOOL")
    done = toy_person.run("list")
    assert done.returncode == 0
    assert "a tool claude already exists" in done.stderr
