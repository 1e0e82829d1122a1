"""The real `llm`, with our plug-in and a model that repeats what it is told."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from cortext import paths
from cortext.adapters.llm.call_repair import INTERRUPTED
from cortext.model.message import SessionMessage
from cortext.model.session import Session
from cortext.stores.log import LogStore
from tests.adapters.llm.scenes import ok, program, sent

pytestmark = pytest.mark.usefixtures("echo")


def stored() -> list[Session]:
    store = LogStore(paths.program_sessions())
    return [store.load(id) for id in sorted(store.list_session_ids())]


def texts(session: Session) -> list[str]:
    return [message.content for message in session.messages]


def logged(query: str) -> list[tuple[str, ...]]:
    path = Path(ok("llm", "logs", "path"))
    with closing(sqlite3.connect(path)) as db:
        return db.execute(query).fetchall()


def test_plugin_stores_logged_conversation_for_list_search_and_resume() -> None:
    """Lists, searches, `show` and `resume` know it; `-c` adds to it, and nothing comes twice."""
    assert ok("llm", "-m", "echo", "where is my parcel") == "echo: where is my parcel"
    ok("llm", "-c", "and now")
    (session,) = stored()
    assert texts(session) == [
        "where is my parcel", "echo: where is my parcel", "and now", "echo: and now",
    ]  # fmt: skip
    assert (session.title, session.model) == ("where is my parcel", "echo")
    assert session.working_dir == str(Path.home() / "work")
    (row,) = json.loads(ok("cortext", "list", "--json"))
    assert (row["id"], row["title"]) == (session.id, "where is my parcel")
    assert session.id in ok("cortext", "search", "parcel")
    assert "echo: and now" in ok("cortext", "show", "parcel")
    assert "echo: and now" in ok("cortext", "resume", session.id, "--context")


def test_plugin_stores_tool_results_chats_and_async_prompts() -> None:
    """Calls have their results; a chat is kept as it goes; so is what is awaited."""
    ok("llm", "-m", "echo", "-T", "look_up", 'call look_up {"key": "x"};call look_up {"key": "y"}')
    (session,) = stored()
    assert [message.role for message in session.messages] == [
        "user", "assistant", "tool", "tool", "assistant",
    ]  # fmt: skip
    assert [message.tool_call_id for message in session.messages[2:4]] == ["c1-0", "c1-1"]
    ok("llm", "chat", "-m", "echo", text="one\ntwo\nquit\n")
    assert texts(stored()[1]) == ["one", "echo: one", "two", "echo: two"]
    ok("llm", "-m", "echo", "--async", "three")
    assert texts(stored()[2]) == ["three", "echo: three"]


def test_plugin_stores_nothing_when_llm_does_not_log() -> None:
    """Neither with --no-log, nor where logging is off, nor for --json."""
    ok("llm", "-m", "echo", "--no-log", "secret")
    assert "secret" in ok("llm", "-m", "echo", "--no-log", "--json", "secret")
    ok("llm", "logs", "off")
    ok("llm", "-m", "echo", "secret")
    assert not Path(paths.program_sessions()).exists()


def test_llm_answers_and_warns_when_plugin_cannot_write(data_home: Path) -> None:
    """It answers and logs; one line says what is wrong."""
    data_home.write_text("in the way")
    done = program("llm", "-m", "echo", "hello")
    assert (done.returncode, done.stdout.strip()) == (0, "echo: hello")
    assert "cortext could not store the conversation" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert logged("SELECT count(*) FROM turns") == [(1,)]


def test_continue_copies_any_conversation_into_llm_log() -> None:
    """One that was begun elsewhere, with a call that was cut off: `llm -c` has all of it, and what
    is said then is kept as a conversation that says where it comes from."""
    call = {"id": "toolu_1", "name": "Bash", "arguments": {"command": "ls"}}
    lost = {"id": "toolu_2", "name": "Bash", "arguments": {"command": "make"}}
    messages = [
        SessionMessage("user", "look around"),
        SessionMessage("assistant", "I do", tool_calls=[call]),
        SessionMessage("tool", "a b", tool_call_id="toolu_1"),
        SessionMessage("assistant", "", tool_calls=[lost]),
    ]
    ok("llm", "-m", "echo", "another, logged before")
    begun = Session("begun-elsewhere", title="the harbour works", messages=messages)
    LogStore(paths.program_sessions()).save(begun)
    id = ok("llm", "cortext", "continue", "harbour", "works", "-m", "echo")
    told = sent(ok("llm", "-c", "recall"))
    assert [message["role"] for message in told] == [
        "user", "assistant", "tool", "assistant", "tool", "user",
    ]  # fmt: skip
    assert told[4]["parts"][0]["output"] == INTERRUPTED
    made = LogStore(paths.program_sessions()).load(id)
    assert (made.parent_id, made.title) == ("begun-elsewhere", "the harbour works")
    assert texts(made)[:3] == ["look around", "I do", "a b"]
    assert texts(made)[5] == "recall"
    assert LogStore(paths.program_sessions()).load("begun-elsewhere") == begun
    assert ok("llm", "--cid", id, "more") == "echo: more"
    assert LogStore(paths.program_sessions()).load(id).message_count == 9
    turns = json.loads(ok("llm", "logs", "--cid", id, "--json"))
    assert [turn["response"] for turn in turns][2:] == ["echo: more"]
    assert {turn["conversation_name"] for turn in turns} == {"the harbour works"}


def test_continue_reads_claude_code_transcript() -> None:
    """Its transcript, as Claude Code writes it, is what `llm -c` goes on with."""
    folder = Path.home() / ".claude" / "projects" / "-work"
    folder.mkdir(parents=True)
    id = "11111111-2222-4333-8444-555555555555"
    shared = {"sessionId": id, "cwd": str(Path.home() / "work"), "isSidechain": False,
              "userType": "external", "version": "2.0.0"}  # fmt: skip
    asked = {"role": "user", "content": "paint the lighthouse"}
    said = {"role": "assistant", "model": "claude", "id": "m1", "type": "message",
            "content": [{"type": "text", "text": "Red or white?"}]}  # fmt: skip
    lines = [
        {**shared, "parentUuid": None, "type": "user", "message": asked, "uuid": "u1",
         "timestamp": "2026-01-02T03:04:05.000Z"},
        {**shared, "parentUuid": "u1", "type": "assistant", "message": said, "uuid": "u2",
         "timestamp": "2026-01-02T03:04:06.000Z"},
    ]  # fmt: skip
    (folder / f"{id}.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    try:
        ok("llm", "cortext", "continue", "lighthouse", "-m", "echo")
        told = sent(ok("llm", "-c", "recall"))
    finally:
        (folder / f"{id}.jsonl").unlink()
    assert [message["parts"][0]["text"] for message in told] == [
        "paint the lighthouse", "Red or white?", "recall",
    ]  # fmt: skip
    (session,) = stored()
    assert session.parent_id == id


def test_continue_prints_id_when_llm_already_has_conversation() -> None:
    """It is not logged twice: its id is said."""
    ok("llm", "-m", "echo", "where is my parcel")
    (session,) = stored()
    done = program("llm", "cortext", "continue", "parcel")
    assert (done.returncode, done.stdout.strip()) == (0, session.id)
    assert f"llm --cid {session.id}" in done.stderr
    assert logged("SELECT count(*) FROM threads") == [(1,)]
    logs = Path(ok("llm", "logs", "path"))
    logs.unlink()
    id = ok("llm", "cortext", "continue", "parcel", "-m", "echo")
    assert id != session.id
    assert len(sent(ok("llm", "-c", "recall"))) == 3


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("none", "like", "it"), "not found"),
        (("one",), "2 sessions match one"),
        (("one two", "-m", "nonesuch"), "no model nonesuch"),
        (("one two", "-m", "mute"), "does not support conversations"),
        (("empty",), "empty has no messages"),
        (("half", "-m", "echo"), "llm's log database refused it"),
    ],
)
def test_continue_refuses_in_one_sentence_and_logs_nothing(
    arguments: tuple[str, ...], why: str
) -> None:
    """One sentence, and nothing is logged."""
    store = LogStore(paths.program_sessions())
    for id, text in (("a1", "one two"), ("a2", "one three")):
        messages = [SessionMessage("user", text), SessionMessage("assistant", "yes")]
        store.save(Session(id, title=text, messages=messages))
    store.save(Session("empty", title="empty"))
    store.save(Session("half", messages=[SessionMessage("user", "half a character: \ud800")]))
    done = program("llm", "cortext", "continue", *arguments)
    assert done.returncode == 1
    assert why in done.stderr
    assert "Traceback" not in done.stderr
    if Path(ok("llm", "logs", "path")).exists():
        assert logged("SELECT count(*) FROM threads") == [(0,)]
