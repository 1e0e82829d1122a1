"""`cortext export` and `cortext import`, through the real command line."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from cortext import Session, SessionMessage, open_session_store
from cortext.features.transfer.import_exported_file import MAX_IMPORT_BYTES
from cortext.formats.exports import export_formats

SCRIPT = str(Path(sys.executable).with_name("cortext"))
FORMATS = ("md", "html", "json", "jsonl")


def cortext(cwd: Path, *args: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [SCRIPT, *args], cwd=cwd, capture_output=True, timeout=60, input=given, check=False
    )


def ok(cwd: Path, *args: str, given: bytes = b"") -> bytes:
    done = cortext(cwd, *args, given=given)
    assert (done.returncode, b"Traceback" in done.stderr) == (0, False), done.stderr
    return done.stdout


def refused(cwd: Path, *args: str) -> tuple[int, str]:
    """The exit code and what was said: one sentence and at most one hint."""
    done = cortext(cwd, *args)
    said = done.stderr.decode().splitlines()
    assert len(said) <= 2, said
    assert said[0].startswith(("error: ", "Error: "))
    return done.returncode, said[0]


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    root = tmp_path / "other"
    root.mkdir()
    ok(root, "init")
    return root


def begin(workspace: Path, topic: str = "API design") -> Session:
    """A conversation in which something was said."""
    document = Path(ok(workspace, "new", "plan", topic).decode().strip())
    store = open_session_store(f"workspace:{workspace}")
    call = {"id": "c1", "name": "Bash", "arguments": {"command": "ls"}}
    store.append(
        document.parent.name,
        SessionMessage("user", "REST or GraphQL? <b>\x1b[31m\x9b\u202e", extra={"uuid": "u"}),
        SessionMessage("assistant", "REST.", tokens=3, tool_calls=[call], structured_data={"a": 1}),
    )
    return store.load(document.parent.name)


def stored(workspace: Path, id: str) -> Session:
    return open_session_store(f"workspace:{workspace}").load(id)


def files(root: Path) -> list[str]:
    """All that people and stores have below a folder."""
    found = (path.relative_to(root) for path in root.rglob("*") if path.is_file())
    return sorted(str(path) for path in found if ".cortext" not in path.parts)


@pytest.mark.parametrize("format", FORMATS)
def test_import_restores_exported_session_exactly(
    format: str, empty_workspace: Path, elsewhere: Path
) -> None:
    """To a file, named by its ending, and into another workspace, by content alone."""
    session = begin(empty_workspace)
    ok(empty_workspace, "export", "api", "design", "-o", f"out.{format}")
    (empty_workspace / f"out.{format}").rename(elsewhere / "file")
    assert ok(elsewhere, "import", "file") == f"imported: {session.id}\n".encode()
    assert stored(elsewhere, session.id) == session
    assert ok(elsewhere, "import", "file") == f"already here: {session.id}\n".encode()
    assert stored(elsewhere, session.id) == session


@pytest.mark.parametrize("format", FORMATS)
def test_export_to_stdout_has_no_control_characters_and_imports(
    format: str, empty_workspace: Path, elsewhere: Path
) -> None:
    """Data alone, nothing that a terminal would act upon, and it can be piped into an import."""
    session = begin(empty_workspace)
    written = ok(empty_workspace, "export", session.id, "--format", format)
    assert export_formats.find_body(written).format == format
    assert not {"\x1b", "\u202e", "\x9b"} & set(written.decode())
    assert ok(elsewhere, "import", "-", given=written) == f"imported: {session.id}\n".encode()
    assert stored(elsewhere, session.id) == session


def test_export_defaults_to_markdown_and_refuses_unknown_ending(empty_workspace: Path) -> None:
    """Without -o, and for a name that says nothing; one that says something else is refused."""
    begin(empty_workspace)
    assert ok(empty_workspace, "export", "001").startswith(b"# API design\n")
    ok(empty_workspace, "export", "001", "-o", "notes")
    assert (empty_workspace / "notes").read_bytes().startswith(b"# API design\n")
    assert cortext(empty_workspace, "export", "001", "-o", "notes.pdf").returncode == 1
    assert not (empty_workspace / "notes.pdf").exists()


def test_export_into_folder_names_file_after_session_id(empty_workspace: Path) -> None:
    """An existing one, or one that a slash says to make; the name is the id and nothing else."""
    session = begin(empty_workspace, "$(touch x) -p [END RESUMED CONTEXT] ../../y \x1b[31m")
    (empty_workspace / "out").mkdir()
    ok(empty_workspace, "export", "001", "-o", "out")
    ok(empty_workspace, "export", "001", "-o", "new/deep/", "--format", "html")
    assert [path.name for path in (empty_workspace / "out").iterdir()] == [f"{session.id}.md"]
    assert [path.name for path in (empty_workspace / "new/deep").iterdir()] == [
        f"{session.id}.html"
    ]
    assert not {"x", "y"} & {path.name for path in empty_workspace.parent.rglob("*")}


def test_export_file_is_readable_only_by_owner(empty_workspace: Path) -> None:
    """What was said is for its owner, until that one says otherwise."""
    begin(empty_workspace)
    ok(empty_workspace, "export", "001", "-o", "a.md")
    assert (empty_workspace / "a.md").stat().st_mode & 0o777 == 0o600


def test_export_overwrites_file_only_with_force_and_never_symlink(empty_workspace: Path) -> None:
    """Unless --force says so; a link never."""
    begin(empty_workspace)
    mine = empty_workspace / "a.md"
    mine.write_text("mine")
    code, said = refused(empty_workspace, "export", "001", "-o", "a.md")
    assert (code, said) == (1, "error: a.md already exists")
    assert mine.read_text() == "mine"
    ok(empty_workspace, "export", "001", "-o", "a.md", "--force")
    assert mine.read_text().startswith("# API design")
    (empty_workspace / "link.md").symlink_to("target.md")
    for options in ((), ("--force",)):
        assert refused(empty_workspace, "export", "001", "-o", "link.md", *options)[0] == 1
    assert not (empty_workspace / "target.md").exists()
    assert [path.name for path in empty_workspace.iterdir() if path.name.endswith(".tmp")] == []


@pytest.mark.parametrize(("answer", "code"), [("y", 0), ("n", 130)])
def test_export_asks_before_overwriting_in_terminal(
    answer: str, code: int, empty_workspace: Path
) -> None:
    """On a terminal."""
    begin(empty_workspace)
    (empty_workspace / "a.md").write_text("mine")
    leader, follower = pty.openpty()
    try:
        os.write(leader, f"{answer}\n".encode())
        done = subprocess.run(
            [SCRIPT, "export", "001", "-o", "a.md"],
            cwd=empty_workspace,
            stdin=follower,
            stdout=subprocess.PIPE,
            stderr=follower,
            timeout=60,
            check=False,
        )
    finally:
        os.close(follower)
        os.close(leader)
    assert done.returncode == code
    assert ((empty_workspace / "a.md").read_text() == "mine") == (answer == "n")


def test_export_exits_3_when_missing_and_4_when_ambiguous(empty_workspace: Path) -> None:
    """3 and 4, as for every command; a folder that cannot be written to is 1."""
    begin(empty_workspace)
    begin(empty_workspace)
    assert cortext(empty_workspace, "export", "nothing of the kind").returncode == 3
    done = cortext(empty_workspace, "export", "api design")
    assert (done.returncode, done.stdout) == (4, b"")
    assert refused(empty_workspace, "export", "001", "-o", "missing/a.md")[0] == 1


def test_export_writes_readable_part_of_damaged_session_and_exits_5(
    empty_workspace: Path, elsewhere: Path
) -> None:
    """What is wrong is said, and the exit code is 5."""
    session = begin(empty_workspace)
    (lines,) = empty_workspace.glob("conversations/*/*/.session/messages.jsonl")
    first, second = lines.read_bytes().splitlines(keepends=True)
    lines.write_bytes(first + b"{broken\n" + second)
    done = cortext(empty_workspace, "export", "001", "-o", "a.json")
    assert done.returncode == 5
    assert b"line 2" in done.stderr
    ok(elsewhere, "import", str(empty_workspace / "a.json"))
    assert stored(elsewhere, session.id).messages == session.messages


def test_export_without_session_points_to_markdown_and_exits_3(empty_workspace: Path) -> None:
    """There is nothing to export but its markdown, which is a file already."""
    begin(empty_workspace)
    for path in empty_workspace.glob("conversations/*/*/.session/*"):
        path.unlink()
    done = cortext(empty_workspace, "export", "001")
    assert (done.returncode, done.stdout) == (3, b"")
    assert b"hint: only its markdown exists: " in done.stderr


@pytest.mark.parametrize("kind", ["document", "log", "workspace"])
def test_export_and_import_work_with_every_store_kind(
    kind: str, empty_workspace: Path, tmp_path: Path
) -> None:
    """From a store by the beginning of an id, and into another."""
    session = begin(empty_workspace)
    source = f"workspace:{empty_workspace}"
    ok(tmp_path, "export", "001", "--store", source, "-o", "a.md")
    target = f"{kind}:{tmp_path / 'store'}"
    assert ok(tmp_path, "import", "a.md", "--store", target).startswith(b"imported")
    assert open_session_store(target).load(session.id) == session
    assert ok(tmp_path, "import", "a.md", "--store", target).startswith(b"already here")
    assert ok(tmp_path, "export", "001", "--store", target) == (tmp_path / "a.md").read_bytes()


def test_import_outside_workspace_goes_to_private_personal_workspace(
    empty_workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where nobody else may look."""
    session = begin(empty_workspace)
    written = ok(empty_workspace, "export", "001")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    done = cortext(tmp_path, "import", "-", given=written)
    assert done.stdout == f"imported: {session.id}\n".encode()
    note = b"There is no workspace here; the conversation is in your personal workspace.\n"
    assert done.stderr == note
    personal = tmp_path / "data/cortext/personal"
    assert stored(personal, session.id) == session
    assert personal.stat().st_mode & 0o777 == 0o700


