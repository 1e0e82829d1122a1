"""Rows of OpenCode's database that no OpenCode wrote: what is wrong is named, the rest is kept."""

import json
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from cortext.errors import CortextError
from cortext.features.archive.archive_sync import sync
from cortext.tools.opencode.reader import OpenCodeBridge
from cortext.tools.reader_protocol import TranscriptSource
from cortext.tools.registry import open_bridge
from cortext.tools.transcript_folders import archive_home
from tests.command import cortext
from tests.tools.opencode.opencode_data import SCHEMA, START, Made, said, text

GOOD = [("user", "Hello?"), ("assistant", "Hello.")]
IDS = [None, "", "../../x", "a/b", "nul\0nul", "\x1b[2J", "x" * 5000, b"\xff\xfe", 5, 1.5, "-rf"]
TIMES = [None, -1, -(10**18), 10**18, 2**62, float("inf"), 1e300, "soon", b"\xff", "2026-01-02", ""]
DATA = [
    None,
    "",
    "not JSON",
    "[]",
    "5",
    "null",
    '"text"',
    "{",
    b"\xff\xfe\x00",
    "\0\0\0",
    5,
    1.5,
    "[" * 5000,
    '{"role": 5, "time": "soon", "parts": {}, "model": [], "tokens": 7, "cost": "x"}',
    '{"role": "user", "time": {"created": -1e300}}',
    '{"role": "assistant", "time": {"created": "x"}, "tokens": {"input": "x", "cache": []}}',
    '{"type": 5, "text": ["x"]}',
    '{"type": "tool", "callID": 5, "tool": null, "state": {"input": 5, "output": {}, "time": 7}}',
    '{"type": "tool", "state": "done"}',
    '{"type": "file", "mime": 5, "source": "x"}',
    '{"type": "text", "text": "\\ud800"}',
]


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Made:
    """A person's database with one good session in it."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    (tmp_path / "data").mkdir()
    made = Made(tmp_path / "data/opencode")
    made.session("ses_good")
    made.message("msg_g1", "user", text("Hello?"), session="ses_good")
    made.message("msg_g2", "assistant", text("Hello."), session="ses_good")
    return made


def insert(made: Made, table: str, **row: Any) -> None:
    marks = ", ".join("?" * len(row))
    with made.open() as db:
        db.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", list(row.values()))


def check(made: Made) -> dict[str, list[str]]:
    """All that people do with it, of every session; the damage that is named, by session."""
    bridge = open_bridge("opencode")
    assert isinstance(bridge, OpenCodeBridge)
    named: dict[str, list[str]] = {}
    for source in list(bridge.sources()):
        try:
            bridge.glance(source)
            named[source.id] = [str(damage) for damage in bridge.decode(source).damages]
            if mark := bridge.latest(source):
                bridge.changed(source, mark)
        except (CortextError, OSError) as error:
            assert source.id != "ses_good"
            named[source.id] = [str(error)]
    assert said(bridge.decode(made.source("ses_good"))) == GOOD
    result = sync(tools=["opencode"])
    copies = OpenCodeBridge(archive_home("opencode"))
    copied = {source.id: source for source in copies.sources()}
    assert said(copies.decode(copied["ses_good"])) == GOOD
    for source in copied.values():
        copies.glance(source)
        copies.decode(source)
    again = sync(tools=["opencode"])
    assert (again.changed, len(again.errors)) == (0, len(result.errors))
    assert not os.path.exists(os.path.join(os.path.dirname(archive_home("x")), "x"))
    return named


def run(made: Made, *words: str) -> str:
    """A command, with or without success, and never with a traceback or a code in what it says."""
    done = cortext(made.home.parent.parent, *words)
    assert "Traceback" not in done.stderr, done.stderr
    assert done.returncode in (0, 1, 3, 4, 5), done
    assert "\x1b" not in done.stdout + done.stderr
    return done.stdout


def everything(made: Made) -> None:
    """The commands, for a conversation that is whole."""
    assert "A title" in run(made, "list", "--all")
    assert "Hello." in run(made, "show", "ses_good")
    run(made, "resume", "ses_good")
    run(made, "resume", "ses_good", "--tool", "opencode", "--print", "--write")


def test_unreadable_message_and_part_rows_are_reported(made: Made) -> None:
    """Of a message, and of a part: each row that cannot be read is named, none hides another."""
    made.session("ses_bad")
    made.message("msg_b0", "user", text("First."), session="ses_bad")
    for number, data in enumerate(DATA):
        row = {"session_id": "ses_bad", "time_created": START + number, "time_updated": START}
        insert(made, "message", id=f"msg_b1_{number:02}", data=data, **row)
        insert(made, "part", id=f"prt_b1_{number:02}", message_id="msg_b0", data=data, **row)
    made.message("msg_b2", "assistant", text("Last."), session="ses_bad")
    named = check(made)
    assert named["ses_good"] == []
    assert len(named["ses_bad"]) > len(DATA)
    decoded = made.decode("ses_bad")
    assert said(decoded)[-1] == ("assistant", "Last.")
    assert any("First." in words for _, words in said(decoded))
    everything(made)
    run(made, "show", "ses_bad")
    run(made, "resume", "ses_bad")


def test_session_columns_with_wrong_types_hide_no_message(made: Made) -> None:
    """Each column of a session may hold anything."""
    odd = ["{", 5, b"\xff\x00", "\x1b]0;x\x07", "\udc80".encode("utf-8", "surrogateescape"), -1.5]
    names = ("parent_id", "directory", "title", "version", "revert")
    for number, value in enumerate(odd):
        for name in names:
            id = f"ses_{name}_{number}"
            made.session(id, **{name: value})
            made.message(f"msg_{id}", "user", text("Still here."), session=id)
    named = check(made)
    assert set(named) >= {f"ses_title_{number}" for number in range(len(odd))}
    assert "title has an unexpected value" in named["ses_title_2"][0]
    for number in range(len(odd)):
        assert said(made.decode(f"ses_title_{number}")) == [("user", "Still here.")]
    everything(made)


@pytest.mark.parametrize("table", ["session", "message", "part"])
def test_invalid_ids_reach_no_command_and_no_file_outside_archive(made: Made, table: str) -> None:
    """NULL, numbers, bytes, paths, terminal codes, NULs: nothing is written outside the archive,
    and no command is given one of them."""
    for number, id in enumerate(IDS):
        times = {"time_created": START + number, "time_updated": START + number}
        if table == "session":
            insert(made, table, id=id, title=f"T{number}", directory="/x", version="1", **times)
            insert(made, "message", id=f"m{number}", session_id=id, data='{"role":"user"}', **times)
            row = {"message_id": f"m{number}", "session_id": id, **times}
            insert(made, "part", id=f"p{number}", data=json.dumps(text("Words.")), **row)
        elif table == "message":
            data = json.dumps({"role": "user", "time": {"created": START}})
            insert(made, table, id=id, session_id="ses_other", data=data, **times)
            row = {"message_id": id, "session_id": "ses_other", **times}
            insert(made, "part", id=f"p{number}", data=json.dumps(text("Words.")), **row)
        else:
            data = json.dumps(text(f"Words {number}."))
            insert(
                made, table, id=id, message_id="msg_o", session_id="ses_other", data=data, **times
            )
    if table != "session":
        made.session("ses_other")
        made.message("msg_o", "user", text("Mine."), session="ses_other")
    check(made)
    if table != "session":
        assert any("Mine." in words for _, words in said(made.decode("ses_other")))
    everything(made)
    if table == "session":
        for id in ("../../x", "a/b", "-rf", "5", "\x1b[2J"):
            run(made, "show", "--", id)
            run(made, "resume", "--tool", "opencode", "--print", "--write", "--", id)


def test_invalid_times_hide_no_session(made: Made) -> None:
    """Before the year 0, after 9999, words, bytes: sorted somewhere, shown somehow."""
    for number, when in enumerate(TIMES):
        id = f"ses_t{number}"
        times = {"time_created": when, "time_updated": when}
        insert(made, "session", id=id, title=f"T{number}", directory="/x", version="1", **times)
        data = json.dumps({"role": "user", "time": {"created": START}})
        insert(made, "message", id=f"m{number}", session_id=id, data=data, **times)
        part = json.dumps(text("Words."))
        insert(
            made,
            "part",
            id=f"p{number}",
            message_id=f"m{number}",
            session_id=id,
            data=part,
            **times,
        )
    named = check(made)
    assert set(named) >= {f"ses_t{number}" for number in range(len(TIMES))}
    for number in range(len(TIMES)):
        assert said(made.decode(f"ses_t{number}")) == [("user", "Words.")]
    everything(made)


def test_orphan_rows_and_parent_cycles_are_tolerated(made: Made) -> None:
    """A part without its message, a message without its session, a session that is its own
    parent, and two that are each other's."""
    row = {"time_created": START, "time_updated": START}
    insert(made, "part", id="p1", message_id="gone", session_id="ses_good", data="{}", **row)
    insert(made, "part", id="p2", message_id=None, session_id=None, data="{}", **row)
    insert(made, "message", id="m1", session_id="gone", data='{"role":"user"}', **row)
    insert(made, "message", id="m2", session_id=None, data=None, **row)
    made.session("ses_self", parent_id="ses_self")
    made.session("ses_a", parent_id="ses_b")
    made.session("ses_b", parent_id="ses_a")
    [lost] = check(made)["ses_good"]
    assert "ignored parts without a message: 1" in lost
    everything(made)


ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT {} FROM n"
COLUMNS = """
    {0} AS id, {0} AS session_id, {0} AS message_id, NULL AS parent_id, {0} AS directory,
    {0} AS title, '1' AS version, 1 AS time_created, 1 AS time_updated, {0} AS data"""
