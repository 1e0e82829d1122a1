"""OpenCode's sessions, recorded and made up, from its database and from its files."""

import json
import logging
import os
import shutil
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from cortext.errors import SessionCorruptedError
from cortext.formats.history_in_order import history
from cortext.tools.opencode.reader import OpenCodeBridge
from cortext.tools.reader_protocol import Bridge, TranscriptSource
from tests.tools.opencode.opencode_data import (
    GOLDEN,
    START,
    VERSIONS,
    Made,
    as_files,
    recorded,
    said,
    text,
    tool,
    write,
)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("kind", ["database", "files", "first files"])
def test_golden_opencode_sessions_decode_word_for_word(
    tmp_path: Path, version: str, kind: str
) -> None:
    """A recorded conversation is there word for word, from rows and from both trees of files,
    and a glance says what decoding says."""
    bridge: Bridge = recorded(version, tmp_path)
    if kind == "files":
        as_files(tmp_path / "opencode.db", tmp_path / "storage")
    elif kind == "first files":
        as_files(tmp_path / "opencode.db", tmp_path / "project/home-you/storage", first=True)
    truth = json.loads((GOLDEN / version / "said.json").read_text("utf-8"))
    sources = list(bridge.sources())
    assert [source.id for source in sources] == list(truth)
    for source in sources:
        decoded, glance = bridge.decode(source), bridge.glance(source)
        session = decoded.session
        assert [[r, t] for r, t in said(decoded) if t and r != "tool"] == truth[source.id]
        assert decoded.damages == []
        [result] = [m.content for m in session.messages if m.role == "tool"]
        assert "1: The parser is slow.\n2: The cache is never emptied." in result
        assert (session.agent, session.kind) == ("opencode", "chat")
        assert session.native[0]["session_id"] == source.id
        assert (session.total_prompt_tokens, session.total_completion_tokens) == (77, 49)
        assert session.working_dir == source.cwd == glance.cwd == "/home/you/project"
        assert session.metadata["tool_version"] == version == glance.version
        assert (glance.title, glance.model) == (session.title, session.model)
        assert (glance.title, glance.model) == ("A title", "stub-1")
        assert (glance.started_at, glance.updated_at) == (session.created_at, session.updated_at)


def test_reading_database_writes_no_file(tmp_path: Path) -> None:
    """Reading a database that nobody has open leaves no file beside it and no byte changed."""
    made = Made(tmp_path)
    made.session()
    made.message("msg_1", "user", text("hi"))
    before = made.path.read_bytes()
    assert os.listdir(tmp_path) == ["opencode.db"]
    bridge = OpenCodeBridge(str(tmp_path))
    for source in bridge.sources():
        bridge.glance(source)
        bridge.decode(source)
    assert os.listdir(tmp_path) == ["opencode.db"]
    assert made.path.read_bytes() == before


def test_database_in_read_only_folder_is_read(tmp_path: Path) -> None:
    """A database in a folder that cannot be written is read."""
    made = Made(tmp_path / "sealed")
    made.session()
    made.message("msg_1", "user", text("hi"))
    os.chmod(made.path, 0o400)
    os.chmod(made.home, 0o500)
    try:
        assert said(made.decode()) == [("user", "hi")]
    finally:
        os.chmod(made.home, 0o700)


def test_rows_of_running_opencode_are_read_without_blocking_writer(tmp_path: Path) -> None:
    """What a running OpenCode has written and not yet put into the database itself is read,
    it is not kept from writing, and the print changes."""
    made = Made(tmp_path)
    made.session()
    bridge = OpenCodeBridge(str(tmp_path))
    with made.open() as writer:
        row = ("ses_1", START, START, json.dumps({"role": "user", "time": {"created": START}}))
        writer.execute("INSERT INTO message VALUES ('msg_1', ?, ?, ?, ?)", row)
        [before] = bridge.sources()
        part = ("msg_1", "ses_1", START, START, json.dumps(text("hello")))
        writer.execute("INSERT INTO part VALUES ('prt_1', ?, ?, ?, ?, ?)", part)
        [after] = bridge.sources()
        writer.execute("BEGIN IMMEDIATE")
        assert said(bridge.decode(after)) == [("user", "hello")]
        writer.execute("ROLLBACK")
        assert before.print != after.print
        assert sorted(os.listdir(tmp_path)) == [f"opencode.db{end}" for end in ("", "-shm", "-wal")]