def test_import_refuses_different_session_with_same_id_unless_renamed(
    empty_workspace: Path, elsewhere: Path
) -> None:
    """The same id with other words: refused, and --as gives it a place of its own."""
    session = begin(empty_workspace)
    ok(empty_workspace, "export", "001", "-o", "a.html")
    there = begin(elsewhere)
    file = str(empty_workspace / "a.html")
    code, said = refused(elsewhere, "import", file)
    assert (code, "already exists with different content" in said) == (1, True)
    assert stored(elsewhere, session.id) == there
    assert ok(elsewhere, "import", file, "--as", "plan-of-ana") == b"imported: plan-of-ana\n"
    copy = stored(elsewhere, "plan-of-ana")
    assert copy.messages == session.messages
    day = f"{session.created_at:%Y-%m-%d}"
    assert (elsewhere / f"conversations/{day}/plan-of-ana/.session/session.json").is_file()


def test_import_accepts_same_id_on_another_day(empty_workspace: Path) -> None:
    """Numbers begin anew each day, so both have a place."""
    session = begin(empty_workspace)
    data = json.loads(ok(empty_workspace, "export", "001", "--format", "json"))
    data["created_at"] = "2020-01-02T12:00:00Z"
    assert ok(empty_workspace, "import", "-", given=json.dumps(data).encode()).startswith(
        b"imported"
    )
    assert stored(empty_workspace, f"2020-01-02/{session.id}").messages == session.messages
    day = f"{session.created_at:%Y-%m-%d}"
    assert stored(empty_workspace, f"{day}/{session.id}") == session
    assert ok(empty_workspace, "import", "-", given=json.dumps(data).encode()).startswith(
        b"already"
    )


