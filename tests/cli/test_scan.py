"""`cortext scan` and `cortext redact`, through the real command line."""

import gzip
import json
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cortext import Session, SessionMessage, SessionStorage, open_session_store, paths
from cortext.durability.live_session_mark import LiveMark, mark_path
from tests.command import begin, change_head, cortext, folder_of, git, ok
from tests.features.secrets.secret_corpus import make_secret
from tests.tools.claude import claude_lines

ID = claude_lines.ID


TOKEN, KEY = make_secret("github-token"), make_secret("anthropic-key")
PASSWORD = "hV7q" + "Zt2wLs9x"


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")


@pytest.fixture
def scanned_space(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace, in a home of its own."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("AURORA_HOME", str(tmp_path / "aurora"))
    root = tmp_path / "space"
    root.mkdir()
    ok(root, "init")
    return root


def say_keys(space: Path) -> str:
    """A conversation with two secrets in what was said, and one in its markdown."""
    id = begin(space, "plan", "Deploy", "Hello.", f"Use {TOKEN} here.", "Thanks.", f"and {KEY}")
    with (folder_of(space, id) / "plan.md").open("a", encoding="utf-8") as page:
        page.write(f'\npassword = "{PASSWORD}"\n')
    return id


def holding(word: str, *folders: Path | str) -> Iterator[str]:
    """The files below folders that have a word inside."""
    for folder in folders:
        for path in Path(folder).rglob("*"):
            if path.is_file() and word.encode() in path.read_bytes():
                yield str(path)


def lines_of(space: Path, id: str) -> list[dict[str, object]]:
    path = folder_of(space, id) / ".session/messages.jsonl"
    return [json.loads(line) for line in path.read_bytes().split(b"\n")[:-1]]


def test_scan_exits_0_and_counts_conversations_without_secrets(scanned_space: Path) -> None:
    """And it says how much was looked at."""
    begin(
        scanned_space, "plan", "Deploy", "Hello.", "commit 4b825dc642cb6eb9a060e54bf8d69288fbee4904"
    )
    done = cortext(scanned_space, "scan")
    assert (done.returncode, done.stdout) == (0, "")
    assert "No secrets found in 1 conversation" in done.stderr


def test_scan_shows_location_of_each_finding_but_no_secret(scanned_space: Path) -> None:
    """Family, message and role, a preview, the file, and the command that masks it."""
    id = say_keys(scanned_space)
    done = cortext(scanned_space, "scan", id)
    assert done.returncode == 1, done.stderr
    rows = [line.split() for line in done.stdout.split("\n") if "characters" in line]
    assert [row[:4] for row in rows] == [
        ["1", "github-token", "assistant", "#2"],
        ["2", "anthropic-key", "assistant", "#4"],
        ["3", "password", "document", "…"],
    ]
    assert f"cortext redact {id}" in done.stdout
    for secret in (TOKEN, KEY, PASSWORD):
        assert secret not in done.stdout + done.stderr
        assert secret[5:] not in done.stdout


def test_scan_json_lists_same_findings_without_secret(scanned_space: Path) -> None:
    """A documented array; `null` where no message has it."""
    id = say_keys(scanned_space)
    done = cortext(scanned_space, "scan", "--json")
    found = json.loads(done.stdout)
    assert [(one["id"], one["finding"], one["family"], one["message"]) for one in found] == [
        (id, 1, "github-token", 2),
        (id, 2, "anthropic-key", 4),
        (id, 3, "password", None),
    ]
    assert TOKEN not in done.stdout


def test_redact_replaces_secrets_and_keeps_all_other_data(scanned_space: Path) -> None:
    """Line count, ids, times and every other word; the same secret has the same mark."""
    id = say_keys(scanned_space)
    ok(scanned_space, "rename", id, f"Deploy with {TOKEN}")
    before = lines_of(scanned_space, id)
    done = cortext(scanned_space, "redact", id, "--yes")
    assert done.returncode == 0, done.stderr
    after = lines_of(scanned_space, id)
    assert len(after) == len(before)
    for old, new in zip(before, after, strict=True):
        assert {key: new[key] for key in old if key != "content"} == {
            key: old[key] for key in old if key != "content"
        }
    said = str(after[1]["content"])
    assert said.startswith("Use [redacted github-token ")
    assert said.endswith("] here.")
    mark = said[len("Use ") : -len(" here.")]
    head = json.loads((folder_of(scanned_space, id) / ".session/session.json").read_text("utf-8"))
    assert head["title"] == f"Deploy with {mark}"
    assert "[redacted password " in (folder_of(scanned_space, id) / "plan.md").read_text("utf-8")
    for secret in (TOKEN, KEY, PASSWORD):
        assert list(holding(secret, scanned_space)) == []
    assert cortext(scanned_space, "scan", "--all").returncode == 0
    assert "No secrets" in cortext(scanned_space, "redact", id, "--yes").stderr


def test_redaction_key_is_readable_only_by_owner(scanned_space: Path) -> None:
    """Without it nobody can try passwords on a mark."""
    id = say_keys(scanned_space)
    ok(scanned_space, "redact", id, "--yes")
    found = os.stat(paths.redaction_key())
    assert (stat.S_IMODE(found.st_mode), found.st_size) == (0o600, 32)


def test_redact_dry_run_changes_nothing(scanned_space: Path) -> None:
    """It shows the plan, without asking."""
    id = say_keys(scanned_space)
    before = lines_of(scanned_space, id)
    done = cortext(scanned_space, "redact", id, "--dry-run")
    assert (done.returncode, "will be redacted" in done.stdout) == (0, True)
    assert lines_of(scanned_space, id) == before
    assert not os.path.exists(paths.redaction_key())


def test_redact_without_terminal_or_yes_changes_nothing(scanned_space: Path) -> None:
    """Nothing is changed without a yes."""
    id = say_keys(scanned_space)
    done = cortext(scanned_space, "redact", id)
    assert (done.returncode, "hint: run the command again with --yes" in done.stderr) == (1, True)
    assert TOKEN in json.dumps(lines_of(scanned_space, id))


def test_redact_finding_option_redacts_only_that_finding(scanned_space: Path) -> None:
    """The others stay as they are."""
    id = say_keys(scanned_space)
    ok(scanned_space, "redact", id, "--finding", "2", "--yes")
    text = json.dumps(lines_of(scanned_space, id))
    assert (TOKEN in text, KEY in text) == (True, False)
    done = cortext(scanned_space, "redact", id, "--finding", "9", "--yes")
    assert (done.returncode, f"{id} has no finding 9" in done.stderr) == (1, True)


@pytest.mark.usefixtures("git_identity")
def test_redact_warns_that_git_history_still_has_secret(scanned_space: Path) -> None:
    """It is not touched, and a person should know."""
    git(scanned_space, "init", "-q", "-b", "main")
    id = say_keys(scanned_space)
    git(scanned_space, "add", "-fA")
    git(scanned_space, "commit", "-q", "-m", "all of it")
    commit = git(scanned_space, "rev-parse", "HEAD")
    done = cortext(scanned_space, "redact", id, "--yes")
    assert "the git history still contains the secret" in done.stderr
    assert git(scanned_space, "rev-parse", "HEAD") == commit


def test_redact_removes_secret_from_index_and_catalog(scanned_space: Path) -> None:
    """Neither the index nor the catalog has them."""
    id = say_keys(scanned_space)
    ok(scanned_space, "rename", id, f"Deploy with {TOKEN}")
    ok(scanned_space, "list")
    ok(scanned_space, "search", "Thanks")
    ok(scanned_space, "redact", id, "--yes")
    cache = Path(os.environ["XDG_CACHE_HOME"])
    word = TOKEN.lower().removeprefix("ghp_")
    assert list(holding(TOKEN, cache)) == []
    assert list(holding(word, cache)) == []
    assert id in ok(scanned_space, "search", "Thanks", "--json")


def test_next_redact_cleans_index_after_killed_redact(scanned_space: Path) -> None:
    """Its files are masked, and nothing is found in them: the next one ends it all the same."""
    id = say_keys(scanned_space)
    ok(scanned_space, "search", "Thanks")
    cache = Path(os.environ["XDG_CACHE_HOME"])
    word = TOKEN.lower().removeprefix("ghp_")
    assert list(holding(word, cache)) != []
    code = (
        "import os, sys\n"
        "from cortext.features.secrets import redacted_text_purge\n"
        "redacted_text_purge.purge_words = lambda _rows: os.kill(os.getpid(), 9)\n"
        "from cortext.cli.commands.redact import command\n"
        "command(sys.argv[1:])\n"
    )
    killed = [sys.executable, "-c", code, id, "--yes"]
    assert (
        subprocess.run(killed, cwd=scanned_space, capture_output=True, check=False).returncode == -9
    )
    assert list(holding(TOKEN, scanned_space)) == []
    done = cortext(scanned_space, "redact", id, "--yes")
    assert (done.returncode, "No secrets found" in done.stderr) == (0, True)
    assert list(holding(word, cache)) == []


def spawned(**fields: object) -> Path:
    """A session of `spawn` with a secret."""
    store = open_session_store(f"log:{paths.spawn_sessions()}")
    session = Session("coder-1", title=f"Use {TOKEN}", **fields)  # type: ignore[arg-type]
    session.messages = [SessionMessage("user", "Hi"), SessionMessage("assistant", f"{KEY}.")]
    store.save(session)
    store.close()
    return Path(paths.spawn_sessions()) / "coder-1.jsonl"


def test_scan_and_redact_handle_spawn_sessions(scanned_space: Path) -> None:
    """The first line is the head; the others are turns."""
    path = spawned()
    found = json.loads(cortext(scanned_space, "scan", "coder-1", "--json").stdout)
    assert [(one["role"], one["message"]) for one in found] == [("head", None), ("assistant", 2)]
    count = path.read_bytes().count(b"\n")
    ok(scanned_space, "redact", "coder-1", "--yes")
    assert path.read_bytes().count(b"\n") == count
    assert list(holding(TOKEN, paths.spawn_sessions())) == []
    assert list(holding(KEY, paths.spawn_sessions())) == []
    (hi, _) = open_session_store(f"log:{paths.spawn_sessions()}").load("coder-1").messages
    assert hi.content == "Hi"


def test_redact_refuses_session_that_is_open(scanned_space: Path) -> None:
    """Who has it open would write what is in memory."""
    path = spawned()
    before = path.read_bytes()
    mark = LiveMark(mark_path(paths.spawn_sessions(), "coder-1"))
    assert mark.take() is None
    try:
        done = cortext(scanned_space, "redact", "coder-1", "--yes")
    finally:
        mark.release()
    assert (done.returncode, "has the session open" in done.stderr) == (1, True)
    assert path.read_bytes() == before


def test_redact_covers_program_document_and_its_backup(scanned_space: Path) -> None:
    """The version before is kept beside a document, and has the secret too."""
    storage = SessionStorage()
    session = Session("doc-1", title="A document", working_dir=str(scanned_space))
    session.messages = [SessionMessage("user", f"Use {TOKEN}")]
    storage.save(session)
    session.messages.append(SessionMessage("assistant", "Done."))
    storage.save(session)
    assert storage.get_backup_path("doc-1").exists()
    done = cortext(scanned_space, "redact", "--all", "--yes")
    assert done.returncode == 0, done.stderr
    assert list(holding(TOKEN, paths.document_dir())) == []
    loaded = storage.load("doc-1")
    assert [m.id for m in loaded.messages] == [m.id for m in session.messages]
    assert loaded.messages[0].content.startswith("Use [redacted github-token ")
    assert storage.recover_from_backup("doc-1")


@pytest.fixture
def transcript(scanned_space: Path) -> Path:
    """A conversation in Claude Code with a secret."""
    home = Path(os.environ["HOME"])
    lines = [
        claude_lines.line("u1", None, "user", "Hello"),
        claude_lines.line("u2", "u1", "user", f"my key is {TOKEN}"),
    ]
    path = Path(claude_lines.write(home / ".claude", *lines, name=ID).path)
    os.utime(path, (1, 1_700_000_000))
    return path


def test_redact_reports_but_never_changes_transcript_of_tool(
    scanned_space: Path, transcript: Path
) -> None:
    """It is scanned, and named."""
    before = transcript.read_bytes()
    found = json.loads(cortext(scanned_space, "scan", "--all", "--json").stdout)
    assert [(one["id"], one["message"], one["role"]) for one in found] == [(ID, 2, "user")]
    done = cortext(scanned_space, "redact", ID, "--yes")
    assert (done.returncode, str(transcript) in done.stdout) == (1, True)
    assert "cortext never changes" in done.stdout
    assert transcript.read_bytes() == before


def test_sync_keeps_archive_copy_redacted(scanned_space: Path, transcript: Path) -> None:
    """Sync adds what is new after it, and does not bring back what was masked."""
    ok(scanned_space, "sync")
    (copy,) = Path(paths.archive()).rglob(f"*{ID}*.gz")
    assert TOKEN.encode() in gzip.decompress(copy.read_bytes())
    before = transcript.read_bytes()
    ok(scanned_space, "redact", ID, "--archive", "--yes")
    assert TOKEN.encode() not in gzip.decompress(copy.read_bytes())
    assert transcript.read_bytes() == before
    ok(scanned_space, "sync")
    assert TOKEN.encode() not in gzip.decompress(copy.read_bytes())
    with transcript.open("ab") as file:
        line = claude_lines.line("u3", "u2", "user", "And one more.")
        file.write(json.dumps(line).encode() + b"\n")
    os.utime(transcript, (1, 1_700_000_100))
    ok(scanned_space, "sync")
    held = gzip.decompress(copy.read_bytes())
    assert (TOKEN.encode() in held, b"And one more." in held) == (False, True)
    assert list(Path(paths.archive()).rglob("*.~*")) == []


def test_scan_and_redact_count_same_secrets_and_places(scanned_space: Path) -> None:
    """A secret that is in several places is one secret."""
    id = begin(scanned_space, "plan", "Deploy", f"Use {TOKEN}.", f"{KEY}", f"{TOKEN} again")
    assert (
        "2 secrets found in 3 places, in 1 of 1 conversation."
        in cortext(scanned_space, "scan").stderr
    )
    said = ok(scanned_space, "redact", id, "--yes")
    assert "2 secrets redacted in 3 places, in 1 conversation." in said


def test_redact_does_not_count_secret_in_file_of_tool(
    scanned_space: Path, transcript: Path
) -> None:
    """Title, message and document have the secret, and so does the file of the tool."""
    id = ok(scanned_space, "import", ID).split()[-1]
    done = cortext(scanned_space, "scan", id)
    assert "1 secret found in 4 places, in 1 of 1 conversation." in done.stderr
    advice = "quit the session in Claude Code and delete the file; Claude Code then loses"
    assert advice in done.stdout
    redacted = cortext(scanned_space, "redact", id, "--yes")
    assert "1 secret redacted in 3 places, in 1 conversation." in redacted.stdout
    assert f"A secret is still in the tool's own file: {transcript}" in redacted.stderr


def test_scan_stops_advising_archive_option_after_archive_redact(
    scanned_space: Path, transcript: Path
) -> None:
    """`--archive` is advised until it was done; it counts secrets, not the lines that have them."""
    advice = f"to keep the secret out of the archive: `cortext redact {ID} --archive`"
    assert advice in cortext(scanned_space, "scan", "--all").stdout
    with transcript.open("ab") as file:
        for number, said in ((3, f"{KEY} and {TOKEN}"), (4, f"{TOKEN} once more")):
            line = claude_lines.line(f"u{number}", f"u{number - 1}", "user", said)
            file.write(json.dumps(line).encode() + b"\n")
    os.utime(transcript, (1, 1_700_000_100))
    ok(scanned_space, "sync")
    assert "2 secrets redacted in 1 conversation" in ok(
        scanned_space, "redact", ID, "--archive", "--yes"
    )
    again = cortext(scanned_space, "scan", "--all")
    assert (str(transcript) in again.stdout, advice in again.stdout) == (True, False)


def test_scan_and_redact_treat_damaged_line_as_text(scanned_space: Path) -> None:
    """Damage hides nothing."""
    id = begin(scanned_space, "plan", "Deploy", "Hello.")
    path = folder_of(scanned_space, id) / ".session/messages.jsonl"
    path.write_bytes(path.read_bytes() + f'{{"torn": "{TOKEN}'.encode() + b"\n")
    assert cortext(scanned_space, "scan", id).returncode == 1
    ok(scanned_space, "redact", id, "--yes")
    assert TOKEN.encode() not in path.read_bytes()
    assert b"[redacted github-token " in path.read_bytes()


def test_redact_without_id_or_all_is_usage_error(scanned_space: Path) -> None:
    """`redact` alone is no request to change everything."""
    done = cortext(scanned_space, "redact", "--yes")
    assert (done.returncode, "--all" in done.stderr) == (2, True)
    change_head(scanned_space, say_keys(scanned_space), summary=f"{KEY}")
    assert cortext(scanned_space, "scan").returncode == 1


def test_scan_and_redact_never_print_secret_in_title(scanned_space: Path) -> None:
    """Neither to people nor to programs, and not in what redact plans to do."""
    begin(scanned_space, "plan", "Deploy", "Hello.")
    id = begin(scanned_space, "plan", "Keys", f"Use {TOKEN} here.")
    change_head(scanned_space, id, title=f"My key is {TOKEN}")
    for command in (["scan"], ["scan", "--json"], ["redact", "--all", "--dry-run"]):
        done = cortext(scanned_space, *command)
        assert "My key is" in done.stdout, done.stderr
        assert TOKEN not in done.stdout + done.stderr


@pytest.mark.parametrize("key", [b"", b"garbage"])
def test_redact_refuses_damaged_redaction_key(scanned_space: Path, key: bytes) -> None:
    """Marks of an empty key would let anybody try what was masked."""
    id = begin(scanned_space, "plan", "Keys", f"Use {TOKEN} here.")
    path = Path(paths.redaction_key())
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(key)
    done = cortext(scanned_space, "redact", id, "--yes")
    assert (done.returncode, "redaction key is damaged" in done.stderr) == (1, True)
    lines = folder_of(scanned_space, id) / ".session/messages.jsonl"
    assert TOKEN in lines.read_text(encoding="utf-8")
