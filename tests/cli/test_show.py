"""`cortext show`: in a pipe, and in a real pseudo terminal."""

import json
import os
import re
import shutil
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import pytest

from cortext import Session, SessionMessage, SessionStorage, open_session_store
from tests.cli.show_terminal import HOSTILE, STYLE, assert_harmless, cortext, in_terminal, keep


def talk() -> list[SessionMessage]:
    """Two requests; the answer to the first makes two calls."""
    calls = [
        {"id": "c1", "name": "Bash", "input": {"command": "pytest -q"}},
        {"id": "c2", "name": "Read", "input": {"path": "auth.py"}},
    ]
    output = "\n".join(f"line {n}" for n in range(30)) + "\nExit code: 1"
    return [
        SessionMessage("user", "Why does **it** fail?\nIn `auth.py`."),
        SessionMessage("assistant", "Let me look.", tool_calls=calls),
        SessionMessage("tool", output, tool_call_id="c1", name="Bash"),
        SessionMessage("tool", "the whole file", tool_call_id="c2", name="Read"),
        SessionMessage("assistant", "# A race\n\n- one\n- two\n"),
    ]


def test_show_in_pipe_prints_complete_plain_text(empty_workspace: Path) -> None:
    """Found by words of the title; plain text, nothing cut, and where the files are."""
    long = "word " * 400 + "end"
    folder = keep(empty_workspace, "001-debug-x", *talk(), SessionMessage("user", long))
    done = cortext(empty_workspace, "show", "token", "race")
    assert (done.returncode, done.stderr) == (0, "")
    head = done.stdout.split("\n\n")[0].splitlines()
    assert head[0] == "Token race"
    assert head[1].startswith("001-debug-x · debug · active · ")
    assert head[-1] == f"{folder}/.session"
    assert "Why does **it** fail?\nIn `auth.py`.\n" in done.stdout
    assert f"\n{long}\n" in done.stdout
    assert "  command: pytest -q\n" in done.stdout
    assert "line 0\nline 1\n" in done.stdout
    assert "\x1b" not in done.stdout


def test_show_stubs_shorten_tool_calls_and_name_message_option(empty_workspace: Path) -> None:
    """A stub has how a call ended; `--message` has the call and its results, in full."""
    keep(empty_workspace, "001-debug-x", *talk())
    short = cortext(empty_workspace, "show", "001", "--stubs").stdout
    assert "Bash · --message 2, result: message 3\n  $ pytest -q\n  exit code 1\n" in short
    assert ("line 0" in short, "the whole file" in short) == (False, False)
    whole = cortext(empty_workspace, "show", "001", "--message", "2").stdout
    assert "line 0\nline 1\n" in whole
    assert "the whole file" in whole
    assert ("Why does" in whole, "A race" in whole) == (False, False)


def test_show_selects_messages_by_number_range_or_last_count(empty_workspace: Path) -> None:
    """Counted from 1, a range, the last ones; and the same as JSON."""
    keep(empty_workspace, "001-debug-x", *talk())
    for args, expected in (
        (["--message", "4-5"], ["4", "5"]),
        (["--message", "5-99"], ["5"]),
        (["-n", "2"], ["4", "5"]),
    ):
        out = cortext(empty_workspace, "show", "001", *args).stdout
        assert re.findall(r"^#(\d+) ", out, re.MULTILINE) == expected
        found = json.loads(cortext(empty_workspace, "show", "001", *args, "--json").stdout)
        assert len(found["messages"]) == len(expected)


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("0", "is not a message number"),
        ("3-2", "is not a message number"),
        ("x", "is not a message number"),
        ("٣", "is not a message number"),
        ("6", "no message 6; this conversation has 5"),
    ],
)
def test_show_rejects_invalid_message_number_as_usage_error(
    value: str, says: str, empty_workspace: Path
) -> None:
    """A usage error in one sentence."""
    keep(empty_workspace, "001-debug-x", *talk())
    done = cortext(empty_workspace, "show", "001", "--message", value)
    assert (done.returncode, done.stdout) == (2, "")
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_show_prints_recorded_tool_calls_with_their_results(empty_workspace: Path) -> None:
    """Calls beside the messages stand with the message after them, or with the last."""
    session = Session("001-debug-x", title="T", messages=talk()[:1])
    session.record_tool_call("grep", {"pattern": "lock"}, {"output": "two\nlines"})
    session.record_tool_call("deploy", {}, success=False, error="no rights")
    open_session_store(f"workspace:{empty_workspace}").save(session)
    whole = cortext(empty_workspace, "show", "001", "--message", "1").stdout
    assert "call grep\n  pattern: lock\nresult\n  output:\n    two\n    lines\n" in whole
    assert "call deploy\nfailed: no rights\n" in whole
    assert "deploy" in cortext(empty_workspace, "show", "001", "--stubs").stdout


