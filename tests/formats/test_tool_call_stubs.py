"""Tool calls of the past are short text: what was done, how it ended, where all of it is."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortext.formats.history_in_order import history
from cortext.formats.tool_call_stubs import ToolCall, ToolResult, kind_of, read_call, stub
from cortext.model.message import Role, SessionMessage, ToolInvocation
from cortext.model.session import Session

START = datetime(2025, 11, 22, tzinfo=UTC)
PATCH = """*** Begin Patch
*** Update File: src/a.py
@@ def f():
 x = 1
-y = 2
+y = 3
+z = 4
*** Add File: b.txt
+hello
*** End Patch"""
DIFF = "--- a/src/a.py\n+++ b/src/a.py\n@@ -1,2 +1 @@\n-old\n-older\n+new\n"


def message(role: Role, content: str = "", at: int = 0, **fields: Any) -> SessionMessage:
    return SessionMessage(role, content, START + timedelta(seconds=at), **fields)


def told(*messages: SessionMessage, calls: list[ToolInvocation] | None = None) -> list[str]:
    session = Session("s", messages=list(messages), tool_history=calls or [])
    return [part.past.text for part in history(session, lambda number: f"show {number}")]


def openai(name: str, arguments: Any, id: str = "1") -> dict[str, Any]:
    return {"id": id, "function": {"name": name, "arguments": json.dumps(arguments)}}


@pytest.mark.parametrize(
    ("name", "arguments", "kind"),
    [
        ("Edit", {"file_path": "a"}, "edit"),
        ("MultiEdit", {"file_path": "a", "edits": []}, "edit"),
        ("NotebookEdit", {"notebook_path": "a", "new_source": "x"}, "edit"),
        ("str_replace_based_edit_tool", {"command": "create", "path": "a"}, "edit"),
        ("str_replace_based_edit_tool", {"command": "view", "path": "a"}, "read"),
        ("apply_patch", {"input": PATCH}, "edit"),
        ("shell", {"command": ["apply_patch", PATCH]}, "edit"),
        ("shell", {"command": ["bash", "-lc", f"apply_patch <<'EOF'\n{PATCH}\nEOF"]}, "edit"),
        ("run_shell_command", {"command": "ls"}, "shell"),
        ("mcp__box__bash", {"command": "ls"}, "shell"),
        ("mcp__files__read_file", {"path": "a"}, "read"),
        ("functions.grep", {"pattern": "a"}, "read"),
        ("WebFetch", {"url": "http://a", "prompt": "b"}, "read"),
        ("list_directory", {"dir_path": "a"}, "read"),
        ("mine", {"cmd": "ls"}, "shell"),
        ("mine", {"path": "a", "old_string": "x", "new_string": "y"}, "edit"),
        ("mine", {"path": "a", "content": "x"}, "edit"),
        ("mine", {"patch": DIFF}, "edit"),
        ("mine", {"query": "a"}, "read"),
        ("mine", {"title": "a", "content": "x"}, "other"),
        ("Task", {"prompt": "a"}, "other"),
        ("bash", {"restart": True}, "other"),
        ("write", {"table": "t"}, "other"),
    ],
)
def test_kind_of_classifies_call_by_name_or_arguments(
    name: str, arguments: dict[str, Any], kind: str
) -> None:
    """A name decides if it is known, else what was given; without what it needs it is neither."""
    assert kind_of(ToolCall(name, arguments)) == kind


@pytest.mark.parametrize(
    ("arguments", "first"),
    [
        ({"file_path": "a.py", "old_string": "a\nb\nc", "new_string": "a\nX\nY\nc"},
         "T · a.py +2 −1 · show\n  + X"),
        ({"file_path": "a.py", "old_string": "a\nb\nc", "new_string": "a\nc"},
         "T · a.py +0 −1 · show\n  - b"),
        ({"file_path": "a.py", "old_string": "1\na\nb\n2", "new_string": "x\na\nb\ny"},
         "T · a.py +2 −2 · show\n  + x"),
        ({"file_path": "a.py", "old_string": "1\n2\n3", "new_string": "2\n1\n3"},
         "T · a.py +2 −2 · show\n  + 2"),
        ({"file_path": "a.py", "old_string": "", "new_string": "a\nb\n"},
         "T · a.py +2 −0 · show\n  + a"),
        ({"file_path": "a.py", "edits": [{"old_string": "a", "new_string": "b"},
                                         {"old_string": "c\nd", "new_string": "c"}]},
         "T · a.py +1 −2 · show\n  + b"),
        ({"path": "a.py", "file_text": "\none\ntwo\n"}, "T · a.py +3 −? · show\n  + one"),
        ({"path": "a.py", "new_str": "one", "insert_line": 3}, "T · a.py +1 −0 · show\n  + one"),
        ({"path": "a.py", "content": ""}, "T · a.py +0 −? · show"),
        ({"input": PATCH}, "T · src/a.py +2 −1, b.txt +1 −0 · show\n  - y = 2"),
        ({"patch": DIFF}, "T · src/a.py +1 −2 · show\n  - old"),
    ],
)  # fmt: skip
def test_edit_stub_shows_path_line_counts_and_first_change(
    arguments: dict[str, Any], first: str
) -> None:
    """Path, +n −m and the first changed line; what a written file replaced is not known."""
    assert stub(ToolCall("T", arguments), ToolResult("ok"), "show") == first


def test_patch_stub_names_first_five_files_and_counts_rest() -> None:
    """Five of them, and how many more there are."""
    patch = "*** Begin Patch\n" + "".join(f"*** Add File: f{n}\n+x\n" for n in range(9))
    line = stub(ToolCall("apply_patch", {"input": patch}), ToolResult("ok"), "show").split("\n")[0]
    assert ("f4 +1 −0" in line, "f5" in line, "and 4 more files" in line) == (True, False, True)


@pytest.mark.parametrize(
    ("value", "ending"),
    [
        ("1\n2\n3\n4\n", ["exit code not recorded", "> 2", "> 3", "> 4"]),
        ("Exit code 2\nboom", ["exit code 2", "> boom"]),
        ("Exit code: 0\nWall time: 1 seconds\nOutput:\nfine", ["exit code 0", "> fine"]),
        ("Chunk ID: x\nWall time: 1 seconds\nProcess exited with code 7\nOutput:\na\n\nb",
         ["exit code 7", "> a", "> b"]),
        ("Output: a\nError: (none)\nExit Code: -1\nSignal: (none)\nProcess Group PGID: 9",
         ["exit code -1", "> Output: a"]),
        ('{"output":"a\\nb","metadata":{"exit_code":3}}', ["exit code 3", "> a", "> b"]),
        ('{"not": "json', ["exit code not recorded", '> {"not": "json']),
        ({"stdout": "a", "stderr": "b", "returncode": 0}, ["exit code 0", "> a", "> b"]),
        ([{"type": "text", "text": "a"}], ["exit code not recorded", "> a"]),
        ("it said: exit code 9\n", ["exit code not recorded", "> it said: exit code 9"]),
        ("", ["exit code not recorded"]),
    ],
)  # fmt: skip
def test_shell_stub_shows_command_exit_code_and_last_three_lines(
    value: Any, ending: list[str]
) -> None:
    """The command, its exit code and the last three lines, as each of the tools says them."""
    lines = stub(ToolCall("Bash", {"command": "make\ntest"}), ToolResult(value), "show").split(
        "\n  "
    )
    assert lines == ["Bash · show", "$ make", "  test", *ending]


def test_shell_stub_cuts_command_at_1000_characters() -> None:
    """Of a longer one the beginning, of a list without the shell's own words."""
    lines = stub(ToolCall("shell", {"command": ["/bin/bash", "-lc", "x" * 5000]}), None, "show")
    assert lines.split("\n")[1:] == ["  $ " + "x" * 999 + "…", "  no result was recorded"]
    listed = stub(ToolCall("shell", {"command": ["git", "log"]}), None, "show")
    assert listed.split("\n")[1] == "  $ git log"


