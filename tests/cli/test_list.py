"""Lists and finding: in a pipe, and in a real pseudo terminal."""

import json
import shlex
import unicodedata
from pathlib import Path

import pytest
from click.testing import CliRunner

from cortext.cli.command_group import cortext as group
from tests.cli.list_terminal import ESCAPES, harmless, made, put, snapshot, terminal
from tests.command import change_head, cortext, folder_of, head_of, ok

HOSTILE = {
    "escapes": " ".join(ESCAPES),
    "markup": "[red]x[/] [link=http://evil.test]y[/link] [bold :boom: <script>a</script>&#27;",
    "shell": "-p --yes $(touch pwned) `touch pwned` ; touch pwned",
    "path": "../../../etc/passwd",
    "long": "x" * 10_000,
}


def given(text: str) -> str:
    """As much of a text as can be an argument of a command."""
    return text.replace("\0", "").encode("utf-8", "replace").decode()


@pytest.fixture(scope="module")
def several(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five that differ in all that lists ask for; nothing changes them."""
    root = made(tmp_path_factory.mktemp("several") / "space")
    put(root, "001-plan-a", title="Zebra stripes", tags=["a", "b"], status="active")
    put(root, "002-debug-b", "x", "y", title="api design", kind="debug", tags=["b"], minutes=60)
    put(root, "003-plan-c", title="API gateway", tags=["it's", "100%"], minutes=2000,
        status="completed", summary="chose the design", total_prompt_tokens=9)  # fmt: skip
    put(root, "004-plan-d", "x", title="old one", tags=["ab", "_"], minutes=50_000)
    put(root, "005-chat-e", title="rested", kind="chat", minutes=30, status="active")
    return root


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("", "15234"),
        ("--type plan", "134"),
        ("--type pla_", ""),
        ("--status active", "1"),
        ("--status paused", "524"),
        ("--status interrupted", "524"),
        ("--status completed", "3"),
        ("--tag b", "12"),
        ("--tag a --tag b", "1"),
        ("--tag A", ""),
        ("--tag a%", ""),
        ("--tag '%'", ""),
        ("--tag 100%", "3"),
        ("--tag _", "4"),
        ("""--tag "it's" """, "3"),
        ("""--tag "') OR 1=1 --" """, ""),
        ("--tag 'a\tb'", ""),
        ("--tag '\udcff'", ""),
        ("--type '\udcff'", ""),
        ("--search '\udcff'", ""),
        ("--since 2h", "152"),
        ("--since 7d", "1523"),
        ("--search API", "23"),
        ("--search 'design api'", "23"),
        ("--search '%'", ""),
        ("-n 2", "15"),
        ("--type plan -n 1 --status completed", "3"),
        ("--sort title", "23451"),
        ("--sort id", "12345"),
        ("--sort created_at", "15234"),
        ("--sort message_count -n 2", "24"),
        ("--sort total_tokens -n 1", "3"),
    ],
)
def test_list_filters_and_sorts_by_every_option(
    options: str, expected: str, several: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exactly those that are asked for, in order; what looks like SQL is text."""
    monkeypatch.chdir(several)
    done = CliRunner().invoke(group, ["list", "--json", *shlex.split(options)])
    assert done.exception is None
    assert "".join(row["id"][2] for row in json.loads(done.stdout)) == expected


@pytest.mark.parametrize(
    "options",
    ["--since soon", "--since nand", "--since 99999999w", "--sort x;y", "-n 0", "--status odd"],
)
def test_list_rejects_invalid_option_value_as_usage_error(
    options: str, several: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A usage error, and no list."""
    monkeypatch.chdir(several)
    done = CliRunner().invoke(group, ["list", *shlex.split(options)])
    assert (done.exit_code, done.stdout) == (2, "")


def test_list_pauses_idle_conversation_and_announces_pause_once(space: Path) -> None:
    id = put(space, "001-plan-x", minutes=30, status="active", title="Rested")
    first, second = (cortext(space, "resume", "--list") for _ in range(2))
    assert "Status: paused" in first.stdout
    assert '"Rested" was auto-saved and paused at' in first.stderr
    assert second.stderr == ""
    assert (head_of(space, id)["status"], head_of(space, id)["stop_reason"]) == ("paused", "idle")


def test_list_shows_fifty_rows_in_terminal_and_all_in_pipe(space: Path) -> None:
    """In both lists; a terminal says how many there are."""
    for number in range(60):
        put(space, f"{number:03}-plan-x", minutes=number)
    assert len(ok(space, "list").splitlines()) == 61
    assert len(ok(space).splitlines()) == 61
    for command, lines in ((["list"], 1), (["resume", "--list"], 0)):
        text = terminal(space, command).text
        assert sum(line.count("-plan-x ") for line in text.splitlines()) == 50, lines
        assert "Showing 50 of 60." in text
    assert "007-plan-x" in terminal(space, ["list", "-n", "8"]).text
    # All of them can be chosen from, not only those that fit on a page.
    picked = terminal(space, ["resume", "--context"], answers=["059-plan-x"])
    assert (picked.code, "plan / 059-plan-x" in picked.text) == (0, True)


def test_list_rows_with_wide_characters_fit_terminal_width(space: Path) -> None:
    """Also one of wide characters."""
    put(space, "001-plan-x", title="設計" * 60)
    for line in terminal(space, ["list"]).text.splitlines():
        assert sum(1 + (unicodedata.east_asian_width(c) in "WF") for c in line) <= 100


def test_resume_number_refers_to_last_list_of_same_terminal(space: Path) -> None:
    """The next command takes them; another terminal has its own, also one of the same name."""
    for number in range(1, 4):
        put(space, f"00{number}-plan-x", title=f"title {'abc'[number - 1]}", minutes=number)
    shown = terminal(space, ["list", "--sort", "id"], ["resume", "3", "--context"])
    assert (shown.code, "plan / title c" in shown.text) == (0, True)
    other = terminal(space, ["resume", "3", "--context"])
    assert (other.code, "plan / title" in other.text) == (3, False)
    last = terminal(space, ["list"], ["list", "--search", "b"], ["resume", "1", "--context"])
    assert "plan / title b" in last.text
    prefix = terminal(space, ["list", "--search", "c"], ["resume", "001", "--context"])
    assert "plan / title a" in prefix.text


def test_ambiguous_resume_asks_in_terminal_and_exits_4_in_pipe(space: Path) -> None:
    """By number, by words, after a slip; in a pipe they are printed with exit 4."""
    put(space, "001-plan-x", title="api one", summary="about pears")
    put(space, "002-plan-y", title="api two", minutes=1)
    put(space, "003-plan-z", title="api three", minutes=2)
    for answers, title in ((["2"], "two"), (["99", "pears"], "one"), (["t", "thr"], "three")):
        shown = terminal(space, ["resume", "api", "--context"], answers=answers)
        assert (shown.code, f"plan / api {title}" in shown.text) == (0, True), shown.text
    piped = cortext(space, "resume", "api")
    assert (piped.returncode, piped.stdout) == (4, "")
    assert all(f"00{n}-plan-" in piped.stderr for n in (1, 2, 3))
    given_up = terminal(space, ["resume", "api"])
    assert (given_up.code, head_of(space, "001-plan-x")["status"]) == (130, "paused")


def test_resume_without_match_suggests_nearest_title_and_exits_3(space: Path) -> None:
    """Exit 3; where nothing is, one sentence says so."""
    nothing = cortext(space, "resume", "-c")
    assert (nothing.returncode, nothing.stdout) == (3, "")
    assert nothing.stderr.splitlines()[0] == "no resumable conversations"
    put(space, "001-plan-x", title="billing export")
    done = cortext(space, "resume", "bilking imports of the year", "--context")
    assert (done.returncode, "billing export" in done.stdout + done.stderr) == (3, True)


def test_resume_asks_for_conversation_and_continue_option_takes_latest(space: Path) -> None:
    """Without an argument a terminal asks; `-c` is the latest one that has a session."""
    put(space, "001-plan-x", title="one", minutes=1)
    put(space, "002-plan-y", title="two", minutes=2)
    bare = folder_of(space, "001-plan-x").with_name("003-plan-bare")
    bare.mkdir()
    (bare / "plan.md").write_text("# bare\n", encoding="utf-8")
    assert "plan / two" in terminal(space, ["resume", "--context"], answers=["2"]).text
    assert "plan / one" in ok(space, "resume", "-c", "--context")
    assert cortext(space, "resume", "-c", "one").returncode == 2
    assert "bare" in ok(space, "list")
    assert "bare" not in ok(space, "resume", "--list")


def test_resume_asks_before_reopening_completed_conversation(space: Path) -> None:
    """No is no, a yes makes it active."""
    id = put(space, "001-plan-x", status="completed")
    assert terminal(space, ["resume", id], answers=["n"]).code == 1
    assert head_of(space, id)["status"] == "completed"
    assert terminal(space, ["resume", id], answers=["y"]).code == 0
    assert head_of(space, id)["status"] == "active"


def test_read_commands_change_no_workspace_file(space: Path) -> None:
    """Lists, show, `--context` and a failed resume leave every byte and time; none is idle."""
    put(space, "001-plan-x", "hello", status="active", minutes=2)
    put(space, "002-plan-y", "hello", status="completed")
    torn = folder_of(space, "002-plan-y") / ".session/messages.jsonl"
    torn.write_bytes(torn.read_bytes() + b'{"role"')
    before = snapshot(space)
    for command in (["list"], ["resume", "--list", "--json"], ["resume", "001", "--context"],
                    ["resume", "002", "--context", "--json"], ["show", "002"]):  # fmt: skip
        ok(space, *command)
    assert cortext(space, "resume", "002").returncode == 1
    assert snapshot(space) == before


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_commands_print_hostile_metadata_without_control_characters(text: str, space: Path) -> None:
    """As title, summary, tag, type and query: in lists, prompts, errors and questions."""
    id = put(space, "001-plan-x", minutes=1)
    put(space, "002-plan-y")
    words = {"title": text, "context_summary": text, "conversation_type": text, "tags": [text]}
    for each in (id, "002-plan-y"):
        change_head(space, each, **words, status="active")
    query = given(text)[:200]
    for command in (["list"], ["list", "--json", "--search", query], ["resume", "--list", "--all"],
                    ["resume", "--", query], ["stop"], ["fork", id, "--at", "9"],
                    ["resume", id, "--context"]):  # fmt: skip
        done = cortext(space, *command)
        assert "Traceback" not in done.stderr
        harmless(done.stdout)
        harmless(done.stderr)
    shown = terminal(space, ["list"], ["resume"], ["delete", id], answers=["zzz", "1", "n"])
    assert "Traceback" not in shown.text
    harmless(shown.text.replace("\x04", ""))
    assert not (space / "pwned").exists()


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_new_and_rename_keep_hostile_topic_inside_workspace(text: str, space: Path) -> None:
    """A new conversation and a renamed one: files stay in the workspace, output is harmless."""
    topic = given(text)
    done = cortext(space, "new", "plan", "--", topic)
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
    document = Path(done.stdout.strip())
    assert document.resolve().is_relative_to(space / "conversations")
    renamed = cortext(space, "rename", document.parent.name, "--", topic)
    harmless(done.stdout + done.stderr + renamed.stdout + renamed.stderr)
    assert renamed.returncode == 0
    assert sorted(path.name for path in space.iterdir()) == [".workspace", "conversations"]


@pytest.mark.parametrize("zone", ["XXX5", "XXX-5"], ids=["west", "east"])
@pytest.mark.parametrize("when", ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"])
def test_list_and_resume_accept_first_and_last_calendar_dates(
    when: str, zone: str, space: Path
) -> None:
    """The zero time of some languages is a time; a list shows the others beside it."""
    id = put(space, "001-plan-x")
    put(space, "002-plan-y", status="active", minutes=30)
    change_head(space, id, created_at=when, last_active=when, status="active")
    for command in (
        ["list"],
        ["list", "--json"],
        ["resume", "--list"],
        ["resume", id, "--context"],
    ):
        done = cortext(space, *command, env={"TZ": zone})
        assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr[-300:]


@pytest.mark.parametrize(
    "command", [["list"], ["resume", "--list", "--all"], ["search", "words"], ["search", "none"]]
)
def test_list_and_search_leave_no_database_journal_behind(
    command: list[str], space: Path, data_home: Path
) -> None:
    """Nothing waits for Python to take it apart: all is said, and no journal is left behind."""
    put(space, "001-plan-a", "some words")
    done = cortext(space, *command)
    assert (done.returncode, done.stderr) == ((1, done.stderr) if "none" in command else (0, ""))
    assert ("001-plan-a" in done.stdout) == ("none" not in command)
    left = {path.name for path in (data_home / "cache").rglob("*.sqlite3*")}
    assert "catalog.sqlite3" in left
    assert not [name for name in left if name.endswith(("-wal", "-shm"))]


def test_list_limits_warnings_about_damaged_conversations(space: Path) -> None:
    """And how many more there are; the list has all."""
    for number in range(7):
        put(space, f"00{number}-plan-a", "x")
        lines = folder_of(space, f"00{number}-plan-a") / ".session" / "messages.jsonl"
        lines.write_bytes(b"{}\n" + lines.read_bytes())
    done = cortext(space, "list")
    assert done.stderr.count("warning: ") == 6
    assert "warning: 2 more files are damaged (`cortext doctor` shows details)\n" in done.stderr
    assert len(done.stdout.splitlines()) == 8
