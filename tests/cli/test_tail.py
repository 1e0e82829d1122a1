"""`cortext tail`: a conversation as it grows, in a pipe and in a terminal."""

import json
import os
import pty
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cortext import Session, SessionMessage, open_session_store
from tests.cli.running_command import PATIENCE, Running, await_, running
from tests.cli.shell_completion import offered
from tests.command import SCRIPT, begin, cortext, folder_of, ok
from tests.command import say as speak
from tests.features.archive.archived_sessions import ID, say
from tests.features.capture_bench import Bench
from tests.tools.claude import claude_lines
from tests.tools.opencode.opencode_data import Made, text


@pytest.fixture(autouse=True)
def tail_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with a workspace."""
    home = tmp_path / "person"
    (home / "project").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_DATA_HOME", str(home / "data"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "config"))
    monkeypatch.setenv("CI", "true")
    ok(home / "project", "init", "--tools", "claude")
    return home


@pytest.fixture
def project_folder(tail_home: Path) -> Path:
    return tail_home / "project"


def said(tail: Running) -> list[str]:
    """What messages said, with --json."""
    return [json.loads(line)["content"] for line in tail.out.splitlines()]


def shown(tail: Running, *texts: str) -> None:
    """It has shown exactly these, and comes to it in time."""
    await_(
        lambda: tail.out.endswith("\n") and len(said(tail)) >= len(texts),
        lambda: f"{tail.out} {tail.err}",
    )
    assert said(tail) == list(texts)


def test_tail_shows_last_and_new_messages_until_completed(
    project_folder: Path, tmp_path: Path
) -> None:
    """As `show` has them; it ends when the conversation is completed, and says so."""
    id = begin(project_folder, "plan", "Rules", "One.", "Two.", "Three.")
    with running(project_folder, tmp_path / "said", "tail", id, "-n", "2") as tail:
        tail.until("Three.")
        speak(project_folder, id, "Four.")
        tail.until("Four.")
        assert tail.process.poll() is None
        ok(project_folder, "done", id)
        assert tail.process.wait(PATIENCE) == 0
    lines = tail.out.splitlines()
    assert lines[0] == "Rules"
    assert f"{id} · plan · active" in lines[1]
    assert [line for line in lines[2:] if line and line[0] != "#"] == ["Two.", "Three.", "Four."]
    assert [line[:2] for line in lines[2:] if line.startswith("#")] == ["#2", "#3", "#4"]
    assert tail.err.endswith("No more messages will follow: the conversation is completed.\n")


def test_tail_no_follow_prints_requested_number_of_messages(project_folder: Path) -> None:
    """With --no-follow it shows what there is, as many as are asked for."""
    id = begin(project_folder, "plan", "Rules", *(f"Number {n}." for n in range(30)))
    for options, count in ((), 20), (("-n", "0"), 0), (("-n", "99"), 30):
        found = ok(project_folder, "tail", id, "--no-follow", "--json", *options).splitlines()
        assert [json.loads(line)["number"] for line in found] == list(range(31 - count, 31))


def test_tail_shows_ten_thousand_fast_appends_once_and_in_order(
    project_folder: Path, tmp_path: Path
) -> None:
    """Appended one by one by another process, as fast as can be: each comes once, in order."""
    id = begin(project_folder, "plan", "Rules", "0")
    (lines,) = project_folder.glob(f"conversations/*/{id}/.session/messages.jsonl")
    program = f"""
import json
with open({str(lines)!r}, "ab", buffering=0) as file:
    for n in range(1, 10_001):
        line = {{"role": "user", "content": str(n), "timestamp": "2026-01-01T00:00:00Z",
                 "id": f"m{{n}}"}}
        file.write(json.dumps(line).encode() + b"\\n")
