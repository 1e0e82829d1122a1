"""The mirrors of the tools' folders: read by the same bridges, they say the same."""

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cortext.errors import SessionCorruptedError
from cortext.features.archive.archive_copy_states import folder_of
from cortext.features.archive.archive_sync import sync
from cortext.tools.opencode.storage import OpenCodeDatabase, Raw
from cortext.tools.registry import open_bridge
from tests.tools.archive_contents import archived, contents
from tests.tools.claude import claude_lines
from tests.tools.opencode.opencode_data import Made, as_files, recorded, text

GOLDEN = Path(__file__).parent / "golden"
RECORDINGS = [
    (tool.name, path.name)
    for tool in sorted(GOLDEN.iterdir())
    if tool.is_dir()
    for path in sorted(tool.iterdir())
]
PLACES = {"claude": ".claude", "codex": ".codex", "gemini": ".gemini"}


@pytest.fixture
def make_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Where each tool's folder is."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    for name in ("CODEX_HOME", "GEMINI_CLI_HOME", "OPENCODE_DB"):
        monkeypatch.delenv(name, raising=False)

    def home(tool: str) -> Path:
        folder = tmp_path / PLACES.get(tool, "data/opencode")
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    return home


@pytest.mark.parametrize(("tool", "version"), RECORDINGS)
def test_archive_reads_same_sessions_after_tool_folder_is_deleted(
    make_home: Callable[[str], Path], tool: str, version: str
) -> None:
    """Of every tool and version: after its folder is gone, the archive says word for word what
    it said."""
    home = make_home(tool)
    if tool == "opencode":
        recorded(version, home)
    else:
        shutil.copytree(GOLDEN / tool / version, home, dirs_exist_ok=True)
    before = contents(tool)
    assert sync().errors == []
    shutil.rmtree(home)
    assert before.keys() != set()
    assert contents(tool) == {}
    assert archived(tool) == before
    assert sync().errors == []
    assert archived(tool) == before


def test_archive_keeps_claude_sub_agents_and_tool_results(make_home: Callable[[str], Path]) -> None:
    """Claude Code's are in files beside their conversation, in two arrangements."""
    home = make_home("claude")
    line, id = claude_lines.line, claude_lines.ID
    source = claude_lines.write(home, line("u1", None, "user", "one"))
    folder = Path(source.path).parent
    agent = json.dumps(line("a1", None, "user", "search", isSidechain=True, sessionId=id)) + "\n"
    (folder / "agent-1.jsonl").write_text(agent)
    (folder / id / "subagents").mkdir(parents=True)
    (folder / id / "subagents" / "agent-2.jsonl").write_text(agent)
    (folder / id / "tool-results").mkdir()
    (folder / id / "tool-results" / "x.txt").write_text("a long result\n")
    before = contents("claude")
    assert len(before[id][3]) == 2
    sync()
    shutil.rmtree(home)
    assert archived("claude") == before
    kept = Path(folder_of("claude")) / "projects" / folder.name / id / "tool-results" / "x.txt.gz"
    assert kept.exists()


def test_archive_keeps_gemini_documents_and_their_working_dir(
    make_home: Callable[[str], Path],
) -> None:
    """Older releases write one document, and only projects.json says which folder it was; an
    entry that the tool forgets stays."""
    home = make_home("gemini")
    chats = home / "tmp" / "slug" / "chats"
    chats.mkdir(parents=True)
    message = {"id": "m1", "timestamp": "2026-01-02T03:04:05Z", "type": "user", "content": "hello"}
    document = {"sessionId": "s-1", "startTime": "2026-01-02T03:04:05Z", "messages": [message]}
    (chats / "session-1.json").write_text(json.dumps(document))
    (home / "projects.json").write_text(json.dumps({"projects": {"/home/you/old": "slug"}}))
    before = contents("gemini")
    assert before["s-1"][0].cwd == "/home/you/old"
    sync()
    (home / "projects.json").write_text(json.dumps({"projects": {"/home/you/new": "other"}}))
    sync()
    shutil.rmtree(home)
    assert archived("gemini") == before