TABLES = ("session", "message", "part")


def make_pipe(path: Path) -> None:
    os.mkfifo(path)


def make_database(path: Path, script: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.executescript(script)


def make_pipe_beside(path: Path) -> None:
    make_database(path, f"PRAGMA journal_mode=WAL; {SCHEMA}")
    os.mkfifo(f"{path}-wal")
    Path(f"{path}-shm").touch()


def make_endless_views(path: Path) -> None:
    query = ENDLESS.format(COLUMNS.format("i"))
    make_database(path, "".join(f"CREATE VIEW {table} AS {query};" for table in TABLES))


def make_large_views(path: Path) -> None:
    query = f"SELECT {COLUMNS.format('zeroblob(900000000)')}"
    make_database(path, "".join(f"CREATE VIEW {table} AS {query};" for table in TABLES))


def fill(path: Path, schema: str, sessions: int) -> None:
    """As many sessions, each with one message."""
    numbers = (
        f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {sessions})"
    )
    make_database(
        path,
        f"""
        {schema}
        INSERT INTO session (id, directory, title) {numbers} SELECT i, '/x', 'T' FROM n;
        INSERT INTO message (id, session_id, time_created) {numbers} SELECT i, i, 1 FROM n;
        """,
    )


def make_computed_columns(path: Path) -> None:
    computed = "data TEXT AS (hex(zeroblob(400000000)))"
    fill(path, SCHEMA.replace("data TEXT", computed), 500)


