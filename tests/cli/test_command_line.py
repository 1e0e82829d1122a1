"""The command line as a person or a script meets it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from cortext import Session, SessionMessage, SessionStorage, open_session_store

SCRIPT = str(Path(sys.executable).with_name("cortext"))


def cortext(*args: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [SCRIPT, *args],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, **environment},
        check=False,
    )


@pytest.fixture
def store(tmp_path: Path) -> str:
    """Two sessions in a folder."""
    storage = SessionStorage(tmp_path / "sessions")
    for id, title in (("first-one", "REST or GraphQL"), ("first-two", "Token race")):
        storage.save(Session(id, title=title, messages=[SessionMessage("user", f"about {title}")]))
    return f"document:{tmp_path}/sessions"


def test_list_shows_every_session(store: str) -> None:
    """Newest first, with id, time, count and title."""
    done = cortext("list", "--store", store)
    assert (done.returncode, done.stderr) == (0, "")
    heading, newest, oldest = done.stdout.splitlines()
    assert heading.split() == ["ID", "UPDATED", "MESSAGES", "TITLE"]
    assert (newest.split()[0], oldest.split()[0]) == ("first-two", "first-one")


def test_list_as_json_is_an_array(store: str) -> None:
    """The documented array, also when it is empty."""
    found = json.loads(cortext("list", "--store", store, "--json", "--search", "graphql").stdout)
    assert [(item["id"], item["message_count"]) for item in found] == [("first-one", 1)]
    assert json.loads(cortext("list", "--store", store, "--json", "--tag", "x").stdout) == []


def test_cortext_alone_reports_empty_list_and_creates_no_files(tmp_path: Path) -> None:
    """`cortext` alone lists; where nothing is, it says so, makes nothing and succeeds."""
    done = cortext(XDG_DATA_HOME=str(tmp_path / "data"))
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.startswith("no conversations here yet")
    assert "\nhint: to start a conversation: " in done.stderr
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("kind", ["log", "workspace"])
def test_list_and_show_work_for_log_and_workspace_stores(kind: str, tmp_path: Path) -> None:
    """Logs and workspaces are listed and shown the same way."""
    url = f"{kind}:{tmp_path}/x"
    open_session_store(url).save(Session("one", title="T", messages=[SessionMessage("user", "hi")]))
    assert cortext("list", "--store", url).stdout.splitlines()[1].split()[0] == "one"
    assert cortext("show", "one", "--store", url).stdout.endswith("\nhi\n")


def test_show_accepts_unique_id_prefix(store: str) -> None:
    """A unique beginning is enough; `-n` takes the last messages, `--json` the document."""
    assert "about REST" in cortext("show", "first-o", "--store", store).stdout
    found = json.loads(cortext("show", "first-one", "--json", "--store", store).stdout)
    assert Session.from_dict(found).messages[0].content == "about REST or GraphQL"


@pytest.mark.parametrize(
    ("args", "code", "says"),
    [
        (["show", "nothing"], 3, "error: session not found: nothing"),
        (["show", "first"], 4, "error: 2 sessions match first"),
        (["show", "../../etc/passwd"], 2, "error: not a valid id"),
        (["list", "--sort", "a') OR 1=1--"], 2, "Error: Invalid value for '--sort'"),
        (["list", "-n", "0"], 2, "Error: Invalid value for '-n'"),
        (
            ["list", "parser"],
            2,
            "Error: This command takes no words. To filter by title, use --search.",
        ),
        (["lisst"], 2, "Error: No such command 'lisst'."),
        (
            ["redis", "ttl"],
            2,
            "'redis'. To search your conversations, use `cortext search redis ttl`.",
        ),
        (["new"], 2, "Types are brainstorm, debug, learn, meeting, plan, review"),
        (["new", "my topic"], 2, "Types are brainstorm, debug, learn, meeting, plan, review"),
        (["new", "plan"], 2, "Give the TOPIC of the conversation. Types are "),
        (["stop", "--id", "3"], 2, "No such option '--id'. Put words that look like options"),
        (
            ["stop", "--sumary=x"],
            2,
            "No such option '--sumary=x'. Did you mean --summary? Put words",
        ),
        (
            ["resume", "x", "--prnt"],
            2,
            "No such option '--prnt'. Did you mean --print? Put words that",
        ),
        (["ask", "x", " "], 1, "the question is empty"),
        (["ask", "how deep"], 2, '`cortext ask QUERY "QUESTION"`'),
        (["resume", "-t", "codex", "retry"], 2, "No such option '-t'. Did you mean --tool?"),
        (["stop", "-s", "pond"], 2, "No such option '-s'. Did you mean --summary?"),
        (["list", "-all"], 2, "No such option '-all'. Did you mean --all?"),
        (["show", "-xyz"], 2, "No such option '-xyz'."),
        (["help", "serch"], 2, "No such command 'serch'. Did you mean `search`?"),
    ],
)
def test_bad_input_prints_error_sentence_and_exit_code(
    store: str, args: list[str], code: int, says: str
) -> None:
    """No traceback, nothing on stdout."""
    extra = ["--store", store] if args[0] in ("show", "list") else []
    done = cortext(*args, *extra)
    assert (done.returncode, done.stdout) == (code, "")
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_bad_store_is_a_usage_error(tmp_path: Path) -> None:
    """Which stores there are is part of the answer."""
    for url in ("nonsense", "log:", "http://x"):
        done = cortext("list", "--store", url)
        assert done.returncode == 2
        assert "document:PATH, log:PATH, workspace:PATH" in done.stderr
    done = cortext("list", "--store", "memory:")
    assert (done.returncode, "exists only inside one program" in done.stderr) == (2, True)


def test_show_prints_readable_part_of_damaged_session_and_exits_5(tmp_path: Path) -> None:
    """The rest is there, the damage is named on stderr, and the code is 5."""
    log = open_session_store(f"log:{tmp_path}")
    log.save(Session("s", messages=[SessionMessage("user", "kept")]))
    path = tmp_path / "s.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + b"garbage\n" + lines[1])
    done = cortext("show", "s", "--store", f"log:{tmp_path}")
    assert (done.returncode, "kept" in done.stdout) == (5, True)
    assert f"{path}, line 2" in done.stderr


def test_list_and_show_neutralize_terminal_control_characters(tmp_path: Path) -> None:
    """Escape sequences, bidi marks, C1 bytes and newlines in titles come out harmless."""
    nasty = "a\x1b]0;x\x07b\x1b[2J\x9b31m\u202ec\r\u200bd[red]e\n\ud800f"
    storage = SessionStorage(tmp_path)
    storage.save(Session("s", title=nasty, messages=[SessionMessage("user", nasty)]))
    url = f"document:{tmp_path}"
    listed, shown = cortext("list", "--store", url), cortext("show", "s", "--store", url)
    for done in (listed, shown):
        assert done.returncode == 0
        for bad in ("\x1b", "\x07", "\x9b", "\u202e", "\r", "\u200b"):
            assert bad not in done.stdout
    assert len(listed.stdout.splitlines()) == 2
    assert "[red]" in shown.stdout


def test_show_exits_0_when_reader_closes_pipe(tmp_path: Path) -> None:
    """`cortext show | head` is silent."""
    storage = SessionStorage(tmp_path)
    storage.save(Session("s", messages=[SessionMessage("user", "x" * 500)] * 1))
    big = storage.load("s")
    big.messages = [SessionMessage("user", "line\n" * 200) for _ in range(500)]
    storage.save(big)
    command = f"set -o pipefail; '{SCRIPT}' show s --store 'document:{tmp_path}' | head -n 1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_copy_counts_sessions_and_skips_existing_copies(store: str, tmp_path: Path) -> None:
    """Counts are printed; a second run copies nothing; a missing source is a usage error."""
    target = f"log:{tmp_path}/logs"
    assert cortext("copy", store, target).stdout == "2 copied, 0 already up to date, 0 not copied\n"
    assert cortext("copy", store, target).stdout == "0 copied, 2 already up to date, 0 not copied\n"
    assert cortext("copy", f"log:{tmp_path}/none", target).returncode == 2


def test_demo_succeeds_and_removes_its_files_unless_keep_is_given(tmp_path: Path) -> None:
    """The tour ends well, says what to type next, and leaves nothing behind unless asked."""
    done = cortext("demo", TMPDIR=str(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")
    assert "nothing is lost" in done.stdout
    assert "retry" in done.stdout
    assert done.stdout.count("Why does the parser get slower with every file?") == 3
    assert "cortext list" in done.stdout
    assert os.listdir(tmp_path) == []
    kept = cortext("demo", "--keep", TMPDIR=str(tmp_path))
    url = next(word for word in kept.stdout.split() if word.startswith("document:"))
    assert len(cortext("list", "--store", url).stdout.splitlines()) == 2


def test_help_command_prints_help_of_the_program_and_of_a_command() -> None:
    assert cortext("help").stdout == cortext("--help").stdout
    assert cortext("help", "help").stdout == cortext("--help").stdout
    done = cortext("help", "trash", "restore")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == cortext("trash", "restore", "--help").stdout


def test_help_lists_commands_and_shell_completes_command_name(tmp_path: Path) -> None:
    """Every command is in the help and completes in a shell."""
    helped = cortext("--help").stdout
    for command in ("demo", "list", "show", "copy"):
        assert f"\n  {command} " in helped
        assert cortext(command, "--help").returncode == 0
    completed = cortext(
        _CORTEXT_COMPLETE="bash_complete", COMP_WORDS="cortext sh", COMP_CWORD="1"
    ).stdout
    assert completed == "plain,show\n"


@pytest.mark.parametrize("args", [["--help"], ["list"]])
def test_help_and_list_import_no_heavy_modules(args: list[str]) -> None:
    """No asyncio, rich or textual; the help needs neither sqlite3 nor msgspec."""
    code = (
        "import sys; from cortext.cli.main import main; sys.argv[1:] = " + repr(args) + "; main(); "
        "print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stderr.split())
    heavy = {"asyncio", "rich", "textual", "prompt_toolkit", "redis", "mcp", "litestar"}
    if args == ["--help"]:
        heavy |= {"sqlite3", "msgspec"}
    assert loaded & heavy == set()


def test_debug_shows_the_traceback(store: str) -> None:
    """Only when asked."""
    done = cortext("--debug", "show", "nothing", "--store", store)
    assert "Traceback" in done.stderr