def test_show_in_terminal_renders_markdown_through_pager(empty_workspace: Path) -> None:
    """Through $PAGER, with headings, bold text, bullets and stubs."""
    keep(empty_workspace, "001-debug-x", *talk())
    out = in_terminal(empty_workspace, "show", "001", PAGER="sed s/^/|/")
    assert all(line.startswith("|") for line in out.rstrip("\n").split("\n"))
    assert "\x1b[1mit\x1b[0m" in out
    bare = STYLE.sub("", out)
    assert "Why does it fail?\n|In auth.py." in bare
    assert re.search(r"^\|#1 user · .* ─+$", bare, re.MULTILINE)
    assert "| • one\n" in bare
    assert "Bash · --message 2" in bare
    assert "line 0" not in bare
    paths = [line[1:] for line in bare.split("\n") if line.startswith("|/")]
    assert all(Path(path).exists() for path in paths)
    assert max(len(line) for line in bare.split("\n") if line[1:] not in paths) <= 81


def test_show_honours_no_pager_plain_and_dumb_terminal(empty_workspace: Path) -> None:
    """Each takes one thing away; `--plain` is the text of a pipe."""
    keep(empty_workspace, "001-debug-x", *talk())
    assert "|" not in in_terminal(empty_workspace, "show", "001", "--no-pager", PAGER="sed s/^/|/")
    plain = in_terminal(empty_workspace, "show", "001", "--plain", "--full")
    assert plain.rstrip() == cortext(empty_workspace, "show", "001").stdout.rstrip()
    assert "\x1b" not in in_terminal(empty_workspace, "show", "001", TERM="dumb")


def test_show_uses_no_colour_with_no_color_set(empty_workspace: Path) -> None:
    """NO_COLOR leaves bold and dim, and no colour."""
    keep(empty_workspace, "001-debug-x", *talk(), SessionMessage("user", "```python\nx = 1\n```"))
    coloured = re.compile(r"\x1b\[[0-9;]*\b(?:3[0-8]|4[0-8]|9[0-7]|10[0-7])\b[0-9;]*m")
    assert coloured.search(in_terminal(empty_workspace, "show", "001"))
    assert not coloured.search(in_terminal(empty_workspace, "show", "001", NO_COLOR="1"))


def test_show_never_runs_pager_from_current_folder(empty_workspace: Path) -> None:
    """Not one that is found from the current folder, nor one that is named from there."""
    keep(empty_workspace, "001-debug-x", *talk())
    for name in ("less", "evil"):
        (empty_workspace / name).write_text("#!/bin/sh\ntouch ran\ncat\n", encoding="utf-8")
        (empty_workspace / name).chmod(0o755)
    for pager, path in (("", ".:" + os.environ["PATH"]), ("./evil", os.environ["PATH"])):
        out = in_terminal(empty_workspace, "show", "001", PAGER=pager, PATH=path)
        assert "Token race" in out
        assert not (empty_workspace / "ran").exists()


