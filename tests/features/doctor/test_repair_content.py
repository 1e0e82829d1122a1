"""What `cortext doctor --fix` makes of files that others wrote in another way: nothing is replaced
by nothing."""

import re
from pathlib import Path

import pytest

from cortext import Session
from cortext.features.doctor.check_results import NOTE
from tests.features.doctor import damage
from tests.features.doctor.damage import TEXTS, Damage, Kept
from tests.features.doctor.repaired_session import mended, texts

ALL = ("workspace", "log", "document")
LINES = ("workspace", "log")


@pytest.mark.parametrize("kind", LINES)
@pytest.mark.parametrize(
    "how",
    [
        damage.pretty,
        damage.as_list,
        damage.on_one_line,
        damage.with_commas,
        damage.utf16,
        damage.utf16_and_more,
    ],
)
def test_repair_reads_messages_in_other_layouts_and_encodings(
    how: Damage, kind: str, tmp_path: Path
) -> None:
    """Over many lines, in a list, several on one line, in UTF-16."""
    kept = Kept(kind, tmp_path).make()
    how(kept)
    done = mended(kept)
    assert texts(kept) == list(TEXTS)
    assert done.did.endswith("with 6 messages")


@pytest.mark.parametrize("kind", ALL)
def test_repair_decodes_latin_1_messages(kind: str, tmp_path: Path) -> None:
    """Its letters stay, where a character that is cut could not."""
    kept = Kept(kind, tmp_path).make()
    damage.latin1(kept)
    assert "the text is Latin-1, not UTF-8" in kept.check().problems[0].text
    mended(kept)
    assert texts(kept)[1:3] == ["let me look é", "it fetches déjà"]


@pytest.mark.parametrize(
    ("role", "known", "name"),
    [
        ("critic", "assistant", "critic"),
        ("human", "user", None),
        ("Model", "assistant", None),
        ("usfr", "user", None),
    ],
)
@pytest.mark.parametrize("kind", ALL)
def test_repair_keeps_message_with_unknown_role(
    role: str, known: str, name: str | None, kind: str, tmp_path: Path
) -> None:
    """In its place, as of whom it is meant to be or else under the name of its role."""
    kept = Kept(kind, tmp_path).make()
    for backup in tmp_path.rglob("*.backup"):
        backup.unlink()
    data = kept.lines.read_bytes()
    kept.lines.write_bytes(data.replace(b'"role":"user"', f'"role":"{role}"'.encode(), 1))
    assert f"`role` has the unknown value {role!r}" in kept.check().problems[0].text
    mended(kept)
    assert texts(kept) == list(TEXTS)
    first = kept.open().load(kept.id).messages[0]
    assert (first.role, first.name) == (known, name)
    assert kept.check().problems == ()


@pytest.mark.parametrize("data", [b"\x89PNG\r\n\x1a\n" * 9, b"dear diary\nno json\n", b"[1, 2]\n"])
@pytest.mark.parametrize("kind", ALL)
def test_check_offers_no_repair_for_unreadable_content(
    data: bytes, kind: str, tmp_path: Path
) -> None:
    """It is named, no plan speaks of it, and what is there is not replaced by nothing."""
    kept = Kept(kind, tmp_path).make()
    for backup in tmp_path.rglob("*.backup"):
        backup.unlink()
    head = kept.head.read_bytes().partition(b"\n")[0] + b"\n" if kind == "log" else b""
    kept.lines.write_bytes(head + data)
    found = kept.check()
    assert found.problems
    assert (found.mend, [problem.mend for problem in found.problems if problem.mend]) == (None, [])
    assert kept.lines.read_bytes() == head + data


def test_repair_of_head_leaves_unreadable_messages_unchanged(tmp_path: Path) -> None:
    kept = Kept("workspace", tmp_path).make()
    kept.lines.write_bytes(b"dear diary\n")
    damage.one_field(kept)
    mended(kept)
    assert kept.lines.read_bytes() == b"dear diary\n"
    assert kept.open().read(kept.id).session.title == "Slow pages"


def test_repair_reports_messages_lost_in_emptied_file_once(tmp_path: Path) -> None:
    """Its head knew better, and says so once: then the conversation is empty."""
    kept = Kept("workspace", tmp_path).make()
    damage.nothing_in_it(kept)
    (problem,) = kept.check().problems
    assert problem.text.endswith(": the file has no messages, but the head counts 2 messages")
    assert mended(kept).did.endswith("the head counted 2 messages; no copy was found")
    assert kept.check().problems == ()


@pytest.mark.parametrize("kind", ALL)
def test_repair_fills_empty_file_from_corrupt_copy(kind: str, tmp_path: Path) -> None:
    """As when a mending of before left nothing in its place."""
    kept = Kept(kind, tmp_path).make()
    kept.lines.rename(f"{kept.lines}.corrupt")
    kept.lines.write_bytes(b"")
    mended(kept)
    assert texts(kept) == list(TEXTS)
    assert kept.open().load(kept.id).title == "Slow pages"
    assert kept.check().problems == ()