@pytest.mark.parametrize(
    "id", ["../x", "/tmp/x", "..", "a/b", "2020-01-01/x", ".hidden", "", "a\0b", "-p", "x" * 300]
)
def test_import_rejects_ids_that_escape_workspace(id: str, empty_workspace: Path) -> None:
    """In the file or by --as: nothing is written, anywhere."""
    data = Session("x").to_dict() | {"id": id}
    (empty_workspace / "a.json").write_text(json.dumps(data))
    before = files(empty_workspace.parent)
    if id:
        code, said = refused(empty_workspace, "import", "a.json")
        assert (code, "not a valid id" in said) == (2, True)
    if "\0" not in id:
        code, said = refused(empty_workspace, "import", "a.json", f"--as={id}")
        assert (code, "not a valid id" in said) == (2, True)
    assert files(empty_workspace.parent) == before


BAD = {
    "empty.md": (b"", 1, "is empty"),
    "binary": (b"\x7fELF\0\0", 1, "is not text"),
    "notes.md": (b"# Notes\n", 1, "is text without the data of a conversation"),
    "package.json": (b'{"name":"x","version":"9.0"}', 1, "is JSON, but not a conversation"),
    "page.html": (b"<!doctype html><p>", 1, "is a web page without the data of a conversation"),
    "broken.json": (b'{"id":"x",', 5, "not JSON"),
    "wrong.json": (b'{"id":"x","created_at":"yesterday","messages":[]}', 5, "isoformat"),
    "list.json": (b'{"id":"x","created_at":"2026-01-01","messages":{}}', 5, "messages"),
}


