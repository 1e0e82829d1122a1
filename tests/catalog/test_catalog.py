"""The catalog against the files: whatever is done to them, a list says what they say."""

import errno
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from cortext import Session
from cortext.catalog.catalog import Catalog
from cortext.catalog.row_table import FRESH_NS
from cortext.model.safe_text import clean
from cortext.stores import workspace_layout
from cortext.stores.folder import FolderStore
from tests.catalog.spaces import HEAD, NOW, Space, listed, settle


@pytest.fixture
def catalog_space(tmp_path: Path) -> Space:
    return Space(tmp_path / "space")


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    with Catalog(str(tmp_path / "catalog.sqlite3")) as opened:
        yield opened


def restore_head(space: Space, folder: Path) -> None:
    """A tag was added, and git takes it back: nothing came to the lines."""
    path = folder / ".session/session.json"
    before = path.read_bytes()
    space.head(folder, last_active=(NOW + timedelta(hours=1)).isoformat(), tags=["x"])
    with Catalog(str(space.root.parent / "catalog.sqlite3")) as other:
        settle(other, space)
    path.write_bytes(before)


def same_size_same_second(space: Space, folder: Path) -> None:
    path = folder / ".session/session.json"
    found = path.stat()
    space.head(folder, title="two")
    assert path.stat().st_size == found.st_size
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns + 1))


def bad_line(space: Space, folder: Path) -> None:
    with open(folder / ".session/messages.jsonl", "ab") as file:
        file.write(b"{not json}\n")
    space.append(folder, "after it")


def other_lines(space: Space, folder: Path) -> None:
    """Written over in place, longer, with a newline where the old ones ended."""
    lines = folder / ".session/messages.jsonl"
    size = lines.stat().st_size
    lines.write_bytes(b"")
    space.append(folder, "x")
    one = lines.read_bytes()
    lines.write_bytes(one[:-1] + b" " * (size - len(one)) + b"\n")
    space.append(folder, "second")


