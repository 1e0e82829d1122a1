"""The catalog against the files: whatever is done to them, a list says what they say."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from cortext import Session
from cortext.index.catalog import Catalog
from cortext.index.listed import Listed
from cortext.model.text import clean
from cortext.stores import layout
from cortext.stores.folder import FolderStore

NOW = datetime.now(UTC)
HOUR = 3600 * 10**9


class Space:
    """A workspace, and what anybody may do to its files."""

    def __init__(self, root: Path) -> None:
        self.root = root
        (root / ".workspace").mkdir(parents=True, exist_ok=True)
        self.clock = 0

    def add(self, name: str, *texts: str, day: str = "2026-01-05", **head: Any) -> Path:
        folder = self.root / "conversations" / day / name
        (folder / ".session").mkdir(parents=True)
        (folder / "plan.md").write_text(f"# {name}\n", encoding="utf-8")
        (folder / ".session/messages.jsonl").write_bytes(b"")
        self.head(folder, **{"title": name, **head})
        self.append(folder, *texts)
        return folder

    def head(self, folder: Path, **fields: Any) -> None:
        """Written in place, as an editor does."""
        path = folder / ".session/session.json"
        old = json.loads(path.read_bytes()) if path.exists() else _HEAD
        path.write_text(json.dumps({**old, **fields}), encoding="utf-8")

    def append(self, folder: Path, *texts: str, at: datetime | None = None) -> None:
        with open(folder / ".session/messages.jsonl", "ab") as file:
            for text in texts:
                self.clock += 1
                when = at or NOW + timedelta(seconds=self.clock)
                record = {"role": "user", "content": text, "timestamp": when.isoformat()}
                file.write(json.dumps({"id": f"m{self.clock}", **record}).encode() + b"\n")

    def age(self) -> None:
        """Let everything be an hour older, so that the catalog trusts what it knows of it."""
        for number, path in enumerate(sorted(self.root.rglob("*"))):
            if path.is_file() or path.is_dir():
                past = os.stat(path).st_mtime_ns - HOUR + number
                os.utime(path, ns=(past, past))


_HEAD = {
    "created_at": NOW.isoformat(),
    "last_active": NOW.isoformat(),
    "status": "active",
    "conversation_type": "plan",
}


@pytest.fixture
def space(tmp_path: Path) -> Space:
    return Space(tmp_path / "space")


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    with Catalog(str(tmp_path / "catalog.sqlite3")) as opened:
        yield opened


def truth(root: Path) -> list[Listed]:
    """What somebody finds who knows nothing yet."""
    with Catalog(":memory:") as fresh:
        return fresh.list([str(root)])


def listed(catalog: Catalog, root: Path) -> dict[str, Listed]:
    """The rows by id, which have to be the true ones."""
    rows = catalog.list([str(root)])
    assert rows == truth(root)
    return {row.id: row for row in rows}


def settle(catalog: Catalog, space: Space) -> dict[str, Listed]:
    space.age()
    catalog.list([str(space.root)])
    return listed(catalog, space.root)


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
def test_a_list_follows_the_files(
    change: Callable[[Space, Path], object], space: Space, catalog: Catalog
) -> None:
    """After any change by anybody the rows are those of a catalog that begins anew."""
    folder = space.add("001-plan-one", "hello", "again", title="one")
    space.add("002-plan-other", day="2026-01-06")
    settle(catalog, space)
    change(space, folder)
    listed(catalog, space.root)


def test_git_checkout_of_an_older_version(
    git_identity: None, space: Space, catalog: Catalog
) -> None:
    """Back and forth in history, the list goes along."""

    def git(*args: str) -> None:
        subprocess.run(["git", *args], cwd=space.root, check=True, capture_output=True)

    git("init", "-q", "-b", "main")
    folder = space.add("001-plan-one", "hello", title="one")
    git("add", "-A")
    git("commit", "-qm", "one")
    space.head(folder, title="two", last_active=(NOW + timedelta(days=1)).isoformat())
    space.append(folder, "more")
    git("commit", "-qam", "two")
    for version, expected in (("HEAD", ("two", 2)), ("HEAD~1", ("one", 1)), ("main", ("two", 2))):
        git("checkout", "-q", version)
        row = settle(catalog, space)["001-plan-one"]
        assert (row.title, row.messages) == expected


def test_another_process_refreshes_between_two_looks(
    space: Space, catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the other one counted is not counted again."""
    folder = space.add("001-plan-one", "one")
    settle(catalog, space)
    shelves = layout.shelves

    def slow(root: str) -> list[str]:
        monkeypatch.setattr(layout, "shelves", shelves)
        space.append(folder, "two")
        space.age()
        with Catalog(str(space.root.parent / "catalog.sqlite3")) as other:
            other.list([str(space.root)])
        space.append(folder, "three")
        return shelves(root)

    monkeypatch.setattr(layout, "shelves", slow)
    assert listed(catalog, space.root)["001-plan-one"].messages == 3


