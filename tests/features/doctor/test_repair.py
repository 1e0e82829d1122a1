"""What `cortext doctor` finds in damaged sessions, and how `--fix` mends it."""

import errno
import os
import re
import threading
from pathlib import Path

import pytest

from cortext import SessionMessage
from cortext.features.doctor import check_conversations, check_documents, check_logs
from cortext.features.doctor.check_results import NOTE
from cortext.features.doctor.repair import run_repairs
from cortext.stores.damage_checks import refuse_damage
from tests.features.doctor import damage
from tests.features.doctor.damage import DAMAGES, LOST, Damage, Kept

CASES = [(how, kind) for how, kinds in DAMAGES.items() for kind in kinds]


def named(case: tuple[Damage, str]) -> str:
    return f"{case[0].__name__}-{case[1]}"


@pytest.mark.parametrize("kind", ["workspace", "log", "document"])
@pytest.mark.parametrize("checksums", [False, True])
def test_check_reports_no_problem_in_intact_session(
    kind: str, checksums: bool, tmp_path: Path
) -> None:
    kept = Kept(kind, tmp_path).make(checksums=checksums and kind != "document")
    assert kept.check().problems == ()
    assert kept.ids() == ["m1", "m2", "m3", "m4", "m5", "m6"]


@pytest.mark.parametrize("case", CASES, ids=named)
def test_check_names_damage_and_repair_keeps_readable_messages(
    case: tuple[Damage, str], tmp_path: Path
) -> None:
    """By the table in `damage`: what is said, what is done, every message that can be read is there
    afterwards, the original is kept, and a second look finds nothing."""
    how, kind = case
    kept = Kept(kind, tmp_path).make(checksums=how is damage.flipped_bit)
    how(kept)
    damaged = {path: path.read_bytes() for path in (kept.head, kept.lines) if path.exists()}
    readable = kept.ids()
    found = kept.check()
    assert found.problems
    assert re.search(damage.TOLD[how].says, " ".join(one.text for one in found.problems))
    assert found.mend is not None
    assert all(problem.mend == found.mend.sentence for problem in found.problems)
    done = found.mend.do()
    assert done is not None
    assert re.search(damage.TOLD[how].does, done.did)
    assert all(Path(path).exists() for path in done.kept)
    originals = [*kept.kept(), *(path.read_bytes() for path in tmp_path.rglob("*.backup"))]
    for path, before in damaged.items():
        now = path.read_bytes()
        assert now.startswith(before) or before.startswith(now) or before in originals
    assert kept.check().problems == ()
    reading = kept.open().read(kept.id)
    refuse_damage(reading.damages)
    ids = kept.ids()
    assert set(readable) <= set(ids)
    wanted = {f"m{n}" for n in range(1, 7)} - LOST.get(case, set())
    assert wanted <= set(ids)
    assert found.mend.do() is None


def test_repair_of_torn_tail_moves_only_torn_bytes(tmp_path: Path) -> None:
    for kind in ("workspace", "log"):
        kept = Kept(kind, tmp_path / kind).make()
        before = kept.lines.read_bytes()
        damage.torn(kept)
        found = kept.check()
        assert [problem.line for problem in found.problems] == [7 if kind == "workspace" else 8]
        assert found.mend is not None
        found.mend.do()
        assert kept.lines.read_bytes() == before
        assert kept.kept() == [b'{"role":"user","content":"half of wh']


@pytest.mark.parametrize("kind", ["workspace", "log", "document"])
def test_check_notes_later_format_version_and_offers_no_repair(kind: str, tmp_path: Path) -> None:
    kept = Kept(kind, tmp_path).make()
    damage.from_the_future(kept)
    damage.torn(kept)
    before = kept.head.read_bytes(), kept.lines.read_bytes()
    found = kept.check()
    assert found.mend is None
    assert [problem.severity for problem in found.problems] == [NOTE]
    assert "format version 9.0" in found.problems[0].text
    assert (kept.head.read_bytes(), kept.lines.read_bytes()) == before


@pytest.mark.parametrize("kind", ["workspace", "log", "document"])
def test_check_offers_no_repair_for_unknown_head_of_later_version(
    kind: str, tmp_path: Path
) -> None:
    """It is not mended into one of ours."""
    kept = Kept(kind, tmp_path).make()
    head = b'{"type":"begin","version":"2.0","what":{"is":"new"}}\n'
    rest = kept.lines.read_bytes().partition(b"\n")[2] if kind == "log" else b""
    kept.head.write_bytes(head + rest)
    found = kept.check()
    assert (found.mend, [problem.severity for problem in found.problems]) == (None, [NOTE])


@pytest.mark.parametrize("kind", ["workspace", "log"])
def test_repair_restores_flipped_bit_by_checksum(kind: str, tmp_path: Path) -> None:
    """And is put right: the checksum says which bit it is."""
    kept = Kept(kind, tmp_path).make(checksums=True)
    before = kept.lines.read_bytes()
    damage.flipped_bit(kept)
    found = kept.check()
    line = kept.first + 3
    assert [(problem.line, problem.severity) for problem in found.problems] == [(line, "problem")]
    assert "'m3' is wrong" in found.problems[0].text
    assert found.mend is not None
    found.mend.do()
    assert kept.lines.read_bytes() == before


def test_check_offers_no_repair_when_checksum_differs_by_several_bits(tmp_path: Path) -> None:
    kept = Kept("log", tmp_path).make(checksums=True)
    data = kept.lines.read_bytes().replace(b"it fetches twice", b"we must stop here")
    kept.lines.write_bytes(data)
    found = kept.check()
    assert "message 'm3' was changed or damaged" in found.problems[0].text
    assert (found.mend, found.problems[0].mend) == (None, "")


