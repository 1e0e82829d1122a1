"""What was masked in the archive stays masked, whatever its tool and sync do afterwards."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from cortext import paths
from cortext.features.archive.archive_sync import SyncResult, sync
from cortext.features.secrets import redaction_record
from cortext.features.secrets.archive_redaction import redact_copies
from cortext.features.secrets.secret_scan import scan_one
from cortext.tools.registry import open_bridge
from tests.features.secrets.tool_sessions import (
    KEY,
    TOKEN,
    TOOLS,
    Held,
    claude,
    codex,
    gemini,
    kept,
    opencode,
)
from tests.tools.claude import claude_lines

every_tool = pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.__name__)


@pytest.fixture(autouse=True)
def tools_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("CODEX_HOME", "GEMINI_CLI_HOME", "OPENCODE_DB", "CLAUDE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    # Others may test with the same ids on this machine.
    monkeypatch.setattr("cortext.features.secrets.conversation_redaction.live_sessions", list)
    return tmp_path


def archive_has(word: str) -> list[str]:
    return [path for path, data in kept().items() if word.encode() in data]


def said_in_archive(held: Held) -> str:
    """What a person finds in the copy."""
    bridge = open_bridge(held.row.tool, os.path.join(paths.archive(), held.row.tool))
    (source,) = [one for one in bridge.sources() if one.id == held.row.key]
    return "\n".join(message.content for message in bridge.decode(source).session.messages)


def synced() -> SyncResult:
    result = sync()
    assert result.errors == []
    return result


@every_tool
def test_sync_keeps_redaction_when_tool_session_grows(tool: type, tools_home: Path) -> None:
    """What is new is copied, and the secret does not come back, also where it is said again."""
    held: Held = tool(tools_home, "Hello.", f"my key is {TOKEN}", "Thanks.")
    before = held.path.read_bytes()
    synced()
    assert archive_has(TOKEN)
    redact_copies(held.row)
    assert archive_has(TOKEN) == []
    assert held.path.read_bytes() == before
    held.say("And one more.")
    held.say(f"Again: {TOKEN}, and another, {KEY}")
    synced()
    assert archive_has(TOKEN) == []
    said = said_in_archive(held)
    assert "my key is [redacted github-token " in said
    assert "And one more." in said
    assert f"and another, {KEY}" in said
    assert [path for path in kept() if ".~" in path] == []


@every_tool
def test_sync_keeps_redaction_when_known_folder_is_lost(tool: type, tools_home: Path) -> None:
    """Nothing comes back when `.known` is lost, which anybody may delete."""
    held: Held = tool(tools_home, "Hello.", f"my key is {TOKEN}")
    synced()
    redact_copies(held.row)
    shutil.rmtree(os.path.join(paths.archive(), ".known"))
    synced()
    held.say("And one more.")
    synced()
    assert archive_has(TOKEN) == []
    assert "And one more." in said_in_archive(held)
    assert [path for path in kept() if ".~" in path] == []


@every_tool
def test_first_sync_after_redact_copies_redacted_text(tool: type, tools_home: Path) -> None:
    """It is masked when it is copied."""
    held: Held = tool(tools_home, "Hello.", f"my key is {TOKEN}")
    redact_copies(held.row)
    synced()
    assert archive_has(TOKEN) == []
    assert "my key is [redacted github-token " in said_in_archive(held)


@every_tool
def test_sync_keeps_redaction_when_key_is_lost(tool: type, tools_home: Path) -> None:
    """Nobody knows then which secrets those were: all stay out, and no copy is made anew."""
    held: Held = tool(tools_home, "Hello.", f"my key is {TOKEN}", "Thanks.")
    synced()
    redact_copies(held.row)
    os.unlink(paths.redaction_key())
    held.say("And one more.")
    synced()
    assert archive_has(TOKEN) == []
    assert "And one more." in said_in_archive(held)
    assert [path for path in kept() if ".~" in path] == []
    held.say("And another.")
    synced()
    assert archive_has(TOKEN) == []
    assert "And another." in said_in_archive(held)
    assert [path for path in kept() if ".~" in path] == []


def test_sync_redacts_secret_in_fork(tools_home: Path) -> None:
    """A new session with the same words is without the same secret."""
    held = claude(tools_home, "Hello.", f"my key is {TOKEN}")
    synced()
    redact_copies(held.row)
    other = "99999999-2222-4333-8444-555555555555"
    lines = held.path.read_bytes().replace(claude_lines.ID.encode(), other.encode())
    fork = held.path.with_name(f"{other}.jsonl")
    fork.write_bytes(lines)
    os.utime(fork, (1, 1_700_000_000))
    synced()
    assert len([path for path in kept() if path.endswith(".gz")]) == 2
    assert archive_has(TOKEN) == []


def test_redact_of_one_finding_leaves_other_secrets(tools_home: Path) -> None:
    """The others stay as they are, and come with what is new."""
    held = claude(tools_home, f"one {TOKEN}", f"two {KEY}")
    synced()
    redact_copies(held.row, [one for one in scan_one(held.row) if one.secret == KEY])
    held.say("And one more.")
    synced()
    assert archive_has(KEY) == []
    assert TOKEN in said_in_archive(held)


def test_redact_covers_older_archive_copies(tools_home: Path) -> None:
    """`NAME.~1.gz` is what the tool wrote before it wrote the file anew."""
    held = gemini(tools_home, "Hello.", f"my key is {TOKEN}", "Thanks.")
    synced()
    other = gemini(tools_home, "Hi.")
    synced()
    assert any(".~1." in path for path in archive_has(TOKEN))
    assert {one.role for one in scan_one(other.row)} == {"archive"}
    redact_copies(other.row)
    assert archive_has(TOKEN) == []
    assert held.path == other.path


def test_sync_completes_redact_killed_before_archive_copy(tools_home: Path) -> None:
    """What is remembered is written first: the next sync ends it."""
    held = claude(tools_home, "Hello.", f"my key is {TOKEN}")
    synced()
    before = {path: Path(path).read_bytes() for path in kept("claude")}
    redact_copies(held.row)
    for path, data in before.items():
        Path(path).write_bytes(data)
    held.say("And one more.")
    synced()
    assert archive_has(TOKEN) == []
    assert "And one more." in said_in_archive(held)


def test_sync_refuses_redacted_session_when_key_is_damaged(tools_home: Path) -> None:
    """It is named, and all other sessions are copied."""
    held = claude(tools_home, "Hello.", f"my key is {TOKEN}")
    opencode(tools_home, "Hello there.")
    synced()
    redact_copies(held.row)
    Path(paths.redaction_key()).write_bytes(b"short")
    held.say("And one more.")
    result = sync()
    assert ["redaction key is damaged" in one.reason for one in result.errors] == [True]
    assert archive_has(TOKEN) == []


def test_redaction_record_is_private_and_holds_no_secret(tools_home: Path) -> None:
    """Only fingerprints with a key are kept, for this user alone."""
    held = claude(tools_home, f"my key is {TOKEN}")
    synced()
    redact_copies(held.row)
    data = Path(redaction_record.redactions_path()).read_bytes()
    assert TOKEN.encode() not in data
    assert TOKEN[4:12].encode() not in data
    assert os.stat(redaction_record.redactions_path()).st_mode & 0o777 == 0o600


def test_damaged_redaction_record_is_reported_once(
    tools_home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """However many of their lines cannot be read."""
    notes = Path(redaction_record.redactions_path())
    notes.parent.mkdir(parents=True, exist_ok=True)
    notes.write_bytes(b"]]\n" * 3)
    redaction_record.ArchiveRedactions("claude")
    (said,) = caplog.messages
    assert said.startswith(f"line 1 of {notes} is damaged and ignored: ")
    assert said.endswith("(damaged lines in total: 3)")


def test_repaired_archive_copy_stays_redacted(tools_home: Path) -> None:
    """What doctor takes from the tool again is without it."""
    from cortext.features.doctor.check_archive import ArchiveCopy, check_copy

    held = claude(tools_home, "Hello.", f"my key is {TOKEN}", "Thanks.")
    synced()
    redact_copies(held.row)
    (path,) = [path for path in kept("claude") if path.endswith(".gz")]
    os.truncate(path, os.path.getsize(path) - 12)
    found = check_copy(ArchiveCopy("claude", path))
    assert found.mend is not None
    assert found.mend.do() is not None
    assert archive_has(TOKEN) == []
    assert said_in_archive(held).endswith("Thanks.")


def test_sync_keeps_redaction_of_rollout_compressed_by_codex(tools_home: Path) -> None:
    """It continues the masked copy of what it was before."""
    if not shutil.which("zstd"):
        pytest.skip("zstd is not installed")
    held = codex(tools_home, "Hello.", f"my key is {TOKEN}")
    synced()
    redact_copies(held.row)
    held.say("And one more.")
    subprocess.run(["zstd", "-q", "--rm", str(held.path)], check=True)
    synced()
    assert archive_has(TOKEN) == []
    assert "And one more." in said_in_archive(held)
    assert {one.path for one in scan_one(held.row)} == {f"{held.path}.zst"}
