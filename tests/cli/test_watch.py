"""`cortext watch`, as a process beside others: what it does, says, and leaves when it is ended."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cortext.installation import install_command
from tests.cli.running_command import Running, await_, running
from tests.command import SCRIPT, begin, change_head, cortext, head_of, ok
from tests.features.archive.archived_sessions import ID, archived, other, say
from tests.features.capture_bench import Bench
from tests.tools.claude import claude_lines
from tests.tools.opencode.opencode_data import Made, text


@pytest.fixture(autouse=True)
def watch_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home in which no tool was used yet."""
    home = tmp_path / "person"
    (home / "project").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_DATA_HOME", str(home / "data"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "config"))
    monkeypatch.setenv("CI", "true")  # so that nothing but the watch works in the background
    monkeypatch.chdir(home / "project")
    return home


@pytest.fixture
def watch(watch_home: Path, tmp_path: Path) -> Iterator[Running]:
    """One that runs and has seen what there was."""
    with running(watch_home / "project", tmp_path / "said", "watch") as made:
        made.until("watching")
        yield made


def add(path: Path, number: int, words: str) -> None:
    """One more line in a transcript of Claude Code."""
    line = claude_lines.line("u1", None, "user", words)
    line |= {"uuid": f"u{number}", "parentUuid": f"u{number - 1}"}
    with path.open("ab") as file:
        file.write(json.dumps(line).encode() + b"\n")


