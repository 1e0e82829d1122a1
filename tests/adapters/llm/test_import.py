"""What llm logged before our plug-in was there."""

import os
from pathlib import Path

import llm
import pytest

from cortext import paths
from cortext.adapters.llm import CortextLog
from cortext.adapters.llm.plugin import open_migrated
from cortext.features.transfer.import_sqlite import put_items, read_database
from cortext.formats.llm_package_messages import items_of
from cortext.stores.log import LogStore
from tests.adapters.llm.message_checks import MESSAGES
from tests.adapters.llm.scenes import dumped, model, ok

SAVED = MESSAGES[:-1]
"""The last one has half a character, which llm cannot log."""


def log_without_us(path: Path, id: str, *messages: llm.Message) -> llm.Conversation:
    """As llm does where we are not installed."""
    from llm.logs import LogStore as Theirs

    conversation = llm.Conversation(model=model(), id=id)
    response = conversation.prompt("then", messages=list(messages))
    response.text()
    db = open_migrated(str(path))
    Theirs(db).log(response)
    db.close()
    return conversation


def test_imported_messages_equal_llm_log_messages(tmp_path: Path) -> None:
    """All kinds of parts, attachments, and text of fragments."""
    from llm.logs import LogStore as Theirs

    path = tmp_path / "logs.db"
    conversation = log_without_us(path, "c1", *SAVED)
    db = open_migrated(str(path))
    told = conversation.prompt("see", fragments=["a long story", "another"])
    told.text()
    Theirs(db).log(told)
    (read,) = read_database(str(path))
    assert read.warnings == []
    found = [llm.Message.from_dict(item) for item in items_of(read.session.messages)]  # type: ignore[arg-type]
    assert dumped(found) == dumped(Theirs(db).thread_messages("c1"))
    assert dumped(found)[: len(SAVED)] == dumped(SAVED)
    assert "a long story\nanother\nsee" in [message.content for message in read.session.messages]
    assert read.session.title == "hello"
    db.close()


def test_import_adds_only_new_messages(tmp_path: Path) -> None:
    """By whichever way it is kept, a message is kept once; two that fork have all of both."""
    path = tmp_path / "logs.db"
    log_without_us(path, "c1", llm.user("one"), llm.assistant("1"))
    store = LogStore(tmp_path / "kept")
    (read,) = read_database(str(path))
    assert put_items(read.session, store)
    assert not put_items(read_database(str(path))[0].session, store)
    log_without_us(path, "c1", llm.user("one"), llm.assistant("1"), llm.user("two"))
    (again,) = read_database(str(path))
    assert put_items(again.session, store)
    assert [message.content for message in store.load("c1").messages] == [
        "one", "1", "then", "echo: then", "two", "then", "echo: then",
    ]  # fmt: skip
    conversation = CortextLog(tmp_path / "kept").conversation("c1", model())
    assert len(conversation.loaded_messages or ()) == 7


@pytest.mark.usefixtures("echo")
def test_import_and_keep_commands_store_each_message_once() -> None:
    """`cortext import` and `llm cortext keep` do the same, and again nothing."""
    os.environ["LLM_LOAD_PLUGINS"] = "llm-echo"
    try:
        ok("llm", "-m", "echo", "where is my parcel")
    finally:
        del os.environ["LLM_LOAD_PLUGINS"]
    assert not Path(paths.program_sessions()).exists()
    path = ok("llm", "logs", "path")
    assert ok("llm", "cortext", "keep").startswith("stored: 1 of 1")
    ok("llm", "-c", "and now")
    assert ok("llm", "cortext", "keep").startswith("stored: 0 of 1")
    assert ok("cortext", "import", path).startswith("already here: ")
    (id,) = LogStore(paths.program_sessions()).list_session_ids()
    assert LogStore(paths.program_sessions()).load(id).message_count == 4