@pytest.mark.parametrize(
    ("name", "arguments", "line"),
    [
        ("Read", {"file_path": "a\nb.py", "limit": 3}, "Read · a b.py · show"),
        ("Grep", {"pattern": "x.*y", "path": "src"}, "Grep · x.*y in src · show"),
        ("read_many_files", {"paths": ["a", "b"]}, "read_many_files · a, b · show"),
        ("WebFetch", {"url": "http://a", "prompt": "why"}, "WebFetch · http://a · show"),
    ],
)  # fmt: skip
def test_read_stub_shows_path_or_pattern_on_one_line(
    name: str, arguments: dict[str, Any], line: str
) -> None:
    """One line, with the path or pattern."""
    assert stub(ToolCall(name, arguments), ToolResult("long " * 9), "show") == line


def test_other_stub_shows_first_arguments_and_last_output_lines() -> None:
    """Their first arguments, and the last lines of what they gave."""
    arguments = {"n": 1, "x": "é" * 999}
    lines = stub(ToolCall("Task", arguments), ToolResult("a\nb\n\nc\nd\n"), "show").split("\n")
    shown = '{"n":1,"x":"' + "é" * 187
    assert lines == [f"Task · {shown}… · show", "  > b", "  > c", "  > d"]
    assert stub(ToolCall("ping", {}), ToolResult(""), "show") == "ping · show"
    assert stub(ToolCall("ping", {}), ToolResult("no\nway", failed=True), "show").count("way") == 1


