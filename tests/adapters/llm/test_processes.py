"""Several processes on one conversation, and processes that die."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from cortext import paths
from cortext.adapters.llm import CortextLog
from cortext.adapters.llm.call_repair import INTERRUPTED
from cortext.stores.log import LogStore
from tests.adapters.children import dies, start
from tests.adapters.llm.scenes import look_up, model, pay, sent

WRITERS, EACH = 8, 10


def all_write(what: str, place: Path) -> list[list[str]]:
    """What each of eight processes was told is kept."""
    children = [
        start("llm", what, str(place), f"w{number}", str(EACH)) for number in range(WRITERS)
    ]
    done = [(child.communicate(timeout=100), child.returncode) for child in children]
    assert [(code, errors) for (_, errors), code in done] == [(0, "")] * WRITERS
    acknowledged = [said.split() for (said, _), _ in done]
    assert [len(each) for each in acknowledged] == [EACH] * WRITERS
    return acknowledged


def are_there(acknowledged: list[list[str]], texts: list[str]) -> None:
    for each in acknowledged:
        begins = each[0].partition("-")[0] + "-"
        assert [text for text in texts if text.startswith(begins)] == each
        assert [text for text in texts if text.startswith(f"echo: {begins}")] == [
            f"echo: {text}" for text in each
        ]


def test_eight_processes_prompt_in_one_conversation_without_loss(tmp_path: Path) -> None:
    """Nobody fails, and what was acknowledged is there once, in each writer's order."""
    acknowledged = all_write("write", tmp_path / "kept")
    stored = LogStore(tmp_path / "kept").load("shared")
    are_there(acknowledged, [message.content for message in stored.messages])
    assert stored.message_count == 2 * WRITERS * EACH
    told = sent(
        CortextLog(tmp_path / "kept").conversation("shared", model()).prompt("recall").text()
    )
    assert len(told) == 2 * WRITERS * EACH + 1


def test_eight_processes_log_through_plugin_without_loss(tmp_path: Path) -> None:
    """With the plug-in nothing is lost, neither of what we keep nor of what llm logs, though all
    make the database and the conversation at the same moment."""
    path = tmp_path / "logs.db"
    acknowledged = all_write("log_as_llm_does", path)
    stored = LogStore(paths.program_sessions()).load("shared")
    are_there(acknowledged, [message.content for message in stored.messages])
    with closing(sqlite3.connect(path)) as db:
        (turns,) = db.execute("SELECT count(*) FROM turns").fetchone()
    assert turns == WRITERS * EACH


def test_model_is_told_of_interrupted_calls_after_crash(tmp_path: Path) -> None:
    """Killed while a tool is at work: the conversation goes on, and the model is told."""
    dies("llm", "begin_and_crash", tmp_path)
    conversation = CortextLog(tmp_path).conversation("s", model(), tools=[look_up])
    assert conversation.chain("what happened?").text() == "echo: what happened?"
    told = sent(conversation.prompt("recall").text())
    assert [message["role"] for message in told] == [
        "user", "assistant", "tool", "user", "assistant", "user",
    ]  # fmt: skip
    assert [part["output"] for part in told[2]["parts"]] == [INTERRUPTED, INTERRUPTED]
    # Nothing of that is written: what was not recorded is not recorded.
    assert all(message.role != "tool" for message in CortextLog(tmp_path).messages("s"))


def test_pending_call_is_approved_in_another_process_after_crash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A call waits, its process is killed, and the call is approved here. What was done beside it
    is not done again."""
    dies("llm", "wait_and_crash", tmp_path)
    log = CortextLog(tmp_path)
    assert [(row.id, row.waits) for row in log.conversations(owner="ada")] == [("s", True)]
    asked: list[str] = []

    def look_up_again(key: str) -> str:
        asked.append(key)
        return look_up(key)

    look_up_again.__name__ = "look_up"
    conversation = log.conversation("s", model(), tools=[look_up_again, pay])
    waiting = conversation.waiting()
    assert waiting is not None
    assert (waiting.name, waiting.arguments) == ("pay", {"amount": 3})
    monkeypatch.setitem(os.environ, "APPROVED", "1")
    assert conversation.go_on().text() == "got paid 3"
    assert asked == []
    assert conversation.waiting() is None
    assert [row.waits for row in log.conversations()] == [False]
    told = sent(log.conversation("s", model()).prompt("recall").text())
    assert [message["role"] for message in told] == [
        "user",
        "assistant",
        "tool",
        "assistant",
        "user",
    ]
    assert [part["output"] for part in told[2]["parts"]] == ["found x", "paid 3"]


def test_new_prompt_clears_pending_call_and_model_is_told(tmp_path: Path) -> None:
    """Whoever goes on otherwise is understood: nothing waits any more, and the model is told."""
    dies("llm", "wait_and_crash", tmp_path)
    log = CortextLog(tmp_path)
    told = sent(log.conversation("s", model()).prompt("recall").text())
    assert [part["output"] for part in told[2]["parts"]] == ["found x", INTERRUPTED]
    assert [row.waits for row in log.conversations()] == [False]
