"""`cortext export` and `cortext import`, through the real command line."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from cortext import Session, SessionMessage, open_session_store
from cortext.features.transfer.import_file import LARGEST
from cortext.formats.exports import export_codec

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
def test_export_and_import_are_equal(format: str, empty_workspace: Path, elsewhere: Path) -> None:
    """To a file, named by its ending, and into another workspace, by content alone."""
    session = begin(empty_workspace)
    ok(empty_workspace, "export", "api", "design", "-o", f"out.{format}")
    (empty_workspace / f"out.{format}").rename(elsewhere / "file")
    assert ok(elsewhere, "import", "file") == f"imported: {session.id}\n".encode()
    assert stored(elsewhere, session.id) == session
    assert ok(elsewhere, "import", "file") == f"already here: {session.id}\n".encode()
    assert stored(elsewhere, session.id) == session


@pytest.mark.parametrize("format", FORMATS)
def test_export_to_standard_output(format: str, empty_workspace: Path, elsewhere: Path) -> None:
    """Data alone, nothing that a terminal would act upon, and it can be piped into an import."""
    session = begin(empty_workspace)
    written = ok(empty_workspace, "export", session.id, "--format", format)
    assert export_codec.find_body(written).format == format
    assert not {"\x1b", "\u202e", "\x9b"} & set(written.decode())
    assert ok(elsewhere, "import", "-", given=written) == f"imported: {session.id}\n".encode()
    assert stored(elsewhere, session.id) == session


def test_markdown_is_the_default(empty_workspace: Path) -> None:
    """Without -o, and for a name that says nothing; one that says something else is refused."""
    begin(empty_workspace)
    assert ok(empty_workspace, "export", "001").startswith(b"# API design\n")
    ok(empty_workspace, "export", "001", "-o", "notes")
    assert (empty_workspace / "notes").read_bytes().startswith(b"# API design\n")
    assert cortext(empty_workspace, "export", "001", "-o", "notes.pdf").returncode == 1
    assert not (empty_workspace / "notes.pdf").exists()


def test_a_folder_gets_a_file_named_after_the_conversation(empty_workspace: Path) -> None:
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


def test_an_export_is_private(empty_workspace: Path) -> None:
    """What was said is for its owner, until that one says otherwise."""
    begin(empty_workspace)
    ok(empty_workspace, "export", "001", "-o", "a.md")
    assert (empty_workspace / "a.md").stat().st_mode & 0o777 == 0o600


def test_a_file_is_not_overwritten(empty_workspace: Path) -> None:
    """Unless --force says so; a link never."""
    begin(empty_workspace)
    mine = empty_workspace / "a.md"
    mine.write_text("mine")
    code, said = refused(empty_workspace, "export", "001", "-o", "a.md")
    assert (code, said) == (1, "error: a.md is there already")
    assert mine.read_text() == "mine"
    ok(empty_workspace, "export", "001", "-o", "a.md", "--force")
    assert mine.read_text().startswith("# API design")
    (empty_workspace / "link.md").symlink_to("target.md")
    for options in ((), ("--force",)):
        assert refused(empty_workspace, "export", "001", "-o", "link.md", *options)[0] == 1
    assert not (empty_workspace / "target.md").exists()
    assert [path.name for path in empty_workspace.iterdir() if path.name.endswith(".tmp")] == []


@pytest.mark.parametrize(("answer", "code"), [("y", 0), ("n", 130)])
def test_a_person_is_asked(answer: str, code: int, empty_workspace: Path) -> None:
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


def test_what_is_not_there_or_not_one(empty_workspace: Path) -> None:
    """3 and 4, as for every command; a folder that cannot be written to is 1."""
    begin(empty_workspace)
    begin(empty_workspace)
    assert cortext(empty_workspace, "export", "nothing of the kind").returncode == 3
    done = cortext(empty_workspace, "export", "api design")
    assert (done.returncode, done.stdout) == (4, b"")
    assert refused(empty_workspace, "export", "001", "-o", "missing/a.md")[0] == 1


def test_a_damaged_conversation_is_exported_as_far_as_it_goes(
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


def test_a_conversation_without_a_session(empty_workspace: Path) -> None:
    """There is nothing to export but its markdown, which is a file already."""
    begin(empty_workspace)
    for path in empty_workspace.glob("conversations/*/*/.session/*"):
        path.unlink()
    done = cortext(empty_workspace, "export", "001")
    assert (done.returncode, done.stdout) == (3, b"")
    assert b"hint: only its markdown is there: " in done.stderr


@pytest.mark.parametrize("kind", ["document", "log", "workspace"])
def test_stores(kind: str, empty_workspace: Path, tmp_path: Path) -> None:
    """From a store by the beginning of an id, and into another."""
    session = begin(empty_workspace)
    source = f"workspace:{empty_workspace}"
    ok(tmp_path, "export", "001", "--store", source, "-o", "a.md")
    target = f"{kind}:{tmp_path / 'store'}"
    assert ok(tmp_path, "import", "a.md", "--store", target).startswith(b"imported")
    assert open_session_store(target).load(session.id) == session
    assert ok(tmp_path, "import", "a.md", "--store", target).startswith(b"already here")
    assert ok(tmp_path, "export", "001", "--store", target) == (tmp_path / "a.md").read_bytes()


def test_outside_any_workspace_it_goes_to_the_personal_one(
    empty_workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where nobody else may look."""
    session = begin(empty_workspace)
    written = ok(empty_workspace, "export", "001")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    ok(tmp_path, "import", "-", given=written)
    personal = tmp_path / "data/cortext/personal"
    assert stored(personal, session.id) == session
    assert personal.stat().st_mode & 0o777 == 0o700


