"""Several append to one session while the disk fails for one of them."""

import errno
import os
from contextlib import ExitStack
from itertools import chain
from pathlib import Path

import pytest

from cortext.errors import SessionStorageError
from cortext.model.session import Session
from cortext.stores.store_registry import open_session_store
from tests.faults.appends import SHARED
from tests.faults.promises import appending, go, lost
from tests.faults.verbs import message

pytestmark = pytest.mark.long

TIMES = 30


@pytest.mark.needs("strace", "to inject faults")
@pytest.mark.parametrize("kind", ["log", "workspace"])
def test_failing_syncs_of_one_appender_lose_no_acknowledged_message(
    kind: str, tmp_path: Path
) -> None:
    """Failing syncs of one appender cost nothing that any of the eight was promised."""
    url = f"{kind}:{tmp_path / 'store'}"
    store = open_session_store(url)
    store.save(Session(SHARED))
    trace = tmp_path / "trace"
    failing = ["strace", "-f", "-qq", "-o", str(trace), "-e", "trace=fdatasync"]
    failing += ["-e", "inject=fdatasync:error=EIO:when=2+3"]
    home = tmp_path / "home"
    makers = [appending(home, TIMES, "bad", url, under=failing)]
    makers += [appending(home, TIMES, f"good{number}", url) for number in range(7)]
    with ExitStack() as stack:
        processes = [stack.enter_context(maker) for maker in makers]
        for process in processes:
            go(process)
        ended = [process.communicate(timeout=60) for process in processes]

    assert [stderr for _, stderr in ended] == [""] * 8
    bad, *good = [stdout.splitlines() for stdout, _ in ended]
    assert all(line.startswith("ack") for lines in good for line in lines)
    assert sum(line.startswith("err") for line in bad) >= TIMES // 5
    assert [len(lines) for lines in good] == [TIMES] * 7
    assert sum(line.startswith("ack") for line in bad) == TIMES
    assert lost(chain(bad, *good), [url]) == []
    assert list((tmp_path / "store").rglob("*.torn*")) == []


@pytest.mark.parametrize("kind", ["log", "workspace"])
def test_message_of_undone_append_can_be_appended_by_other_writer(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line that another writer saw before it was taken back can be appended by that writer."""
    url = f"{kind}:{tmp_path / 'store'}"
    failing, other = open_session_store(url), open_session_store(url)
    failing.save(Session(SHARED, messages=[message(1)]))
    other.append(SHARED, message(1))

    def fail_while_the_other_looks(fd: int) -> None:
        monkeypatch.undo()
        other.append(SHARED, message(1))
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "fdatasync", fail_while_the_other_looks)
    with pytest.raises(SessionStorageError):
        failing.append(SHARED, message(2))
    other.append(SHARED, message(2))

    assert open_session_store(url).load(SHARED).messages == [message(1), message(2)]
    failing.close()
    other.close()