def test_rows_in_log_of_killed_opencode_are_read(tmp_path: Path) -> None:
    """What a killed OpenCode left in the log beside the database is read."""
    made = Made(tmp_path / "live")
    with made.open() as writer:
        writer.execute("INSERT INTO session (id, title) VALUES ('ses_1', 'Last words')")
        shutil.copytree(made.home, tmp_path / "left")
    (tmp_path / "left" / "opencode.db-shm").unlink()
    bridge = OpenCodeBridge(str(tmp_path / "left"))
    assert [bridge.glance(source).title for source in bridge.sources()] == ["Last words"]


def test_opencode_tool_calls_are_shown_by_kind(tmp_path: Path) -> None:
    """A shell call, an edit, a read and a call without a result are told by their kind."""
    made = Made(tmp_path)
    made.session()
    edit = {"filePath": "a.py", "oldString": "x", "newString": "y"}
    made.message(
        "msg_1",
        "assistant",
        text("On it."),
        tool("bash", {"command": "make"}, "no rule", "a", metadata={"exit": 2, "output": "…"}),
        tool("edit", edit, "", "b"),
        tool("read", {"filePath": "b.py"}, "text", "c"),
        tool("write", {"filePath": "c.py", "content": "1\n2\n"}, None, "d", status="running"),
    )
    told = history(made.decode().session, lambda number: f"show {number}")
    assert told[0].past.text == "On it."
    assert told[1].past.text.split("\n") == [
        "bash · show 1, result: message 2",
        "  $ make",
        "  exit code 2",
        "  > no rule",
        "edit · a.py +1 −1 · show 1, result: message 3",
        "  + y",
        "read · b.py · show 1, result: message 4",
        "write · c.py +2 −? · show 1",
        "  + 1",
        "  no result was recorded",
    ]


def test_text_after_call_starts_new_message_with_stable_ids(tmp_path: Path) -> None:
    """Text after a call begins a new message; ids stay when more is said."""
    made = Made(tmp_path)
    made.session()
    parts = [text("a"), tool("ls", {}, "1", "c1"), tool("ls", {}, "2", "c2"), text("b")]
    made.message("msg_1", "assistant", *parts, {"type": "reasoning", "text": "hm"})
    first = made.decode()
    assert said(first) == [("assistant", "a"), ("tool", "1"), ("tool", "2"), ("assistant", "b")]
    made.message("msg_2", "user", text("more"))
    ids = [message.id for message in made.decode().session.messages]
    assert ids[:4] == [message.id for message in first.session.messages]
    assert len(set(ids)) == 5


def test_reverted_messages_and_parts_are_left_out(tmp_path: Path) -> None:
    """What was taken back, from a message or from a part of one, is not on the live branch."""
    made = Made(tmp_path)
    made.session(revert=json.dumps({"messageID": "msg_2", "snapshot": "x"}))
    made.session("ses_2", revert=json.dumps({"messageID": "msg_4", "partID": "prt_msg_4_1"}))
    made.message("msg_1", "user", text("one"))
    made.message("msg_2", "user", text("two"))
    made.message("msg_3", "user", text("three"), session="ses_2")
    made.message("msg_4", "assistant", text("x"), tool("ls", {}, ""), session="ses_2")
    made.message("msg_5", "user", text("four"), session="ses_2")
    assert said(made.decode()) == [("user", "one")]
    assert said(made.decode("ses_2")) == [("user", "three"), ("assistant", "x")]


