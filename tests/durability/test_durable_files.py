"""Whole files: replaced, linked, set aside, and never half there."""

import errno
import os
import stat
from pathlib import Path

import pytest

from cortext.durability import durable_files
from cortext.errors import SessionStorageError


def test_replace_writes_new_private_file_and_leaves_no_temp_file(tmp_path: Path) -> None:
    """The new file is a new inode, private, and no temp file is left."""
    path = tmp_path / "f"
    path.write_bytes(b"old")
    old = path.stat().st_ino
    found = durable_files.replace(str(path), [b"ne", b"", b"w"])
    assert path.read_bytes() == b"new"
    assert (found.st_ino, found.st_size) == (path.stat().st_ino, 3)
    assert found.st_ino != old
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert os.listdir(tmp_path) == ["f"]


def test_failed_replace_leaves_old_file(tmp_path: Path) -> None:
    """Whatever stops it in the middle: the old bytes are there, the temp file is not."""
    path = tmp_path / "f"
    path.write_bytes(b"old")

    def chunks():
        yield b"new"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        durable_files.replace(str(path), chunks())
    assert (path.read_bytes(), os.listdir(tmp_path)) == (b"old", ["f"])


def test_replace_syncs_file_before_and_folder_after_rename(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """File, then name, then folder: the order that survives a power cut."""
    calls: list[str] = []
    real_sync, real_rename = os.fsync, os.rename

    def fsync(fd: int) -> None:
        calls.append("folder" if stat.S_ISDIR(os.fstat(fd).st_mode) else "file")
        real_sync(fd)

    def rename(source: str, target: str) -> None:
        calls.append("rename")
        real_rename(source, target)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "rename", rename)
    durable_files.replace(str(tmp_path / "f"), [b"x"])
    assert calls == ["file", "rename", "folder"]


def test_replace_refuses_symbolic_link(tmp_path: Path) -> None:
    """Dangling or not."""
    (tmp_path / "target").write_bytes(b"precious")
    for target in ("target", "missing"):
        link = tmp_path / f"link to {target}"
        link.symlink_to(tmp_path / target)
        with pytest.raises(OSError, match="symbolic") as caught:
            durable_files.replace(str(link), [b"x"])
        assert caught.value.errno == errno.ELOOP
    assert (tmp_path / "target").read_bytes() == b"precious"
    assert not (tmp_path / "missing").exists()


def test_write_new_never_overwrites_file_or_link(tmp_path: Path) -> None:
    """Neither a file nor a link's target."""
    (tmp_path / "f").write_bytes(b"old")
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    for name in ("f", "link"):
        with pytest.raises(FileExistsError):
            durable_files.write_new(str(tmp_path / name), [b"new"])
    assert (tmp_path / "f").read_bytes() == b"old"


def test_write_new_continues_after_short_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The system may take fewer bytes than it was given."""
    real = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: real(fd, bytes(data[:3])))
    durable_files.write_new(str(tmp_path / "f"), [b"0123456789"])
    assert (tmp_path / "f").read_bytes() == b"0123456789"


def test_set_aside_uses_free_name_and_names_file_once(tmp_path: Path) -> None:
    """Another name for the same file; one that is taken stays, the same file is not named twice."""
    path = tmp_path / "f"
    (tmp_path / "f.corrupt").write_bytes(b"older")
    path.write_bytes(b"bad")
    kept = [durable_files.set_aside(str(path), "corrupt") for _ in range(2)]
    assert kept == [str(tmp_path / "f.corrupt-2")] * 2
    assert (tmp_path / "f.corrupt").read_bytes() == b"older"
    assert os.path.samefile(path, kept[0])


def test_link_over_gives_one_file_two_names(tmp_path: Path) -> None:
    """Also when the target is that file already; no temp file stays."""
    source, target = tmp_path / "a", tmp_path / "b"
    source.write_bytes(b"x")
    target.write_bytes(b"old")
    for _ in range(2):
        durable_files.link_over(str(source), str(target), str(tmp_path))
        assert os.path.samefile(source, target)
        assert sorted(os.listdir(tmp_path)) == ["a", "b"]


@pytest.mark.parametrize("code", [errno.EPERM, errno.EOPNOTSUPP, errno.EMLINK])
def test_link_over_copies_where_links_are_impossible(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    """File systems without hard links get a copy."""

    def refuse(*_: object, **__: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "link", refuse)
    (tmp_path / "a").write_bytes(b"x")
    durable_files.link_over(str(tmp_path / "a"), str(tmp_path / "b"), str(tmp_path))
    assert (tmp_path / "b").read_bytes() == b"x"
    assert not os.path.samefile(tmp_path / "a", tmp_path / "b")


@pytest.mark.parametrize("code", [errno.EPERM, errno.EOPNOTSUPP])
def test_set_aside_copies_where_links_are_impossible(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    """Without hard links what cannot be read is copied, so that a save is still possible."""

    def refuse(*_: object, **__: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "link", refuse)
    (tmp_path / "f").write_bytes(b"bad")
    kept = durable_files.set_aside(str(tmp_path / "f"), "corrupt")
    assert Path(kept).read_bytes() == b"bad"


def test_make_private_dir_makes_only_new_folders_private(tmp_path: Path) -> None:
    """Each missing parent is private; one that is there is left alone; a file is refused."""
    old = os.umask(0)
    try:
        tmp_path.chmod(0o755)
        durable_files.make_private_dir(str(tmp_path / "a/b/c"))
        durable_files.make_private_dir(str(tmp_path / "a/b/c"))
    finally:
        os.umask(old)
    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in (".", "a", "a/b", "a/b/c")]
    assert modes == [0o755, 0o700, 0o700, 0o700]
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(OSError, match=r"exists|Not a directory"):
        durable_files.make_private_dir(str(tmp_path / "file"))


@pytest.mark.parametrize(
    ("code", "hint"), [(errno.ENOSPC, "space"), (errno.EROFS, "read-only"), (errno.EIO, "disk")]
)
def test_disk_error_states_failure_path_cause_and_hint(code: int, hint: str) -> None:
    """What failed, where, why, and what to do."""
    with (
        pytest.raises(SessionStorageError) as caught,
        durable_files.storage_errors("write", "/a/b"),
    ):
        raise OSError(code, os.strerror(code))
    error = caught.value
    assert str(error) == f"could not write /a/b: {os.strerror(code).lower()}"
    assert (error.errno, error.path, hint in error.hint) == (code, "/a/b", True)


def test_sweep_removes_abandoned_temp_files_and_keeps_recent_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A temp file that its writer puts in place during the sweep is nothing to fail for."""
    names = [durable_files.temp_name(name) for name in ("abandoned", "at-work", "put-in-place")]
    abandoned, at_work, put = (tmp_path / name for name in names)
    for path in (abandoned, at_work):
        path.write_bytes(b"x")
    os.utime(abandoned, (0, 0))
    listed = [put.name, abandoned.name, at_work.name]
    monkeypatch.setattr(os, "listdir", lambda _: listed)
    durable_files.sweep_temps(str(tmp_path))
    assert (abandoned.exists(), at_work.exists()) == (False, True)