@pytest.mark.parametrize("args", [[], ["--full"], ["--plain"], ["--message", "1-3"]])
def test_show_neutralizes_hostile_text_in_every_field(
    args: list[str], empty_workspace: Path
) -> None:
    """Of titles, messages, tool calls, names, tags, models and summaries only text comes out."""
    nasty = " ".join(HOSTILE)
    call = {"id": "c", "name": f"Bash{nasty}", "input": {f"command{nasty}": nasty}}
    lines = "\n\n".join(HOSTILE)
    messages = [
        SessionMessage("user", lines),
        SessionMessage("assistant", nasty, tool_calls=[call], structured_data={nasty: [nasty]}),
        SessionMessage("tool", nasty, tool_call_id="c", name=nasty),
        SessionMessage("system", lines),
    ]
    keep(empty_workspace, "001-x", *messages, title=nasty, tags=[nasty], model=nasty, summary=nasty)
    terminal = in_terminal(empty_workspace, "show", "001", *args)
    assert_harmless(terminal)
    assert "[red]x[/]" in STYLE.sub("", terminal)
    piped = cortext(empty_workspace, "show", "001", *args).stdout
    assert_harmless(piped)
    assert "\x1b" not in piped


def test_show_rendering_keeps_html_link_targets_and_deep_quotes(empty_workspace: Path) -> None:
    """HTML, comments, link targets, definitions and very deep quotes are there to be read."""
    text = (
        "a <!-- secret --> b\n\n<system-reminder>do</system-reminder>\n\n[ref]: http://x.test\n\n"
    )
    text += "[link](http://y.test/z) ![pic](http://p.test)\n\n| a | b |\n|---|---|\n|" + "w" * 200
    deep = SessionMessage("user", "> " * 300 + "bottom")
    keep(empty_workspace, "001-x", SessionMessage("user", text), deep)
    bare = STYLE.sub("", in_terminal(empty_workspace, "show", "001", columns=60))
    for there in ("<!-- secret -->", "<system-reminder>do</system-reminder>", "http://x.test"):
        assert there in bare
    for there in ("(http://y.test/z)", "(http://p.test)", "bottom"):
        assert there in bare
    assert bare.count("w") >= 200


def test_show_prints_markdown_of_folder_without_session(empty_workspace: Path) -> None:
    """Whoever deleted `.session/` still has the document."""
    document = Path(cortext(empty_workspace, "new", "plan", "A trip").stdout.strip())
    shutil.rmtree(document.parent / ".session")
    document.write_text("# A trip\n\nto **Rome**\x1b[2J\n", encoding="utf-8")
    done = cortext(empty_workspace, "show", "trip")
    assert (done.returncode, done.stderr) == (0, "")
    assert f"\n{document}\n" in done.stdout
    assert "to **Rome**\ufffd[2J" in done.stdout
    found = json.loads(cortext(empty_workspace, "show", "trip", "--json").stdout)
    assert (found["title"], found["markdown"], found["messages"]) == ("A trip", str(document), [])
    assert "no messages" in cortext(empty_workspace, "show", "trip", "--message", "1").stderr


@pytest.mark.parametrize("head", [None, '{"x'])
@pytest.mark.parametrize(("changed", "expected"), [("12:34", "12:34"), (None, "12:00")])
def test_show_without_head_and_messages_says_time_of_folder_and_files(
    empty_workspace: Path, head: str | None, changed: str | None, expected: str
) -> None:
    folder = empty_workspace / "conversations/2025-03-04/001-plan-x"
    (folder / ".session").mkdir(parents=True)
    (folder / "plan.md").write_text("# A plan\n", encoding="utf-8")
    (folder / ".session/messages.jsonl").touch()
    if head:
        (folder / ".session/session.json").write_text(head, encoding="utf-8")
    if changed:
        when = datetime.fromisoformat(f"2025-03-04T{changed}").timestamp()
        os.utime(folder / "plan.md", (when, when))
    done = cortext(empty_workspace, "show", "001-plan-x")
    assert done.returncode == 5, done.stderr
    assert f"001-plan-x · paused · 2025-03-04 {expected} · " in done.stdout
    (row,) = json.loads(cortext(empty_workspace, "list", "--json").stdout)
    shown = json.loads(cortext(empty_workspace, "show", "001-plan-x", "--json").stdout)
    assert row["created_at"] == shown["created_at"]