def test_compaction_summary_is_left_out_and_earlier_messages_stay(tmp_path: Path) -> None:
    """A summary is left out, where it stood is noted, and what it sums up is still there."""
    made = Made(tmp_path)
    made.session()
    made.message("msg_1", "user", text("one"))
    made.message("msg_2", "assistant", text("1"))
    made.message("msg_3", "user", {"type": "compaction", "auto": True})
    made.message("msg_4", "assistant", text("Goal: …"), summary=True)
    made.message("msg_5", "user", text("Continue if you have next steps", synthetic=True))
    made.message("msg_6", "user", text("two"), summary={"diffs": [{"file": "a"}]})
    made.message("msg_7", "assistant", text("again"), summary=True)
    decoded = made.decode()
    assert said(decoded) == [("user", "one"), ("assistant", "1"), ("user", "two")]
    assert decoded.session.metadata["compactions"] == [2, 3]


def test_opencode_sub_agents_are_decoded_separately(tmp_path: Path) -> None:
    """Sub-agents stand apart, with their parent's id; one whose parent is gone is listed."""
    made = Made(tmp_path)
    made.session()
    made.session("ses_2", parent_id="ses_1", title="Child session - 2026-01-02T03:04:05.000Z")
    made.session("ses_3", parent_id="ses_2")
    made.session("ses_4", parent_id="ses_gone")
    made.message("msg_1", "user", text("dig\ndeep"), session="ses_2")
    bridge = OpenCodeBridge(str(tmp_path))
    assert [source.id for source in bridge.sources()] == ["ses_1", "ses_4"]
    side = made.decode().side
    assert [(one.id, one.parent_id) for one in side] == [("ses_2", "ses_1"), ("ses_3", "ses_2")]
    assert side[0].title == "dig"
    as_files(made.path, tmp_path / "storage")
    assert [source.id for source in bridge.sources()] == ["ses_1", "ses_4"]
    [root, _] = bridge.sources()
    assert [one.id for one in bridge.decode(root).side] == ["ses_2", "ses_3"]


def test_files_become_placeholders_and_synthetic_text_is_left_out(tmp_path: Path) -> None:
    """Files are placeholders; what the program put beside a person's words is left out."""
    made = Made(tmp_path)
    made.session(title="New session - 2026-01-02T03:04:05.000Z")
    picture = {"type": "file", "mime": "image/png", "filename": "a.png", "url": "data:…"}
    source = {"type": "file", "mime": "text/plain", "source": {"path": "src/b.py"}, "url": "file:"}
    aside = text("Called the Read tool", synthetic=True)
    made.message("msg_1", "user", aside, text("see"), picture, source)
    attached = [{"type": "file", "mime": "application/pdf"}]
    made.message("msg_2", "assistant", tool("read", {}, "ok", attachments=attached))
    made.message("msg_3", "assistant", tool("ls", {}, None, "e", status="error", error="no"))
    decoded = made.decode()
    assert said(decoded) == [
        ("user", "see\n[image: a.png]\n[file: src/b.py]"),
        ("assistant", ""),
        ("tool", "ok\n[file: application/pdf]"),
        ("assistant", ""),
        ("tool", "no"),
    ]
    assert decoded.session.messages[-1].structured_data == {"is_error": True}
    assert decoded.session.title == "see"


def test_tokens_and_cost_are_summed_from_messages(tmp_path: Path) -> None:
    """Tokens and cost are summed where the release kept no sums."""
    made = Made(tmp_path)
    made.session()
    tokens = {"input": 10, "output": 3, "reasoning": 2, "cache": {"read": 5, "write": 1}}
    for id in ("msg_1", "msg_2"):
        made.message(id, "assistant", text("x"), tokens=tokens, cost=0.25)
    session = made.decode().session
    assert (session.total_prompt_tokens, session.total_completion_tokens) == (32, 10)
    assert session.metadata["cost_usd"] == 0.5


def test_messages_of_first_releases_are_decoded(tmp_path: Path) -> None:
    """Messages that hold their parts themselves, as in the first releases, are read."""
    made = Made(tmp_path)
    made.session()
    old = {"toolCallId": "c", "toolName": "bash", "args": {"command": "ls"}, "result": "a b"}
    parts = [text("ok"), {"type": "tool-invocation", "toolInvocation": old}]
    spent = {"modelID": "older", "cost": 0.5, "tokens": {"input": 1, "output": 2}}
    made.message("msg_1", "assistant", parts=parts, modelID=None, metadata={"assistant": spent})
    decoded = made.decode()
    assert said(decoded) == [("assistant", "ok"), ("tool", "a b")]
    assert (decoded.session.model, decoded.session.total_tokens) == ("older", 3)


