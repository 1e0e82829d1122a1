"""Tests in which a process is killed while it writes to a store.

Every acknowledged write must be stored, and other processes must be able to continue.
"""

from __future__ import annotations

from pathlib import Path
from subprocess import Popen

from cortext.model.session import Session
from cortext.testing.suite_base import Suite, message, needs, place, session, start_child, texts


def kill_after(child: Popen[str], acknowledgements: int) -> list[str]:
    """Kill a child process after it has printed some lines, and return all its lines.

    `acknowledgements` is the number of lines after which the process is killed.
    """
    assert child.stdout is not None
    assert child.stderr is not None
    lines = [child.stdout.readline().rstrip("\n") for _ in range(acknowledgements)]
    child.kill()
    lines += child.stdout.read().splitlines()
    errors = child.stderr.read()
    child.stdout.close()
    child.stderr.close()
    child.wait()
    assert errors == ""
    return lines


class CrashTests(Suite):
    """Tests in which a writing process is killed with SIGKILL, which no program can catch."""

    kill_points: tuple[int, ...] = (1, 2, 7, 20)
    """The numbers of acknowledged writes after which a writing process is killed."""

    @needs("persistent", "processes")
    def test_killed_while_appending(self, tmp_path: Path) -> None:
        """Check that every acknowledged message is stored, and that the next append works.

        The message that the killed process was writing may be stored too.
        """
        self.open(place(tmp_path)).save(session("s"))
        expected = 0
        for kills, point in enumerate(self.kill_points):
            name = f"w{kills}"
            child = start_child(self.url(place(tmp_path)), "append", "s", name, "0")
            acknowledged = kill_after(child, point)
            found = self._load(tmp_path)
            mine = [item.id for item in found.messages if item.id.startswith(f"{name}-")]
            assert mine[: len(acknowledged)] == acknowledged
            # A server may finish the write of a killed process later, but before the next append.
            self.open(place(tmp_path)).append("s", message(f"after {kills}", 10**6))
            found = self._load(tmp_path)
            mine = [item.id for item in found.messages if item.id.startswith(f"{name}-")]
            assert mine[: len(acknowledged)] == acknowledged
            assert mine == [f"{name}-{step}" for step in range(len(mine))]
            assert len(mine) - len(acknowledged) in (0, 1)
            expected += len(mine) + 1
            assert texts(found.messages)[-1] == f"after {kills}"
            assert found.message_count == expected

    @needs("persistent", "processes")
    def test_killed_while_saving(self, tmp_path: Path) -> None:
        """Check which version of a session is stored after a process was killed while saving.

        The stored session must be the last version that the process acknowledged, or the next
        version.
        """
        self.open(place(tmp_path)).save(session("s", message("first")))
        for kills, point in enumerate(self.kill_points):
            child = start_child(self.url(place(tmp_path)), "save", "s", f"w{kills}", "0")
            acknowledged = kill_after(child, point)
            found = self._load(tmp_path)
            step = int(found.title.removeprefix(f"w{kills}-"))
            assert step - (len(acknowledged) - 1) in (0, 1)
            # A store may write messages before the head, so one more message may be stored.
            mine = [item.id for item in found.messages if item.id.startswith(f"w{kills}-")]
            assert mine == [f"w{kills}-{number}" for number in range(len(mine))]
            assert len(mine) - (step + 1) in (0, 1)

    @needs("persistent", "processes")
    def test_killed_while_writing_heads(self, tmp_path: Path) -> None:
        """Check which title is stored after a process was killed while writing checkpoints.

        The stored title must be the last title that the process acknowledged, or the next title. No
        message may be lost.
        """
        self.open(place(tmp_path)).save(session("s", message("one"), message("two", 1)))
        for kills, point in enumerate(self.kill_points):
            child = start_child(self.url(place(tmp_path)), "checkpoint", "s", f"w{kills}", "0")
            acknowledged = kill_after(child, point)
            found = self._load(tmp_path)
            assert int(found.title.removeprefix(f"w{kills}-")) - (len(acknowledged) - 1) in (0, 1)
            assert texts(found.messages) == ["one", "two"]

    @needs("persistent", "processes")
    def test_killed_while_creating(self, tmp_path: Path) -> None:
        """Check that every acknowledged session is listed, and every listed session loads."""
        for kills, point in enumerate(self.kill_points):
            child = start_child(self.url(place(tmp_path)), "create", "s", f"w{kills}", "0")
            acknowledged = kill_after(child, point)
            store = self.open(place(tmp_path))
            listed = [id for id in store.list_session_ids() if id.startswith(f"s-w{kills}-")]
            assert set(acknowledged) <= set(listed)
            assert [store.load(id).messages[0].id for id in listed] == listed

    @needs("persistent", "processes")
    def test_survivors_of_a_killed_writer(self, tmp_path: Path) -> None:
        """Check that other writers neither fail nor lose messages when one writer is killed."""
        self.open(place(tmp_path)).save(session("s"))
        url = self.url(place(tmp_path))
        victim = start_child(url, "append", "s", "victim", "0")
        others = [start_child(url, "append", "s", f"w{number}", "0") for number in range(2)]
        acknowledged = kill_after(victim, 5)
        acknowledged += [line for child in others for line in kill_after(child, 30)]
        found = [item.id for item in self._load(tmp_path).messages]
        assert len(set(found)) == len(found)
        assert set(acknowledged) <= set(found)

    def _load(self, tmp_path: Path) -> Session:
        """Load the session with a new store object. A damaged session raises an error."""
        return self.open(place(tmp_path)).load("s")
