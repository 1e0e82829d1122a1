"""Links are not followed, nobody else can read, and what is deleted is gone."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from cortext.errors import SessionStorageError
from cortext.testing.suite_base import message, session, texts
from tests.stores.files import KINDS, Place


@pytest.mark.parametrize("part", ["head", "lines"])
@pytest.mark.parametrize("verb", ["save", "append", "checkpoint"])
def test_symlinked_session_file_is_read_and_never_written(
    saved_place: Place, tmp_path: Path, part: str, verb: str
) -> None:
    """Load follows it; a write is refused, and neither its target nor any other file changes."""
    path, target = getattr(saved_place, part), tmp_path / "elsewhere"
    os.rename(path, target)
    path.symlink_to(target)
    before, bytes_before = saved_place.files(), target.read_bytes()
    store = saved_place.open()
    assert texts(store.load("s").messages) == texts(store.tail("s", 1)) == ["one"]
    changed = store.load("s")
    changed.title = "changed"
    changed.messages.append(message("two", 1))
    writes = {
        "save": lambda: store.save(changed),
        "append": lambda: store.append("s", message("two", 1)),
        "checkpoint": lambda: store.checkpoint(changed),
    }
    written = {"save": ("head", "lines"), "append": ("lines",), "checkpoint": ("head",)}
    if saved_place.kind != "workspace" or part in written[verb]:
        with pytest.raises(SessionStorageError, match="symbolic link"):
            writes[verb]()
        assert saved_place.files() == before
    else:
        writes[verb]()
    assert (path.is_symlink(), target.read_bytes()) == (True, bytes_before)


def test_symlinked_side_files_are_never_written_through(saved_place: Place, tmp_path: Path) -> None:
    """A lock or a backup that was replaced by a link writes nothing elsewhere."""
    target = tmp_path / "precious"
    target.write_bytes(b"precious")
    saved_place.lock.unlink()
    saved_place.lock.symlink_to(target)
    for name in ("s.backup", "s.json.corrupt"):
        (saved_place.root / name).symlink_to(target)
    with pytest.raises(SessionStorageError):
        saved_place.open().append("s", message("two", 1))
    saved_place.lock.unlink()
    saved_place.open().save(session("s", message("two", 1)))
    assert target.read_bytes() == b"precious"


MODES = """
import os, sys
os.umask(0)
from cortext.testing.suite_base import message, session
from cortext.testing.store_writer_program import open_store
store = open_store(sys.argv[1])
store.save(session("s", message("one")))
store.append("s", message("two", 1))
store.save(store.load("s"))
store.checkpoint(store.load("s"))
lines = sys.argv[2]
with open(lines, "ab") as file:
    file.write(b"torn")
try:
    store.append("s", message("three", 2))
except ValueError:
    pass
with open(lines, "ab") as file:
    file.write(b"bad line\\n")
store.save(store.read("s").session)
store.save(session("t"))
store.delete("t")
"""


@pytest.mark.parametrize("kind", KINDS)
def test_session_files_are_private_under_umask_000(kind: str, tmp_path: Path) -> None:
    """0700 folders and 0600 files from the first instant, side files too."""
    tmp_path.chmod(0o755)
    place = Place(kind, tmp_path / "a" / "place")
    done = subprocess.run(
        [sys.executable, "-c", MODES, place.url, str(place.lines)],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr.replace("\n", "")[-300:]) == (0, "")
    found = {path: stat.S_IMODE(path.lstat().st_mode) for path in place.root.rglob("*")}
    # In a workspace the folders of conversations hold markdown and follow the umask.
    day = place.root / "conversations/2025-11-22"
    free = {place.root / "conversations", day, day / "s", day / "t"}
    wrong = {
        str(path): oct(mode)
        for path, mode in found.items()
        if not (kind == "workspace" and path in free)
        and mode != (0o700 if path.is_dir() else 0o600)
    }
    assert wrong == {}
    assert [path.name for path in found if ".corrupt" in path.name] != []


def test_delete_leaves_no_text_of_session_in_any_file(saved_place: Place) -> None:
    """Backup, torn tails and corrupt versions go with the session; only locks stay."""
    store = saved_place.open()
    store.append("s", message("secret", 1))
    store.save(store.load("s"))
    with saved_place.lines.open("ab") as file:
        file.write(b"secret torn")
    store.save(store.read("s").session)
    with saved_place.lines.open("ab") as file:
        file.write(b"secret again")
    if saved_place.kind != "document":
        store.append("s", message("secret", 2))
    assert saved_place.kept("corrupt") != []
    assert store.delete("s")
    assert [name for name, data in saved_place.files().items() if b"secret" in data] == []