def make_quadratic_rows(path: Path) -> None:
    """No index leads from a session to its messages."""
    fill(path, SCHEMA, 20_000)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (make_pipe, "not a regular file"),
        (make_pipe_beside, "not a regular file"),
        (make_endless_views, "`session` is not a plain table"),
        (make_large_views, "`session` is not a plain table"),
        (make_computed_columns, "`message` is not a plain table"),
        (make_quadratic_rows, "reading takes too long for a database of this size"),
    ],
)
def test_hostile_database_hangs_no_command(
    made: Made, make: Callable[[Path], None], reason: str
) -> None:
    hostile = made.home / "opencode-hostile.db"
    make(hostile)
    home = made.home.parent.parent
    listed = cortext(home, "list", "--all")
    assert "A title" in listed.stdout
    assert f"skipped {hostile}: {reason}" in listed.stderr
    assert f"{hostile} cannot be read: {reason}" in run(made, "doctor")
    assert f"not copied: {hostile}: {reason}" in cortext(home, "sync").stderr
    assert f"skipped {hostile}: {reason}" in cortext(home, "scan").stderr
    assert "A title" in run(made, "search", "Hello")
    assert "A title" in run(made, "resume", "--list", "--all")
    assert "opencode" in run(made, "stats", "--all").lower()
    assert "Hello." in run(made, "show", "ses_good")


@pytest.mark.slow
def test_text_of_100_megabytes_is_listed_shown_and_archived(made: Made) -> None:
    """It is listed at once, shown, copied and found again."""
    long = "x" * 100_000_000
    made.session("ses_long")
    made.message("msg_l", "user", text(long), session="ses_long")
    check(made)
    assert made.decode("ses_long").session.messages[0].content == long
    everything(made)


def test_unknown_session_raises_file_not_found_with_sentence(made: Made) -> None:
    """It went away between the list and the look."""
    bridge = OpenCodeBridge(str(made.home))
    gone = TranscriptSource("opencode", "ses_gone", str(made.path), 0, "x", "/x")
    for look in (bridge.glance, bridge.decode):
        with pytest.raises(FileNotFoundError, match="has no session ses_gone"):
            look(gone)