"""
    with running(project_folder, tmp_path / "said", "tail", id, "--json") as tail:
        tail.until('"content":"0"')
        subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
        tail.until('"content":"10000"')
    assert said(tail) == [str(n) for n in range(10_001)]


def test_tail_renders_markdown_in_terminal_and_ctrl_c_exits_130(project_folder: Path) -> None:
    """Markdown is rendered, and Ctrl+C ends it with 130."""
    id = begin(project_folder, "plan", "Rules", "**One.**")
    ours, theirs = pty.openpty()
    child = subprocess.Popen(
        [SCRIPT, "tail", id],
        cwd=project_folder,
        env={**os.environ, "TERM": "xterm-256color"},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        # Who runs the tests in the background has it ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    os.close(theirs)
    os.set_blocking(ours, False)
    seen = b""

    def sees(words: bytes) -> bool:
        nonlocal seen
        try:
            seen += os.read(ours, 65536)
        except (BlockingIOError, OSError):
            return words in seen
        return words in seen

    await_(lambda: sees(b"One."))
    assert b"**" not in seen
    speak(project_folder, id, "## Two")
    await_(lambda: sees(b"Two"))
    assert b"## " not in seen
    child.send_signal(signal.SIGINT)
    assert child.wait(PATIENCE) == 130
    os.close(ours)


def test_tail_ends_silently_when_reader_closes_pipe(project_folder: Path) -> None:
    """It ends although nothing more is said, without a word."""
    id = begin(project_folder, "plan", "Rules", "One.")
    child = subprocess.Popen(
        f"{SCRIPT} tail {id} | head -n 1",
        shell=True,
        cwd=project_folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    out, err = child.communicate(timeout=PATIENCE)
    assert (out, err, child.returncode) == ("Rules\n", "", 0)


def test_tail_follows_replaced_file_and_reports_lost_messages(
    project_folder: Path, tmp_path: Path
) -> None:
    """Another with the same beginning: only what is new comes. One that was cut: it says so, and
    goes on from there."""
    id = begin(project_folder, "plan", "Rules", "One.", "Two.")
    lines = folder_of(project_folder, id) / ".session/messages.jsonl"
    with running(project_folder, tmp_path / "said", "tail", id, "--json") as tail:
        shown(tail, "One.", "Two.")
        copy = lines.with_name("copy")
        shutil.copy(lines, copy)
        copy.rename(lines)
        speak(project_folder, id, "Three.")
        shown(tail, "One.", "Two.", "Three.")
        first = lines.read_bytes().split(b"\n")[0] + b"\n"
        copy.write_bytes(first)
        copy.rename(lines)
        tail.until("The conversation was rewound: 2 messages are no longer part of it.")
        speak(project_folder, id, "Another two.")
        shown(tail, "One.", "Two.", "Three.", "Another two.")
        assert json.loads(tail.out.splitlines()[-1])["number"] == 2
        lines.unlink()
        lines.write_bytes(first)
        speak(project_folder, id, "The last.")
        shown(tail, "One.", "Two.", "Three.", "Another two.", "The last.")


def test_tail_continues_while_session_json_is_damaged(project_folder: Path, tmp_path: Path) -> None:
    """What is said comes all the same."""
    id = begin(project_folder, "plan", "Rules", "One.")
    head = folder_of(project_folder, id) / ".session/session.json"
    with running(project_folder, tmp_path / "said", "tail", id, "--json") as tail:
        shown(tail, "One.")
        good = head.read_bytes()
        head.write_bytes(good[:40])
        with head.with_name("messages.jsonl").open("ab") as file:
            line = {"role": "user", "content": "Two.", "timestamp": "2026-01-01T00:00:00Z"}
            file.write(json.dumps(line).encode() + b"\n")
        shown(tail, "One.", "Two.")
        head.write_bytes(good.replace(b'"active"', b'"completed"'))
        assert tail.process.wait(PATIENCE) == 0
    assert tail.err.endswith("No more messages will follow: the conversation is completed.\n")


def test_tail_ends_when_conversation_is_deleted_missing_or_completed(
    project_folder: Path, tmp_path: Path
) -> None:
    """It says so and ends; so does one that is not there, or was completed long ago."""
    id = begin(project_folder, "plan", "Rules", "One.")
    with running(project_folder, tmp_path / "said", "tail", id) as tail:
        tail.until("One.")
        ok(project_folder, "delete", id, "--yes")
        assert tail.process.wait(PATIENCE) == 0
    assert tail.err.endswith("No more messages will follow: the conversation was deleted.\n")
    assert cortext(project_folder, "tail", "nothing-like-it").returncode == 3
    done = begin(project_folder, "plan", "Done", "One.")
    ok(project_folder, "done", done)
    found = cortext(project_folder, "tail", done)
    assert (found.returncode, "One." in found.stdout) == (0, True)
    assert found.stderr.endswith("No more messages will follow: the conversation is completed.\n")


def test_tail_follows_claude_transcript_and_reports_branch_change(
    tail_home: Path, tmp_path: Path
) -> None:
    """Its own transcript; where the person takes another way, it says so."""
    path = say(tail_home, "One.")
    more = [
        claude_lines.line("u0", None, "user", "One."),
        claude_lines.line("a1", "u0", "assistant", claude_lines.text("Two.")),
        claude_lines.line("u2", "a1", "user", "Three."),
        claude_lines.line("u3", "a1", "user", "Another three."),
    ]
    with running(tail_home, tmp_path / "said", "tail", ID, "--json") as tail:
        shown(tail, "One.")
        for number, texts in (1, ["Two."]), (2, ["Two.", "Three."]):
            with path.open("ab") as file:
                file.write(json.dumps(more[number]).encode() + b"\n")
            shown(tail, "One.", *texts)
        with path.open("ab") as file:
            file.write(json.dumps(more[3]).encode() + b"\n")
        shown(tail, "One.", "Two.", "Three.", "Another three.")
        assert "The conversation was rewound: 1 message is no longer part of it." in tail.err
        ok(tail_home, "sync")
        path.unlink()
        assert tail.process.wait(PATIENCE) == 0
    assert tail.err.endswith(
        "No more messages will follow: "
        "the tool has deleted the session; this is the archived copy.\n"
    )


def test_tail_repeats_tool_call_when_its_result_arrives(tail_home: Path, tmp_path: Path) -> None:
    """A call is told when it is made, and again with its result."""
    path = say(tail_home, "One.")
    call = claude_lines.line(
        "a1", "u0", "assistant", claude_lines.use("t1", "Bash", command="make")
    )
    answer = claude_lines.line("u2", "a1", "user", claude_lines.result("t1", "all is well"))
    with running(tail_home, tmp_path / "said", "tail", ID, "--stubs") as tail:
        tail.until("One.")
        for line, words in (call, "make"), (answer, "all is well"):
            with path.open("ab") as file:
                file.write(json.dumps(line).encode() + b"\n")
            tail.until(words)
    assert tail.out.count("make") == 2


def test_tail_follows_opencode_database(tail_home: Path, tmp_path: Path) -> None:
    """Rows of a database; an answer comes when it says something."""
    (tail_home / "data/opencode").mkdir(parents=True)
    made = Made(tail_home / "data/opencode")
    made.session()
    made.message("m1", "user", text("One."))
    with running(tail_home, tmp_path / "said", "tail", "ses_1", "--json") as tail:
        shown(tail, "One.")
        made.message("m2", "assistant")
        made.message("m3", "user", text("Two?"))
        tail.until("Two?")
    assert said(tail)[-1] == "Two?"


def test_tail_follows_spawn_log_and_program_document(tail_home: Path, tmp_path: Path) -> None:
    """A log grows by lines and ends with its status; a document is written anew each time."""
    logs = open_session_store(f"log:{os.environ['AURORA_HOME']}/spawn/sessions")
    documents = open_session_store(f"document:{tail_home}/data/src/opencode/sessions")
    for store, id in ((logs, "spawned"), (documents, "kept")):
        session = Session(id, title="Kept", messages=[SessionMessage("user", "One.")])
        store.save(session)
        with running(tail_home, tmp_path / f"said-{id}", "tail", id, "--json") as tail:
            shown(tail, "One.")
            store.append(id, SessionMessage("assistant", "Two."))
            shown(tail, "One.", "Two.")
            store.append(id, SessionMessage("user", "Three."))
            shown(tail, "One.", "Two.", "Three.")
            session = store.load(id)
            session.status = "completed"
            store.save(session)
            assert tail.process.wait(PATIENCE) == 0
        assert tail.err.endswith("the session is completed.\n")


def test_tail_captures_tool_messages_of_bound_conversation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, git_identity: None
) -> None:
    """What is said there is taken in, and comes, without a hook."""
    bench = Bench("claude", tmp_path / "bench", monkeypatch)
    bench.bind()
    root = Path(bench.workspace.root)
    name = bench.bound.place.name
    with running(root, tmp_path / "said", "tail", name, "-n", "1", "--json") as tail:
        tail.until('"number"')
        bench.say("user", "And one more thing.", 1)
        tail.until("And one more thing.")
    assert bench.said()[-1] == ["user", "And one more thing."]


def test_tail_refuses_folder_without_session(project_folder: Path) -> None:
    """There is nothing that could grow: one sentence says so."""
    folder = project_folder / "conversations/2026-01-12/001-plan-old"
    folder.mkdir(parents=True)
    (folder / "plan.md").write_text("# Old\n", encoding="utf-8")
    done = cortext(project_folder, "tail", "001-plan-old")
    assert done.returncode == 1
    assert done.stderr.startswith("error: 001-plan-old has no session to follow\nhint: ")


def test_completion_offers_conversation_ids_for_tail(project_folder: Path) -> None:
    """The shell offers the ids of conversations."""
    id = begin(project_folder, "plan", "Rules", "One.")
    assert offered(project_folder, "cortext tail 001") == [id]
