"""Verbs on stores, each in a process of its own that stops itself right before it.

`verbs.py OUT ERR` reads a line `URL VERB [careless]`, forks, and writes the child's pid when
that has stopped; after the next line, it writes how the child ended. The child says on OUT
how its verb went. Everything is imported before, so a trace that begins at the stop sees the
calls of the verb alone, up to the mark.
"""

import ctypes
import os
import shutil
import signal
import sys
import traceback
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from cortext.catalog.documents.document_index import SessionIndex
from cortext.durability import trash_folder
from cortext.errors import CortextError
from cortext.model.message import SessionMessage, ToolInvocation
from cortext.model.session import Session
from cortext.stores import document, folder, log
from cortext.stores.store_registry import open_session_store

MARK = "/cortext-fault-mark"
ID = "talk"
OTHER = "other"
_PR_SET_PTRACER = 0x59616D61
_START = datetime(2026, 3, 1, 12, tzinfo=UTC)


def message(number: int) -> SessionMessage:
    when = _START + timedelta(minutes=number)
    return SessionMessage("user", f"message {number} " + "x" * 200, when, id=f"m{number}")


def call(number: int) -> ToolInvocation:
    when = _START + timedelta(minutes=number)
    return ToolInvocation("read", {"path": "a"}, "text", id=f"c{number}", timestamp=when)


def session(title: str, messages: Iterable[int], calls: Iterable[int], id: str = ID) -> Session:
    return Session(
        id,
        title,
        _START,
        _START + timedelta(hours=1),
        messages=[message(number) for number in messages],
        tool_history=[call(number) for number in calls],
    )


def old_session(id: str = ID) -> Session:
    """Its last tool call came after the last message: in a folder, the head has it."""
    return session("before", [1, 2, 3], [1, 4], id)


def new_session() -> Session:
    return session("after", [1, 2, 6], [1, 4, 7])


def _save(store: Any) -> Callable[[], object]:
    loaded = store.load(ID)
    loaded.title = "after"
    loaded.messages.append(message(6))
    loaded.tool_history += [call(5), call(7)]
    return lambda: store.save(loaded)


def _replace(store: Any) -> Callable[[], object]:
    fresh = new_session()
    return lambda: store.save(fresh)


def _append(store: Any) -> Callable[[], object]:
    new, ran = message(6), call(5)
    return lambda: store.append(ID, new, tool_invocations=[ran])


def _checkpoint(store: Any) -> Callable[[], object]:
    loaded = store.load(ID)
    loaded.title = "after"
    loaded.tool_history.append(call(5))
    return lambda: store.checkpoint(loaded)


def _exchange(store: Any) -> Callable[[], object]:
    turns = message(6), message(7)
    return lambda: store.append(ID, *turns)


def _index(store: Any) -> Callable[[], object]:
    loaded = store.load(ID)

    def save() -> None:
        index = SessionIndex(store)
        index.add(loaded)
        index.save_if_dirty()

    return save


VERBS: dict[str, Callable[[Any], Callable[[], object]]] = {
    "create": _replace,
    "save": _save,
    "replace": _replace,
    "append": _append,
    "mend": _append,
    "exchange": _exchange,
    "checkpoint": _checkpoint,
    "amend": lambda store: lambda: store.amend(ID, title="after", status="paused"),
    "delete": lambda store: lambda: store.delete(ID),
    "recover": lambda store: lambda: store.recover_from_backup(ID),
    "repair": _replace,
    "index": _index,
}


def _careless_replace(path: str, chunks: Iterable[bytes], **_: object) -> os.stat_result:
    """What `replace` must not be: the old file is gone before the new one is there."""
    with open(path, "wb") as file:
        file.writelines(chunks)
    return os.stat(path)


def _careless_move(source: str, target: str) -> None:
    """What `move` must not be: what was there is gone before its copy has the name it is known
    by."""
    shutil.copytree(source, f"{target}.tmp")
    shutil.rmtree(source)
    os.rename(f"{target}.tmp", target)


def be_careless() -> None:
    """From now on no store of this process writes as it should."""
    for module in (document, log, folder):
        vars(module)["replace"] = _careless_replace


def be_careless_with_trash() -> None:
    """From now on the trash of this process moves nothing as it should."""
    trash_folder.move = _careless_move


def _act(url: str, verb: str, *flags: str) -> None:
    if "careless" in flags:
        be_careless()
    act = VERBS[verb](open_session_store(url))
    os.kill(os.getpid(), signal.SIGSTOP)
    try:
        said = "err: there was nothing to do" if act() is False else "ack"
    except CortextError as error:
        said = f"err {type(error).__name__}: {error}"
    os.access(MARK, os.F_OK)
    os.write(1, said.encode())


def _child(out: str, err: str, words: list[str]) -> None:
    """Never returns: what an interpreter does on its way out is no part of a verb."""
    for number, path in ((1, out), (2, err)):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), number)
    # Where only ancestors may trace a process, strace is none of ours.
    ctypes.CDLL(None).prctl(_PR_SET_PTRACER, ctypes.c_ulong(-1), 0, 0, 0)
    try:
        _act(*words)
    except BaseException:
        traceback.print_exc()
    os._exit(0)


def main(out: str, err: str) -> None:
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            _child(out, err, line.split())
        os.waitpid(pid, os.WUNTRACED)
        print(pid, flush=True)
        sys.stdin.readline()
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
