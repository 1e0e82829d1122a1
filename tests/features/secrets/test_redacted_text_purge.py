"""Several who mask something at once: the note of what is to be forgotten is whole."""

import os
import subprocess
import sys
import threading
from types import SimpleNamespace
from typing import Any

from cortext import paths
from cortext.features.secrets.redacted_text_purge import is_unfinished, purge_after, purge_words


def row(id: str) -> Any:
    return SimpleNamespace(identity=("tool", id))


def noted(id: str) -> bool:
    with open(paths.unfinished_redact(), encoding="utf-8") as note:
        return f'"{id}"' in note.read()


def test_second_purge_waits_for_first_purge() -> None:
    """The second waits, and its note is there until it is done itself."""
    order: list[str] = []
    inside = threading.Event()

    def second() -> None:
        inside.wait(60)
        with purge_after([row("two")]):
            order.append("second")
            assert noted("two")
            assert not is_unfinished()
            order.append("noted")

    thread = threading.Thread(target=second)
    thread.start()
    with purge_after([row("one")]):
        inside.set()
        thread.join(0.3)
        assert noted("one")
        assert not noted("two")
        order.append("first")
    thread.join(60)
    assert order == ["first", "second", "noted"]
    assert not os.path.exists(paths.unfinished_redact())


def test_next_purge_completes_killed_purge() -> None:
    """What it noted is unfinished until somebody ends it; the next one takes it over."""
    code = (
        "import os\n"
        "from types import SimpleNamespace\n"
        "from cortext.features.secrets.redacted_text_purge import purge_after\n"
        "with purge_after([SimpleNamespace(identity=('tool', 'killed'))]):\n"
        "    os.kill(os.getpid(), 9)\n"
    )
    run = [sys.executable, "-c", code]
    assert subprocess.run(run, check=False, timeout=60).returncode == -9
    assert is_unfinished()
    with purge_after([row("next")]):
        assert noted("killed")
        assert noted("next")
        assert not is_unfinished()
    assert not is_unfinished()
    assert subprocess.run(run, check=False, timeout=60).returncode == -9
    purge_words()
    assert not is_unfinished()
    assert not os.path.exists(paths.unfinished_redact())
    assert os.path.dirname(paths.unfinished_redact()) == os.path.dirname(paths.redaction_key())