def test_archive_keeps_thread_name_that_codex_drops(make_home: Callable[[str], Path]) -> None:
    """They stand in a file of their own; a name that the tool drops stays."""
    home = make_home("codex")
    shutil.copytree(GOLDEN / "codex" / "0.166.0", home, dirs_exist_ok=True)
    (id,) = contents("codex")
    entry = {"id": id, "thread_name": "The cache", "updated_at": "2026-01-02T03:04:05Z"}
    (home / "session_index.jsonl").write_text(json.dumps(entry) + "\n")
    sync()
    (home / "session_index.jsonl").write_text("")
    sync()
    assert archived("codex")[id][0].title == "The cache"


def test_archive_keeps_one_copy_of_moved_or_compressed_rollout(
    make_home: Callable[[str], Path],
) -> None:
    """It stays one copy, and goes on."""
    home = make_home("codex")
    shutil.copytree(GOLDEN / "codex" / "0.166.0", home, dirs_exist_ok=True)
    (path,) = home.glob("sessions/*/*/*/*.jsonl")
    data = path.read_bytes()
    lines = data.splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-5]))
    sync()
    moved = home / "archived_sessions" / path.name
    moved.parent.mkdir()
    path.rename(moved)
    moved.write_bytes(data)
    before = contents("codex")
    sync()
    assert archived("codex") == before
    assert os.system(f"zstd -q --rm {moved}") == 0
    sync()
    shutil.rmtree(home)
    assert archived("codex") == before
    assert len([*Path(folder_of("codex")).rglob("rollout-*")]) == 1


def change(made: Made, statement: str, *values: Any) -> None:
    with made.open() as db:
        db.execute(statement, values)


def test_archive_follows_changed_and_deleted_opencode_rows(
    make_home: Callable[[str], Path],
) -> None:
    """After each sync the log says what the database says, and only what is new was added."""
    made = Made(make_home("opencode"))
    made.session()
    made.session("ses_2", parent_id="ses_1", title="A sub-agent")
    made.message("msg_1", "user", text("one"))
    made.message("msg_2", "assistant", text("tw"), text("three"))
    made.message("msg_9", "user", text("search"), session="ses_2")
    made.message("msg_3", "user", b'{"type":"text","text":"\xff\xfe', "no JSON at all")

    def same() -> None:
        sync(tools=["opencode"])
        assert archived("opencode") == contents("opencode")

    same()
    (log,) = Path(folder_of("opencode")).glob("sessions/*.gz")
    before = log.read_bytes()
    same()
    assert log.read_bytes() == before
    update = "UPDATE part SET data = ?, time_updated = time_updated + 9 WHERE id = ?"
    change(made, update, json.dumps(text("two")), "prt_msg_2_0")
    change(made, "UPDATE message SET time_updated = time_updated + 9 WHERE id = 'msg_3'")
    same()
    assert log.read_bytes().startswith(before)
    assert len(log.read_bytes()) - len(before) < 400
    change(made, "DELETE FROM part WHERE message_id = 'msg_3'")
    change(made, "DELETE FROM message WHERE id = 'msg_3'")
    same()
    update = "UPDATE session SET title = 'Another', revert = ?, time_updated = 1 WHERE id = ?"
    change(made, update, json.dumps({"messageID": "msg_2"}), "ses_1")
    same()
    made.message("msg_8", "assistant", text("found"), session="ses_2")
    change(made, "UPDATE session SET time_updated = time_updated + 1 WHERE id = 'ses_2'")
    same()
    assert len(archived("opencode")["ses_1"][3]) == 1


@pytest.mark.parametrize("first", [False, True])
def test_archive_keeps_file_tree_of_older_opencode(
    make_home: Callable[[str], Path], first: bool
) -> None:
    """A tree of files is kept like rows, and goes on as rows when the tool moves it."""
    home = make_home("opencode")
    made = Made(home)
    made.session()
    made.message("msg_1", "user", text("one ÿ"))
    made.message("msg_2", "assistant", text("two"))
    as_files(made.path, home / ("project/slug/storage" if first else "storage"), first=first)
    before = contents("opencode")
    assert [message.content for message in before["ses_1"][1]["messages"]] == ["one ÿ", "two"]
    sync()
    shutil.rmtree(home)
    assert archived("opencode") == before


