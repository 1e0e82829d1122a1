"""Renaming, tagging, forking, deleting and cleaning, through the real command line."""

import hashlib
import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from cortext import SessionMessage, ToolInvocation
from cortext.stores.folder import FolderStore
from tests.cli.list_terminal import listed, put, snapshot, terminal
from tests.command import change_head, cortext, folder_of, head_of, ok, say
from tests.faults.mounts import mounted


def lines_of(space: Path, id: str) -> list[bytes]:
    return (folder_of(space, id) / ".session/messages.jsonl").read_bytes().splitlines()


def refused(space: Path, code: int, *command: str) -> str:
    """The one sentence that a refused command says."""
    done = cortext(space, *command)
    assert (done.returncode, "Traceback" in done.stderr) == (code, False), done.stderr
    assert done.stderr.count("error: ") == 1
    assert "[Errno" not in done.stderr
    return done.stderr


def test_rename_changes_the_title_alone(space: Path) -> None:
    """Id, folder, messages and markdown stay; an empty title is refused."""
    id = put(space, "001-plan-x", "hello")
    before = lines_of(space, id)
    assert ok(space, "rename", "001", "-p", " new  ", "name") == f'Renamed {id} to "-p new name".\n'
    assert (listed(space)[id]["title"], lines_of(space, id)) == ("-p new name", before)
    assert "must not be empty" in refused(space, 1, "rename", "001", " \t")


def test_tag_adds_prints_and_removes_tags(space: Path) -> None:
    """Each once, in order; what was added can be removed by the same words."""
    put(space, "001-plan-x", tags=["a"])
    assert ok(space, "tag", "001", "b", "a", "two  words", " ") == "a\nb\ntwo words\n"
    assert ok(space, "tag", "001") == "a\nb\ntwo words\n"
    assert list(listed(space, "--tag", "two words", "--tag", "b")) == ["001-plan-x"]
    assert ok(space, "tag", "001", "-d", "a", "-d", "nothing") == "b\ntwo words\n"
    assert ok(space, "tag", "001", "-d", "two  words") == "b\n"


def test_tag_names_the_conversation_on_stderr(space: Path) -> None:
    put(space, "001-plan-x")
    assert cortext(space, "tag", "001").stderr == "001-plan-x has no tags.\n"
    assert cortext(space, "tag", "001", "db").stderr == "Tags of 001-plan-x:\n"


@pytest.fixture(params=[1, 0], ids=["a second apart", "in one second"])
def parent(request: pytest.FixtureRequest, space: Path) -> str:
    """Completed, three messages, a tool call before the second and one before the third."""
    id = put(space, "001-plan-x", status="completed", title="Parent", native=[{"tool": "t"}])
    start = datetime.now(UTC) - timedelta(seconds=100)
    for number, name in enumerate((None, "read", "edit")):
        when = start + timedelta(seconds=number * request.param)
        calls = [ToolInvocation(name, {"path": "a"}, timestamp=when)] if name else []
        message = SessionMessage("user", f"text {number}", timestamp=when)
        FolderStore(space).append(id, message, tool_invocations=calls)
    (folder_of(space, id) / "plan.md").write_text("# Parent\nnotes\n", encoding="utf-8")
    return id


@pytest.mark.parametrize(("at", "count"), [((), 3), (("--at", "2"), 2), (("--at", "0"), 0)])
def test_fork_copies_messages_up_to_given_number_and_names_parent(
    at: tuple[str, ...], count: int, parent: str, space: Path
) -> None:
    """The same lines, tool calls in their place, the markdown; active, with its parent named."""
    before = snapshot(folder_of(space, parent))
    document = Path(ok(space, "fork", parent, *at, "--title", "A child").strip())
    child = document.parent.name
    assert child == "002-plan-a-child"
    assert lines_of(space, child) == lines_of(space, parent)[:count]
    assert document.read_text(encoding="utf-8") == "# A child\nnotes\n"
    head = head_of(space, child)
    assert (head["status"], head["parent_id"], head["title"]) == ("active", parent, "A child")
    assert head["message_count"] == count
    assert not head.get("native")
    assert snapshot(folder_of(space, parent)) == before