@pytest.mark.parametrize("name", BAD)
def test_import_refuses_bad_file_with_reason_and_writes_no_file(
    name: str, empty_workspace: Path
) -> None:
    """By its own reason, and nothing is written."""
    data, code, reason = BAD[name]
    (empty_workspace / name).write_bytes(data)
    before = files(empty_workspace)
    assert refused(empty_workspace, "import", name)[0] == code
    assert reason in refused(empty_workspace, "import", name)[1]
    assert files(empty_workspace) == before


@pytest.mark.parametrize("format", FORMATS)
def test_import_rejects_truncated_export_and_newer_format_version(
    format: str, empty_workspace: Path
) -> None:
    """A file that is not whole is corrupt; one of a later release asks for an upgrade."""
    begin(empty_workspace)
    written = ok(empty_workspace, "export", "001", "--format", format)
    (empty_workspace / "cut").write_bytes(written[:-200])
    code, said = refused(empty_workspace, "import", "cut")
    assert (code, said.startswith("error: cut: ")) == (5, True)
    (empty_workspace / "new").write_bytes(written.replace(b'"version":"1.0"', b'"version":"2.0"'))
    code, said = refused(empty_workspace, "import", "new")
    assert (code, "has format version 2.0" in said) == (1, True)


def test_import_refuses_folder_pipe_missing_and_huge_file(empty_workspace: Path) -> None:
    """A folder, a pipe, nothing at all, and more than can be read."""
    os.mkfifo(empty_workspace / "pipe")
    with (empty_workspace / "huge").open("wb") as file:
        file.truncate(MAX_IMPORT_BYTES + 1)
    reasons = {
        "conversations": "is a folder, not a file",
        "pipe": "is not a regular file",
        "missing.json": "there is no file missing.json",
        "huge": "is larger than 1 GB",
    }
    for name, reason in reasons.items():
        code, said = refused(empty_workspace, "import", name)
        assert (code, reason in said) == (1, True), said


def test_import_continues_after_bad_file_and_exits_1(
    empty_workspace: Path, elsewhere: Path
) -> None:
    """It is named, the others go on, and the exit code says that one failed."""
    ids = [begin(empty_workspace, f"Topic {n}").id for n in range(3)]
    for id in ids:
        ok(empty_workspace, "export", id, "-o", f"{elsewhere}/")
    (elsewhere / f"{ids[1]}.md").write_text("gone")
    done = cortext(elsewhere, "import", *(f"{id}.md" for id in ids))
    assert done.returncode == 1
    assert done.stdout.decode() == f"imported: {ids[0]}\nimported: {ids[2]}\n"
    reason = f"not imported: {ids[1]}.md is text without the data of a conversation\n"
    assert done.stderr.decode() == reason
    assert cortext(elsewhere, "import", "a", "b", "--as", "x").returncode == 2


