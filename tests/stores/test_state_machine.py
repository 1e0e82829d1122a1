"""Random histories of one store against a plain model: saves, appends, crashes, recoveries."""

import shutil
import tempfile
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from cortext.errors import SessionCorruptedError, SessionNotFoundError
from cortext.stores.document import SessionStorage
from cortext.stores.memory import MemoryStore
from cortext.testing.suite_base import START, call, message, session
from tests.stores.files import Place

JUNK = st.sampled_from(
    [b"\0", b"\0\0\0", b"{", b'{"role":"us', b"\xff\xfe", b"null", b"[1]", b"{}", b'"text"', b" "]
)
TEXT = st.sampled_from(["", "x", "line\nline", "\u2028", "\ud800", "\0", "é" * 40])


class Machine(RuleBasedStateMachine):
    """What is stored: the title and the texts, in order, with ids that are never used again."""

    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp(prefix="cortext-machine-"))
        self.store: Any = self.start()
        self.mine: Any = None
        self.title = ""
        self.stored: Any = None
        self.calls: list[str] = []
        self.count = 0

    def start(self) -> Any:
        raise NotImplementedError

    def teardown(self) -> None:
        shutil.rmtree(self.root)

    def new_id(self) -> str:
        self.count += 1
        return f"m{self.count}"

    @rule(text=TEXT)
    def save(self, text: str) -> None:
        """Create the session, or add to it in memory and save the whole."""
        id = self.new_id()
        said = message(text, self.count, id=id)
        if self.stored is None:
            self.mine, self.stored, self.calls = session("s", said), [id], []
        else:
            self.mine = self.store.load("s")
            self.mine.messages.append(said)
            self.stored.append(id)
        self.mine.title = self.title = id
        self.store.save(self.mine)

    @precondition(lambda self: self.stored is not None and self.mine is not None)
    @rule()
    def save_older_object(self) -> None:
        """An object that has not seen the latest messages keeps them, after its own."""
        id = self.new_id()
        self.mine.messages.append(message("mine", self.count, id=id))
        self.mine.title = self.title = id
        known = [item.id for item in self.mine.messages]
        calls = [item.id for item in self.mine.tool_history]
        self.store.save(self.mine)
        self.stored = known + [other for other in self.stored if other not in known]
        self.calls = calls + [other for other in self.calls if other not in calls]

    @precondition(lambda self: self.stored is not None)
    @rule(texts=st.lists(TEXT, min_size=1, max_size=3), riding=st.booleans())
    def append(self, texts: list[str], riding: bool) -> None:
        """Appended messages are last, with the calls that came before them."""
        said = [message(text, self.count, id=self.new_id()) for text in texts]
        calls = [call("t", self.count)] if riding else []
        self.store.append("s", *said, tool_invocations=calls)
        self.store.append("s", *said, tool_invocations=calls)
        self.stored += [item.id for item in said]
        self.calls += [item.id for item in calls]

    @precondition(lambda self: self.stored is not None)
    @rule(recorded=st.booleans())
    def checkpoint(self, recorded: bool) -> None:
        """The head changes, and nothing else; calls that no message carries go with it."""
        head = self.store.load("s")
        head.title = self.title = f"title {self.count}"
        head.messages.append(message("unsaved", 0, id="unsaved"))
        if recorded:
            self.count += 1
            head.tool_history.append(call("t", 10**6 + self.count))
            self.calls.append(head.tool_history[-1].id)
        self.store.checkpoint(head)

    @rule()
    def delete(self) -> None:
        assert self.store.delete("s") is (self.stored is not None)
        self.stored, self.mine, self.calls = None, None, []

    @invariant()
    def holds_what_the_model_holds(self) -> None:
        if self.stored is None:
            assert (self.store.exists("s"), self.store.list_session_ids()) == (False, [])
            with pytest.raises(SessionNotFoundError):
                self.store.load("s")
            return
        assert (self.store.exists("s"), self.store.list_session_ids()) == (True, ["s"])
        found = self.store.load("s")
        assert [item.id for item in found.messages] == self.stored
        assert found.title == self.title
        assert sorted(item.id for item in found.tool_history) == sorted(self.calls)
        assert found.created_at == START
        assert [item.id for item in self.store.tail("s", 2)] == self.stored[-2:]
        damages = self.store.read("s").damages
        assert [damage for damage in damages if damage.fatal] == []