def tree(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    """All files below a folder, and when each folder was last changed."""
    paths = [folder, *folder.rglob("*")]
    return {
        str(path): (path.stat().st_mtime_ns, path.stat().st_mode, path.read_bytes())
        if path.is_file()
        else (path.stat().st_mtime_ns, path.stat().st_mode, b"")
        for path in paths
    }


def test_watch_archives_and_indexes_new_and_growing_transcripts(
    watch_home: Path, watch: Running
) -> None:
    """In a folder that was not there before, and then in a file that grows; the tool's own folder
    is as the tool left it."""
    path = say(watch_home, "Where do the sessions go?")
    watch.until("archived claude: 1 new")
    watch.until("indexed 1 conversation")
    add(path, 1, "A xylophone is no session.")
    before = tree(watch_home / ".claude")
    watch.until("archived claude: 1 with new messages")
    watch.until("indexed 1 conversation", 2)
    assert archived()[ID] == ["Where do the sessions go?", "A xylophone is no session."]
    found = json.loads(ok(watch_home, "search", "xylophone", "--json"))
    assert ID in json.dumps(found)
    assert tree(watch_home / ".claude") == before
    assert watch.end() == 0
    assert watch.err == ""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_watch_stops_on_signal_and_next_run_finishes_work(
    watch_home: Path, tmp_path: Path, number: int, code: int
) -> None:
    """Also while it works; what was not done is done by the next one."""
    for each in range(300):
        say(watch_home, "x" * 2000, id=other(each))
    with running(watch_home, tmp_path / "said", "watch") as watch:
        watch.until("watching")
        assert watch.end(number) == code
        assert "Traceback" not in watch.err
    ok(watch_home, "watch", "--once")
    assert len(archived()) == 300


def test_killed_watch_leaves_archive_and_index_usable(watch_home: Path, tmp_path: Path) -> None:
    """The next one begins, and has all of it."""
    for each in range(300):
        say(watch_home, f"xylophone {each}", id=other(each))
    for _ in range(3):
        with running(watch_home, tmp_path / "said", "watch") as watch:
            watch.until("watching")
            assert watch.end(signal.SIGKILL) == -signal.SIGKILL
    assert cortext(watch_home, "watch", "--once").stderr.count("warning") == 0
    assert archived() == {other(each): [f"xylophone {each}"] for each in range(300)}
    assert json.loads(ok(watch_home, "search", "xylophone", "299", "--json"))


def test_second_watch_names_running_process_and_exits_6(watch_home: Path, watch: Running) -> None:
    """It says who watches, and ends with 6; when that has ended, another may."""
    second = cortext(watch_home, "watch")
    assert second.returncode == 6
    assert second.stderr.startswith(
        f"error: `cortext watch` is already running: process {watch.process.pid} "
    )
    assert watch.end() == 0
    assert cortext(watch_home, "watch", "--once").returncode == 0


def test_watch_archives_every_line_of_fast_writer(watch_home: Path, watch: Running) -> None:
    """Written one by one as fast as can be, in another process: none is missing."""
    path = say(watch_home, "u0")
    line = json.dumps(claude_lines.line("u1", None, "user", "WORDS")).replace('"u1"', '"uNEXT"')
    line = line.replace('"parentUuid": null', '"parentUuid": "uLAST"')
    program = f"""
line = {line!r}
with open({str(path)!r}, "ab", buffering=0) as file:
    for n in range(1, 10_001):
        new = line.replace("NEXT", str(n)).replace("LAST", str(n - 1)).replace("WORDS", f"u{{n}}")
        file.write(new.encode() + b"\\n")
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
    await_(lambda: len(archived().get(ID, ())) == 10_001, lambda: watch.out + watch.err)
    assert archived()[ID] == [f"u{n}" for n in range(10_001)]
    assert ID in ok(watch_home, "search", "u10000", "--json")


def test_watch_pauses_idle_conversation_on_disk(watch_home: Path, tmp_path: Path) -> None:
    """Also in a workspace that is made while it runs; what never was begun here stays."""
    with running(
        watch_home, tmp_path / "said", "watch", env={"CORTEXT_SESSIONS_PAUSE_MINUTES": "0.03"}
    ) as watch:
        watch.until("watching")
        workspace = watch_home / "project"
        ok(workspace, "init", "--tools", "claude")
        id = begin(workspace, "plan", "Rules", "What are they?")
        watch.until(f"paused {id}, which was idle")
    head = head_of(workspace, id)
    assert (head["status"], head["stop_reason"]) == ("paused", "idle")


def test_watch_captures_messages_of_bound_session_without_hook(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, git_identity: None
) -> None:
    """Without a hook: at the start, and whenever more is said."""
    bench = Bench("claude", tmp_path / "bench", monkeypatch)
    bench.bind()
    with running(tmp_path, tmp_path / "said", "watch") as watch:
        watch.until(f"into {bench.bound.place.name}")
        assert bench.said() == bench.expected
        watch.until("indexed 2 conversations")
        bench.say("user", "And one more thing.", 1)
        watch.until(f"captured 1 message into {bench.bound.place.name}")
    assert bench.said()[-1] == ["user", "And one more thing."]


def test_watch_archives_opencode_rows_from_write_ahead_log(
    watch_home: Path, watch: Running
) -> None:
    """What is new stands beside the database, while OpenCode has it open."""
    (watch_home / "data/opencode").mkdir(parents=True)
    made = Made(watch_home / "data/opencode")
    with made.open() as held:  # so that nobody moves what is new into the database
        held.execute("SELECT 1 FROM session").fetchall()
        made.session()
        made.message("m1", "user", text("Where is the xylophone?"))
        watch.until("archived opencode: 1 new")
        database = made.path.stat().st_mtime_ns
        made.message("m2", "assistant", text("In the cellar."))
        watch.until("archived opencode: 1 with new messages")
        assert made.path.stat().st_mtime_ns == database
    assert archived("opencode") == {"ses_1": ["Where is the xylophone?", "In the cellar."]}


def test_watch_warns_once_about_unreadable_source(watch_home: Path, tmp_path: Path) -> None:
    """The others are copied, again and again."""
    database = watch_home / "data/opencode/opencode.db"
    database.parent.mkdir(parents=True)
    database.write_bytes(b"no database" * 1000)
    path = say(watch_home, "one")
    with running(watch_home, tmp_path / "said", "watch") as watch:
        watch.until("archived claude: 1 new")
        for number in range(1, 4):
            os.utime(database)
            add(path, number, "more")
            watch.until("archived claude: 1 with new messages", number)
        assert watch.end() == 0
    assert watch.err.count("not copied") == 1
    assert str(database) in watch.err


def test_watch_leaks_no_file_descriptors(watch_home: Path, watch: Running) -> None:
    """However often something changes, it has no more files open."""
    path = say(watch_home, "one")
    watch.until("archived claude: 1 new")

    def files() -> int:
        return len(list(Path(f"/proc/{watch.process.pid}/fd").iterdir()))

    counts: list[int] = []
    for number in range(1, 6):
        add(path, number, "more")
        watch.until("archived claude: 1 with new messages", number)
        watch.until("indexed", number)
        counts.append(files())
    end = time.monotonic() + 60
    # What it looks at just now it has open.
    while files() > counts[0] + 3 and time.monotonic() < end:
        time.sleep(0.05)
    assert files() <= counts[0] + 3, counts


def test_watch_reports_unreadable_settings_and_continues(watch_home: Path, watch: Running) -> None:
    """It says so, and goes on when they can."""
    config = watch_home / "config/cortext/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text("no = = toml", encoding="utf-8")
    watch.until("config.toml, line 1: not TOML")
    config.unlink()
    say(watch_home, "one")
    watch.until("archived claude: 1 new")


def test_watch_once_makes_single_pass_and_quiet_prints_nothing(watch_home: Path) -> None:
    """One pass; a second finds nothing to do, and --quiet says nothing at all."""
    say(watch_home, "one")
    first = cortext(watch_home, "watch", "--once")
    said = [line[17:] for line in first.stdout.splitlines()]
    assert said == ["archived claude: 1 new", "indexed 1 conversation, 2 new texts"]
    assert ok(watch_home, "watch", "--once") == ""
    say(watch_home, "one", "two")
    done = cortext(watch_home, "watch", "--once", "--quiet")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert archived() == {ID: ["one", "two"]}


def test_watch_json_prints_one_event_per_line(watch_home: Path, tmp_path: Path) -> None:
    """An object a line: when, what was done, and the facts."""
    say(watch_home, "one")
    with running(watch_home, tmp_path / "said", "watch", "--json") as watch:
        watch.until('"did":"indexed"')
    said = [json.loads(line) for line in watch.out.splitlines()]
    assert [each["did"] for each in said] == ["watching", "archived", "indexed"]
    assert said[0]["pid"] == watch.process.pid
    assert str(watch_home / ".claude/projects") in said[0]["folders"]
    assert (said[1]["tool"], said[1]["new"], "time" in said[1]) == ("claude", 1, True)


def test_watch_indexes_without_copying_when_archive_is_off(watch_home: Path) -> None:
    """It says so, and does everything else."""
    ok(watch_home, "config", "archive.enabled", "off")
    say(watch_home, "one")
    done = cortext(watch_home, "watch", "--once")
    assert done.stderr.count("the archive is turned off, so nothing is copied") == 1
    assert "indexed 1 conversation" in done.stdout
    assert archived() == {}


def test_watch_continues_after_its_start_folder_is_removed(
    watch_home: Path, watch: Running
) -> None:
    """It stands in nobody's way."""
    shutil.rmtree(watch_home / "project")
    say(watch_home, "one")
    watch.until("indexed 1 conversation")
    assert watch.err == ""


def test_watch_falls_back_to_polling_when_inotify_limit_is_reached(
    watch_home: Path, tmp_path: Path
) -> None:
    """It says that it looks now and then instead, and does."""
    limit = "echo 2 > /proc/sys/user/max_inotify_watches"
    if subprocess.run(["unshare", "-Ur", "sh", "-c", limit], check=False).returncode:
        pytest.skip("kernel: no namespace of its own for a user")
    for each in range(20):
        (watch_home / f".claude/projects/p{each}").mkdir(parents=True)
    program = f"{limit}; exec {SCRIPT} watch"
    unshare = shutil.which("unshare") or ""
    with running(watch_home, tmp_path / "said", unshare, "-Ur", "sh", "-c", program) as watch:
        watch.until("changes are not reported, so checking every 5 seconds: ")
        watch.until("watching")
        say(watch_home, "one")
        watch.until("archived claude: 1 new")
        assert watch.err.count("every 5 seconds") == 1
        assert "fs.inotify.max_user_watches" in watch.err


def test_watch_falls_back_to_polling_without_watchfiles_package(
    watch_home: Path, tmp_path: Path
) -> None:
    """It says how to get it, and looks now and then."""
    program = (
        "import sys; sys.modules['watchfiles'] = None; sys.argv = ['cortext', 'watch'];"
        "from cortext.cli.main import main; sys.exit(main())"
    )
    say(watch_home, "one")
    with running(watch_home, tmp_path / "said", sys.executable, "-c", program) as watch:
        watch.until("archived claude: 1 new")
        assert install_command("watchfiles") in watch.err
        say(watch_home, "one", "two")
        watch.until("archived claude: 1 with new messages")
        assert watch.end() == 0


def test_watch_follows_recreated_folder(watch_home: Path, watch: Running) -> None:
    """The one in the place of another is watched as well."""
    say(watch_home, "one")
    watch.until("archived claude: 1 new")
    shutil.rmtree(watch_home / ".claude")
    say(watch_home, "two", id=other(2))
    watch.until("archived claude: 1 new", 2)
    path = say(watch_home, "three", id=other(3))
    watch.until("archived claude: 1 new", 3)
    add(path, 1, "four")
    watch.until("archived claude: 1 with new messages")
    assert archived()[other(3)] == ["three", "four"]


def test_watch_continues_after_damaged_conversation(watch_home: Path) -> None:
    """A conversation that cannot be captured, or read, is named."""
    workspace = watch_home / "project"
    ok(workspace, "init", "--tools", "claude")
    id = begin(workspace, "plan", "Broken", "Hello.")
    sound = begin(workspace, "plan", "Sound", "Hello.")
    (folder,) = workspace.glob(f"conversations/*/{id}")
    (folder / ".session/session.json").write_text("{", encoding="utf-8")
    change_head(workspace, sound, last_active="2026-01-01T00:00:00+00:00")
    lines = next(workspace.glob(f"conversations/*/{sound}")) / ".session/messages.jsonl"
    lines.write_text("", encoding="utf-8")
    done = cortext(workspace, "watch", "--once")
    assert done.returncode == 0
    assert f"paused {sound}, which was idle" in done.stdout
    assert "Traceback" not in done.stderr