@pytest.mark.parametrize(
    ("call", "result", "last"),
    [
        (ToolCall("Edit", {"path": "a"}), ToolResult("Error: none\nx"), "  failed: Error: none x"),
        (ToolCall("Read", {"path": "a"}), ToolResult("Error handling\n"), "Read · a · show"),
        (ToolCall("Read", {"path": "a"}), ToolResult("gone", failed=True), "  failed: gone"),
        (ToolCall("Task", {}), ToolResult(None, True, "time out"), "  failed: time out"),
        (ToolCall("Bash", {"command": "x"}), ToolResult(None, True, "denied"),
         "  exit code not recorded, failed: denied"),
    ],
)  # fmt: skip
def test_stub_of_failed_call_shows_failure(call: ToolCall, result: ToolResult, last: str) -> None:
    """A call that failed is not told as one that worked."""
    assert stub(call, result, "show").split("\n")[-1] == last


@pytest.mark.parametrize(
    "data",
    [
        {"id": "1", "name": "Read", "arguments": {"path": "a"}},
        {"id": "1", "name": "Read", "input": {"path": "a"}},
        {"call_id": "1", "name": "Read", "args": {"path": "a"}},
        openai("Read", {"path": "a"}),
    ],
)
def test_read_call_accepts_usual_shapes_of_calls(data: dict[str, Any]) -> None:
    """The usual shapes say the same."""
    assert read_call(data) == ToolCall("Read", {"path": "a"}, "1")


@pytest.mark.parametrize(
    ("given", "arguments"),
    [('{"torn', {"input": '{"torn'}), ("[1]", {"input": "[1]"}), ("", {}), (7, {"input": 7})],
)
def test_read_call_keeps_arguments_that_are_not_an_object(
    given: Any, arguments: dict[str, Any]
) -> None:
    """They are shown as they are."""
    assert read_call({"name": "x", "arguments": given}).arguments == arguments


def test_history_joins_results_with_calls_by_id() -> None:
    """By id, in any order; each stub names both messages; an orphan says that it is one."""
    texts = told(
        message("user", "go"),
        message("assistant", "so", tool_calls=[
            openai("Read", {"path": "a"}, "x"), openai("Bash", {"command": "ls"}, "y"),
            openai("Grep", {"pattern": "q"}, "z"),
        ]),
        message("tool", "out\nExit code: 0", tool_call_id="y"),
        message("tool", "text " * 1000, tool_call_id="x"),
        message("tool", "what", tool_call_id="unknown", name="bash"),
        message("tool", "which"),
    )  # fmt: skip
    assert texts == [
        "go", "so",
        "\n".join((
            "Read · a · show 2, result: message 4",
            "Bash · show 2, result: message 3", "  $ ls", "  exit code 0", "  > out",
            "Grep · q · show 2, result: message 6",
        )),
        "bash · a result without its call · show 5\n  exit code not recorded\n  > what",
    ]  # fmt: skip
    orphan = told(message("assistant", tool_calls=[{"name": "Read", "input": {"path": "a"}}]))
    assert orphan == ["Read · a · show 1\n  no result was recorded"]