def test_glance_at_archived_opencode_session_reads_only_ends(
    make_home: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A glance at its copy reads the two ends and says what the tool says."""
    made = Made(make_home("opencode"))
    made.session(title="New session - 2026-01-02T00:00:00.000Z")
    made.message("msg_000", "user", text("The first request"))
    for number in range(1, 200):
        made.message(f"msg_{number:03}", "assistant", text(os.urandom(20_000).hex()))
    sync()
    change(made, "UPDATE session SET time_updated = time_updated + 9000000 WHERE id = 'ses_1'")
    sync()
    assert archived("opencode") == contents("opencode")
    bridge = open_bridge("opencode", folder_of("opencode"))
    (source,) = bridge.sources()
    taken: list[int] = []
    real = os.pread

    def pread(fd: int, size: int, at: int) -> bytes:
        data = real(fd, size, at)
        taken.append(len(data))
        return data

    monkeypatch.setattr(os, "pread", pread)
    assert bridge.glance(source).title == "The first request"
    assert sum(taken) < source.size / 2


def test_unreadable_opencode_rows_are_reported_and_hide_no_other(
    make_home: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a damaged database what can be read is kept, it is named, and what was kept stays."""
    made = Made(make_home("opencode"))
    made.session()
    for number in range(3):
        made.message(f"msg_{number}", "user", text(f"text {number}"))
    sync()
    before = archived("opencode")
    made.message("msg_3", "user", text("text 3"))
    real = OpenCodeDatabase.parts

    def parts(self: OpenCodeDatabase, id: str, message: str) -> Iterator[Raw]:
        if message == "msg_1":
            raise SessionCorruptedError(self.path, "database disk image is malformed")
        yield from real(self, id, message)

    with monkeypatch.context() as patch:
        patch.setattr(OpenCodeDatabase, "parts", parts)
        (failed,) = sync().errors
    assert "malformed" in failed.reason
    said = [message.content for message in archived("opencode")["ses_1"][1]["messages"]]
    assert said == [f"text {number}" for number in range(4)]
    assert before != archived("opencode")
    assert sync().errors == []
    assert archived("opencode") == contents("opencode")


def test_damaged_archive_copy_is_reported_and_keeps_other_messages(
    make_home: Callable[[str], Path],
) -> None:
    """In the archive as in the tool's own file."""
    home = make_home("claude")
    line = claude_lines.line
    lines = [line(f"u{n}", f"u{n - 1}" if n else None, "user", f"text {n}") for n in range(3)]
    source = claude_lines.write(home, lines[0])
    for number in (1, 2):
        sync()
        with open(source.path, "ab") as file:
            file.write(json.dumps(lines[number]).encode() + b"\n")
        os.utime(source.path, (1, number))
    sync()
    (copy,) = Path(folder_of("claude")).rglob("*.gz")
    data = bytearray(copy.read_bytes())
    data[-12] ^= 0xFF
    copy.write_bytes(data)
    bridge = open_bridge("claude", folder_of("claude"))
    (one,) = bridge.sources()
    decoded = bridge.decode(one)
    assert [message.content for message in decoded.session.messages][:2] == ["text 0", "text 1"]
    assert "damaged" in decoded.damages[0].detail
    assert bridge.glance(one).title == "text 0"


def test_golden_opencode_archive_log_is_read(tmp_path: Path) -> None:
    """What a release wrote, every later one reads."""
    kept = Path(__file__).parents[1] / "durability/golden/opencode-1.18.33.jsonl.gz"
    expected = json.loads((GOLDEN / "opencode/1.18.33/said.json").read_text(encoding="utf-8"))
    ((id, turns),) = expected.items()
    (tmp_path / "sessions").mkdir()
    shutil.copy(kept, tmp_path / "sessions" / f"{id}.jsonl.gz")
    bridge = open_bridge("opencode", str(tmp_path))
    (source,) = bridge.sources()
    messages = bridge.decode(source).session.messages
    found = [[m.role, m.content] for m in messages if m.content and m.role != "tool"]
    assert (source.id, found) == (id, turns)
