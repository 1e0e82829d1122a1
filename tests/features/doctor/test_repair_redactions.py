"""What `redact` masked stays masked when `cortext doctor --fix` takes things from a tool again."""

import gzip
import json
import os
import time
from pathlib import Path

import pytest

from cortext import paths
from cortext.catalog.row import ConversationRow
from cortext.features.archive.archive_sync import sync
from cortext.features.capture.capture import capture
from cortext.features.doctor.check_archive import check_copy, list_copies
from cortext.features.doctor.check_conversations import check_conversation
from cortext.features.doctor.checkup import run_checkup
from cortext.features.secrets import redaction_record
from cortext.features.secrets.archive_redaction import redact_copies
from cortext.features.secrets.conversation_redaction import redact
from tests.features.capture_bench import Bench
from tests.features.secrets.secret_corpus import KEYS, Maker

TOKEN = next(make for name, make in KEYS if name == "github-token")(Maker(1))
ID = "11111111-2222-4333-8444-555555555555"


@pytest.fixture
def copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The archive's copy of a transcript of Claude Code, in which a secret was masked."""
    monkeypatch.setenv("HOME", str(tmp_path))
    transcript = tmp_path / f".claude/projects/-x/{ID}.jsonl"
    transcript.parent.mkdir(parents=True)
    for number, text in enumerate(("Hello.", f"Use {TOKEN} here.", "more " * 900)):
        line = {
            "type": "user", "sessionId": ID, "uuid": f"u{number}", "cwd": "/x",
            "timestamp": f"2025-11-22T09:0{number}:00.000Z",
            "message": {"role": "user", "content": text},
        }  # fmt: skip
        with transcript.open("ab") as file:
            file.write(json.dumps(line).encode() + b"\n")
        when = time.time() - 7200 + number
        os.utime(transcript, (when, when))
        sync(tools=["claude"])
    row = ConversationRow(
        tool="claude", path=str(transcript), key=ID, status="paused", last_active=1
    )
    assert redact_copies(row).pieces == 1
    (found,) = list_copies()
    assert TOKEN.encode() not in gzip.decompress(Path(found.path).read_bytes())
    return Path(found.path)


def fix(copy: Path) -> bytes:
    (found,) = [each for each in list_copies() if each.path == str(copy)]
    mend = check_copy(found).mend
    assert mend is not None
    mend.do()
    return gzip.decompress(copy.read_bytes())


def test_repair_of_truncated_copy_keeps_redactions(copy: Path) -> None:
    """All that the tool has is there again, and what was masked is masked."""
    whole = gzip.decompress(copy.read_bytes())
    os.truncate(copy, copy.stat().st_size - 12)
    assert fix(copy) == whole
    assert b"[redacted github-token " in whole


def test_repair_of_unreadable_copy_keeps_redactions(copy: Path) -> None:
    whole = gzip.decompress(copy.read_bytes())
    copy.write_bytes(b"\0" * copy.stat().st_size)
    assert fix(copy) == whole


def test_repair_rebuilds_redaction_record_from_archive_copies(copy: Path) -> None:
    """Without them a sync would bring the secret back."""
    notes = Path(redaction_record.redactions_path())
    before = notes.read_bytes()
    notes.write_bytes(before[: len(before) // 2])
    (problem,) = [one for one in run_checkup().problems if one.path == str(notes)]
    assert problem.text.endswith("line 1: 1 redaction cannot be read")
    (mend,) = [mend for mend in run_checkup().mends if mend.sentence == problem.mend]
    done = mend.do()
    assert done is not None
    assert notes.read_bytes() == before
    assert Path(done.kept[0]).read_bytes() == before[: len(before) // 2]
    assert mend.do() is None


def test_repair_redacts_messages_taken_from_tool_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a conversation whose file of messages is gone, and with it what was masked in it."""
    bench = Bench("claude", tmp_path, monkeypatch)
    bench.say("user", f"Use {TOKEN} here.", 1)
    bench.bind()
    root, place = bench.bound.root, bench.bound.place
    assert capture(root, place).new > 3
    path = place.folder[len(root) + 1 :]
    row = ConversationRow(
        workspace=root,
        path=path,
        key=place.name,
        status="active",
        last_active=1,
        kind="brainstorm",
    )
    assert redact(row).pieces == 1
    before = Path(place.lines).read_bytes()
    Path(place.lines).write_bytes(b"")
    mend = check_conversation(root, place).mend
    assert mend is not None
    done = mend.do()
    assert done is not None
    assert done.did.endswith("were captured from the tool; 1 secret in them is redacted")
    after = Path(place.lines).read_bytes()
    assert TOKEN.encode() not in after
    assert after.count(b"\n") == before.count(b"\n")
    assert b"[redacted github-token " in after


def test_repair_restores_secrets_when_user_never_redacted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = Bench("claude", tmp_path, monkeypatch)
    bench.say("user", f"Use {TOKEN} here.", 1)
    bench.bind()
    root, place = bench.bound.root, bench.bound.place
    capture(root, place)
    Path(place.lines).write_bytes(b"")
    mend = check_conversation(root, place).mend
    assert mend is not None
    mend.do()
    assert TOKEN.encode() in Path(place.lines).read_bytes()
    assert not os.path.exists(paths.redaction_key())