def test_lines_that_come_while_they_are_read(
    space: Space, catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the look at a file and its reading: they are counted once."""
    folder = space.add("001-plan-one", "one")
    settle(catalog, space)
    space.append(folder, "two")
    space.age()
    head = FolderStore.head

    def slow(store: FolderStore, id: str) -> Session:
        monkeypatch.setattr(FolderStore, "head", head)
        space.append(folder, "three")
        return head(store, id)

    monkeypatch.setattr(FolderStore, "head", slow)
    catalog.list([str(space.root)])
    assert listed(catalog, space.root)["001-plan-one"].messages == 3


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
        lambda path: path.write_text(json.dumps({**_HEAD, "status": "idle"})),
    ),
    "head of a later version": (
        "session.json",
        lambda path: path.write_text(json.dumps({**_HEAD, "version": "99"})),
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
def test_a_damaged_conversation_is_listed_with_a_note(
    first: bool, file: str, damage: Callable[[Path], object], space: Space, catalog: Catalog
) -> None:
    """It hides no other, it is named, and what it still has counts."""
    bad = space.add("001-plan-bad", "still", "here")
    space.add("002-plan-good", "hello")
    if not first:
        settle(catalog, space)
    damage(bad / ".session" / file)
    rows = listed(catalog, space.root)
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
def test_a_folder_without_a_session_is_known_by_its_markdown(
    odd: Callable[[Path], object], space: Space, catalog: Catalog
) -> None:
    """Whatever else is in it: its heading is its title, and it has no status."""
    space.add("002-plan-good")
    folder = space.add("001-plan-bare")
    shutil.rmtree(folder / ".session")
    odd(folder)
    rows = listed(catalog, space.root)
    assert (rows["001-plan-bare"].title, rows["001-plan-bare"].status) == ("001-plan-bare", "")
    assert len(rows) == 2


@pytest.mark.parametrize(
    "name", [b"a b", b"a.b~", b"~", b"..x", b".hidden", b"a\tb", b"a\nb", b"\xff\xfe", b"-p"]
)
@pytest.mark.parametrize("file", [".session/session.json", "plan.md"])
def test_names_that_cannot_be_ids(name: bytes, file: str, space: Space, catalog: Catalog) -> None:
    """Such a folder, and a file beside the folders, are passed over and hide nothing."""
    good = space.add("001-plan-good", "hello")
    odd = good.parent / os.fsdecode(name)
    shutil.copytree(good, odd)
    if file == "plan.md":
        shutil.rmtree(odd / ".session")
    (good.parent / "a-file").write_text("x")
    (good.parent / "dangling").symlink_to("nowhere")
    for _ in range(2):
        assert list(listed(catalog, space.root)) == ["001-plan-good"]


def test_a_link_to_itself_among_the_folders(space: Space, catalog: Catalog) -> None:
    """It is no conversation, and hides none."""
    good = space.add("001-plan-good", "hello")
    (good.parent / "002-loop").symlink_to("002-loop")
    assert list(listed(catalog, space.root)) == ["001-plan-good"]


def test_a_workspace_whose_path_is_no_text(tmp_path: Path, catalog: Catalog) -> None:
    """A folder may have any name."""
    space = Space(Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff")))
    space.add("001-plan-good")
    assert list(listed(catalog, space.root)) == ["001-plan-good"]


@pytest.mark.parametrize("name", [".md", "..md", "...md", "conversations.md", ".workspace.md"])
def test_a_command_file_opens_no_other_folder(name: str, space: Space, catalog: Catalog) -> None:
    """Types name shelves; `..` and the usual shelf are none."""
    space.add("001-plan-good")
    outside = Space(space.root.parent).add("001-plan-outside").parent
    shutil.move(outside, space.root.parent / outside.name)
    (space.root / ".workspace/commands").mkdir()
    (space.root / ".workspace/commands" / name).write_text("x")
    assert [row.path for row in catalog.list([str(space.root)])] == [
        "conversations/2026-01-05/001-plan-good"
    ]


def test_texts_are_clean(space: Space, catalog: Catalog) -> None:
    """Titles, summaries, tags and kinds have nothing that a terminal would obey."""
    nasty = "a\x1b[2J\x9b1m\u202e\u2028\n\t\x00\ud800b"
    fields = dict.fromkeys(("title", "context_summary", "conversation_type"), nasty)
    space.add("001-plan-x", day="2026-01-07")
    space.head(space.root / "conversations/2026-01-07/001-plan-x", **fields, tags=[nasty, " "])
    row = listed(catalog, space.root)["001-plan-x"]
    for text in (row.title, row.summary, row.kind, *row.tags):
        assert text == clean(text, lines=False).replace("\ud800", "")
        assert text.startswith("a")
    assert len(row.tags) == 1


def test_hundreds_on_one_day(space: Space, catalog: Catalog) -> None:
    """All are there, and one that changes is found."""
    folders = [space.add(f"{n:04}-plan-x", status="paused") for n in range(500)]
    assert len(settle(catalog, space)) == 500
    space.head(folders[345], title="found")
    rows = catalog.list([str(space.root)])
    assert [row.id for row in rows if row.title == "found"] == ["0345-plan-x"]


BUSY = """
import sys
from cortext import SessionMessage
from cortext import Session
from cortext.index.catalog import Catalog
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


def test_eight_at_once(space: Space, tmp_path: Path) -> None:
    """Four append and list, four only list, on a catalog that none has made yet: no error."""
    for number in range(4):
        space.add(f"00{number}-plan-x")
    names = [f"00{number}-plan-x" for number in range(4)] + list("abcd")
    path = tmp_path / "catalog.sqlite3"
    running = [
        subprocess.Popen(
            [sys.executable, "-c", BUSY, path, space.root, name],
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
        rows = listed(catalog, space.root)
    assert [row.messages for row in rows.values()] == [12] * 4


class Files(RuleBasedStateMachine):
    """People, git and programs change a workspace; two processes list it as it goes."""

    @initialize()
    def begin(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="cortext-catalog-"))
        self.space = Space(self.folder / "space")
        self.catalogs = [Catalog(str(self.folder / "catalog.sqlite3")) for _ in range(2)]
        self.heads: list[bytes] = [json.dumps(_HEAD).encode()]

    def teardown(self) -> None:
        for catalog in self.catalogs:
            catalog.__exit__()
        shutil.rmtree(self.folder)

    def some(self, number: int) -> Path | None:
        found = sorted(f for f in self.space.root.rglob("*/") if layout.is_day(f.parent.name))
        return found[number % len(found)] if found else None

    @rule(number=st.integers(1, 3), day=st.sampled_from(["2026-01-05", "2026-01-06"]))
    def add(self, number: int, day: str) -> None:
        if not (self.space.root / "conversations" / day / f"00{number}-plan-x").exists():
            self.space.add(f"00{number}-plan-x", "hello", day=day)

    @rule(number=st.integers(0, 5), what=st.sampled_from(["lines", "bad", "torn", "empty", "gone"]))
    def change_lines(self, number: int, what: str) -> None:
        folder = self.some(number)
        lines = folder / ".session/messages.jsonl" if folder else None
        if folder is None or lines is None or not lines.parent.exists():
            return
        if what == "lines":
            self.space.append(folder, "one", "two")
        elif what == "gone":
            lines.unlink(missing_ok=True)
        else:
            ends = {"bad": b"{x}\n", "torn": b'{"role": "us', "empty": b""}
            lines.write_bytes((lines.read_bytes() if lines.exists() else b"") + ends[what])

    @rule(number=st.integers(0, 5), minutes=st.integers(-500, 500), status=st.sampled_from(
        ["active", "paused", "completed", "odd"]))  # fmt: skip
    def change_head(self, number: int, minutes: int, status: str) -> None:
        folder = self.some(number)
        if folder is not None and (folder / ".session/session.json").exists():
            self.heads.append((folder / ".session/session.json").read_bytes())
            when = (NOW + timedelta(minutes=minutes)).isoformat()
            self.space.head(folder, last_active=when, status=status, tags=[status])

    @rule(number=st.integers(0, 5), which=st.integers(0, 9))
    def take_an_old_head(self, number: int, which: int) -> None:
        folder = self.some(number)
        if folder is not None and (folder / ".session").exists():
            head = folder / ".session/session.json"
            head.write_bytes(self.heads[which % len(self.heads)])

    @rule(number=st.integers(0, 5), what=st.sampled_from(["day", "folder", ".session", "head"]))
    def remove(self, number: int, what: str) -> None:
        folder = self.some(number)
        if folder is not None and what == "head":
            (folder / ".session/session.json").unlink(missing_ok=True)
        elif folder is not None:
            paths = {"day": folder.parent, "folder": folder, ".session": folder / ".session"}
            shutil.rmtree(paths[what], ignore_errors=True)

    @rule(number=st.integers(0, 5), name=st.sampled_from(["004-x", "005-x", "a b"]))
    def rename(self, number: int, name: str) -> None:
        folder = self.some(number)
        if folder is not None and not folder.with_name(name).exists():
            folder.rename(folder.with_name(name))

    @rule(number=st.integers(0, 5), shelf=st.sampled_from(["plan", "conversations/plan"]))
    def to_another_shelf(self, number: int, shelf: str) -> None:
        folder = self.some(number)
        if folder is not None:
            target = self.space.root / shelf / "2026-01-07" / f"{number}-moved"
            if not target.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                folder.rename(target)

    @rule(which=st.integers(0, 1), aged=st.booleans())
    def look(self, which: int, aged: bool) -> None:
        if aged:
            self.space.age()
        self.catalogs[which].list([str(self.space.root)])

    @invariant()
    def the_list_is_true(self) -> None:
        expected = truth(self.space.root)
        for catalog in self.catalogs:
            assert catalog.list([str(self.space.root)]) == expected


# Without shrinking: a failure costs seconds, not minutes, and its steps are few anyway.
Files.TestCase.settings = settings(
    max_examples=25, stateful_step_count=20, phases=[Phase.reuse, Phase.generate]
)
TestFiles = Files.TestCase