def test_fork_of_fork_names_its_parent_and_refuses_missing_message(
    parent: str, space: Path
) -> None:
    """Each names its own parent; a message that is not there is refused and nothing is made."""
    ok(space, "fork", parent, "--at", "2")
    ok(space, "fork", "002")
    assert head_of(space, "003-plan-parent")["parent_id"] == "002-plan-parent"
    assert lines_of(space, "003-plan-parent") == lines_of(space, parent)[:2]
    assert "no message 3" in refused(space, 1, "fork", "002", "--at", "3")
    assert cortext(space, "fork", "002", "--at", "-1").returncode == 2
    assert len(listed(space)) == 3


def test_delete_asks_and_restore_brings_back_every_byte(space: Path) -> None:
    """No keeps it; a yes moves it; nobody to ask is a no."""
    id = put(space, "001-plan-x", "hello")
    folder = folder_of(space, id)
    (folder / "plan.md").write_text("# Notes\n", encoding="utf-8")
    (folder / "more").mkdir()
    (folder / "more/picture.png").write_bytes(bytes(range(256)))
    before = snapshot(folder)
    assert "confirmation needed, but this is not a terminal" in refused(space, 1, "delete", id)
    assert terminal(space, ["delete", id], answers=["n"]).code == 1
    assert snapshot(folder) == before
    assert terminal(space, ["delete", id], answers=["y"]).code == 0
    assert (folder.exists(), listed(space)) == (False, {})
    assert id in ok(space, "trash")
    assert "Restored: 001-plan-x" in ok(space, "trash", "restore", "1")
    assert snapshot(folder) == before
    assert (list(listed(space)), "empty" in cortext(space, "trash").stderr) == ([id], True)


