"""Several workspaces, other layouts, a ruined catalog, and places that cannot be written."""

import json
import os
import re
import shutil
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from cortext.catalog.catalog import Catalog
from tests.catalog.spaces import truth
from tests.cli.list_terminal import made, put, snapshot
from tests.command import SCRIPT, cortext, folder_of, head_of, ok, say
from tests.faults.mounts import fill, mounted, read_only


def rows(cwd: Path, *options: str) -> list[dict[str, Any]]:
    return json.loads(ok(cwd, "list", "--json", *options))


@pytest.fixture
def three(tmp_path: Path) -> list[Path]:
    """Three workspaces that cortext was used in, each with one conversation of the same id."""
    roots = [made(tmp_path / name) for name in ("one", "two", "three")]
    for number, root in enumerate(roots):
        put(root, "001-plan-x", f"said in {root.name}", title=root.name, minutes=number)
        ok(root, "list")
    return roots


def test_list_all_shows_every_workspace_and_personal_conversations(
    three: list[Path], tmp_path: Path
) -> None:
    """Also the personal one; each says where it is, and one workspace lists only its own."""
    ok(tmp_path, "new", "plan", "personal")
    found = rows(three[0], "--all")
    assert [row["title"] for row in found] == ["personal", "one", "two", "three"]
    assert [row["workspace"] for row in found[1:]] == [str(root) for root in three]
    assert [row["title"] for row in rows(three[1])] == ["two"]
    assert len(rows(tmp_path, "--all", "--type", "plan", "--status", "paused", "-n", "2")) == 2


def test_list_all_knows_workspace_after_first_new_command(space: Path, tmp_path: Path) -> None:
    """One that came by git clone and in which something was begun, but never listed."""
    ok(space, "new", "plan", "here")
    assert [row["title"] for row in rows(tmp_path, "--all")] == ["here"]


def test_list_all_warns_about_moved_and_deleted_workspaces(
    three: list[Path], tmp_path: Path
) -> None:
    """On stderr, with exit 0; the moved one is found again where it is used next."""
    one, two, three_ = three
    two.rename(tmp_path / "moved")
    shutil.rmtree(three_)
    for command in (["list", "--all"], ["resume", "--list", "--all"]):
        done = cortext(one, *command)
        assert (done.returncode, done.stderr.count("does not exist")) == (0, 2)
        assert (str(two) in done.stderr, str(three_) in done.stderr) == (True, True)
        assert str(two) not in done.stdout
    assert [row["title"] for row in rows(tmp_path / "moved", "--all")] == ["one", "two"]


@pytest.mark.parametrize("target", ["project", "elsewhere"])
def test_list_all_has_every_row_of_list_after_import_of_personal_conversation(
    tmp_path: Path, target: str
) -> None:
    project, elsewhere = tmp_path / "project", tmp_path / "elsewhere"
    project.mkdir()
    id = Path(ok(project, "new", "plan", "a plan").strip()).parent.name
    ok(project, "init")
    (tmp_path / "it.json").write_text(ok(project, "export", id, "--format", "json"))
    made(elsewhere)
    ok(tmp_path / target, "import", "../it.json")
    say(tmp_path / target, id, "Another message.")
    for place in (elsewhere, project):
        here, everywhere = (
            {row["folder"] for row in rows(place, *options)} for options in ([], ["--all"])
        )
        assert here <= everywhere
    assert {row["id"] for row in rows(project)} == {id}


def test_id_lookup_prefers_current_workspace_then_searches_others(three: list[Path]) -> None:
    """The same id is this workspace's; what is only elsewhere is found and changed there."""
    one, two, _ = three
    assert "said in two" in ok(two, "resume", "001-plan-x", "--context")
    assert "said in one" in ok(two, "resume", "one", "--context")
    ok(two, "resume", "one")
    assert head_of(one, "001-plan-x")["status"] == "active"
    assert head_of(two, "001-plan-x")["status"] == "paused"
    ok(two, "rename", "three", "another")
    assert [row["title"] for row in rows(three[2])] == ["another"]
    assert cortext(one, "resume", "001-plan-x", "--all").returncode == 4


