"""A writer dies at any moment: what it was told is saved is there, and work goes on."""

from __future__ import annotations

from pathlib import Path
from subprocess import Popen

from cortext.model.session import Session
from cortext.testing.suite_base import Suite, message, needs, place, session, start_child, texts


def kill_after(child: Popen[str], acknowledgements: int) -> list[str]:
    """SIGKILL a child when it has said that many lines; all that it said by then."""
    assert child.stdout is not None
    assert child.stderr is not None
    said = [child.stdout.readline().rstrip("\n") for _ in range(acknowledgements)]
    child.kill()
    said += child.stdout.read().splitlines()
    complaint = child.stderr.read()
    child.stdout.close()
    child.stderr.close()
    child.wait()
    assert complaint == ""
    return said


class CrashTests(Suite):
    """SIGKILL, which no program can prepare for."""

    kill_points: tuple[int, ...] = (1, 2, 7, 20)
    """After how many acknowledgements a writer is killed."""

    @needs("persistent", "processes")
    def test_killed_while_appending(self, tmp_path: Path) -> None:
        """Everything acknowledged is there, at most the last one more, and the next is clean."""
        self.open(place(tmp_path)).save(session("s"))
        expected = 0
        for kills, point in enumerate(self.kill_points):
            name = f"w{kills}"
            child = start_child(self.url(place(tmp_path)), "append", "s", name, "0")
            said = kill_after(child, point)
            found = self._load(tmp_path)
            mine = [item.id for item in found.messages if item.id.startswith(f"{name}-")]
            assert mine[: len(said)] == said
            assert mine == [f"{name}-{step}" for step in range(len(mine))]
            assert len(mine) - len(said) in (0, 1)
            self.open(place(tmp_path)).append("s", message(f"after {kills}", 10**6))
            expected += len(mine) + 1
            assert texts(self._load(tmp_path).messages)[-1] == f"after {kills}"
            assert self._load(tmp_path).message_count == expected

    @needs("persistent", "processes")
    def test_killed_while_saving(self, tmp_path: Path) -> None:
        """The session is the acknowledged one or the one after it, never a mix."""
        self.open(place(tmp_path)).save(session("s", message("first")))
        for kills, point in enumerate(self.kill_points):
            child = start_child(self.url(place(tmp_path)), "save", "s", f"w{kills}", "0")
            said = kill_after(child, point)
            found = self._load(tmp_path)
            step = int(found.title.removeprefix(f"w{kills}-"))
            assert step - (len(said) - 1) in (0, 1)
            # A store may write records before the head: then one more message is there.
            mine = [item.id for item in found.messages if item.id.startswith(f"w{kills}-")]
            assert mine == [f"w{kills}-{number}" for number in range(len(mine))]
            assert len(mine) - (step + 1) in (0, 1)

    @needs("persistent", "processes")
    def test_killed_while_writing_heads(self, tmp_path: Path) -> None:
        """The head is the acknowledged one or the one after it; no record is lost."""
        self.open(place(tmp_path)).save(session("s", message("one"), message("two", 1)))
        for kills, point in enumerate(self.kill_points):
            child = start_child(self.url(place(tmp_path)), "checkpoint", "s", f"w{kills}", "0")
            said = kill_after(child, point)
            found = self._load(tmp_path)
            assert int(found.title.removeprefix(f"w{kills}-")) - (len(said) - 1) in (0, 1)
            assert texts(found.messages) == ["one", "two"]

    @needs("persistent", "processes")
    def test_killed_while_creating(self, tmp_path: Path) -> None:
        """Every acknowledged session is listed and loads; no half session is listed."""
        for kills, point in enumerate(self.kill_points):
            child = start_child(self.url(place(tmp_path)), "create", "s", f"w{kills}", "0")
            said = kill_after(child, point)
            store = self.open(place(tmp_path))
            listed = [id for id in store.list_session_ids() if id.startswith(f"s-w{kills}-")]
            assert set(said) <= set(listed)
            assert [store.load(id).messages[0].id for id in listed] == listed

    @needs("persistent", "processes")
    def test_survivors_of_a_killed_writer(self, tmp_path: Path) -> None:
        """Others that write at the same time neither fail nor lose anything."""
        self.open(place(tmp_path)).save(session("s"))
        url = self.url(place(tmp_path))
        victim = start_child(url, "append", "s", "victim", "0")
        others = [start_child(url, "append", "s", f"w{number}", "0") for number in range(2)]
        said = kill_after(victim, 5)
        said += [line for child in others for line in kill_after(child, 30)]
        found = [item.id for item in self._load(tmp_path).messages]
        assert len(set(found)) == len(found)
        assert set(said) <= set(found)

    def _load(self, tmp_path: Path) -> Session:
        """Strictly, by a store object that knows nothing."""
        return self.open(place(tmp_path)).load("s")
