"""Files that nobody thought of: several damages at once, odd content, odd places."""

import json
import os
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from cortext import paths
from cortext.errors import SessionStorageError
from cortext.features.archive.archive_sync import sync
from cortext.features.doctor import checkup
from cortext.features.doctor.check_results import Problem, Repair, Repaired
from cortext.features.doctor.checkup import run_checkup
from cortext.features.doctor.repair import (
    MANY,
    count_repeated_kinds,
    ensure_nothing_lost,
    run_repairs,
)
from cortext.features.doctor.salvage.json_scan import find_objects
from cortext.workspace.known_folders import remember_program, remember_workspace
from tests.features.doctor.damage import (
    DAY,
    Kept,
    change_lines,
    messages,
    no_beginning,
    on_one_line,
    pretty,
)

ALL = [message.id for message in messages()]
ID = "11111111-2222-4333-8444-555555555555"


def garbage_in_head(kept: Kept) -> None:
    data = kept.head.read_bytes()
    kept.head.write_bytes(data[:150] + b"\xff\x01\x02#" + data[150:])


def nul_over_end_of_head(kept: Kept) -> None:
    change_lines(kept, lambda lines: [lines[0][:-8] + b"\0" * 9 + lines[1], *lines[2:]])


def crlf(kept: Kept) -> None:
    kept.lines.write_bytes(kept.lines.read_bytes().replace(b"\n", b"\r\n"))


def two_marks(kept: Kept) -> None:
    kept.lines.write_bytes(b"\xef\xbb\xbf" * 2 + kept.lines.read_bytes())


@pytest.mark.parametrize(
    "chain",
    [(no_beginning, pretty), (garbage_in_head, on_one_line), (nul_over_end_of_head,)],
    ids=lambda chain: "+".join(how.__name__ for how in chain),
)
def test_repair_of_damaged_head_keeps_every_message(
    chain: tuple[Callable[[Kept], None], ...], tmp_path: Path
) -> None:
    """Messages that are not on lines alone stay, and say nothing of the session."""
    kept = Kept("log", tmp_path).make()
    for how in chain:
        how(kept)
    found = kept.check().mend
    assert found is not None
    found.do()
    assert kept.ids() == ALL
    assert [one.text for one in kept.check().problems] == []
    head = json.loads(kept.lines.read_bytes().partition(b"\n")[0])
    assert {"role", "content", "timestamp"}.isdisjoint(head)
    assert head["title"] == "Slow pages"


def test_repair_is_refused_when_readable_message_would_be_lost() -> None:
    """Whatever a rescue gives: what can be read now has to be in it."""
    ensure_nothing_lost("x", messages, messages())
    with pytest.raises(SessionStorageError, match="would lose 1 message that can be read"):
        ensure_nothing_lost("x", messages, messages()[1:])


@pytest.mark.parametrize("kind", ["workspace", "log"])
@pytest.mark.parametrize("how", [crlf, two_marks])
def test_repair_fixes_flipped_bit_in_file_with_crlf_or_byte_order_marks(
    how: Callable[[Kept], None], kind: str, tmp_path: Path
) -> None:
    """A flipped bit is found and put right in them, and one mending is enough."""
    kept = Kept(kind, tmp_path).make(checksums=True)
    kept.lines.write_bytes(kept.lines.read_bytes().replace(b"fetches twice", b"fetcher twice"))
    how(kept)
    found = kept.check()
    assert any("one bit of message 'm3' is wrong" in one.text for one in found.problems)
    assert found.mend is not None
    found.mend.do()
    assert kept.check().problems == ()
    assert b"fetches twice" in kept.lines.read_bytes()


def numbers(depth: int) -> bytes:
    return b"[" * depth + b"]" * depth


HOSTILE = {
    "a number of 5000 digits": b'{"role":"user","content":"x","n":' + b"9" * 5000 + b"}",
    "nested deeply": b'{"role":"user","content":"\\ud83d","n":' + numbers(900) + b"}",
    "nested too deeply": b'{"role":"user","content":"\\ud83d","n":' + numbers(9000) + b"}",
}