def test_auto_save_notice_is_separate_for_each_workspace(tmp_path: Path) -> None:
    """Two workspaces with the same path inside: naming one does not tell of the other."""
    roots = [made(tmp_path / name) for name in ("one", "two")]
    for root in roots:
        put(root, "001-plan-x", title=f"in {root.name}", status="active", minutes=30)
        ok(root, "init")
    found = cortext(roots[0], "resume", "in one", "--context", "--all")
    assert found.stderr.count("auto-saved") == 1
    assert '"in two" was auto-saved' in cortext(roots[1], "list").stderr


KNOWN: dict[str, Callable[[Path], object]] = {
    "a folder": lambda path: (path.unlink(), path.mkdir()),
    "garbage": lambda path: path.write_bytes(path.read_bytes() + b"\0\xff\x1b[2J\n\n"),
    "a path that is no text": lambda path: path.write_bytes(
        path.read_bytes() + os.fsencode(path.parent) + b"/\xff\n"
    ),
    "gone": lambda path: path.unlink(),
}


@pytest.mark.parametrize("damage", KNOWN.values(), ids=KNOWN)
def test_list_survives_damaged_workspaces_file(
    damage: Callable[[Path], object], space: Path, data_home: Path
) -> None:
    """It stops no list, and nothing of it reaches a terminal."""
    put(space, "001-plan-x")
    ok(space, "list")
    os.mkdir(os.fsencode(data_home) + b"/cortext/\xff")
    damage(data_home / "cortext/workspaces")
    for options in ((), ("--all",)):
        done = cortext(space, "list", *options)
        assert (done.returncode, "001-plan-x" in done.stdout) == (0, True), done.stderr
        assert "\x1b" not in done.stderr


def used(space: Path) -> None:
    """Lists, finding and pausing work."""
    for command in (["list"], ["resume", "--list", "--all"], ["resume", "001", "--context"]):
        done = cortext(space, *command)
        assert (done.returncode, "001-plan-x" in done.stdout) == (0, True)
        said = ("warning: the catalog cannot be used", "warning: the catalog is rebuilt")
        assert all(line.startswith(said) for line in done.stderr.splitlines())
    ok(space, "stop", "001")


