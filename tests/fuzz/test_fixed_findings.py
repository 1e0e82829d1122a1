"""What fuzzing found, each as small as it is: the rest of a file is read, and the bad is named."""

import json
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from cortext import Session, SessionMessage
from cortext.features.doctor.repair import run_repairs
from cortext.features.doctor.salvage.json_scan import find_fields
from cortext.features.doctor.salvage.salvage_heads import build_session
from cortext.formats.log import LOG
from cortext.formats.message_lines import MOST_DAMAGES, record_ids
from cortext.mcp.tool_table import TOOLS, schema
from cortext.model.session_head_codec import newer_version
from cortext.stores.log import LogStore
from cortext.tools import jsonl_transcripts
from cortext.tools.gemini.reader import GeminiBridge
from cortext.tools.reader_protocol import TranscriptSource
from tests.features.doctor.damage import Kept, half_emoji, utf16
from tests.tools.claude.claude_lines import decode
from tests.tools.opencode.opencode_data import Made, said, text

DEEP = b'{"a":' + b"[" * 5000 + b"]" * 5000 + b"}"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A log with one message."""
    LogStore(tmp_path).save(Session("s", messages=[SessionMessage("user", "first")]))
    return tmp_path / "s.jsonl"


def test_too_deeply_nested_line_is_reported_and_hides_no_other(log: Path) -> None:
    """It is named with its number, and the ids of the other lines are known."""
    data = log.read_bytes() + DEEP + b"\n"
    log.write_bytes(data)
    found = LogStore(log.parent).read("s")
    assert [message.content for message in found.session.messages] == ["first"]
    assert [(damage.line, damage.detail) for damage in found.damages] == [(3, "nested too deeply")]
    assert found.session.messages[0].id in record_ids(data)


@pytest.mark.parametrize("version", ["9" * 5000, 10**4000, "9" * 21, 10**20])
def test_absurdly_large_version_is_not_newer(version: Any) -> None:
    """Python turns no text of thousands of digits into a number, nor the other way."""
    assert newer_version({"version": version}) is None


@pytest.mark.parametrize("version", [2, "2", "2.0", "10.1", 2.5])
def test_later_version_is_reported_as_newer(version: Any) -> None:
    assert newer_version({"version": version}) == str(version)


def test_log_store_reports_at_most_1000_broken_lines(log: Path) -> None:
    """A file of broken lines takes no more memory than it has; the message behind is there."""
    head, turn, _ = log.read_bytes().split(b"\n")
    log.write_bytes(b"\n".join((head, *[b"{"] * 5000, turn, b"")))
    found = LogStore(log.parent).read("s")
    assert [message.content for message in found.session.messages] == ["first"]
    assert len(found.damages) == MOST_DAMAGES + 1
    last = found.damages[-1]
    assert (last.detail[:18], last.line, last.fatal) == ("more damage follow", 1002, True)


def test_transcript_reader_reports_at_most_1000_broken_lines() -> None:
    lines = jsonl_transcripts.JsonLines(msgspec.defstruct("Any", []), "a file")
    assert list(lines.read([b"{\n" * 5000])) == []
    assert len(lines.damages) == MOST_DAMAGES + 1


def test_gemini_reader_keeps_messages_before_number_of_5000_digits(tmp_path: Path) -> None:
    """What stands before it is read."""
    path = tmp_path / "tmp/p/chats/session-x.json"
    path.parent.mkdir(parents=True)
    first = {"id": "1", "type": "user", "content": "hello", "timestamp": "2026-01-01T00:00:00Z"}
    path.write_text(f'{{"messages": [{json.dumps(first)}, {{"id": {"9" * 5000}}}]}}', "utf-8")
    source = TranscriptSource("gemini", "x", str(path), 1, "x")
    decoded = GeminiBridge(str(tmp_path)).decode(source)
    assert [message.content for message in decoded.session.messages] == ["hello"]
    assert decoded.damages


def test_gemini_scan_of_many_empty_lines_takes_linear_time(tmp_path: Path) -> None:
    """The time is that of the file's length, not of its square."""
    path = tmp_path / "tmp/p/chats/session-x.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"{}\n" + b"\n" * 60_000 + b'{"id":"1","type":"user","content":"x"}\n')
    start = time.process_time()
    assert [source.id for source in GeminiBridge(str(tmp_path)).sources()] == ["session-x"]
    assert time.process_time() - start < 1


def test_lone_surrogate_in_key_hides_no_message(tmp_path: Path) -> None:
    """A key that is half a character, inside a record that is read field by field."""
    usage = b'"usage":{"input_tokens":3,"\\ud800":1}'
    line = (
        b'{"type":"assistant","uuid":"u","timestamp":"2026-01-01T00:00:00Z","message":{"role":'
        b'"assistant","content":[{"type":"text","text":"hi","\\udfff":{"\\udfff":0}}],' + usage
    )
    decoded = decode(tmp_path, line + b"}}")
    assert [message.content for message in decoded.session.messages] == ["hi"]
    assert decoded.session.total_prompt_tokens == 3