@pytest.mark.parametrize("kind", ["workspace", "log", "document"])
@pytest.mark.parametrize("line", HOSTILE.values(), ids=HOSTILE)
def test_check_and_repair_survive_hostile_content(line: bytes, kind: str, tmp_path: Path) -> None:
    """In the middle of a file, and as its head: all else of it is there when it is mended."""
    for at in (0, 3):
        kept = Kept(kind, tmp_path / str(at)).make()
        change_lines(kept, lambda lines, at=at: [*lines[:at], line, *lines[at:]])
        found = kept.check()
        assert found.problems
        if found.mend is not None:
            assert run_repairs([found.mend]).failed == []
            assert set(kept.ids()) >= set(ALL)


def test_checkup_continues_when_check_of_one_file_crashes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What fails on one is said of that one."""
    remember_program(str(tmp_path))
    first = Kept("log", tmp_path, "a").make()
    second = Kept("log", tmp_path, "b").make()
    for kept in (first, second):
        kept.lines.write_bytes(kept.lines.read_bytes() + b'{"role":')
    check = checkup.list_conversation_items

    def breaking(*args: object) -> object:
        def fail() -> None:
            raise ZeroDivisionError("no such luck")

        for item in check(*args):  # type: ignore[arg-type]
            yield item._replace(check=fail) if item.name == str(first.lines) else item

    monkeypatch.setattr(checkup, "list_conversation_items", breaking)
    found = {one.path: one.text for one in run_checkup().problems}
    assert found[str(first.lines)].endswith(": ZeroDivisionError: no such luck")
    assert "the last line is incomplete" in found[str(second.lines)]


def test_repairs_continue_when_one_repair_crashes() -> None:
    """It is told, with what it was to do."""

    def fail() -> Repaired | None:
        raise ZeroDivisionError("no such luck")

    done = run_repairs([Repair("one", fail), Repair("two", lambda: Repaired("did", []))])
    assert [(one.step, one.why) for one in done.failed] == [
        ("one", "the repair failed: ZeroDivisionError: no such luck")
    ]
    assert [one.did for one in done.mended] == ["did"]


def test_checkup_names_files_folders_and_links_in_wrong_place(tmp_path: Path) -> None:
    """A file where a folder belongs, a folder where a file does, and a link that leads nowhere."""
    remember_workspace(str(tmp_path / "w"))
    (tmp_path / "w/.workspace").mkdir(parents=True)
    day = tmp_path / "w/conversations" / DAY
    (day / "001-debug").mkdir(parents=True)
    (day / "001-debug/.session").write_bytes(b"")
    (day / "002-debug/.session/messages.jsonl").mkdir(parents=True)
    remember_program(str(tmp_path / "logs"))
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs/a.jsonl").symlink_to(tmp_path / "nowhere")
    Path(paths.redaction_key()).mkdir(parents=True)
    Path(paths.archive()).mkdir(parents=True, exist_ok=True)
    (Path(paths.archive()) / "claude").write_bytes(b"")
    Path(paths.trash()).write_bytes(b"")
    said = dict[str, str]()
    for one in run_checkup().problems:
        said[one.path] = f"{said.get(one.path, '')}{one.text}; {one.hint}\n"
    assert "it is not a folder" in said[f"{day}/001-debug/.session"]
    inner = f"{day}/002-debug/.session/messages.jsonl"
    assert f"{inner} cannot be read" in said[inner]
    assert "something else is at this path" in said[inner]
    assert "does not exist" in said[str(tmp_path / "logs/a.jsonl")]
    assert "is not a file" in said[paths.redaction_key()]
    assert "not a directory" in said[f"{paths.archive()}/claude"]
    assert "not a directory" in said[paths.trash()]


def test_checkup_names_inaccessible_day_and_checks_other_days(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is named, and the days after it are looked at."""
    remember_workspace(str(tmp_path))
    (tmp_path / ".workspace").mkdir()
    kept = Kept("workspace", tmp_path).make()
    kept.lines.write_bytes(kept.lines.read_bytes() + b'{"role":')
    closed = tmp_path / "conversations/2025-01-01"
    closed.mkdir()
    scandir = os.scandir

    def refusing(path: str) -> object:
        if str(path) == str(closed):
            raise PermissionError(13, "Permission denied", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refusing)
    said = {one.path: one.text for one in run_checkup().problems}
    assert said[str(closed)] == f"{closed} cannot be read: permission denied"
    assert "incomplete" in said[str(kept.lines)]