def test_another_conversation_keeps_its_place(empty_workspace: Path, elsewhere: Path) -> None:
    """The same id with other words: refused, and --as gives it a place of its own."""
    session = begin(empty_workspace)
    ok(empty_workspace, "export", "001", "-o", "a.html")
    there = begin(elsewhere)
    file = str(empty_workspace / "a.html")
    code, said = refused(elsewhere, "import", file)
    assert (code, "is here already, and it is not equal" in said) == (1, True)
    assert stored(elsewhere, session.id) == there
    assert ok(elsewhere, "import", file, "--as", "plan-of-ana") == b"imported: plan-of-ana\n"
    copy = stored(elsewhere, "plan-of-ana")
    assert copy.messages == session.messages
    day = f"{session.created_at:%Y-%m-%d}"
    assert (elsewhere / f"conversations/{day}/plan-of-ana/.session/session.json").is_file()


def test_the_same_id_on_another_day_is_another_conversation(empty_workspace: Path) -> None:
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
def test_an_id_never_leads_out_of_the_workspace(id: str, empty_workspace: Path) -> None:
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
    "package.json": (b'{"name":"x","version":"9.0"}', 1, "is JSON, and not a conversation"),
    "page.html": (b"<!doctype html><p>", 1, "is a web page without the data of a conversation"),
    "broken.json": (b'{"id":"x",', 5, "not JSON"),
    "wrong.json": (b'{"id":"x","created_at":"yesterday","messages":[]}', 5, "isoformat"),
    "list.json": (b'{"id":"x","created_at":"2026-01-01","messages":{}}', 5, "messages"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_is_refused_in_one_sentence(name: str, empty_workspace: Path) -> None:
    """By its own reason, and nothing is written."""
    data, code, reason = BAD[name]
    (empty_workspace / name).write_bytes(data)
    before = files(empty_workspace)
    assert refused(empty_workspace, "import", name)[0] == code
    assert reason in refused(empty_workspace, "import", name)[1]
    assert files(empty_workspace) == before


@pytest.mark.parametrize("format", FORMATS)
def test_a_cut_or_newer_export(format: str, empty_workspace: Path) -> None:
    """A file that is not whole is corrupt; one of a later release asks for an upgrade."""
    begin(empty_workspace)
    written = ok(empty_workspace, "export", "001", "--format", format)
    (empty_workspace / "cut").write_bytes(written[:-200])
    code, said = refused(empty_workspace, "import", "cut")
    assert (code, said.startswith("error: cut: ")) == (5, True)
    (empty_workspace / "new").write_bytes(written.replace(b'"version":"1.0"', b'"version":"2.0"'))
    code, said = refused(empty_workspace, "import", "new")
    assert (code, "has format version 2.0" in said) == (1, True)


def test_what_is_no_file(empty_workspace: Path) -> None:
    """A folder, a pipe, nothing at all, and more than can be read."""
    os.mkfifo(empty_workspace / "pipe")
    with (empty_workspace / "huge").open("wb") as file:
        file.truncate(LARGEST + 1)
    reasons = {
        "conversations": "is a folder, not a file",
        "pipe": "is not a regular file",
        "missing.json": "no such file",
        "huge": "is larger than 1 GB",
    }
    for name, reason in reasons.items():
        code, said = refused(empty_workspace, "import", name)
        assert (code, reason in said) == (1, True), said


def test_one_bad_file_hides_no_other(empty_workspace: Path, elsewhere: Path) -> None:
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


def test_a_changed_text_is_told(empty_workspace: Path, elsewhere: Path) -> None:
    """The conversation is as it was exported, and one line says so."""
    session = begin(empty_workspace)
    written = ok(empty_workspace, "export", "001")
    (elsewhere / "a.md").write_bytes(written.replace(b"> REST.", b"> GraphQL."))
    done = cortext(elsewhere, "import", "a.md")
    assert done.returncode == 0
    assert done.stderr.startswith(b"warning: a.md: its text was changed after the export")
    assert done.stderr.count(b"\n") == 1
    assert stored(elsewhere, session.id) == session
