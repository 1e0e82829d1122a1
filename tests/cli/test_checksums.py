"""The setting `sessions.checksums`: lines that tell a flipped bit, from the first to the doctor."""

import json
from pathlib import Path

import pytest

from cortext import SessionMessage, open_session_store
from cortext.formats import line_checksum
from tests.command import begin, cortext, folder_of, ok
from tests.features.secrets.secret_corpus import make_secret

SECRET = make_secret("github-token")


@pytest.fixture
def lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The lines of a conversation that was had with the setting on."""
    monkeypatch.setenv("CORTEXT_SESSIONS_CHECKSUMS", "on")
    (tmp_path / ".workspace").mkdir()
    id = begin(tmp_path, "plan", "prices", "It costs 10 dollars.", f"And {SECRET} opens it.")
    return folder_of(tmp_path, id) / ".session/messages.jsonl"


def sealed(lines: Path) -> list[bool]:
    found = lines.read_bytes().splitlines()
    return [line_checksum.is_sealed(line) and line_checksum.is_sound(line) for line in found]


def test_checksums_stay_valid_after_redact_and_copy(lines: Path, tmp_path: Path) -> None:
    """Also after a secret was masked, and in a log that was saved whole."""
    assert sealed(lines) == [True, True]
    ok(tmp_path, "stop")
    ok(tmp_path, "redact", "--all", "--yes")
    assert SECRET not in lines.read_text(encoding="utf-8")
    assert sealed(lines) == [True, True]
    ok(tmp_path, "copy", f"workspace:{tmp_path}", f"log:{tmp_path}/log")
    (log,) = (tmp_path / "log").glob("*.jsonl")
    assert [line_checksum.is_sealed(line) for line in log.read_bytes().splitlines()] == [
        False,  # the head
        True,
        True,
    ]


def test_checksums_are_read_but_not_written_when_setting_is_off(
    lines: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files with both are as good as ever."""
    monkeypatch.delenv("CORTEXT_SESSIONS_CHECKSUMS")
    id = lines.parent.parent.name
    store = open_session_store(f"workspace:{tmp_path}")
    store.append(id, SessionMessage("user", "And then."))
    assert sealed(lines) == [True, True, False]
    shown = json.loads(ok(tmp_path, "show", id, "--json"))
    assert [message["content"] for message in shown["messages"]][-1] == "And then."


def test_doctor_finds_and_repairs_flipped_bit(lines: Path, tmp_path: Path) -> None:
    """It is still JSON, and costs 90 dollars; mended it costs 10 again."""
    data = lines.read_bytes()
    lines.write_bytes(data.replace(b"10 dollars", b"90 dollars"))
    done = cortext(tmp_path, "doctor")
    assert done.returncode == 1
    assert "line 1" in done.stdout
    cortext(tmp_path, "doctor", "--fix", "--yes")
    assert lines.read_bytes() == data
