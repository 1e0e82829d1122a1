"""Secrets in what programs keep by an adapter: its log, its sub-agents, its framework's state."""

import base64
from pathlib import Path

import msgspec
import pytest

from cortext import SessionMessage, paths
from cortext.adapters.session_log import SessionLog
from cortext.durability.trash_folder import Trash
from tests.command import cortext, ok

SECRET = "ghp_" + "0aB1cD2eF3gH4iJ5kL6mN7oP8qR9sT0uV1wX"


@pytest.fixture
def program_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("DATA", "CACHE", "CONFIG", "STATE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    return tmp_path


def keep(where: Path | None, id: str, text: str, **head: str) -> None:
    kept = SessionLog(where, "tests", remembered=where is None)
    kept.append(id, [SessionMessage("user", text)], lambda: kept.new_session(id, **head))
    kept.close()


def test_redact_removes_secret_from_program_log_and_sub_agents(program_home: Path) -> None:
    """Nothing of ours has it afterwards, the indexes included."""
    programs = program_home / "data/cortext/programs"
    keep(None, "talk", f"use {SECRET}")
    keep(programs / "subagents", "agent-1", f"I use {SECRET}", parent_id="talk")
    keep(programs / "subagents", "agent-2", "nothing here", parent_id="other")
    assert "talk" in ok(program_home, "search", "use")
    found = cortext(program_home, "scan", "talk")
    assert found.returncode == 1
    assert "agent-1" in found.stdout
    ok(program_home, "redact", "talk", "--yes")
    files = [path for path in program_home.rglob("*") if path.is_file()]
    assert files
    assert [path for path in files if SECRET.encode() in path.read_bytes()] == []
    assert cortext(program_home, "scan", "talk").returncode == 0


def packed(value: object) -> list[str]:
    """As LangGraph's adapter has what is no plain JSON."""
    inner = msgspec.msgpack.encode(("langchain_core", "HumanMessage", {"content": value}))
    data = msgspec.msgpack.encode(msgspec.msgpack.Ext(5, inner))
    return ["msgpack", base64.b64encode(data).decode()]


def checkpoint(home: Path, id: str, value: object) -> Path:
    folder = home / "data/cortext/programs/checkpoints"
    kept = SessionLog(folder, "tests", remembered=False)
    data = {"put": "1", "values": {"messages": {"new": [value]}}}
    record = SessionMessage("system", "", structured_data=data)
    kept.append(id, [record], lambda: kept.new_session(id, kind="checkpoints"))
    kept.close()
    return folder / f"{id}.jsonl"


@pytest.mark.parametrize("value", [packed(SECRET), packed(f"a {SECRET} b"), {"is": SECRET}])
def test_scan_finds_secret_in_checkpoint_and_redact_leaves_file(
    value: object, program_home: Path
) -> None:
    """It is found, however it is packed; a redact leaves it, and says how it goes away."""
    keep(None, "thread", "hello")
    path = checkpoint(program_home, "thread", value)
    before = path.read_bytes()
    for which in ("thread", "--all"):
        found = cortext(program_home, "scan", which)
        assert (found.returncode, found.stdout.count("github-token")) == (1, 1), found.stderr
        assert "only LangGraph can change its checkpoints" in found.stdout
    done = cortext(program_home, "redact", "thread", "--yes")
    assert done.returncode == 1
    assert f"will not be changed: {path}" in done.stdout
    assert "to remove the whole thread" in done.stdout
    assert path.read_bytes() == before


def test_redact_names_checkpoint_that_still_has_secret(program_home: Path) -> None:
    """The conversation is masked, the exit code tells that not all is."""
    keep(None, "thread", f"use {SECRET}")
    path = checkpoint(program_home, "thread", packed(SECRET))
    done = cortext(program_home, "redact", "thread", "--yes")
    assert (done.returncode, f"A secret is still in {path}" in done.stderr) == (1, True)
    assert "1 secret redacted" in done.stdout
    assert "1 secret found in 1 of 1" in cortext(program_home, "scan", "thread").stderr


def test_scan_names_encrypted_checkpoint(program_home: Path) -> None:
    """Nobody can tell what is in it."""
    keep(None, "thread", "hello")
    path = checkpoint(program_home, "thread", ["msgpack+aes", "AAAA"])
    done = cortext(program_home, "scan", "thread")
    assert (done.returncode, f"not scanned: {path}: the values are encrypted" in done.stderr) == (
        1,
        True,
    )


def test_redact_all_removes_secrets_from_orphaned_state_and_sub_agents(program_home: Path) -> None:
    """What is left of a session that is gone is found and masked by `--all`."""
    programs = program_home / "data/cortext/programs"
    keep(programs / "subagents", "agent-1", f"I use {SECRET}", parent_id="gone")
    keep(programs / "state", "user-1", f"it is {SECRET}")
    found = cortext(program_home, "scan", "--all")
    assert (found.returncode, found.stdout.count("github-token")) == (1, 2), found.stderr
    assert "to redact: `cortext redact --all`" in found.stdout
    done = cortext(program_home, "redact", "--all", "--yes")
    assert done.returncode == 0, done.stderr
    files = [path for path in program_home.rglob("*") if path.is_file()]
    assert [path for path in files if SECRET.encode() in path.read_bytes()] == []
    assert cortext(program_home, "scan", "--all").returncode == 0


def test_redact_deletes_summary_cache_of_adapter(program_home: Path) -> None:
    """The file beside the sessions goes with the words, and is made anew."""
    keep(None, "talk", f"use {SECRET}")
    beside = program_home / "data/cortext/programs/.cortext/claude-summaries.sqlite"
    beside.write_bytes(SECRET.encode())
    ok(program_home, "redact", "talk", "--yes")
    assert not beside.exists()


def test_scan_finds_secret_in_trashed_checkpoint_and_redact_leaves_file(program_home: Path) -> None:
    """They have another name there, are found all the same, and left as they are."""
    keep(None, "thread", f"use {SECRET}")
    path = checkpoint(program_home, "thread", packed(SECRET))
    before = path.read_bytes()
    Trash(paths.trash()).put("thread", [str(path), str(path.parents[1] / "thread.jsonl")])
    found = cortext(program_home, "scan", "--all")
    assert (found.returncode, "github-token  checkpoints" in found.stdout) == (1, True), (
        found.stderr
    )
    done = cortext(program_home, "redact", "--all", "--yes")
    assert done.returncode == 1
    ok(program_home, "trash", "restore", "thread")
    assert path.read_bytes() == before
    assert SECRET not in (path.parents[1] / "thread.jsonl").read_text(encoding="utf-8")
