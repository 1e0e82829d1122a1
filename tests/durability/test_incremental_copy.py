"""A copy that follows its file: exact after every kind of step, and nothing is ever lost."""

import errno
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cortext.durability import incremental_copy as module
from cortext.durability.gzip_members import MOST, Packed, read_packed
from cortext.durability.incremental_copy import FOLD, CopyState, CopyUpdate, fold, follow
from cortext.errors import SessionStorageError

LONG_AGO = 1_700_000_000


class Pair:
    """A file and its copy."""

    def __init__(self, folder: Path, *, document: bool = False) -> None:
        self.folder, self.document = folder, document
        self.source = folder / "in" / "a.jsonl"
        self.target = folder / "out" / "deep" / "a.jsonl.gz"
        self.source.parent.mkdir(parents=True, exist_ok=True)
        (folder / "temp").mkdir(exist_ok=True)
        self.known: CopyState | None = None

    def write(self, data: bytes, mtime: int = LONG_AGO) -> None:
        self.source.write_bytes(data)
        os.utime(self.source, (mtime, mtime))

    def add(self, data: bytes, *, now: bool = False) -> None:
        before = self.source.stat().st_mtime if self.source.exists() else LONG_AGO
        with self.source.open("ab") as file:
            file.write(data)
        if not now:
            os.utime(self.source, (before + 1, before + 1))

    def follow(self) -> CopyUpdate:
        temp = str(self.folder / "temp")
        done = follow(
            str(self.source), str(self.target), self.known, temp_dir=temp, document=self.document
        )
        self.known = done.known
        return done

    @property
    def copied(self) -> bytes:
        return b"".join(read_packed(str(self.target))) if self.target.exists() else b""

    @property
    def generations(self) -> list[bytes]:
        found = sorted(self.target.parent.glob("a.jsonl.~*.gz"))
        return [b"".join(read_packed(str(path))) for path in found]


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    return Pair(tmp_path)


def test_copy_reads_only_new_tail_of_source(pair: Pair) -> None:
    """Only the new tail is read; an unchanged file is not opened."""
    pair.write(b'{"a":1}\n')
    assert pair.follow()[1:] == ("new", 8)
    pair.add(b'{"b":22}\n')
    assert pair.follow()[1:] == ("grown", 9)
    assert pair.follow()[1:] == ("", 0)
    assert pair.copied == b'{"a":1}\n{"b":22}\n'
    assert pair.target.stat().st_mtime == pair.source.stat().st_mtime


def test_copy_is_private_whatever_umask(pair: Pair) -> None:
    """Folders and files are private whatever the umask."""
    before = os.umask(0)
    try:
        pair.write(b"{}\n" * 10)
        pair.follow()
        for _ in range(FOLD):
            pair.add(b"{}\n")
            pair.follow()
    finally:
        os.umask(before)
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (pair.target, pair.target.parent)]
    assert modes == [0o600, 0o700]


def test_unfinished_last_line_is_copied_once_source_rests(pair: Pair) -> None:
    """Unless it rests: then it is the end."""
    pair.source.write_bytes(b'{"a":1}\n{"b"')
    pair.follow()
    assert pair.copied == b'{"a":1}\n'
    pair.add(b":2}\n", now=True)
    pair.follow()
    assert pair.copied == b'{"a":1}\n{"b":2}\n'
    pair.add(b'{"torn', now=True)
    pair.follow()
    os.utime(pair.source, (LONG_AGO, LONG_AGO))
    pair.follow()
    assert pair.copied == pair.source.read_bytes()
    pair.add(b' no more"}\n')
    pair.follow()
    assert pair.copied == pair.source.read_bytes()