def test_bad_rows_and_unknown_parts_hide_only_themselves(tmp_path: Path) -> None:
    """Bad rows, NULs, other kinds of fields and of parts each hide only themselves."""
    made = Made(tmp_path)
    made.session(revert="{", version=None)
    made.message(
        "msg_1", "user", text("one"), "{bad", b"\0\0\0\0", b'{"type":"text","text":"\xff"}'
    )
    made.message("msg_2", "dreamer", text("no"))
    made.message("msg_3", "assistant", {"type": "hologram"}, text("1", time="now"), "[1]")
    made.message("msg_4", "assistant", tool("ls", [1], "out", "c", time={"start": "x"}), time=7)
    decoded = made.decode()
    said_after = [("user", "one"), ("assistant", "1"), ("assistant", ""), ("tool", "out")]
    assert said(decoded) == said_after
    named = {damage.detail.partition(":")[0] for damage in decoded.damages if damage.fatal}
    assert named == {"prt_msg_1_1", "prt_msg_1_2", "prt_msg_1_3", "prt_msg_3_2"}


def test_decode_with_longest_keeps_only_ends_of_huge_result(tmp_path: Path) -> None:
    """With `longest` only the ends of a result are kept."""
    made = Made(tmp_path)
    made.session()
    made.message("msg_1", "assistant", tool("bash", {}, "z" * 3_000_000 + "end"))
    bridge = OpenCodeBridge(str(tmp_path))
    assert len(bridge.decode(made.source()).session.messages[1].content) == 3_000_003
    short = bridge.decode(made.source(), longest=1000).session.messages[1].content
    assert short.endswith("end")
    assert len(short) < 1100


def test_missing_session_or_database_raises_file_not_found_error(tmp_path: Path) -> None:
    """A session that is gone, or its database, or its file, is a FileNotFoundError."""
    made = Made(tmp_path)
    bridge = OpenCodeBridge(str(tmp_path))
    file = TranscriptSource(
        "opencode", "ses_1", str(tmp_path / "storage/session/x/ses_1.json"), 0, "x"
    )
    for source in (made.source(), file, replace(made.source(), path=str(tmp_path / "no.db"))):
        for read in (bridge.glance, bridge.decode):
            with pytest.raises(FileNotFoundError):
                read(source)


