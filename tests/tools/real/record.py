"""Has the same conversations in each real tool, against the stub, and keeps what the tools wrote.

    python -m tests.tools.real.record [TOOL...]

Writes `tests/tools/golden/TOOL/VERSION/`: the tool's own store, paths scrubbed and payloads
cut (see README.md there), and `said.json`: what was said in each session, for tests to expect.
"""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

from tests.tools.real.four_tools import FOUR, OpenCode
from tests.tools.real.install import PACKAGES
from tests.tools.real.launch import Tool
from tests.tools.real.scrub import Scrub
from tests.tools.real.stub import Stub
from tests.tools.real.wire import Call, Reply

GOLDEN = Path(__file__).parent.parent / "golden"
NOTES = "The parser is slow.\nThe cache is never emptied.\n"
READ = {
    "claude": Call("Read", {"file_path": "{project}/notes.txt"}),
    "opencode": Call("read", {"filePath": "{project}/notes.txt"}),
    "gemini": Call("read_file", {"file_path": "notes.txt"}),
    "codex": Call("exec_command", {"cmd": "cat notes.txt"}),
}
TURNS = [
    ("How do we make the parser faster?", "Measure first: where does the time go?"),
    ('Use "quotes", a back\\slash and `ticks` in the answer.', 'A "quote", a \\ and `ticks`.'),
    (
        "What do my notes say?",
        "They say:\n\n1. The parser is slow.\n2. The cache is full.",
    ),
    (
        "Et en français ? 日本語でも 🎉",
        "Le cache est plein. キャッシュが一杯です。🎉",
    ),
    ("Two\nlines, and a list:\n- one\n- two", "```python\nprint('two\\nlines')\n```"),
    ("Let's decide: empty the cache hourly.", "Decided: the cache is emptied every hour."),
]
Said = list[tuple[str, str]]


def converse(tool: Tool, stub: Stub) -> Said:
    """Six turns, a tool call in the third; each later turn by the tool's own resume."""
    repository(tool.project)
    said: Said = []
    for number, (prompt, answer) in enumerate(TURNS):
        replies: list[Reply] = [answer]
        if number == 2:
            call = READ[tool.name]
            given = {k: v.format(project=tool.project) for k, v in call.input.items()}
            replies = [Call(call.name, given), answer]
        session = tool.sessions()[-1] if number else ""
        say(tool, stub, prompt, replies, session)
        said += [("user", prompt), ("assistant", answer)]
    return said


def repository(folder: Path) -> None:
    """A branch `main` with one commit, so that the tools have a branch to write down."""
    (folder / "notes.txt").write_text(NOTES, encoding="utf-8")
    who = {f"GIT_{role}_NAME": "You" for role in ("AUTHOR", "COMMITTER")}
    who |= {f"GIT_{role}_EMAIL": "you@example.invalid" for role in ("AUTHOR", "COMMITTER")}
    none = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
    environment = {"PATH": os.environ["PATH"], **none, **who}
    for command in ("init -q -b main", "add notes.txt", "commit -q -m Notes"):
        subprocess.run(["git", *command.split()], cwd=folder, env=environment, check=True)


def say(
    tool: Tool, stub: Stub, prompt: str, replies: list[Reply], session: str, *options: str
) -> None:
    """One turn; the answer must come back from the tool."""
    stub.say(*replies)
    done = tool.run(prompt, resume=session, options=options)
    if done.code or str(replies[-1]) not in done.stdout:
        raise SystemExit(f"{tool.name}: {done}")


def claude_more(tool: Tool, stub: Stub, said: dict[str, Said]) -> None:
    """A fork with a turn of its own; then the first session is compacted, and goes on."""
    (first,) = said
    say(tool, stub, "What if daily?", ["Daily is enough."], first, "--fork-session")
    (fork,) = set(tool.sessions()) - {first}
    said[fork] = [*said[first], ("user", "What if daily?"), ("assistant", "Daily is enough.")]
    stub.say("<summary>The cache is emptied every hour.</summary>")
    done = tool.run("/compact", resume=first)
    if done.code:
        raise SystemExit(f"claude: {done}")
    say(tool, stub, "Where were we?", ["At the cache."], first)
    said[first] += [("user", "Where were we?"), ("assistant", "At the cache.")]


def record(name: str, version: str) -> None:
    with tempfile.TemporaryDirectory(prefix="cortext-record-") as folder, Stub() as stub:
        tool = FOUR[name](Path(folder), stub.url, version=version)
        talk = converse(tool, stub)
        said = {tool.sessions()[-1]: talk}
        if name == "claude":
            claude_more(tool, stub, said)
        keep(tool, said, GOLDEN / name / version)


def keep(tool: Tool, said: dict[str, Said], target: Path) -> None:
    """The tool's store, scrubbed, in place of an older recording."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    scrub = Scrub(tool.root)
    if isinstance(tool, OpenCode):
        dump = scrub.text(dumped(tool.database))
        (target / "opencode.sql").write_text(dump, encoding="utf-8")
    for source in tool.kept():
        path = target / scrub.text(str(source.relative_to(tool.store)))
        path.parent.mkdir(parents=True, exist_ok=True)
        data = source.read_bytes()
        is_lines = source.suffix == ".jsonl"
        path.write_bytes(scrub.lines(data) if is_lines else scrub.text(data.decode()).encode())
    expected = json.dumps(said, ensure_ascii=False, indent=1)
    (target / "said.json").write_text(expected + "\n", encoding="utf-8")


def dumped(database: Path) -> str:
    """OpenCode's conversations as SQL that makes the same tables with the same rows."""
    lines: list[str] = []
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as source:
        for table in ("project", "session", "message", "part"):
            query = "SELECT sql FROM sqlite_master WHERE type = 'table' AND name = ?"
            ((schema,),) = source.execute(query, (table,))
            lines.append(f"{schema};")
            columns = [row[1] for row in source.execute(f"PRAGMA table_info({table})")]
            values = " || ', ' || ".join(f"quote({column})" for column in columns)
            rows = source.execute(f"SELECT {values} FROM {table} ORDER BY rowid")
            lines += [f"INSERT INTO {table} VALUES ({row});" for (row,) in rows]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    for name in sys.argv[1:] or FOUR:
        for version in PACKAGES[name].versions:
            record(name, version)
