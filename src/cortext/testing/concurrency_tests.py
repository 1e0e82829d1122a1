"""Tests with many writers and readers at once.

Every acknowledged message must be stored exactly once, and no caller may fail.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from threading import Thread

from cortext.testing.suite_base import (
    PATIENCE,
    Suite,
    finish,
    message,
    needs,
    place,
    session,
    start_child,
)


def in_threads(*jobs: Callable[[], None]) -> list[BaseException]:
    """Run all jobs at once, each in its own thread, and return the errors that they raised."""
    raised: list[BaseException] = []

    def run(job: Callable[[], None]) -> None:
        try:
            job()
        except BaseException as error:  # noqa: BLE001 (the caller checks that there is none)
            raised.append(error)

    threads = [Thread(target=run, args=(job,), daemon=True) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert not any(thread.is_alive() for thread in threads)
    return raised


class ConcurrencyTests(Suite):
    """Tests in which several threads or processes use one store at the same time."""

    writers = 8
    appends = 25
    """The number of appends of each writer."""

    def test_threads_append_through_one_store(self, tmp_path: Path) -> None:
        """Check that each append is stored once, and that the appends of a thread stay in order."""
        store = self.open(place(tmp_path))
        store.save(session("s"))

        def job(name: str) -> Callable[[], None]:
            def append() -> None:
                for step in range(self.appends):
                    store.append("s", message(name, step, id=f"{name}-{step}"))

            return append

        names = [f"w{number}" for number in range(self.writers)]
        assert in_threads(*map(job, names)) == []
        found = [item.id for item in store.load("s").messages]
        assert len(found) == self.writers * self.appends
        self._check_order(found, names)

    def test_threads_on_sessions_of_their_own(self, tmp_path: Path) -> None:
        """Check that threads can write to different sessions through one store object."""
        store = self.open(place(tmp_path))

        def job(name: str) -> Callable[[], None]:
            def work() -> None:
                store.save(session(name))
                for step in range(self.appends):
                    store.append(name, message(str(step), step))
                    if step % 10 == 9:
                        store.checkpoint(store.load(name))

            return work

        names = [f"w{number}" for number in range(self.writers)]
        assert in_threads(*map(job, names)) == []
        assert store.list_session_ids() == names
        counts = {name: store.load(name).message_count for name in names}
        assert counts == dict.fromkeys(names, self.appends)

    @needs("persistent", "processes")
    def test_processes_append_to_one_session(self, tmp_path: Path) -> None:
        """Check that each append is stored once, and the appends of a process stay in order."""
        self.open(place(tmp_path)).save(session("s"))
        names = [f"w{number}" for number in range(self.writers)]
        acknowledged = self._run_children(tmp_path, "append", names)
        found = [item.id for item in self.open(place(tmp_path)).load("s").messages]
        assert sorted(found) == sorted(acknowledged)
        assert len(found) == self.writers * self.appends
        self._check_order(found, names)

    @needs("persistent", "processes")
    def test_processes_append_the_same_messages(self, tmp_path: Path) -> None:
        """Check that a message is stored once, even if several processes append it at once."""
        self.open(place(tmp_path)).save(session("s"))
        self._run_children(tmp_path, "append", ["same"] * self.writers)
        found = [item.id for item in self.open(place(tmp_path)).load("s").messages]
        assert found == [f"same-{step}" for step in range(self.appends)]

    @needs("persistent", "processes")
    def test_processes_save_and_append(self, tmp_path: Path) -> None:
        """Check that a save or checkpoint does not undo the writes of other processes."""
        self.open(place(tmp_path)).save(session("s"))
        url = self.url(place(tmp_path))
        work = [("append", "a0"), ("append", "a1"), ("save", "s0"), ("save", "s1")]
        work += [("checkpoint", "c0")]
        children = [start_child(url, verb, "s", name, str(self.appends)) for verb, name in work]
        lines = [line for child in children for line in finish(child)]
        expected = sorted(line for line in lines if not line.startswith("c"))
        found = [item.id for item in self.open(place(tmp_path)).load("s").messages]
        assert sorted(found) == expected
        assert len(lines) == self.appends * len(work)

    @needs("persistent", "processes")
    def test_processes_create_sessions(self, tmp_path: Path) -> None:
        """Check that several processes can create sessions at once, and that all of them load."""
        names = [f"w{number}" for number in range(4)]
        acknowledged = self._run_children(tmp_path, "create", names)
        store = self.open(place(tmp_path))
        assert store.list_session_ids() == sorted(acknowledged)
        assert [store.load(id).messages[0].id for id in acknowledged] == acknowledged

    @needs("persistent", "processes")
    def test_readers_while_a_writer_writes(self, tmp_path: Path) -> None:
        """Check that a reader never fails while another process appends.

        At each read, the reader must see all earlier messages without gaps, and at least as many as
        at the read before.
        """
        store = self.open(place(tmp_path))
        store.save(session("s"))
        child = start_child(self.url(place(tmp_path)), "append", "s", "w", str(4 * self.appends))
        seen = reads = 0
        while child.poll() is None or reads == 0:
            reading = store.read("s")
            found = [item.id for item in reading.session.messages]
            assert [damage for damage in reading.damages if damage.fatal] == []
            assert found == [f"w-{step}" for step in range(len(found))]
            assert len(found) >= seen
            assert store.list_session_ids() == ["s"]
            last = [item.id for item in store.tail("s", 1)]
            assert last == [] or int(last[0].removeprefix("w-")) >= len(found) - 1
            seen, reads = len(found), reads + 1
        assert len(finish(child)) == store.load("s").message_count == 4 * self.appends

    def _run_children(self, tmp_path: Path, verb: str, names: list[str]) -> list[str]:
        url = self.url(place(tmp_path))
        children = [start_child(url, verb, "s", name, str(self.appends)) for name in names]
        return [line for child in children for line in finish(child)]

    def _check_order(self, found: list[str], names: list[str]) -> None:
        for name in names:
            mine = [id for id in found if id.startswith(f"{name}-")]
            assert mine == [f"{name}-{step}" for step in range(self.appends)]
