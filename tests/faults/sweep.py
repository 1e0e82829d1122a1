"""The sweep: one verb of one store, every fault at its calls, and what must hold after each."""

import fnmatch
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from cortext.catalog.documents.document_index import SessionIndex
from cortext.errors import SessionCorruptedError, SessionNotFoundError
from cortext.model import json_codec
from cortext.model.session import Session
from cortext.stores.store_registry import open_session_store
from tests.faults import inject, verbs
from tests.faults.inject import Fault, Outcome, Runner
from tests.faults.verbs import ID, OTHER

LINES = ("create", "save", "replace", "append", "mend", "checkpoint", "delete")
SCENES = (
    *(("document", verb) for verb in LINES if verb != "mend"),
    *(("document", verb) for verb in ("recover", "repair", "index")),
    *(("log", verb) for verb in (*LINES, "exchange", "amend")),
    *(("workspace", verb) for verb in LINES),
)
CORRUPT = "corrupt"
SIDE = ".cortext"
KEPT = ("*.torn", "*.torn-*", "*.corrupt", "*.corrupt-*")
_TORN = b'{"type": "turn", "role": "us'


class Result(NamedTuple):
    cases: int
    violations: list[str]


class Sweep:
    """One store and one verb; every case gets a folder of its own."""

    def __init__(self, root: Path, kind: str, verb: str, *flags: str) -> None:
        self.kind, self.verb = kind, verb
        self.folder = root / "store"
        self._prepared = root / "prepared"
        _prepare(self._prepared, kind, verb)
        self.old = _state(self._prepared, kind)
        self._names = _names(self._prepared)
        self._words = [f"{kind}:{self.folder}", verb, *flags]
        self._runner = Runner(root / "home")
        self._fresh_copy()
        self._calls, said = self._runner.record(self._words, self.folder)
        if said != "ack":
            raise RuntimeError(f"{kind} {verb} fails without any fault: {said}")
        self.new = _state(self.folder, kind)
        self._names |= _names(self.folder)

    def close(self) -> None:
        self._runner.close()

    def run(self, *, every: bool) -> Result:
        """All faults, at all calls or at the first and the last of each kind."""
        violations: list[str] = []
        cases = 0
        for fault in self._faults(every):
            cases += 1
            self._fresh_copy()
            outcome = self._runner.run(self._words, fault)
            found = list(self._check(fault, outcome))
            violations += [f"{self.kind} {self.verb}, {fault}: {text}" for text in found]
        return Result(cases, violations)

    def _faults(self, every: bool) -> Iterator[Fault]:
        for call, numbers in self._calls.items():
            chosen = numbers if every else sorted({numbers[0], numbers[-1]})
            # An error at a mark means nothing; a kill there comes after the last call.
            kinds = (inject.KILL,) if call in inject.MARKS else (inject.KILL, *inject.ERRORS)
            for number in chosen:
                for kind in kinds:
                    yield Fault(call, number, kind)

    def _fresh_copy(self) -> None:
        if self.folder.exists():
            shutil.rmtree(self.folder)
        shutil.copytree(self._prepared, self.folder)

    def _check(self, fault: Fault, outcome: Outcome) -> Iterator[str]:
        if not outcome.fired:
            yield "the fault did not happen"
        yield from self._check_words(fault, outcome)
        try:
            state = _state(self.folder, self.kind)
            yield from self._check_state(state, outcome)
            yield from _next_steps(self.folder, self.kind, self.verb, state)
        except Exception as error:  # whatever it is, it is a finding about this case
            yield f"{type(error).__name__}: {error}"

    def _check_words(self, fault: Fault, outcome: Outcome) -> Iterator[str]:
        said = outcome.said
        if "Traceback" in outcome.stderr:
            yield f"a traceback: {outcome.stderr.strip().splitlines()[-1]}"
        elif not outcome.killed and said != "ack" and not said.startswith("err"):
            yield f"said {said!r} and {outcome.stderr!r}"
        failed = fault.kind in ("error=EIO", "error=ENOSPC")
        if said == "ack" and failed and "sync" in fault.call and self.verb != "index":
            yield "acknowledged what was not synced"

    def _check_state(self, state: Any, outcome: Outcome) -> Iterator[str]:
        allowed = [self.new] if outcome.said == "ack" else [self.old, self.new]
        if state not in allowed:
            yield f"{outcome.said or 'killed'}, and the session is neither old nor new: {state}"
        if _load(self.folder, self.kind, OTHER) != _load(self._prepared, self.kind, OTHER):
            yield "another session changed"
        for name in _names(self.folder) - self._names:
            if not any(fnmatch.fnmatch(name, pattern) for pattern in KEPT):
                yield f"left behind: {name}"
        if self.verb in ("recover", "repair") and not _backup_is_whole(self.folder):
            yield "the good backup is gone"