@pytest.mark.parametrize("kind", ["read-only", "a file", "missing below a file", "relative"])
def test_commands_work_when_data_home_is_not_writable(
    kind: str, space: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The catalog is made in memory, and nothing is said about it."""
    put(space, "001-plan-x", "hello")
    data = tmp_path / "data-home"
    if kind == "read-only":
        data.mkdir()
    else:
        data.write_text("x")
    value = {"missing below a file": str(data / "below"), "relative": "x"}.get(kind, str(data))
    for name in ("XDG_DATA_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, value)
    if kind == "relative":
        monkeypatch.setenv("HOME", str(data))
    if kind == "read-only":
        with read_only(data):
            used(space)
    else:
        used(space)


def drop(table: str) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        with sqlite3.connect(path) as db:
            db.execute(f"DROP TABLE {table}")
        db.close()

    return change


def in_its_place(make: Callable[[Path], object]) -> Callable[[Path], object]:
    return lambda path: (path.unlink(), make(path))


def other_version(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version = 99")
    db.close()


def holes(path: Path) -> None:
    """Every page but the first is garbage."""
    size = path.stat().st_size
    with open(path, "r+b") as file:
        file.seek(4096)
        file.write(b"\xa5" * (size - 4096))


RUINED: dict[str, Callable[[Path], object]] = {
    "deleted": lambda path: path.unlink(),
    "empty": lambda path: path.write_bytes(b""),
    "cut": lambda path: os.truncate(path, path.stat().st_size // 2),
    "cut in the first page": lambda path: os.truncate(path, 50),
    "garbage": lambda path: path.write_bytes(os.urandom(9000)),
    "holes": holes,
    "another version": other_version,
    "no rows": drop("rows"),
    "no shown": drop("shown"),
    "no told": drop("told"),
    "a folder": in_its_place(os.mkdir),
    "a dangling link": lambda path: (path.unlink(), path.symlink_to("nowhere")),
    "a pipe": in_its_place(os.mkfifo),
}


@pytest.mark.parametrize("ruin", RUINED.values(), ids=RUINED)
@pytest.mark.parametrize("opened", [False, True], ids=["before it is opened", "while it is open"])
def test_catalog_is_rebuilt_after_any_damage(
    opened: bool, ruin: Callable[[Path], object], space: Path, data_home: Path
) -> None:
    """The files have everything: lists, numbers and what was told work as if it were new."""
    put(space, "001-plan-one", "hello")
    path = data_home / "catalog.sqlite3"
    with Catalog(str(path)) as before:
        use(before, space)
        if opened:
            ruin(path)
            use(before, space)
    if not opened:
        ruin(path)
        with Catalog(str(path)) as after:
            use(after, space)


def use(catalog: Catalog, space: Path) -> None:
    rows = catalog.list([str(space)])
    assert rows == truth(space)
    catalog.remember_shown("tty", rows)
    assert catalog.shown("tty", 1) == (rows[0].workspace, rows[0].path)
    catalog.tell_once(rows)
    assert list(catalog.tell_once(rows)) == []
    catalog.purge()


@contextmanager
def unwritable(path: Path) -> Iterator[None]:
    """A file that nobody can write to, root included."""
    if os.geteuid() != 0:
        path.chmod(0o400)
        yield
        return
    done = subprocess.run(["mount", "--bind", path, path], capture_output=True, check=False)
    if done.returncode:
        pytest.skip("kernel: cannot mount a file over itself")
    try:
        subprocess.run(["mount", "-o", "remount,ro,bind", path], check=True)
        yield
    finally:
        subprocess.run(["umount", path], check=True)


def test_commands_work_with_read_only_catalog(space: Path, data_home: Path) -> None:
    """It is derived: without it lists are as they were."""
    put(space, "001-plan-x", "hello")
    ok(space, "list")
    with unwritable(data_home / "cache/cortext/catalog.sqlite3"):
        used(space)


def test_commands_work_when_catalog_disk_is_full(
    space: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What has to be read is read, whether it can be kept or not."""
    put(space, "001-plan-x", "hello")
    with mounted(tmp_path / "small", "-t", "tmpfs", "-o", "size=128k", "none") as small:
        for name in ("XDG_DATA_HOME", "XDG_CACHE_HOME"):
            monkeypatch.setenv(name, str(small))
        ok(space, "list")
        fill(small, leave=0)
        for number in range(2, 40):
            put(space, f"{number:03}-plan-y", title="long " * 200)
        used(space)


WRITING = [
    ["stop"], ["stop", "003"], ["done", "001"], ["rename", "001", "x"],
    ["tag", "001", "x"], ["fork", "001"], ["new", "plan", "x"], ["delete", "001", "--yes"],
    ["init"],
]  # fmt: skip
ERROR = re.compile(r"^error: could not \w.+: read-only file system$", re.MULTILINE)


def test_read_only_workspace_allows_reads_and_refuses_writes(space: Path) -> None:
    """It is listed, shown and read without a word, and resumed with one; what else would write
    says one sentence."""
    put(space, "001-plan-x", "hello", status="active")
    put(space, "002-plan-y", "hello")
    bare = folder_of(space, "001-plan-x").with_name("003-plan-bare")
    bare.mkdir()
    (bare / "plan.md").write_text("# bare\n", encoding="utf-8")
    shutil.rmtree(space / "conversations/.cortext")
    before = snapshot(space)
    with read_only(space):
        for command in (["list"], ["list", "--all"], ["resume", "--list"], ["show", "001"],
                        ["resume", "001", "--context"], ["show", "bare"]):  # fmt: skip
            done = cortext(space, *command)
            assert (done.returncode, bool(done.stdout), done.stderr) == (0, True, ""), command
        resumed = {id: cortext(space, "resume", id) for id in ("002", "003")}
        spoken = cortext(space, "slash", "briefing", "002")
        said = {" ".join(command): cortext(space, *command) for command in WRITING}
    assert snapshot(space) == before
    for id, done in resumed.items():
        assert (done.returncode, "[RESUMED CONVERSATION]" in done.stdout) == (0, True), id
        assert "warning: the conversation's folder is read-only: its status " in done.stderr, id
    assert "| hello" in resumed["002"].stdout
    assert (
        spoken.returncode,
        "Warning: the conversation's folder is read-only" in spoken.stdout,
    ) == (0, True)
    wrong = {
        name: done.stderr
        for name, done in said.items()
        if not (done.returncode == 1 and ERROR.search(done.stderr))
    }
    assert wrong == {}


def shelved(space: Path, shelf: str, id: str, *texts: str, day: str = "2026-01-05") -> Path:
    """A conversation of a workspace that is laid out in another way."""
    put(space.with_name("elsewhere"), id, *texts, title=f"in {shelf}")
    source = folder_of(space.with_name("elsewhere"), id)
    (source / "debug.md").write_text(f"# in {shelf}\n", encoding="utf-8")
    target = space / shelf / day / id
    target.parent.mkdir(parents=True, exist_ok=True)
    return Path(shutil.move(source, target))


@pytest.mark.parametrize("shelf", ["debug", "conversations/debug"])
def test_commands_work_on_conversations_in_other_folder_layouts(shelf: str, space: Path) -> None:
    """Listed, shown, resumed, stopped, forked and deleted where they are; new ones go where
    new ones go."""
    folder = shelved(space, shelf, "001-login", "why does it fail?")
    (row,) = rows(space)
    assert (row["id"], row["folder"], row["messages"]) == ("001-login", str(folder), 1)
    assert "why does it fail?" in ok(space, "show", "001")
    ok(space, "resume", "001-login")
    say(space, "001-login", "and now?")
    ok(space, "stop", "2026-01-05/001-login", "--summary", "done here")
    assert json.loads((folder / ".session/session.json").read_text())["message_count"] == 2
    began = date.today()
    document = Path(ok(space, "new", "debug", "Login").strip())
    fork = Path(ok(space, "fork", "001-login").strip())
    # The day may end meanwhile.
    days = [space / "conversations" / f"{day}" for day in (began, date.today())]
    assert document.parent.parent in days
    assert any(fork.is_relative_to(day) for day in days)
    ok(space, "delete", "001-login", "--yes")
    assert not folder.exists()
    ok(space, "trash", "restore", "001-login")
    assert len(rows(space)) == 3


def test_new_conversation_never_reuses_folder_of_other_layout(space: Path) -> None:
    """The same day, type, number and topic on another shelf: two conversations, not one."""
    old = shelved(space, "debug", "001-debug-login", "mine", day=date.today().isoformat())
    before = snapshot(old)
    done = cortext(space, "new", "debug", "Login")
    assert snapshot(old) == before
    assert (done.returncode, done.stderr.count("error")) == (0, 0), done.stderr
    assert len(rows(space)) == 2


def test_same_id_in_two_folders_is_selected_by_path(space: Path) -> None:
    """Each is named by its path, shown and stopped."""
    for shelf in ("debug", "review"):
        shelved(space, shelf, "001-login", f"said in {shelf}")
    done = cortext(space, "resume", "001-login", "--context")
    assert (done.returncode, len(rows(space))) == (4, 2)
    for shelf in ("debug", "review"):
        assert f"said in {shelf}" in ok(space, "show", f"{shelf}/2026-01-05/001-login")
        ok(space, "stop", f"{shelf}/2026-01-05/001-login")


@pytest.mark.parametrize(("shelf", "day"), [("conversations", "2026-01-05"),
                         ("debug", "2026-01-05"), ("conversations", "2026-13-45")])  # fmt: skip
def test_folder_without_session_is_listed_and_stop_creates_session(
    shelf: str, day: str, space: Path
) -> None:
    """It lists and shows, cannot be resumed from the list, and a stop gives it a session."""
    folder = shelved(space, shelf, "001-login", "gone", day=day)
    shutil.rmtree(folder / ".session")
    (row,) = rows(space)
    assert (row["title"], row["status"], row["type"]) == (f"in {shelf}", None, "debug")
    assert f"in {shelf}" in ok(space, "show", "001")
    assert ok(space, "resume", "--list") == ""
    command = [SCRIPT, "stop", "001", "--summary", "found again"]
    subprocess.run(command, cwd=space, check=True, timeout=60, capture_output=True)
    head = json.loads((folder / ".session/session.json").read_text(encoding="utf-8"))
    assert (head["status"], head["title"]) == ("paused", f"in {shelf}")
    assert [each["status"] for each in rows(space)] == ["paused"]


def test_list_and_search_work_in_removed_current_folder(space: Path, data_home: Path) -> None:
    """The shell knows its name: what is above it is listed and searched."""
    put(space, "001-plan-x", "hello there")
    command = (
        f'mkdir gone && cd gone && rmdir ../gone && "{SCRIPT}" list && "{SCRIPT}" search hello'
    )
    done = subprocess.run(
        ["bash", "-c", command], cwd=space, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("001-plan-x") >= 2