@pytest.mark.parametrize("count", ["9" * 4300, "1e300", "-" + "9" * 30])
def test_absurd_token_count_is_reported_and_ignored(count: str, tmp_path: Path) -> None:
    """Their sum could not be written: what is said is kept, and the number is named."""
    line = (
        '{"type":"assistant","uuid":"u","timestamp":"2026-01-01T00:00:00Z","message":{"role":'
        '"assistant","content":[{"type":"text","text":"hi"}],"usage":{"input_tokens":COUNT}}}'
    )
    decoded = decode(tmp_path, line.replace("COUNT", count).encode())
    assert [message.content for message in decoded.session.messages] == ["hi"]
    assert decoded.session.total_prompt_tokens == 0
    assert "input_tokens has an unexpected value" in decoded.damages[0].detail
    assert Session.from_json(decoded.session.to_json()).id == decoded.session.id


@pytest.mark.parametrize("cost", ["9" * 400, "1e308"])
def test_opencode_reader_ignores_absurd_cost(cost: str, tmp_path: Path) -> None:
    """Of OpenCode's rows, where one message may have any number as its cost."""
    made = Made(tmp_path / "home")
    made.session()
    made.message("m1", "user", text("hello"))
    made.message("m2", "assistant", text("hi"))
    with made.open() as db:
        row = json.dumps({"role": "assistant", "time": {"created": 1}, "cost": 0})
        db.execute("UPDATE message SET data = ? WHERE id = 'm2'", [row.replace("0}", f"{cost}}}")])
    decoded = made.decode()
    assert sorted(said(decoded)) == [("assistant", "hi"), ("user", "hello")]
    assert Session.from_json(decoded.session.to_json()).id == decoded.session.id


def test_schema_of_mcp_tool_is_created_once() -> None:
    """A client that asks for the tools again and again costs next to nothing."""
    kind = TOOLS["search_workspace"].takes
    assert schema(kind) is schema(kind)


def test_repair_of_lone_surrogate_keeps_derived_message_id(tmp_path: Path) -> None:
    """It is known by the same id before and after, though that follows from its words."""
    kept = Kept("workspace", tmp_path).make()
    line = b'{"role":"user","content":"a \\ud800 b","timestamp":"2025-11-22T10:00:00Z"}\n'
    kept.lines.write_bytes(kept.lines.read_bytes() + line)
    before = kept.ids()
    mend = kept.check().mend
    assert mend is not None
    assert run_repairs([mend]).failed == []
    assert (kept.ids(), len(kept.check().problems)) == (before, 0)
    assert b"\xef\xbf\xbd b" in kept.lines.read_bytes()


def _check(kind: str, data: bytes, folder: Path) -> None:
    kept = Kept(kind, folder, "s")
    kept.head.write_bytes(data)
    assert kept.check().problems


def _all_but_one(head: dict[str, Any]) -> None:
    found = build_session(head, "s", [], datetime(2026, 1, 1, tzinfo=UTC), LOG)
    assert len(found.extra) == len(head) - 1


_SAID = b'{"type":"turn","role":"user","content":"hi","timestamp":"2026-01-01T00:00:00Z"}'
SLOW: dict[str, Callable[[Path, int], object]] = {
    "empty lines": lambda at, n: _check("document", _SAID + b"\n" * (4 * n) + _SAID, at),
    "broken lines": lambda at, n: _check("log", b"{\n" * n, at),
    "nested fields": lambda at, n: find_fields('{"a":' * n),
    "many fields": lambda at, n: _all_but_one({"tags": 5} | {f"k{k}": k for k in range(n)}),
}


@pytest.mark.parametrize("name", SLOW)
def test_doctor_checks_damaged_file_in_linear_time(name: str, tmp_path: Path) -> None:
    """Eight times as much takes about eight times as long, and not its square."""

    def spent(count: int) -> float:
        times: list[float] = []
        for turn in range(3):
            folder = tmp_path / f"{count}-{turn}"
            folder.mkdir()
            start = time.process_time()
            SLOW[name](folder, count)
            times.append(time.process_time() - start)
        return min(times)

    assert spent(16_000) < 30 * max(spent(2_000), 0.001)


def test_doctor_names_1000_broken_lines_and_counts_rest(tmp_path: Path) -> None:
    """One that is whole stands behind them, and is found."""
    kept = Kept("workspace", tmp_path).make()
    whole = kept.lines.read_bytes()
    kept.lines.write_bytes(b"{\n" * (MOST_DAMAGES + 500) + whole)
    found = kept.check()
    told = [problem.text for problem in found.problems]
    assert sum("the line is not a readable message" in text for text in told) == MOST_DAMAGES
    assert [text for text in told if "500 more lines cannot be read as messages" in text]
    assert found.mend is not None
    assert run_repairs([found.mend]).failed == []
    assert (len(kept.ids()), len(kept.check().problems)) == (6, 0)


def test_doctor_repairs_lone_surrogate_and_utf_16_together(tmp_path: Path) -> None:
    """Both are mended at once: a second look finds nothing more to do."""
    kept = Kept("document", tmp_path).make()
    half_emoji(kept)
    utf16(kept)
    mend = kept.check().mend
    assert mend is not None
    assert run_repairs([mend]).failed == []
    assert (len(kept.ids()), len(kept.check().problems)) == (6, 0)