def test_restore_keeps_bytes_modes_and_links_across_file_systems(
    space: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The trash may be on another file system: bytes, modes and links are the same."""
    id = put(space, "001-plan-x", "hello")
    folder = folder_of(space, id)
    (folder / "plan.md").write_text("# Notes\n", encoding="utf-8")
    (folder / "plan.md").chmod(0o644)
    (folder / "run.sh").write_text("x")
    (folder / "run.sh").chmod(0o755)
    (folder / "link").symlink_to("plan.md")

    def modes() -> dict[str, tuple[int, bytes]]:
        files = [path for path in folder.rglob("*") if path.is_file()]
        return {path.name: (path.lstat().st_mode, path.read_bytes()) for path in files}

    before = modes()
    with mounted(tmp_path / "data", "-t", "tmpfs", "none") as data:
        monkeypatch.setenv("XDG_DATA_HOME", str(data))
        ok(space, "delete", id, "--yes")
        assert not folder.exists()
        ok(space, "trash", "restore", id)
    assert modes() == before


def test_restore_refuses_occupied_folder_and_ambiguous_name(space: Path) -> None:
    """Nothing is overwritten; several that match are named, none is not found."""
    for number in (1, 2):
        put(space, f"00{number}-plan-x", "hello")
        ok(space, "delete", f"00{number}", "--yes")
    put(space, "001-plan-x", "another")
    taken = snapshot(space)
    assert "exists" in refused(space, 1, "trash", "restore", "001-plan-x")
    assert snapshot(space) == taken
    assert "2 sessions match" in refused(space, 4, "trash", "restore", "plan")
    assert "hint: `cortext trash` lists" in refused(space, 3, "restore", "nothing like it")
    refused(space, 3, "trash", "restore", "")
    assert len(json.loads(ok(space, "trash", "list", "--json"))) == 2


@pytest.mark.parametrize("personal", [False, True], ids=["workspace", "personal"])
def test_emptying_trash_removes_all_text_from_data_folder(
    personal: bool, space: Path, data_home: Path, tmp_path: Path
) -> None:
    """Topic, title, summary, tags and messages: in no file below the data folder."""
    where = tmp_path if personal else space
    root = data_home / "cortext/personal" if personal else space
    id = Path(ok(where, "new", "plan", "zebracorn").strip()).parent.name
    say(root, id, "zebracorn said")
    change_head(root, id, last_active="2026-01-01T00:00:00Z", context_summary="zebracorn sum",
                tags=["zebracorn"])  # fmt: skip
    terminal(where, ["list"], ["resume", "--list"], ["stats"])
    ok(where, "delete", id, "--yes")
    assert terminal(where, ["trash", "empty"], answers=["n"]).code == 1
    assert "1 conversation permanently deleted" in ok(where, "trash", "empty", "--yes")
    files = [path for path in data_home.rglob("*") if path.is_file()]
    assert [path.name for path in files if b"zebracorn" in path.read_bytes()] == []


def test_clean_deletes_only_old_completed_conversations(space: Path) -> None:
    """Shown and asked; nothing else goes."""
    old, day = 40 * 1440, 1440
    put(space, "001-plan-old", status="completed", minutes=old)
    put(space, "002-plan-new", status="completed", minutes=day)
    put(space, "003-plan-paused", status="paused", minutes=old)
    put(space, "004-plan-active", status="active", minutes=old)
    said = refused(space, 1, "clean", "30")
    assert ("001-plan-old" in said, said.count("to the trash")) == (True, 1)
    assert terminal(space, ["clean", "30"], answers=["n"]).code == 1
    assert len(listed(space)) == 4
    ok(space, "clean", "30", "--yes")
    assert sorted(listed(space)) == ["002-plan-new", "003-plan-paused", "004-plan-active"]
    assert "No completed" in cortext(space, "clean", "30", "--yes").stderr


def test_clean_keeps_completed_conversation_with_new_message(space: Path) -> None:
    """A message that came to a completed conversation is a touch, known to the catalog or not."""
    id = put(space, "001-plan-old", "hello", status="completed", minutes=40 * 1440)
    ok(space, "list")
    say(space, id, "one thing more")
    cortext(space, "clean", "30", "--yes")
    assert list(listed(space)) == [id]


@pytest.mark.parametrize(
    "command", [["clean", "nan"], ["clean", "inf"], ["clean", "-1"], ["clean", "1e300"],
                ["trash", "empty", "--days", "nan", "--yes"],
                ["trash", "empty", "--days", "inf", "--yes"]],
    ids=" ".join,
)  # fmt: skip
def test_clean_and_trash_empty_delete_nothing_for_invalid_days(
    command: list[str], space: Path
) -> None:
    """A usage error or nothing to do; never a traceback, and nothing goes."""
    for number, status in enumerate(("paused", "completed"), 1):
        put(space, f"00{number}-plan-x", status=status, minutes=9999)
    ok(space, "delete", "001", "--yes")
    done = cortext(space, *command)
    assert (done.returncode in (0, 1, 2), "Traceback" in done.stderr) == (True, False)
    assert list(listed(space)) == ["002-plan-x"]
    assert len(json.loads(ok(space, "trash", "list", "--json"))) == 1


@pytest.mark.parametrize("command", ["init", "upgrade"])
def test_init_and_upgrade_replace_own_files_and_ask_about_edited_files(
    command: str, space: Path
) -> None:
    """What we wrote is replaced in silence; what a person changed is shown and asked about."""
    ok(space, "init")
    older, mine = (space / f".workspace/commands/{name}.md" for name in ("plan", "debug"))
    new = older.read_bytes(), mine.read_bytes()
    older.write_bytes(b"what an older cortext had\n")
    installed = space / ".workspace/.installed"
    digest = hashlib.sha256(older.read_bytes()).hexdigest()
    texts = installed.read_text(encoding="utf-8").splitlines()
    texts = [f"{digest}  {t[66:]}" if t.endswith("commands/plan.md") else t for t in texts]
    installed.write_text("\n".join(texts) + "\n", encoding="utf-8")
    mine.write_bytes(b"my \x1b[2J own\n")
    done = cortext(space, command)
    assert (
        done.stderr.count("not overwritten, because you changed it: .workspace/commands/debug.md")
        == 1
    )
    assert (older.read_bytes(), mine.read_bytes()) == (new[0], b"my \x1b[2J own\n")
    asked = terminal(space, [command], answers=["n"])
    assert ("-my " in asked.text, "\x1b" in asked.text) == (True, False)
    assert mine.read_bytes() == b"my \x1b[2J own\n"
    terminal(space, [command], answers=["y"])
    assert mine.read_bytes() == new[1]
    mine.write_bytes(b"mine again\n")
    ok(space, command, "--force")
    assert mine.read_bytes() == new[1]
    os.unlink(older)
    ok(space, command)
    assert older.read_bytes() == new[0]


def test_upgrade_fails_outside_workspace_and_creates_no_files(tmp_path: Path) -> None:
    """One sentence, and no workspace is made."""
    assert "this is not a workspace" in refused(tmp_path, 1, "upgrade")
    assert list(tmp_path.iterdir()) == []