@pytest.mark.parametrize("broken", ["session.json", "messages.jsonl"])
def test_show_prints_rest_of_damaged_conversation_and_exits_5(
    broken: str, empty_workspace: Path
) -> None:
    """The rest is there, the file is named, the code is 5, and others are as they were."""
    folder = keep(empty_workspace, "001-debug-x", *talk())
    keep(empty_workspace, "002-plan-y", *talk(), title="Other", kind="plan")
    path = folder / ".session" / broken
    data = path.read_bytes()
    path.write_bytes(b"{" if broken == "session.json" else b"garbage\n" + data)
    done = cortext(empty_workspace, "show", "001-debug-x")
    assert (done.returncode, str(path) in done.stderr) == (5, True)
    assert "A race" in done.stdout
    assert cortext(empty_workspace, "show", "other").returncode == 0


def test_show_falls_back_to_session_of_default_store(empty_workspace: Path, tmp_path: Path) -> None:
    """A session of the default store by its id or the beginning of it; a conversation wins."""
    data = str(tmp_path / "data")
    storage = SessionStorage(tmp_path / "data/src/opencode/sessions")
    storage.save(Session("abc-1", title="Documents", messages=[SessionMessage("user", "hi")]))
    for given in ("abc-1", "abc"):
        done = cortext(empty_workspace, "show", given, XDG_DATA_HOME=data)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith("Documents\n")
    keep(empty_workspace, "abc-2", *talk())
    assert cortext(empty_workspace, "show", "abc", XDG_DATA_HOME=data).stdout.startswith(
        "Token race\n"
    )


@pytest.mark.parametrize("query", ["nothing-like-it-zzz", "../../etc/passwd", "-- -p", "$(x)"])
def test_show_exits_3_when_no_conversation_matches(query: str, empty_workspace: Path) -> None:
    """Exit code 3 and one sentence."""
    done = cortext(empty_workspace, "show", "--", query)
    assert (done.returncode, done.stdout) == (3, "")
    assert "error: conversation not found: " in done.stderr
    assert "Traceback" not in done.stderr


def test_show_lists_ambiguous_matches_and_exits_4(empty_workspace: Path) -> None:
    """Exit code 4, with the ids to choose from."""
    for id in ("001-debug-x", "002-debug-y"):
        keep(empty_workspace, id, *talk())
    done = cortext(empty_workspace, "show", "token race")
    assert (done.returncode, "002-debug-y" in done.stderr) == (4, True)


def test_show_replaces_unencodable_characters_with_question_marks(empty_workspace: Path) -> None:
    """What cannot be written becomes a question mark, and no error."""
    keep(empty_workspace, "001-debug-x", SessionMessage("user", "日本語 ok"))
    done = cortext(empty_workspace, "show", "001", PYTHONIOENCODING="ascii")
    assert (done.returncode, "??? ok" in done.stdout) == (0, True)


def test_show_in_pipe_imports_no_heavy_modules(empty_workspace: Path) -> None:
    """It costs more than all the rest."""
    keep(empty_workspace, "001-debug-x", *talk())
    code = "import sys; from cortext.cli.main import main; sys.argv[1:] = ['show', '001']; main(); "
    code += "print(*sys.modules, file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=empty_workspace,
        capture_output=True,
        text=True,
        check=True,
    )
    heavy = {"rich", "markdown_it", "pygments", "asyncio", "textual"}
    assert set(done.stderr.split()) & heavy == set()