def test_import_warns_about_edited_text_and_keeps_original_session(
    empty_workspace: Path, elsewhere: Path
) -> None:
    """The conversation is as it was exported, and one line says so."""
    session = begin(empty_workspace)
    written = ok(empty_workspace, "export", "001")
    (elsewhere / "a.md").write_bytes(written.replace(b"> REST.", b"> GraphQL."))
    done = cortext(elsewhere, "import", "a.md")
    assert done.returncode == 0
    assert done.stderr.startswith(b"warning: a.md: the text was changed after the export")
    assert done.stderr.count(b"\n") == 1
    assert stored(elsewhere, session.id) == session


SECRET = "sk-ant-" + "api03-" + "x4Q9bT2mLp7VkR3wZs8YdJ6hNc5GfA1e" + "uXoKqWvB"


def begin_with_tools(workspace: Path) -> str:
    """Start a conversation of six messages with tool calls and a secret, and return its id."""
    id = Path(ok(workspace, "new", "plan", "Parts").decode().strip()).parent.name
    call = {"id": "c1", "name": "Bash", "arguments": {"command": "list-okapis"}}
    open_session_store(f"workspace:{workspace}").append(
        id,
        SessionMessage("user", "one"),
        SessionMessage("assistant", "", tool_calls=[call]),
        SessionMessage("tool", "okapi output", tool_call_id="c1"),
        SessionMessage("assistant", "two", tool_calls=[call]),
        SessionMessage("user", f"my key is {SECRET}"),
        SessionMessage("assistant", "three"),
    )
    return id


def contents(workspace: Path, id: str, *options: str) -> list[str]:
    exported = json.loads(ok(workspace, "export", id, "--format", "json", *options))
    return [message["content"] for message in exported["messages"]]


def test_export_from_and_to_select_messages_by_number(tmp_workspace: Path) -> None:
    id = begin_with_tools(tmp_workspace)
    assert contents(tmp_workspace, id, "--from", "3", "--to", "4") == ["okapi output", "two"]
    assert contents(tmp_workspace, id, "--from", "6") == ["three"]
    assert contents(tmp_workspace, id, "--to", "1") == ["one"]
    assert contents(tmp_workspace, id, "--to", "99")[-1] == "three"


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (["--from", "7"], 2, "error: no message 7; this conversation has 6"),
        (["--from", "2", "--to", "1"], 2, "--from is after --to"),
    ],
)
def test_export_refuses_message_numbers_that_do_not_exist(
    tmp_workspace: Path, options: list[str], code: int, said: str
) -> None:
    done = cortext(tmp_workspace, "export", begin_with_tools(tmp_workspace), *options)
    assert (done.returncode, done.stdout, said in done.stderr.decode()) == (code, b"", True)


@pytest.mark.parametrize("format", FORMATS)
def test_export_no_tools_leaves_out_calls_and_results(tmp_workspace: Path, format: str) -> None:
    id = begin_with_tools(tmp_workspace)
    text = ok(tmp_workspace, "export", id, "--no-tools", "--format", format).decode()
    assert ("okapi" in text, "two" in text) == (False, True)
    texts = contents(tmp_workspace, id, "--no-tools")
    assert texts == ["one", "two", f"my key is {SECRET}", "three"]


@pytest.mark.parametrize("format", FORMATS)
def test_export_redact_masks_secrets_and_keeps_conversation(
    tmp_workspace: Path, format: str
) -> None:
    id = begin_with_tools(tmp_workspace)
    done = cortext(tmp_workspace, "export", id, "--redact", "--format", format)
    assert (SECRET in done.stdout.decode(), done.returncode) == (False, 0)
    assert done.stderr.decode() == "1 secret was redacted in the export.\n"
    assert contents(tmp_workspace, id)[4] == f"my key is {SECRET}"
    assert contents(tmp_workspace, id, "--redact")[4].startswith("my key is [secret removed: ")