@pytest.mark.parametrize("kind", ["workspace", "log", "document"])
def test_repair_rebuilds_missing_head_from_messages(kind: str, tmp_path: Path) -> None:
    """It says when the conversation began, what it is about, and that it rests."""
    kept = Kept(kind, tmp_path).make()
    damage.no_head(kept)
    for backup in tmp_path.rglob("*.backup"):
        backup.unlink()
    found = kept.check()
    assert found.mend is not None
    found.mend.do()
    session = kept.open().load(kept.id)
    assert (session.title, session.kind, session.status) == ("why is it slow", "debug", "paused")
    assert session.created_at == damage.BEGAN


@pytest.mark.parametrize("kind", ["workspace", "log", "document"])
def test_repair_of_two_heads_keeps_newest_head(kind: str, tmp_path: Path) -> None:
    kept = Kept(kind, tmp_path).make()
    damage.two_heads(kept)
    found = kept.check()
    assert found.mend is not None
    found.mend.do()
    assert kept.open().load(kept.id).title == "Slow pages, again"


def test_repair_of_truncated_head_keeps_its_readable_fields(tmp_path: Path) -> None:
    kept = Kept("log", tmp_path).make()
    damage.first_line(kept)
    found = kept.check()
    assert found.mend is not None
    found.mend.do()
    session = kept.open().load(kept.id)
    assert session.created_at == damage.BEGAN
    assert session.status == "paused"


@pytest.mark.parametrize("kind", ["workspace", "log", "document"])
def test_repair_adds_one_stub_result_to_unanswered_tool_call(kind: str, tmp_path: Path) -> None:
    """Once: a second plan has nothing to add."""
    kept = Kept(kind, tmp_path).make()
    damage.open_call(kept)
    found = kept.check()
    assert found.mend is not None
    assert "a tool call at the end (shell) has no result" in found.problems[0].text
    found.mend.do()
    found.mend.do()
    last = kept.open().load(kept.id).messages[-1]
    assert (last.role, last.tool_call_id, last.name) == ("tool", "c9", "shell")
    assert len(kept.ids()) == 8


@pytest.mark.parametrize("kind", ["workspace", "log", "document"])
def test_repair_leaves_tool_call_that_waits_for_approval(kind: str, tmp_path: Path) -> None:
    """However long it waits, and also where something else is mended: the run that is approved
    brings the result itself. When it waits no longer, a call without one is told of."""
    kept = Kept(kind, tmp_path).make()
    damage.open_call(kept)
    store = kept.open()
    session = store.load(kept.id)
    session.pending = {"framework": "openai_agents", "state": "{}"}
    store.save(session)
    assert kept.check().problems == ()
    damage.twice(kept)
    found = kept.check()
    assert found.mend is not None
    found.mend.do()
    session = kept.open().load(kept.id)
    assert (session.messages[-1].id, session.pending is not None) == ("m7", True)
    session.pending = None
    kept.open().save(session)
    assert "has no result" in kept.check().problems[0].text


def test_check_accepts_recent_tool_call_without_result(tmp_path: Path) -> None:
    kept = Kept("log", tmp_path).make()
    call = {"id": "c1", "name": "shell", "arguments": {}}
    kept.open().append(kept.id, SessionMessage("assistant", "", tool_calls=[call]))
    assert kept.check().problems == ()


def test_repair_restores_document_from_its_backup(tmp_path: Path) -> None:
    kept = Kept("document", tmp_path).make()
    kept.head.write_bytes(b"\0" * 4096)
    found = kept.check()
    assert found.mend is not None
    found.mend.do()
    assert kept.ids() == ["m1", "m2"]


def test_check_offers_no_repair_for_foreign_file(tmp_path: Path) -> None:
    kept = Kept("document", tmp_path)
    kept.head.write_bytes(b"\x00\x01 this is something else")
    found = kept.check()
    assert (found.mend, len(found.problems)) == (None, 1)


@pytest.mark.parametrize("kind", ["workspace", "log", "document"])
def test_repair_keeps_messages_appended_concurrently(kind: str, tmp_path: Path) -> None:
    """Mending takes the lock that writers take, and they notice the new file."""
    kept = Kept(kind, tmp_path).make()
    store = kept.open()
    said = [SessionMessage("user", f"more {n}", id=f"later{n}") for n in range(40)]
    done = threading.Event()

    def talk() -> None:
        for message in said:
            store.append(kept.id, message)
        done.set()

    thread = threading.Thread(target=talk)
    thread.start()
    try:
        while not done.is_set():
            if kind != "document":  # a writer refuses to write to a document that it cannot read
                with kept.lines.open("ab") as file:
                    file.write(b"\0" * 8 + b"\n")
            mend = kept.check().mend
            if mend is not None:
                mend.do()
    finally:
        thread.join()
    if (mend := kept.check().mend) is not None:
        mend.do()
    assert [id for id in kept.ids() if id.startswith("later")] == [m.id for m in said]
    assert kept.check().problems == ()


@pytest.mark.parametrize("kind", ["workspace", "log", "document"])
def test_repair_changes_nothing_on_full_disk(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = Kept(kind, tmp_path).make()
    damage.nul_line(kept)
    before = kept.lines.read_bytes(), kept.head.read_bytes()
    found = kept.check()
    assert found.mend is not None

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as disk:
        for module in (check_conversations, check_logs, check_documents):
            name = "write_folder" if module is check_conversations else "replace"
            disk.setattr(module, name, full)
        outcome = run_repairs([found.mend])
    assert outcome.mended == []
    assert "no space left on device" in outcome.failed[0].why
    assert outcome.failed[0].hint.startswith("free some space")
    assert (kept.lines.read_bytes(), kept.head.read_bytes()) == before
    assert len(run_repairs([found.mend]).mended) == 1
    assert kept.check().problems == ()