@pytest.fixture
def claude_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    return tmp_path / "claude"


def copied(claude: Path) -> tuple[Path, Path]:
    """A transcript of a tool, and its copy."""
    source = claude / f"projects/-x/{ID}.jsonl"
    source.parent.mkdir(parents=True)
    line = {"type": "user", "sessionId": ID, "uuid": "u", "cwd": "/x", "parentUuid": None}
    said = {"timestamp": "2025-11-22T09:00:00.000Z", "message": {"role": "user", "content": "hi"}}
    source.write_text(json.dumps(line | said) + "\n", encoding="utf-8")
    sync(tools=["claude"])
    return source, Path(paths.archive()) / f"claude/projects/-x/{ID}.jsonl.gz"


def of(path: Path) -> list[Problem]:
    return [one for one in run_checkup().problems if one.path == str(path)]


def test_repair_compresses_uncompressed_archive_copy(claude_folder: Path) -> None:
    """Also when the tool has it no more."""
    source, copy = copied(claude_folder)
    data = source.read_bytes()
    source.unlink()
    copy.write_bytes(data)
    assert len(of(copy)) == 1
    assert run_repairs(run_checkup().mends).failed == []
    assert of(copy) == []
    from cortext.durability.gzip_members import read_packed

    assert b"".join(read_packed(str(copy))) == data


@pytest.mark.parametrize("content", [b"", b"\xff" * 40], ids=["empty", "garbage"])
def test_repair_replaces_unreadable_copy_only_while_tool_has_transcript(
    content: bytes, claude_folder: Path
) -> None:
    """It is copied again while the tool has it; else it is left, and named each time."""
    source, copy = copied(claude_folder)
    whole = copy.read_bytes()
    copy.write_bytes(content)
    assert run_repairs(run_checkup().mends).failed == []
    assert of(copy) == []
    source.unlink()
    copy.write_bytes(content)
    (problem,) = of(copy)
    assert (problem.mend, "claude no longer has the transcript" in problem.hint) == ("", True)
    assert run_repairs(run_checkup().mends).failed == []
    assert (copy.read_bytes(), len(of(copy))) == (content, 1)
    assert whole


def test_checkup_does_not_wait_for_files_dated_in_future(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only what was just written is looked at again, and all of it after one moment."""
    remember_program(str(tmp_path))
    slept: list[float] = []
    monkeypatch.setattr(checkup.time, "sleep", slept.append)
    later = time.time() + 3600
    for name in "abcd":
        kept = Kept("log", tmp_path, name).make()
        kept.lines.write_bytes(kept.lines.read_bytes() + b'{"role":')
        os.utime(kept.lines, (later, later))
    assert len(run_checkup().problems) >= 4
    assert slept == []


def test_find_objects_finds_all_of_many_objects_on_one_line() -> None:
    """Each, and none is looked at from its beginning to the end of the line."""
    text = '{"type":"turn","n":}' * 20_000 + '{"type":"turn","id":1}' * 20_000
    found = list(find_objects(text))
    assert len(found) == 20_000
    assert all(one.end <= two.start for one, two in pairwise(found))


def test_repeated_problems_are_counted_by_kind_only_above_limit() -> None:
    """Where there are many files; whatever numbers and names it says of its own."""
    problems = [
        Problem(f"/x/{n}, line {n}: message 'm{n}' is not read", "", path=f"/x/{n}")
        for n in range(MANY + 1)
    ]
    other = Problem("/y is gone", "", path="/y")
    assert list(count_repeated_kinds([*problems, other]).values()) == [MANY + 1]
    assert count_repeated_kinds(problems[:MANY]) == {}