CHANGES: dict[str, Callable[[Space, Path], object]] = {
    "append": lambda space, folder: space.append(folder, "more", "and more"),
    "append of an older message": lambda space, folder: space.append(
        folder, "late", at=NOW - timedelta(hours=5)
    ),
    "another title, same size, same second": same_size_same_second,
    "an older head": restore_head,
    "a bad line in the middle": bad_line,
    "other lines in place": other_lines,
    "torn tail": lambda _, folder: (folder / ".session/messages.jsonl").write_bytes(b'{"ro'),
    "fewer lines": lambda _, folder: os.truncate(folder / ".session/messages.jsonl", 0),
    "renamed": lambda _, folder: folder.rename(folder.with_name("009-plan-new")),
    "moved": lambda _, folder: shutil.move(
        folder, folder.parent.with_name("2026-01-06") / folder.name
    ),
    "deleted": lambda _, folder: shutil.rmtree(folder),
    "day deleted": lambda _, folder: shutil.rmtree(folder.parent),
    "session deleted": lambda _, folder: shutil.rmtree(folder / ".session"),
    "lines deleted": lambda _, folder: (folder / ".session/messages.jsonl").unlink(),
    "head deleted": lambda _, folder: (folder / ".session/session.json").unlink(),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_list_matches_fresh_catalog_after_any_file_change(
    change: Callable[[Space, Path], object], catalog_space: Space, catalog: Catalog
) -> None:
    """After any change by anybody the rows are those of a catalog that begins anew."""
    folder = catalog_space.add("001-plan-one", "hello", "again", title="one")
    catalog_space.add("002-plan-other", day="2026-01-06")
    settle(catalog, catalog_space)
    change(catalog_space, folder)
    listed(catalog, catalog_space.root)


def test_list_follows_git_checkout_of_older_version(
    git_identity: None, catalog_space: Space, catalog: Catalog
) -> None:
    """Back and forth in history, the list goes along."""

    def git(*args: str) -> None:
        subprocess.run(["git", *args], cwd=catalog_space.root, check=True, capture_output=True)

    git("init", "-q", "-b", "main")
    folder = catalog_space.add("001-plan-one", "hello", title="one")
    git("add", "-A")
    git("commit", "-qm", "one")
    catalog_space.head(folder, title="two", last_active=(NOW + timedelta(days=1)).isoformat())
    catalog_space.append(folder, "more")
    git("commit", "-qam", "two")
    for version, expected in (("HEAD", ("two", 2)), ("HEAD~1", ("one", 1)), ("main", ("two", 2))):
        git("checkout", "-q", version)
        row = settle(catalog, catalog_space)["001-plan-one"]
        assert (row.title, row.messages) == expected


def test_refresh_by_other_process_counts_messages_once(
    catalog_space: Space, catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the other one counted is not counted again."""
    folder = catalog_space.add("001-plan-one", "one")
    settle(catalog, catalog_space)
    shelves = workspace_layout.shelves

    def slow(root: str) -> list[str]:
        monkeypatch.setattr(workspace_layout, "shelves", shelves)
        catalog_space.append(folder, "two")
        catalog_space.age()
        with Catalog(str(catalog_space.root.parent / "catalog.sqlite3")) as other:
            other.list([str(catalog_space.root)])
        catalog_space.append(folder, "three")
        return shelves(root)

    monkeypatch.setattr(workspace_layout, "shelves", slow)
    assert listed(catalog, catalog_space.root)["001-plan-one"].messages == 3


def test_lines_appended_during_refresh_are_counted_once(
    catalog_space: Space, catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the look at a file and its reading: they are counted once."""
    folder = catalog_space.add("001-plan-one", "one")
    settle(catalog, catalog_space)
    catalog_space.append(folder, "two")
    catalog_space.age()
    head = FolderStore.head

    def slow(store: FolderStore, id: str) -> Session:
        monkeypatch.setattr(FolderStore, "head", head)
        catalog_space.append(folder, "three")
        return head(store, id)

    monkeypatch.setattr(FolderStore, "head", slow)
    catalog.list([str(catalog_space.root)])
    assert listed(catalog, catalog_space.root)["001-plan-one"].messages == 3


def link_to_itself(path: Path) -> None:
    path.unlink()
    path.symlink_to(path)


def replaced_by_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def replaced_by_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


DAMAGES: dict[str, tuple[str, Callable[[Path], object]]] = {
    "head cut": ("session.json", lambda path: path.write_bytes(b'{"created_at": "20')),
    "head empty": ("session.json", lambda path: path.write_bytes(b"")),
    "head of NULs": ("session.json", lambda path: path.write_bytes(bytes(4096))),
    "head an array": ("session.json", lambda path: path.write_bytes(b"[]")),
    "head with an odd status": (
        "session.json",
        lambda path: path.write_text(json.dumps({**HEAD, "status": "idle"})),
    ),
    "head of a later version": (
        "session.json",
        lambda path: path.write_text(json.dumps({**HEAD, "version": "99"})),
    ),
    "head a link to itself": ("session.json", link_to_itself),
    "head a folder": ("session.json", replaced_by_folder),
    "head a pipe": ("session.json", replaced_by_pipe),
    "head missing": ("session.json", lambda path: path.unlink()),
    "lines missing": ("messages.jsonl", lambda path: path.unlink()),
    "lines a folder": ("messages.jsonl", replaced_by_folder),
    "lines a pipe": ("messages.jsonl", replaced_by_pipe),
    "NULs in the middle": (
        "messages.jsonl",
        lambda path: path.write_bytes(path.read_bytes().replace(b"\n", b"\n" + bytes(99) + b"\n")),
    ),
}


@pytest.mark.parametrize(("file", "damage"), DAMAGES.values(), ids=DAMAGES)
@pytest.mark.parametrize("first", [True, False], ids=["at first sight", "later"])
def test_damaged_conversation_is_listed_with_note(
    first: bool, file: str, damage: Callable[[Path], object], catalog_space: Space, catalog: Catalog
) -> None:
    """It hides no other, it is named, and what it still has counts."""
    bad = catalog_space.add("001-plan-bad", "still", "here")
    catalog_space.add("002-plan-good", "hello")
    if not first:
        settle(catalog, catalog_space)
    damage(bad / ".session" / file)
    rows = listed(catalog, catalog_space.root)
    assert sorted(rows) == ["001-plan-bad", "002-plan-good"]
    assert (rows["002-plan-good"].note, rows["002-plan-good"].messages) == ("", 1)
    assert file in rows["001-plan-bad"].note
    if (bad / ".session/messages.jsonl").is_file() and "version" not in rows["001-plan-bad"].note:
        assert rows["001-plan-bad"].messages == 2


ODD: dict[str, Callable[[Path], object]] = {
    "session a file": lambda folder: (folder / ".session").write_text("x"),
    "session a dangling link": lambda folder: (folder / ".session").symlink_to("nowhere"),
    "a folder called like a markdown": lambda folder: (folder / "a.md").mkdir(),
    "a pipe called like a markdown": lambda folder: os.mkfifo(folder / "a.md"),
    "a markdown that is a link to itself": lambda folder: (folder / "a.md").symlink_to("a.md"),
}


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
@pytest.mark.timeout(5)
def test_folder_without_session_is_listed_by_its_markdown(
    odd: Callable[[Path], object], catalog_space: Space, catalog: Catalog
) -> None:
    """Whatever else is in it: its heading is its title, and it has no status."""
    catalog_space.add("002-plan-good")
    folder = catalog_space.add("001-plan-bare")
    shutil.rmtree(folder / ".session")
    odd(folder)
    rows = listed(catalog, catalog_space.root)
    assert (rows["001-plan-bare"].title, rows["001-plan-bare"].status) == ("001-plan-bare", "")
    assert len(rows) == 2


@pytest.mark.parametrize(
    "name", [b"a b", b"a.b~", b"~", b"..x", b".hidden", b"a\tb", b"a\nb", b"\xff\xfe", b"-p"]
)
@pytest.mark.parametrize("file", [".session/session.json", "plan.md"])
def test_list_skips_folders_whose_names_are_not_valid_ids(
    name: bytes, file: str, catalog_space: Space, catalog: Catalog
) -> None:
    """Such a folder, and a file beside the folders, are passed over and hide nothing."""
    good = catalog_space.add("001-plan-good", "hello")
    odd = good.parent / os.fsdecode(name)
    shutil.copytree(good, odd)
    if file == "plan.md":
        shutil.rmtree(odd / ".session")
    (good.parent / "a-file").write_text("x")
    (good.parent / "dangling").symlink_to("nowhere")
    for _ in range(2):
        assert list(listed(catalog, catalog_space.root)) == ["001-plan-good"]


def test_list_skips_link_to_itself(catalog_space: Space, catalog: Catalog) -> None:
    """It is no conversation, and hides none."""
    good = catalog_space.add("001-plan-good", "hello")
    (good.parent / "002-loop").symlink_to("002-loop")
    assert list(listed(catalog, catalog_space.root)) == ["001-plan-good"]


def test_list_reads_workspace_whose_path_is_not_utf8(tmp_path: Path, catalog: Catalog) -> None:
    """A folder may have any name."""
    space = Space(Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff")))
    space.add("001-plan-good")
    assert list(listed(catalog, space.root)) == ["001-plan-good"]


@pytest.mark.parametrize("name", [".md", "..md", "...md", "conversations.md", ".workspace.md"])
def test_command_file_names_add_no_other_folder_to_list(
    name: str, catalog_space: Space, catalog: Catalog
) -> None:
    """Types name shelves; `..` and the usual shelf are none."""
    catalog_space.add("001-plan-good")
    outside = Space(catalog_space.root.parent).add("001-plan-outside").parent
    shutil.move(outside, catalog_space.root.parent / outside.name)
    (catalog_space.root / ".workspace/commands").mkdir()
    (catalog_space.root / ".workspace/commands" / name).write_text("x")
    assert [row.path for row in catalog.list([str(catalog_space.root)])] == [
        "conversations/2026-01-05/001-plan-good"
    ]


def test_row_texts_contain_no_terminal_control_characters(
    catalog_space: Space, catalog: Catalog
) -> None:
    """Titles, summaries, tags and kinds have nothing that a terminal would obey."""
    nasty = "a\x1b[2J\x9b1m\u202e\u2028\n\t\x00\ud800b"
    fields = dict.fromkeys(("title", "context_summary", "conversation_type"), nasty)
    catalog_space.add("001-plan-x", day="2026-01-07")
    catalog_space.head(
        catalog_space.root / "conversations/2026-01-07/001-plan-x", **fields, tags=[nasty, " "]
    )
    row = listed(catalog, catalog_space.root)["001-plan-x"]
    for text in (row.title, row.summary, row.kind, *row.tags):
        assert text == clean(text, lines=False).replace("\ud800", "")
        assert text.startswith("a")
    assert len(row.tags) == 1


def test_list_finds_change_among_500_conversations_of_one_day(
    catalog_space: Space, catalog: Catalog
) -> None:
    """All are there, and one that changes is found."""
    folders = [catalog_space.add(f"{n:04}-plan-x", status="paused") for n in range(500)]
    assert len(settle(catalog, catalog_space)) == 500
    catalog_space.head(folders[345], title="found")
    rows = catalog.list([str(catalog_space.root)])
    assert [row.id for row in rows if row.title == "found"] == ["0345-plan-x"]


BUSY = """
import sys
from cortext import SessionMessage
from cortext import Session
from cortext.catalog.catalog import Catalog
from cortext.stores.folder import FolderStore
path, root, name = sys.argv[1:]
sys.stdin.readline()
store = FolderStore(root)
with Catalog(path) as catalog:
    for number in range(12):
        if name.startswith("00"):
            store.append(name, SessionMessage("user", "x"))
        rows = catalog.list([root])
        assert len(rows) == 4, rows
        catalog.remember_shown(name, rows)
        catalog.tell_once(rows)
"""


def test_eight_processes_list_and_append_on_new_catalog(
    catalog_space: Space, tmp_path: Path
) -> None:
    """Four append and list, four only list, on a catalog that none has made yet: no error."""
    for number in range(4):
        catalog_space.add(f"00{number}-plan-x")
    names = [f"00{number}-plan-x" for number in range(4)] + list("abcd")
    path = tmp_path / "catalog.sqlite3"
    running = [
        subprocess.Popen(
            [sys.executable, "-c", BUSY, path, catalog_space.root, name],
            stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for name in names
    ]  # fmt: skip
    for process in running:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    ends = [(process.communicate(timeout=60)[1], process.returncode) for process in running]
    assert ends == [("", 0)] * 8
    with Catalog(str(path)) as catalog:
        rows = listed(catalog, catalog_space.root)
    assert [row.messages for row in rows.values()] == [12] * 4


class Forbidden:
    """A folder that nobody lets us look into, root included, as long as `path` names it."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.path = ""
        self._stat, self._scandir = os.stat, os.scandir
        patch.setattr(os, "stat", self.stat)
        patch.setattr(os, "scandir", self.scandir)

    def stat(self, path: Any, **more: Any) -> os.stat_result:
        if self.path and str(path).startswith(f"{self.path}/"):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        return self._stat(path, **more)

    def scandir(self, path: Any) -> Any:
        if self.path and f"{path}/".startswith(f"{self.path}/"):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        return self._scandir(path)


@pytest.mark.parametrize("where", ["conversations", "conversations/2026-01-05", "one"])
def test_unreadable_folder_is_reported_and_its_rows_stay_listed(
    catalog_space: Space, catalog: Catalog, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    """A workspace, a day or a conversation is named, and listed as it was; others are seen, and
    afterwards all is as ever."""
    forbidden = Forbidden(monkeypatch)
    one = catalog_space.add("001-plan-one", "first")
    two = catalog_space.add("002-plan-two", "second")
    before = settle(catalog, catalog_space)
    path = one if where == "one" else catalog_space.root / where
    forbidden.path = str(path)
    if where == "one":
        catalog_space.head(two, title="new")
    rows = catalog.list([str(catalog_space.root)])
    assert {row.id for row in rows} == set(before)
    assert [row.title for row in rows if row.id == two.name] == [
        "new" if where == "one" else two.name
    ]
    assert catalog.unread == [f"{path}: permission denied"]
    forbidden.path = ""
    listed(catalog, catalog_space.root)


def test_unreadable_workspace_does_not_hide_other_workspaces(
    catalog_space: Space, catalog: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It does not keep anybody from the others."""
    forbidden = Forbidden(monkeypatch)
    other = Space(tmp_path / "other")
    other.add("001-plan-other", "hello")
    catalog_space.add("001-plan-one", "hello")
    forbidden.path = str(other.root / "conversations")
    rows = catalog.list([str(other.root), str(catalog_space.root)])
    assert [row.id for row in rows] == ["001-plan-one"]


@pytest.mark.parametrize("number", [errno.EMFILE, errno.EIO])
def test_conversation_that_could_not_be_opened_is_named_and_read_again(
    number: int,
    catalog: Catalog,
    catalog_space: Space,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The error is not stored as a fact about the conversation."""
    folder = catalog_space.add("001-plan-x", "hello")
    catalog_space.age()

    def refuse(path: str) -> int:
        raise OSError(number, os.strerror(number), path)

    with monkeypatch.context() as patch:
        patch.setattr("cortext.catalog.conversation_row_reader.open_file", refuse)
        assert catalog.list([str(catalog_space.root)]) == []
    assert [message for message in caplog.messages if str(folder) in message]
    (row,) = catalog.list([str(catalog_space.root)])
    assert (row.note, row.messages) == ("", 1)


def test_conversation_added_in_same_clock_tick_as_previous_refresh_is_listed(
    catalog: Catalog, catalog_space: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The time of the day folder is the same before and after."""
    first = catalog_space.add("001-plan-x", "hello")
    now = os.stat(first.parent).st_mtime_ns
    assert [row.id for row in catalog.list([str(catalog_space.root)])] == ["001-plan-x"]
    catalog_space.add("002-plan-y", "hello")
    os.utime(first.parent, ns=(now, now))
    later = time.time_ns() + 2 * FRESH_NS
    monkeypatch.setattr(time, "time_ns", lambda: later)
    found = {row.id for row in catalog.list([str(catalog_space.root)])}
    assert found == {"001-plan-x", "002-plan-y"}
