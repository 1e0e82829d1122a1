"""`aur spawn --list-sessions`, as people and programs see it."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unicodedata import east_asian_width

import pytest

from cortext import paths
from cortext.cli.views.spawn_list import HEADINGS
from cortext.features.spawn.open_spawn_session import SpawnSession
from tests.cli.list_terminal import harmless, terminal

AUR = str(Path(sys.executable).with_name("aur"))
NOW = datetime.now(UTC).replace(microsecond=0)
LIST = ("spawn", "--list-sessions")


def aur(*arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [AUR, *arguments],
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        timeout=60,
        stdin=subprocess.DEVNULL,
        check=False,
    )


def listed(*arguments: str) -> list[list[str]]:
    """The cells of the table, without the headings; titles are left out."""
    done = aur(*LIST, *arguments)
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
    first, *lines = done.stdout.splitlines() or [""]
    if lines:
        assert first.split() == list(HEADINGS)
    return [[line.split()[n] for n in (0, 1, 2, 5)] for line in lines]


def write(id: str, *ago: float, damaged: bool = False, **fields: Any) -> Path:
    """A session with turns that were so many days ago."""
    head = {"type": "metadata", "session_id": id, "agent": "qa-test", "status": "completed"}
    turns = [
        {"type": "turn", "role": "user", "content": "x",
         "timestamp": (NOW - timedelta(days=days)).isoformat()}
        for days in ago
    ]  # fmt: skip
    head |= {"created_at": (NOW - timedelta(days=max(ago, default=0))).isoformat(), **fields}
    path = Path(paths.spawn_sessions()) / f"{id}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(line) + "\n" for line in (head, *turns))
    path.write_text(text + "{broken\n" * damaged, encoding="utf-8")
    return path


@pytest.fixture
def sessions() -> Iterator[None]:
    """Three, of which one is open."""
    write("first", 9, 8, 1, agent="architect", title="The oldest, said to last")
    write("second", 5, 5, status="interrupted")
    session = SpawnSession.begin("qa-test", id="third", cwd="/x")
    yield
    session.close(completed=True)


@pytest.mark.usefixtures("sessions")
def test_spawn_list_table_shows_specified_columns_newest_first() -> None:
    """The latest, by its last turn, first; and how many there are."""
    assert listed() == [
        ["third", "qa-test", "0", "active"],
        ["first", "architect", "3", "completed"],
        ["second", "qa-test", "2", "interrupted"],
    ]
    done = aur(*LIST)
    assert done.stderr == "3 sessions\n"
    assert f"{NOW - timedelta(days=9):%Y-%m-%d %H:%M}" in done.stdout.splitlines()[2]


@pytest.mark.usefixtures("sessions")
@pytest.mark.parametrize(
    ("arguments", "ids", "count"),
    [
        (["--agent", "qa-test"], ["third", "second"], "2 of 3 sessions"),
        (["--agent=architect"], ["first"], "1 of 3 sessions"),
        (["--status", "active"], ["third"], "1 of 3 sessions"),
        (["--status", "completed"], ["first"], "1 of 3 sessions"),
        (["--status", "interrupted"], ["second"], "1 of 3 sessions"),
        (["--status", "paused"], ["second"], "1 of 3 sessions"),
        (["--status", "active", "--agent", "qa-test"], ["third"], "1 of 3 sessions"),
        (["--agent", "nobody"], [], "no match among 3 sessions"),
    ],
)
def test_spawn_list_filters_by_agent_and_status(
    arguments: list[str], ids: list[str], count: str
) -> None:
    """By agent and status; how many of all."""
    assert [row[0] for row in listed(*arguments)] == ids
    if "=" not in arguments[0]:  # the parser's way does not know of how many
        assert aur(*LIST, *arguments).stderr.strip() == count


@pytest.mark.usefixtures("sessions")
def test_spawn_list_json_prints_array_of_sessions() -> None:
    """With times in UTC; of a session in which nothing was said, there is no last turn."""
    found = json.loads(aur(*LIST, "--json").stdout)
    assert [list(row) for row in found] == [
        ["session_id", "agent", "turn_count", "created_at", "last_turn_at", "status", "title",
         "path", "damage"]
    ] * 3  # fmt: skip
    third, first, second = found
    assert first == {
        "session_id": "first",
        "agent": "architect",
        "turn_count": 3,
        "created_at": f"{NOW - timedelta(days=9):%Y-%m-%dT%H:%M:%SZ}",
        "last_turn_at": f"{NOW - timedelta(days=1):%Y-%m-%dT%H:%M:%SZ}",
        "status": "completed",
        "title": "The oldest, said to last",
        "path": f"{paths.spawn_sessions()}/first.jsonl",
        "damage": None,
    }
    assert (third["last_turn_at"], third["status"], second["status"]) == (
        None,
        "active",
        "interrupted",
    )


def test_empty_spawn_list_prints_hint_and_creates_no_folder() -> None:
    """A sentence, an empty array, and no folder is made."""
    done = aur(*LIST)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.startswith("no sessions yet\nhint: ")
    assert aur(*LIST, "--json").stdout == "[]\n"
    assert not Path(paths.spawn_sessions()).exists()


def test_spawn_list_marks_damaged_session_with_line_number() -> None:
    """In the table, in a warning with the line, and in JSON; the list succeeds."""
    write("good", 1)
    path = write("bad", 2, damaged=True)
    done = aur(*LIST)
    assert done.returncode == 0
    assert "damaged" in done.stdout.splitlines()[2]
    assert done.stderr.startswith(f"warning: {path}, line 3: ")
    damage = [row["damage"] for row in json.loads(aur(*LIST, "--json").stdout)]
    assert (damage[0], f"{path}, line 3" in damage[1]) == (None, True)


def test_spawn_list_counts_damaged_sessions_beyond_limit() -> None:
    """Some are named, and it is said how many more there are."""
    for number in range(6):
        write(f"bad{number}", 2, damaged=True)
    assert "warning: 1 more file is damaged (`cortext doctor` shows details)\n" in aur(*LIST).stderr
    write("bad6", 2, damaged=True)
    assert (
        "warning: 2 more files are damaged (`cortext doctor` shows details)\n" in aur(*LIST).stderr
    )


def test_spawn_list_neutralizes_terminal_control_characters(tmp_path: Path) -> None:
    """Nor does one pretend to be another row."""
    write("one", 1, agent="a\x1b[31m", title="t\x1b]0;owned\x07\nfake  qa  9\x9b2J\u202e")
    shown = terminal(tmp_path, LIST).text
    harmless(shown)
    assert len([line for line in shown.splitlines() if line.strip("^D\b ")]) == 3
    assert len(aur(*LIST).stdout.splitlines()) == 2


@pytest.mark.parametrize("columns", [40, 60, 80, 120])
def test_spawn_list_fits_terminal_width_and_is_complete_in_pipe(
    columns: int, tmp_path: Path
) -> None:
    """Ids are cut before titles are, and stay long enough to name a session; where there is no
    terminal nothing is cut."""
    id = "an-agent-of-mine-20260105-120000-ab12"
    write(id, 1, agent="an-agent-of-mine-that-has-a-long-name", title="日本語 " * 30)
    lines = terminal(tmp_path, LIST, columns=columns).text.splitlines()
    rows = [line for line in lines if line.startswith("an-agent-of-")]
    assert len(rows) == 1
    wide = sum(1 + (east_asian_width(character) in "WF") for character in rows[0])
    assert wide <= columns
    if columns >= 80:
        assert "日本語" in rows[0]
    whole = aur(*LIST).stdout
    assert id in whole
    assert ("日本語 " * 30).strip() in whole


def test_spawn_list_at_80_columns_keeps_date_and_unique_id(tmp_path: Path) -> None:
    """The day is whole, and what is shown of an id means no other session."""
    ids = [f"qa-test-2026010{day}-12000{second}-ab12" for day in (5, 6) for second in (1, 2)]
    for number, id in enumerate(ids):
        write(id, number + 1, title="A title that takes up all the room that there is")
    lines = terminal(tmp_path, LIST, columns=80).text.splitlines()
    rows = [line for line in lines if line.startswith("qa-test-")]
    shown = [row.split("…")[0] for row in rows]
    assert [[id for id in ids if id.startswith(each)] for each in shown] == [[id] for id in ids]
    for number, row in enumerate(rows):
        assert f"  {NOW - timedelta(days=number + 1):%Y-%m-%d}  completed  A title" in row


def test_spawn_list_shows_all_sessions_in_terminal_and_pipe(tmp_path: Path) -> None:
    """Also in a terminal: it is a list of all sessions."""
    for number in range(120):
        write(f"s{number:03}", number)
    assert [row[0] for row in listed()] == [f"s{n:03}" for n in range(120)]
    shown = terminal(tmp_path, LIST).text
    assert "s119" in shown
    assert "120 sessions" in shown


def test_spawn_list_moves_expired_session_to_trash_and_reports_once(tmp_path: Path) -> None:
    """The list still has it; soon after it is in the trash; the next list says so, once."""
    old = write("old", 31)
    write("recent", 29)
    config = Path(paths.aurora_home()) / "config.json"
    config.write_text('{"spawner": {"interactive": {"session_expiry_days": 30}}}')
    assert [row[0] for row in listed()] == ["recent", "old"]
    end = time.monotonic() + 60
    while old.exists() and time.monotonic() < end:
        time.sleep(0.02)
    assert not old.exists()
    (trashed,) = Path(paths.trash()).glob("*/0")
    assert b'"old"' in trashed.read_bytes()
    said = (
        "1 session older than 30 days moved to the trash. To list the trash: `cortext trash list`\n"
    )
    while said not in (told := aur(*LIST).stderr):  # it is noted just after the move
        assert time.monotonic() < end
    assert told == f"{said}1 session\n"
    assert aur(*LIST).stderr == "1 session\n"


def test_spawn_list_deletes_no_session_without_expiry_setting() -> None:
    """Without the setting nothing is even started."""
    write("old", 3000)
    listed()
    assert not list((Path(paths.spawn_sessions()) / ".cortext").glob("clean-up*"))


def test_spawn_list_warns_about_invalid_settings_and_uses_defaults() -> None:
    """And the list is there."""
    write("one", 1)
    (Path(paths.aurora_home()) / "config.json").write_text("{")
    done = aur(*LIST)
    assert done.returncode == 0
    assert "is not JSON; using the defaults" in done.stderr
    assert "one" in done.stdout


def test_unchanged_spawn_list_loads_nothing_heavy() -> None:
    write("one", 1, status="active")
    os.utime(paths.spawn_sessions(), (1, 1))
    os.utime(Path(paths.spawn_sessions()) / "one.jsonl", (1, 1))
    aur(*LIST)
    program = (
        "import sys; from cortext.cli.main import aur_main;"
        " sys.argv = ['aur', 'spawn', '--list-sessions']; aur_main(); print(*sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    assert "one" in done.stdout
    heavy = {"rich", "prompt_toolkit", "textual", "rapidfuzz", "asyncio"}
    assert set(done.stdout.split()) & heavy == set()