def test_result_belongs_to_latest_call_with_its_id() -> None:
    """A result belongs to the latest call of its id."""
    rounds = [
        (message("assistant", tool_calls=[openai("Read", {"path": path}, "call_0")]),
         message("tool", path, tool_call_id="call_0"))
        for path in "ab"
    ]  # fmt: skip
    texts = told(*rounds[0], *rounds[1])
    assert texts == ["Read · a · show 1, result: message 2", "Read · b · show 3, result: message 4"]


def test_recorded_calls_appear_once_at_their_time() -> None:
    """Between the messages of their time, with the message that holds them; never twice."""

    def recorded(at: float, name: str, id: str = "") -> ToolInvocation:
        when = START + timedelta(seconds=at)
        return ToolInvocation(name, {"path": "a"}, "ok", id=id, timestamp=when)

    texts = told(
        message("user", "one", 1),
        message("assistant", "two", 3, tool_calls=[
            openai("Read", {"path": "b"}, "c7"), openai("View", {"path": "a"}, "c8")]),
        calls=[recorded(2, "Ls"), recorded(3.5, "Read", "c7"), recorded(4, "View"),
               recorded(5, "View")],
    )  # fmt: skip
    assert texts == ["one", "Ls · a · show 2", "two", "Read · b · show 2\nView · a · show 2",
                     "View · a · show 2"]  # fmt: skip


def test_huge_results_are_shortened_in_stub() -> None:
    """Of ten megabytes a few lines are left."""
    call = [openai("Bash", {"command": "cat"})]
    for huge in ("y" * 10_000_000, "line\n" * 2_000_000, '{"a":"' + "b" * 10_000_000):
        texts = told(message("assistant", tool_calls=call), message("tool", huge, tool_call_id="1"))
        assert len(texts[0]) < 1000


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
KEYS = st.sampled_from([
    "command", "path", "pattern", "edits", "old_string", "new_string", "content", "patch", "input",
    "name", "arguments", "function", "id", "type", "output", "exit_code", "metadata",
])  # fmt: skip
ARGUMENTS = st.dictionaries(KEYS | st.text(), VALUES | st.just(PATCH) | st.just(DIFF), max_size=5)
NAMES = st.sampled_from(["Edit", "Bash", "Read", "x", ""])
CALLS = ARGUMENTS | st.fixed_dictionaries(
    {"id": st.sampled_from("ab"), "name": NAMES, "arguments": ARGUMENTS | st.text()}
)
MESSAGES = st.builds(
    SessionMessage,
    st.sampled_from(["system", "user", "assistant", "tool"]),
    st.text(),
    timestamp=st.datetimes(timezones=st.just(UTC)),
    tool_calls=st.none() | st.lists(CALLS, max_size=3),
    tool_call_id=st.sampled_from([None, "a", "b"]),
    name=st.sampled_from([None, "Bash", "Read"]),
    structured_data=VALUES | st.dictionaries(KEYS, VALUES, max_size=2),
)
INVOCATIONS = st.builds(ToolInvocation, st.text(), ARGUMENTS, VALUES, success=st.booleans())


@given(st.lists(MESSAGES, max_size=6), st.lists(INVOCATIONS, max_size=3))
def test_history_counts_every_message_once_for_any_session(
    messages: list[SessionMessage], calls: list[ToolInvocation]
) -> None:
    """Every message counts once, numbers go up, and a stub is names and indented lines."""
    session = Session("s", messages=messages, tool_history=calls)
    parts = history(session, lambda number: f"show {number}")
    assert sum(part.messages for part in parts) == len(messages)
    numbers = [part.number for part in parts]
    assert numbers == sorted(numbers)
    for part in parts:
        if part.role == "tool":
            heads = [line for line in part.past.text.split("\n") if not line.startswith("  ")]
            assert all("show " in line for line in heads)