class MemoryMachine(Machine):
    def start(self) -> MemoryStore:
        return MemoryStore()


class FileMachine(Machine):
    """A store on files can be opened again, and by others."""

    kind = ""

    @property
    def place(self) -> Place:
        return Place(self.kind, self.root)

    def start(self) -> Any:
        self.others = self.place.open()
        return self.place.open()

    @rule()
    def reopen(self) -> None:
        """A new process knows no more than the files."""
        self.store.close()
        self.store, self.mine = self.place.open(), None

    @precondition(lambda self: self.stored is not None)
    @rule()
    def others_append(self) -> None:
        """A store object that stays open all the time."""
        id = self.new_id()
        self.others.append("s", message("theirs", self.count, id=id))
        self.stored.append(id)

    @precondition(lambda self: self.stored is not None)
    @rule()
    def others_save(self) -> None:
        theirs = self.others.load("s")
        id = self.new_id()
        theirs.messages.append(message("theirs", self.count, id=id))
        theirs.updated_at += timedelta(seconds=1)
        self.others.save(theirs)
        self.stored.append(id)


class LinesMachine(FileMachine):
    """Appends are torn by crashes."""

    @precondition(lambda self: self.stored is not None)
    @rule(junk=JUNK)
    def crash_leaves_a_torn_tail(self, junk: bytes) -> None:
        """Bytes of a line that was never acknowledged stand after the last newline."""
        if self.place.lines.read_bytes()[-1:] in (b"", b"\n"):
            with self.place.lines.open("ab") as file:
                file.write(junk)

    @precondition(lambda self: self.stored is not None)
    @rule(cut=st.integers(1, 400))
    def crash_cuts_an_append(self, cut: int) -> None:
        """An append that was not acknowledged is on disk in part: whole lines of it count."""
        id = self.new_id()
        self.place.open().append("s", message("cut" * 50, self.count, id=id))
        data = self.place.lines.read_bytes()
        line = data.rstrip(b"\n").rfind(b"\n") + 1
        kept = data[: max(len(data) - cut, line)]
        self.place.lines.write_bytes(kept)
        if len(kept) >= len(data) - 1:
            self.stored.append(id)

    @precondition(lambda self: self.stored is not None)
    @rule()
    def crash_loses_the_last_newline(self) -> None:
        """A whole last line that only lacks its newline is a record."""
        data = self.place.lines.read_bytes()
        if data.endswith(b"\n") and data.count(b"\n") > (self.kind == "log"):
            self.place.lines.write_bytes(data[:-1])


class LogMachine(LinesMachine):
    kind = "log"


class WorkspaceMachine(LinesMachine):
    kind = "workspace"


class DocumentMachine(FileMachine):
    """The primary is damaged by something else, and the backup brings it back."""

    kind = "document"

    @precondition(lambda self: self.stored is not None)
    @rule(junk=JUNK, recover=st.booleans())
    def corrupt_and_mend(self, junk: bytes, recover: bool) -> None:
        """A corrupt primary is named; recovery gives the version before, a save keeps its bytes."""
        store: SessionStorage = self.store
        before = store.load("s")
        store.save(before)
        store.save(before)
        self.place.head.write_bytes(junk)
        with pytest.raises(SessionCorruptedError):
            store.load("s")
        assert store.load_or_none("s") is None
        if recover:
            assert store.recover_from_backup("s")
        else:
            store.save(before)
        assert junk in self.place.kept("corrupt")
        assert store.load("s") == before
        self.mine = None


_SETTINGS = settings(
    max_examples=70,
    stateful_step_count=30,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
for machine in (MemoryMachine, LogMachine, WorkspaceMachine, DocumentMachine):
    machine.TestCase.settings = _SETTINGS

TestMemory = MemoryMachine.TestCase
TestLog = LogMachine.TestCase
TestWorkspace = WorkspaceMachine.TestCase
TestDocument = DocumentMachine.TestCase