@pytest.mark.parametrize("kind", ["log", "document"])
def test_check_reports_empty_file_without_backup_and_offers_no_repair(
    kind: str, tmp_path: Path
) -> None:
    """A log as a document: nothing can be made of nothing."""
    kept = Kept(kind, tmp_path)
    tmp_path.joinpath(kept.head.name).write_bytes(b"")
    found = kept.check()
    assert found.mend is None
    assert [problem.text for problem in found.problems] == [
        f"{kept.head}: the file is empty; no copy was found"
    ]


def test_check_notes_fewer_messages_than_head_counts(tmp_path: Path) -> None:
    """A person may have taken them out."""
    kept = Kept("workspace", tmp_path).make()
    kept.lines.write_bytes(kept.lines.read_bytes().split(b"\n")[0] + b"\n")
    found = kept.check()
    assert (found.mend, [problem.severity for problem in found.problems]) == (None, [NOTE])
    assert "the file has 1 message, but the head counts 2" in found.problems[0].text


def full_head(kept: Kept) -> Session:
    store = kept.open()
    session: Session = store.load(kept.id)
    session.tags, session.owner, session.summary = ["a", "b"], "ann", "it was slow"
    session.agent, session.model = "claude", "sonnet"
    store.save(session)
    return session


def head_of(session: Session) -> dict[str, object]:
    out = ("messages", "tool_history", "created_at", "updated_at", "status", "kind")
    return {name: value for name, value in session.to_dict().items() if name not in out}


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("how", [damage.no_beginning, damage.one_field, damage.conflict])
def test_repair_keeps_every_readable_field_of_damaged_head(
    how: Damage, kind: str, tmp_path: Path
) -> None:
    kept = Kept(kind, tmp_path).make()
    before = full_head(kept)
    for backup in tmp_path.rglob("*.backup"):
        backup.unlink()
    how(kept)
    mended(kept)
    after = kept.open().load(kept.id)
    assert head_of(after) == head_of(before)
    assert after.created_at == damage.BEGAN
    assert after.kind == "debug"


@pytest.mark.parametrize("kind", ALL)
def test_repair_keeps_head_fields_around_corrupt_value(kind: str, tmp_path: Path) -> None:
    """A hole in the middle of it, with a value that is no JSON at each side."""
    kept = Kept(kind, tmp_path).make()
    full_head(kept)
    for backup in tmp_path.rglob("*.backup"):
        backup.unlink()
    data = kept.head.read_bytes()
    new = re.sub(rb'("owner": ?"an)(n",)', rb"\1###\2", data)
    new = re.sub(rb'"owner": ?"an###n"', b'"owner":"an\x01##"n"', new)
    assert new != data
    kept.head.write_bytes(new)
    mended(kept)
    after = kept.open().load(kept.id)
    assert (after.title, after.tags, after.summary) == ("Slow pages", ["a", "b"], "it was slow")
    assert (after.agent, after.model) == ("claude", "sonnet")


@pytest.mark.parametrize("kind", ALL)
def test_repair_keeps_messages_of_both_sides_of_git_conflict(kind: str, tmp_path: Path) -> None:
    """Ours is the head, the messages are of both, and the original is set aside."""
    kept = Kept(kind, tmp_path).make()
    damage.conflict(kept)
    assert any("git conflict markers" in one.text for one in kept.check().problems)
    mended(kept)
    session = kept.open().load(kept.id)
    assert session.title == "Slow pages"
    assert [message.content for message in session.messages][-2:] == ["thanks", "no thanks"]
    assert any(b"Slow pages of theirs" in data for data in kept.kept())


def test_repair_dates_message_without_time_like_previous_message(tmp_path: Path) -> None:
    kept = Kept("workspace", tmp_path).make()
    with kept.lines.open("ab") as file:
        file.write(b'{"role":"user","content":"by hand"}\n')
    mended(kept)
    last = kept.open().load(kept.id).messages[-1]
    assert (last.content, last.timestamp) == ("by hand", damage.messages()[-1].timestamp)


def test_repair_plan_counts_unreadable_lines(tmp_path: Path) -> None:
    kept = Kept("workspace", tmp_path).make()
    damage.change_lines(kept, lambda lines: [lines[0], b"{no", b"json", *lines[1:]])
    mend = kept.check().mend
    assert mend is not None
    assert mend.sentence.endswith(
        "with the 6 messages that can be read; the original with 2 unreadable lines is set aside"
    )
    assert mended(kept).did.endswith("with 6 messages; 2 lines could not be read")