def _prepare(folder: Path, kind: str, verb: str) -> None:
    store: Any = open_session_store(f"{kind}:{folder}")
    store.save(verbs.old_session(OTHER))
    if verb == "create":
        return
    if verb == "index":
        index = SessionIndex(store)
        index.save_if_dirty()
        index.close()
    store.save(verbs.old_session())
    if verb in ("delete", "recover", "repair") and kind == "document":
        store.save(verbs.old_session())  # a second save makes a backup
    if verb in ("recover", "repair"):
        store.get_path(ID).write_bytes(b'{"id": "talk", "mess')
    if verb == "mend":
        lines = next(path for path in folder.rglob("*.jsonl") if ID in str(path))
        lines.write_bytes(lines.read_bytes() + _TORN)
    store.close()


def _load(folder: Path, kind: str, id: str) -> Any:
    """A session as a fresh store has it: a dict, None without one, or CORRUPT."""
    try:
        return open_session_store(f"{kind}:{folder}").load(id).to_dict()
    except SessionNotFoundError:
        return None
    except SessionCorruptedError:
        return CORRUPT


def _state(folder: Path, kind: str) -> Any:
    return _load(folder, kind, ID)


def _names(folder: Path) -> set[str]:
    """All files and folders but those in our side folders."""
    found = (path.relative_to(folder) for path in folder.rglob("*"))
    return {str(path) for path in found if SIDE not in path.parts}


def _backup_is_whole(folder: Path) -> bool:
    return Session.from_json((folder / f"{ID}.backup").read_bytes()).messages != []


def _next_steps(folder: Path, kind: str, verb: str, state: Any) -> Iterator[str]:
    """What a person does next works, and finds everything that was there."""
    store: Any = open_session_store(f"{kind}:{folder}")
    ids = [OTHER] if state is None else [OTHER, ID]
    if store.list_session_ids() != ids:
        yield f"lists {store.list_session_ids()}, not {ids}"
    if verb == "index":
        yield from _index_is_right(store, folder, ids)
    if state is None:
        store.save(verbs.old_session())
    elif state == CORRUPT and not store.recover_from_backup(ID):
        yield "cannot be recovered"
    before = store.load(ID).messages
    store.append(ID, verbs.message(9))
    store.close()
    after = open_session_store(f"{kind}:{folder}").load(ID).messages
    if after != [*before, verbs.message(9)]:
        yield "the next append is wrong"


def _index_is_right(store: Any, folder: Path, ids: list[str]) -> Iterator[str]:
    export = json_codec.decode((folder / "index.json").read_bytes())
    if not set(export["sessions"]) <= set(ids):
        yield f"index.json holds {sorted(export['sessions'])}"
    index = SessionIndex(store)
    if sorted(summary.id for summary in index.list()) != sorted(ids):
        yield f"the index lists {index.list()}"
    index.close()
    export = json_codec.decode((folder / "index.json").read_bytes())
    if sorted(export["sessions"]) != sorted(ids):
        yield f"index.json holds {sorted(export['sessions'])} after the next use"