def test_broken_database_is_logged_and_hides_no_other_session(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A database or a session file of zeros is said in the log, and hides no other session."""
    made = Made(tmp_path)
    made.session()
    broken = tmp_path / "opencode-dev.db"
    broken.write_bytes(b"not a database" * 1000)
    write(tmp_path / "storage/session/global/ses_2.json", "\0" * 200)
    write(tmp_path / "storage/session/global/ses_3.json", '{"title": "left over"}')
    write(tmp_path / "storage/session/global/ses_1.json", '{"title": "taken over"}')
    with caplog.at_level(logging.WARNING):
        sources = list(OpenCodeBridge(str(tmp_path)).sources())
    assert [source.id for source in sources] == ["ses_1", "ses_3"]
    assert "opencode-dev.db" in caplog.text
    assert "ses_2.json" in caplog.text
    with pytest.raises(SessionCorruptedError):
        OpenCodeBridge(str(tmp_path)).glance(replace(made.source(), path=str(broken)))


def test_sources_follow_environment_variables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The data folder and the database that the environment names are looked at."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    Made(tmp_path / "opencode").session("ses_1")
    Made(tmp_path / "elsewhere", "mine.sqlite").session("ses_2")
    monkeypatch.setenv("OPENCODE_DB", str(tmp_path / "elsewhere" / "mine.sqlite"))
    assert [source.id for source in OpenCodeBridge().sources()] == ["ses_1", "ses_2"]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = Made(tmp_path_factory.mktemp("tree"))
    made.session()
    made.message("msg_1", "user", text("one ÿ"))
    made.message("msg_2", "assistant", text("two"))
    as_files(made.path, made.home / "storage")
    return made.home


CUT = ["message/ses_1/msg_2", "part/msg_2/prt_msg_2_0"]


@given(at=st.integers(0, 200), name=st.sampled_from(CUT))
def test_session_file_cut_at_any_byte_hides_only_itself(tree: Path, at: int, name: str) -> None:
    """A file of the tree that ends at any byte hides only itself."""
    path = tree / "storage" / f"{name}.json"
    whole = path.read_bytes()
    path.write_bytes(whole[:at])
    try:
        bridge = OpenCodeBridge(str(tree))
        [source] = bridge.sources()
        decoded = bridge.decode(source)
        assert bridge.glance(source).title == "A title"
    finally:
        path.write_bytes(whole)
    expected = [("user", "one ÿ"), ("assistant", "two")]
    assert said(decoded) == expected[: 1 if decoded.damages else 2]
    assert bool(decoded.damages) == (at < len(whole))


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> tuple[Made, bytes]:
    made = Made(tmp_path_factory.mktemp("database"))
    made.session()
    for number in range(5):
        made.message(f"msg_{number}", "user", text(f"{number}" * 900))
    return made, made.path.read_bytes()


@settings(max_examples=300)
@given(at=st.integers(0, 40_000), junk=st.binary(min_size=1, max_size=64))
def test_damaged_database_raises_only_errors_that_name_database(
    database: tuple[Made, bytes], at: int, junk: bytes
) -> None:
    """Bytes that were written over a database never raise but as an error that names it."""
    made, whole = database
    at %= len(whole)
    made.path.write_bytes(whole[:at] + junk + whole[at + len(junk) :])
    list(OpenCodeBridge(str(made.home)).sources())
    told = ""
    try:
        assert len(made.decode().session.messages) <= 5
    except (SessionCorruptedError, FileNotFoundError) as error:
        told = str(error)
    assert not told or str(made.path) in told


def test_damaged_part_hides_only_its_own_message(tmp_path: Path) -> None:
    """Where the parts of one message cannot be read, all others still are, before and after."""
    made = Made(tmp_path / "opencode")
    made.session()
    for number in range(9):
        spot = f"middle of {number}"
        long = f"{'x' * 9_000}{spot}{'x' * 9_000}"
        made.message(f"msg_{number}", "assistant", text(f"Before {number}."), text(long))
    with made.open() as db:
        db.executescript("CREATE INDEX i ON part (message_id, id); PRAGMA journal_mode=DELETE;")
        (size,) = db.execute("PRAGMA page_size").fetchone()
    data = bytearray(made.path.read_bytes())
    start = data.index(b"middle of 4") // size * size
    data[start : start + 4] = b"\xff" * 4  # where the rest of that part goes on
    made.path.write_bytes(data)
    decoded = made.decode()
    told = [content for _, content in said(decoded)]
    assert [number for number in range(9) if f"middle of {number}" in "".join(told)] == [
        0, 1, 2, 3, 5, 6, 7, 8,
    ]  # fmt: skip
    assert [damage for damage in map(str, decoded.damages) if "malformed" in damage]
    assert len(decoded.damages) == 1


@pytest.mark.parametrize("indexed", [False, True])
def test_each_message_gets_its_own_parts_in_order(tmp_path: Path, indexed: bool) -> None:
    """Each has its own parts, in order, also those that have none and those of more bytes than
    are read at once."""
    made = Made(tmp_path / "opencode")
    made.session()
    expected: list[tuple[str, str]] = []
    for number in range(60):
        words = [f"{number}.{part} {'x' * (number * 700)}" for part in range(number % 4)]
        made.message(f"msg_{60 - number:02}", "user", *map(text, words[::-1]))
        expected += [("user", "\n".join(words[::-1]))] if words else []
    with made.open() as db:
        if indexed:
            db.execute("CREATE INDEX i ON part (message_id, id)")
    assert said(made.decode()) == expected
