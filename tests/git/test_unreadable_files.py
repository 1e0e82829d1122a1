"""Files of a conversation that the system does not let us read: it is said why, and git has none of
it rather than a part."""

import errno
import os
from typing import Any

import pytest

from cortext.git import files_to_commit
from tests.git.space import MESSAGES, PLACE, Space


@pytest.mark.parametrize("code", [errno.EMFILE, errno.EIO, errno.EACCES])
def test_record_names_unreadable_file_and_makes_no_commit(
    repository_space: Space, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    """Neither for a link nor for gone: git has all of a conversation, or the person knows why."""
    real = os.open

    def refuse(path: Any, *rest: Any, **named: Any) -> int:
        if os.path.basename(path) == "messages.jsonl":
            raise OSError(code, os.strerror(code), path)
        return real(path, *rest, **named)

    with monkeypatch.context() as patched:
        patched.setattr(os, "open", refuse)
        recorded = repository_space.record()
    why = os.strerror(code).lower()
    assert recorded.note == f"not recorded in git: could not read {PLACE}/{MESSAGES}: {why}"
    assert (recorded.outcome, repository_space.subject()) == ("failed", "theirs")
    assert repository_space.record().outcome == "committed"


def test_record_reports_full_disk_for_temporary_file(
    repository_space: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is an outcome like any other, and not an error that ends the command."""

    def full() -> Any:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(files_to_commit, "TemporaryFile", full)
    recorded = repository_space.record()
    assert recorded.outcome == "failed"
    assert recorded.note.endswith("a temporary file for git: no space left on device")