@settings(max_examples=30)
@given(
    steps=st.lists(
        st.tuples(
            st.sampled_from(["add", "add", "add", "forget", "cut", "rewrite", "replace", "tear"]),
            st.binary(max_size=300),
        ),
        max_size=12,
    )
)
def test_copy_keeps_all_content_after_any_steps(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, bytes]]
) -> None:
    """After each the copy is the file, or the file is only the beginning of the copy; and all
    that was ever there is in the copy or in a generation."""
    pair = Pair(tmp_path_factory.mktemp("steps"))
    pair.write(b"begin\n")
    pair.follow()
    ever = {pair.source.read_bytes()}
    for clock, (step, data) in enumerate(steps, LONG_AGO + 10):
        now = pair.source.read_bytes()
        if step == "forget":
            pair.known = None
        elif step == "tear":
            with pair.target.open("ab") as file:
                file.write(data)
        after = {
            "add": now + data,
            "cut": now[: len(now) // 2],
            "rewrite": data + now[len(data) :],
            "replace": data,
        }.get(step, now)
        pair.write(after, clock)
        pair.follow()
        ever.add(after)
        assert pair.copied.startswith(after)
    kept = [pair.copied, *pair.generations]
    assert [data for data in ever if not any(one.startswith(data) for one in kept)] == []


def test_small_members_are_joined_and_large_members_stay(pair: Pair) -> None:
    """Large ones are copied as they are; the text stays the same."""
    large = os.urandom(MOST - 10) + b"\n"
    pair.write(large)
    pair.follow()
    first = pair.target.read_bytes()
    for number in range(3 * FOLD):
        pair.add(b'{"n":%d}\n' % number)
        pair.follow()
    with pair.target.open("rb") as file:
        members = Packed(file.fileno()).members
    assert len(members) <= FOLD + 2
    assert pair.target.read_bytes().startswith(first)
    assert pair.copied == pair.source.read_bytes()


def test_replaced_source_leaves_generation_of_old_copy(pair: Pair) -> None:
    """Each of them has a name of its own."""
    texts = [b"one\n" * 5, b"two\n" * 6, b"three\n" * 7]
    for number, data in enumerate(texts):
        pair.write(data, LONG_AGO + number)
        assert pair.follow().change == ("replaced" if number else "new")
    assert pair.copied == texts[2]
    assert pair.generations == texts[:2]


def test_truncated_source_leaves_copy_unchanged(pair: Pair) -> None:
    """The copy is the better one, until something else is said."""
    pair.write(b"one\ntwo\nthree\n")
    pair.follow()
    for cut in (b"one\ntwo\n", b""):
        pair.write(cut, LONG_AGO + len(cut))
        assert pair.follow().change == ""
        assert (pair.copied, pair.generations) == (b"one\ntwo\nthree\n", [])
    pair.write(b"one\ntwo\nanother\n", LONG_AGO + 99)
    assert pair.follow().change == "replaced"
    assert (pair.copied, pair.generations) == (b"one\ntwo\nanother\n", [b"one\ntwo\nthree\n"])


def test_rewritten_document_leaves_generation_only_if_content_shrinks(tmp_path: Path) -> None:
    """One that is written anew at each turn makes no generations, unless it got shorter or is
    not whole."""
    pair = Pair(tmp_path, document=True)
    for number in range(5):
        pair.write(b'{"messages":[%s]}' % (b"1," * number + b"1"), LONG_AGO + number)
        pair.follow()
    assert (pair.copied, pair.generations) == (pair.source.read_bytes(), [])
    whole = pair.copied
    pair.write(b"\0" * 100, LONG_AGO + 10)
    pair.follow()
    assert (pair.copied, pair.generations) == (b"\0" * 100, [whole])
    pair.write(b'{"messages":[]}', LONG_AGO + 11)
    pair.follow()
    assert (pair.copied, len(pair.generations)) == (b'{"messages":[]}', 2)


@pytest.mark.parametrize("at", [30, 0.5, -1])
def test_damaged_copy_is_started_again_and_old_copy_stays(pair: Pair, at: float) -> None:
    """If what is known of it is lost: what can be read of the old one stays beside it."""
    pair.write(b"".join(b'{"line":%d}\n' % n for n in range(50_000)))
    pair.follow()
    pair.add(b"more\n")
    pair.follow()
    data = bytearray(pair.target.read_bytes())
    place = int(len(data) * at) if isinstance(at, float) else at
    data[place] ^= 0xFF
    pair.target.write_bytes(data)
    pair.known = None
    pair.add(b"and more\n")
    pair.follow()
    assert pair.copied == pair.source.read_bytes()
    assert [path.read_bytes() for path in pair.target.parent.glob("*.~1.gz")] in ([], [data])


def test_full_disk_leaves_copy_intact(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sentence says so, and the next time all is taken."""
    pair.write(b"one\n")
    pair.follow()
    before = pair.target.read_bytes()

    def full(fd: int, data: bytes) -> None:
        os.write(fd, bytes(data)[:7])
        raise OSError(errno.ENOSPC, "No space left on device")

    pair.add(b"two\n")
    with monkeypatch.context() as patch:
        patch.setattr(module, "write_all", full)
        with pytest.raises(SessionStorageError, match="no space left on device") as caught:
            pair.follow()
    assert "intact" in caught.value.hint
    assert pair.target.read_bytes() == before
    pair.follow()
    assert pair.copied == b"one\ntwo\n"


CHILD = """
import os, signal, sys
from cortext.durability import incremental_copy as module
from cortext.durability.incremental_copy import follow
source, target, temp, calls = sys.argv[1:5]
left = int(calls)
def dying(name):
    real = getattr(module, name)
    def call(*args, **kwargs):
        global left
        left -= 1
        if left == 0:
            if name == "write_all":
                os.write(args[0], bytes(args[1])[: len(args[1]) // 2])
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*args, **kwargs)
    setattr(module, name, call)
for name in ("write_all", "sync_data", "sync_dir", "stamp", "replace", "rename_old_copy"):
    dying(name)
module.FOLD, module.MOST = 30, 20_000
follow(source, target, None, temp_dir=temp)
"""


def test_copy_is_complete_after_kill_at_any_step(pair: Pair) -> None:
    """The next one goes on: the copy is the file again, and nothing is told twice."""
    more = b"".join(b'{"line":%d}\n' % n for n in range(20_000))
    pair.write(more)
    killed = 0
    for calls in range(1, 20):
        arguments = [str(pair.source), str(pair.target), str(pair.folder / "temp"), str(calls)]
        done = subprocess.run([sys.executable, "-c", CHILD, *arguments], check=False)
        killed += done.returncode == -signal.SIGKILL
        assert done.returncode in (0, -signal.SIGKILL)
        pair.known = None
        pair.follow()
        assert (pair.copied, pair.generations) == (pair.source.read_bytes(), [])
        pair.add(more)
        if calls == 8:
            pair.target.unlink()
    assert killed >= 10


def test_fold_leaves_damaged_copy_unchanged(pair: Pair) -> None:
    """Joining must not make less of it."""
    for number in range(4):
        pair.write(b"words\n" * 100 * (number + 1), LONG_AGO + number)
        pair.follow()
    data = bytearray(pair.target.read_bytes())
    data[75] ^= 0xFF
    pair.target.write_bytes(data)
    assert fold(str(pair.target), temp_dir=str(pair.folder / "temp")) == len(data)
    assert pair.target.read_bytes() == data
