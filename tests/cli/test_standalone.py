"""Sessions of `spawn` and of programs' documents, beside all others: in lists, searches, `show`,
`resume`, `import`; and what cannot be done to them."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from cortext import Session, SessionMessage, SessionStorage, open_session_store, paths
from tests.cli.fake_tools import install, needs_terminal
from tests.cli.repl.terminal import Terminal
from tests.command import SCRIPT, begin, cortext, folder_of, head_of, ok
from tests.homes import lay_out, move_project, said

AGENT = Path(__file__).parent / "repl/agent.py"
MONDAY = datetime(2026, 3, 2, 12, tzinfo=UTC)


class Place:
    """A workspace, a folder that is none, and what `spawn` and a program had in both."""

    def __init__(self, folder: Path) -> None:
        self.root, self.other = folder / "space", folder / "other"
        (self.root / ".workspace").mkdir(parents=True)
        self.other.mkdir()
        self.programs = folder / "programs"
        self.programs.mkdir()
        self.env: Mapping[str, str] = {
            "HOME": str(folder / "home"),
            "XDG_DATA_HOME": str(folder / "data"),
            "XDG_CONFIG_HOME": str(folder / "config"),
            "XDG_CACHE_HOME": str(folder / "cache"),
            "AURORA_HOME": str(folder / "aurora"),
            "PATH": f"{self.programs}:{Path(SCRIPT).parent}:/usr/bin:/bin",
            "CALLED": str(folder / "called"),
            "CI": "true",
        }

    def open(self) -> None:
        """Once the environment is that of the test."""
        self.documents = Path(paths.document_dir())
        talk(self.root, "talk-here", "Is the quokka here?", status="paused")
        talk(self.other, "talk-there", "Is the quokka there?", status="completed", tags=["far"])
        document(SessionStorage(), "doc-here", self.root, "Is the numbat here?")
        document(SessionStorage(), "doc-there", self.other, "Is the numbat there?")

    def ok(self, *args: str, cwd: Path | None = None) -> str:
        return ok(cwd or self.root, *args, env=self.env)

    def rows(self, *args: str) -> dict[str, dict[str, Any]]:
        return {row["id"]: row for row in json.loads(self.ok(*args, "--json"))}

    def refused(self, code: int, *args: str) -> str:
        done = cortext(self.root, *args, env=self.env)
        assert (done.returncode, "Traceback" in done.stderr) == (code, False), done.stderr
        return done.stderr

    def looks(self) -> dict[str, tuple[int, ...]]:
        """All below the documents' folder, and how it looks."""
        found: dict[str, tuple[int, ...]] = {}
        for folder, names, files in os.walk(self.documents):
            for name in ("", *names, *files):
                stat = os.lstat(os.path.join(folder, name))
                now = (stat.st_ino, stat.st_mode, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns)
                found[os.path.join(folder, name)] = now
        return found


def filled(id: str, folder: Path, *texts: str, **head: Any) -> Session:
    roles = ("user", "assistant")
    session = Session(id, title=f"About {id}", working_dir=str(folder), agent="scout", **head)
    session.created_at = session.updated_at = MONDAY
    session.messages = [
        SessionMessage(roles[n % 2], text, timestamp=MONDAY)  # type: ignore[arg-type]
        for n, text in enumerate((*texts, "It is not."))
    ]
    return session


def talk(folder: Path, id: str, *texts: str, **head: Any) -> None:
    Path(paths.spawn_sessions()).mkdir(parents=True, exist_ok=True)
    open_session_store(f"log:{paths.spawn_sessions()}").save(filled(id, folder, *texts, **head))


def document(storage: SessionStorage, id: str, folder: Path, *texts: str, **head: Any) -> None:
    storage.save(filled(id, folder, *texts, **head))


@pytest.fixture
def standalone_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    made = Place(tmp_path)
    for name, value in made.env.items():
        monkeypatch.setenv(name, value)
    made.open()
    return made


@pytest.mark.parametrize("command", [("list",), ("resume", "--list")])
def test_list_shows_spawn_and_document_sessions_of_current_folder(
    standalone_place: Place, command: tuple[str, ...]
) -> None:
    """And with --all every one, with its tool; the quick way shows the same."""
    assert set(standalone_place.rows(*command)) == {"talk-here", "doc-here"}
    found = standalone_place.rows(*command, "--all")
    assert {id: (row["tool"], row["cwd"], row["messages"]) for id, row in found.items()} == {
        "talk-here": ("spawn", str(standalone_place.root), 2),
        "talk-there": ("spawn", str(standalone_place.other), 2),
        "doc-here": ("document", str(standalone_place.root), 2),
        "doc-there": ("document", str(standalone_place.other), 2),
    }
    quick = standalone_place.ok(*command)
    assert ("talk-here" in quick, "doc-here" in quick, "there" in quick) == (True, True, False)


def test_spawn_sessions_are_labelled_spawn_in_every_command(standalone_place: Place) -> None:
    """`aur` is only the name of its program, and may be that of another one."""
    found = [
        standalone_place.ok("list"),
        standalone_place.ok("resume", "--list"),
        standalone_place.ok("search", "quokka"),
        standalone_place.ok("slash", "list"),
        standalone_place.ok("stats", "--all", "--tool", "aur"),
    ]
    assert [bool(re.search(r"\bspawn\b", text)) for text in found] == [True] * 5
    assert [re.findall(r"\baur\b", text) for text in found] == [[]] * 5


def test_list_outside_workspace_includes_sessions_of_subfolders(standalone_place: Place) -> None:
    """As with the sessions of tools: what was had in the folder or below it."""
    below = standalone_place.other / "a/b"
    below.mkdir(parents=True)
    document(SessionStorage(), "doc-below", below, "Why?")
    shown = standalone_place.ok("list", cwd=standalone_place.other)
    assert [id for id in ("doc-below", "doc-there", "talk-there") if id in shown] == [
        "doc-below",
        "doc-there",
        "talk-there",
    ]
    assert "here " not in shown.replace("there ", "")


def test_list_filters_apply_to_spawn_and_document_sessions(standalone_place: Place) -> None:
    """By tool, status, tag, time and words. What was interrupted is paused, but in aur's own."""
    for name in ("spawn", "aur"):
        assert set(standalone_place.rows("list", "--all", "--tool", name)) == {
            "talk-here",
            "talk-there",
        }
    assert set(standalone_place.rows("list", "--all", "--tool", "document")) == {
        "doc-here",
        "doc-there",
    }
    assert set(standalone_place.rows("list", "--all", "--tag", "far")) == {"talk-there"}
    assert set(standalone_place.rows("list", "--all", "--status", "completed")) == {"talk-there"}
    assert standalone_place.rows("list")["talk-here"]["status"] == "paused"
    assert "talk-here" in standalone_place.rows("list", "--status", "interrupted")
    assert set(standalone_place.rows("list", "--all", "--search", "About doc")) == {
        "doc-here",
        "doc-there",
    }
    assert standalone_place.rows("list", "--since", "1d") == {}
    own = ok(standalone_place.root, "spawn", "--list-sessions", "--json", env=standalone_place.env)
    statuses = {each["session_id"]: each["status"] for each in json.loads(own)}
    assert statuses["talk-here"] == "interrupted"


def test_idle_document_is_paused_and_recent_document_is_active(standalone_place: Place) -> None:
    """As a conversation is after some minutes; one that was just saved is active."""
    assert standalone_place.rows("list")["doc-here"]["status"] == "paused"
    SessionStorage().save(Session("now", working_dir=str(standalone_place.root), title="Now"))
    assert standalone_place.rows("list")["now"]["status"] == "active"


def test_search_finds_spawn_and_document_messages(standalone_place: Place) -> None:
    """In both kinds, with the command that opens it; also what was added since."""
    found = json.loads(standalone_place.ok("search", "numbat", "--json"))
    assert {(hit["id"], hit["tool"], hit["resume"]) for hit in found} == {
        ("doc-here", "document", "cortext resume doc-here"),
        ("doc-there", "document", "cortext resume doc-there"),
    }
    found = json.loads(
        standalone_place.ok("search", "quokka", "--json", "--in", str(standalone_place.root))
    )
    assert [(hit["id"], hit["status"]) for hit in found] == [("talk-here", "paused")]
    assert (
        len(json.loads(standalone_place.ok("search", "numbat", "--tool", "document", "--json")))
        == 2
    )
    SessionStorage().append("doc-here", SessionMessage("user", "And the bilby?"))
    (hit,) = json.loads(standalone_place.ok("search", "bilby", "--json"))
    assert (hit["id"], hit["message"]) == ("doc-here", 3)
    assert "And the bilby?" in standalone_place.ok("show", "doc-here", "--at", "3")
    assert len(json.loads(standalone_place.ok("search", "numbat", "--json"))) == 2


@pytest.mark.parametrize(
    ("id", "tool", "said"),
    [("talk-here", "spawn", "quokka"), ("doc-here", "document", "numbat")],
)
def test_show_export_and_resume_find_standalone_session_by_id_or_words(
    standalone_place: Place, id: str, tool: str, said: str
) -> None:
    """By its id, the beginning of it, words of its title, and the words in it."""
    for query in (id, id[:6], f"About {id}", f"{said} here"):
        assert f"Is the {said} here?" in standalone_place.ok("show", query)
    assert f"Is the {said} here?" in standalone_place.ok("export", id)
    told = standalone_place.ok("resume", id, "--context")
    assert f"| Is the {said} here?" in told
    assert f"Conversation: chat / About {id}" in told
    shown = json.loads(standalone_place.ok("show", id, "--json"))
    assert (shown["tool"], shown["working_dir"]) == (tool, str(standalone_place.root))


def test_read_commands_leave_document_folder_unchanged(standalone_place: Place) -> None:
    """Whatever reads: not a file, not a folder, not a time."""
    before = standalone_place.looks()
    standalone_place.ok("list", "--all")
    standalone_place.ok("resume", "--list")
    standalone_place.ok("search", "numbat")
    standalone_place.ok("show", "doc-here")
    standalone_place.ok("export", "doc-here")
    standalone_place.ok("resume", "doc-here", "--context")
    standalone_place.ok("import", "doc-here")
    standalone_place.ok("list")
    assert standalone_place.looks() == before


def test_list_reads_document_folders_of_project_and_settings(
    standalone_place: Place, tmp_path: Path
) -> None:
    """A workspace's own folder is looked into, also from elsewhere; others if a person says so."""
    document(
        SessionStorage(paths.project_document_dir(standalone_place.root)),
        "ours",
        standalone_place.other,
        "Why?",
    )
    named = SessionStorage(tmp_path / "named")
    document(named, "further", standalone_place.root, "Why?")
    assert "ours" in standalone_place.rows("list", "--all")
    assert "further" not in standalone_place.rows("list", "--all")
    standalone_place.ok("config", "sources.documents", str(tmp_path / "named"))
    assert "further" in standalone_place.rows("list")
    config = standalone_place.root / ".workspace/config.toml"
    config.write_text('[sources]\ndocuments = ["/etc"]\n', encoding="utf-8")
    assert "a workspace may not set" in standalone_place.refused(1, "list")


def test_document_without_working_dir_belongs_to_its_project(standalone_place: Place) -> None:
    session = Session("ours", title="Ours", messages=[SessionMessage("user", "Why?")])
    SessionStorage(paths.project_document_dir(standalone_place.root)).save(session)
    assert standalone_place.rows("list")["ours"]["cwd"] == str(standalone_place.root)


def test_list_warns_about_damaged_document(standalone_place: Place) -> None:
    """In the lists that would have it, and nothing else is lost."""
    (standalone_place.documents / "bad.json").write_text("{nonsense", encoding="utf-8")
    for _ in range(2):
        done = cortext(standalone_place.root, "list", env=standalone_place.env)
        assert (done.returncode, "doc-here" in done.stdout) == (0, True)
        assert f"warning: {standalone_place.documents}/bad.json: not JSON" in done.stderr


def test_same_document_id_in_two_folders_is_selected_by_path(standalone_place: Place) -> None:
    """Both are listed; the id alone is not enough, the file is."""
    named = SessionStorage(paths.project_document_dir(standalone_place.root))
    session = filled("doc-here", standalone_place.root, "Another thing")
    session.created_at = MONDAY - timedelta(days=1)
    named.save(session)
    assert "2 conversations match doc-here" in standalone_place.refused(4, "show", "doc-here")
    assert "Another thing" in standalone_place.ok("show", str(named.get_path("doc-here")))
    (hit,) = json.loads(standalone_place.ok("search", "another", "thing", "--json"))
    assert hit["resume"] == f"cortext resume {named.get_path('doc-here')}"


def test_imported_session_hides_no_other_session_with_the_same_id(standalone_place: Place) -> None:
    standalone_place.ok("import", "doc-here")
    named = SessionStorage(paths.project_document_dir(standalone_place.root))
    session = filled("doc-here", standalone_place.root, "Another thing")
    session.created_at = MONDAY - timedelta(days=1)
    named.save(session)
    assert {"doc-here", "001-chat-about-doc-here"} <= set(standalone_place.rows("list", "--all"))
    (hit,) = json.loads(standalone_place.ok("search", "another", "thing", "--json"))
    assert hit["tool"] == "document"
    standalone_place.ok("rename", str(named.get_path("doc-here")), "Two")
    titles = {row["title"] for row in standalone_place.rows("list", "--all").values()}
    assert {"About doc-here", "Two"} <= titles
    shown = standalone_place.ok("show", "2026-03-02/001-chat-about-doc-here")
    assert "Another thing" not in shown


@pytest.mark.parametrize("id", ["talk-here", "doc-here"])
def test_import_turns_standalone_session_into_single_conversation(
    standalone_place: Place, id: str
) -> None:
    """With all of it; from then on it is listed once, under either name."""
    assert standalone_place.ok("import", id) == f"imported: 001-chat-about-{id}\n"
    found = standalone_place.rows("list")
    made = f"001-chat-about-{id}"
    assert (id in found, made in found) == (False, True)
    assert id not in standalone_place.rows("list", "--all")
    other = json.loads(
        ok(standalone_place.other, "list", "--all", "--json", env=standalone_place.env)
    )
    assert id not in {row["id"] for row in other}
    assert standalone_place.ok("import", id) == f"already here: {made}\n"
    assert "It is not." in standalone_place.ok("show", id)
    head = head_of(standalone_place.root, made)
    assert (head["status"], head["agent_config"]["agent"]) == ("paused", "scout")
    assert head["parent_id"].endswith(f":{id}")
    standalone_place.ok("rename", made, "Something", "else")
    assert standalone_place.rows("list")[made]["title"] == "Something else"


def test_second_import_adds_later_messages_without_duplicates(standalone_place: Place) -> None:
    """It is listed again, until another import takes it in; nothing comes twice."""
    standalone_place.ok("import", "doc-here")
    SessionStorage().append("doc-here", SessionMessage("user", "And the bilby?"))
    assert {"doc-here", "001-chat-about-doc-here"} <= set(standalone_place.rows("list"))
    updated = "updated: 001-chat-about-doc-here (1 new message)\n"
    assert standalone_place.ok("import", "doc-here") == updated
    assert "doc-here" not in standalone_place.rows("list")
    shown = json.loads(standalone_place.ok("show", "001-chat-about-doc-here", "--json"))
    assert [each["content"] for each in shown["messages"]] == [
        "Is the numbat here?",
        "It is not.",
        "And the bilby?",
    ]


def test_import_never_appends_to_foreign_copy_of_conversation(standalone_place: Place) -> None:
    """A conversation that only says that it was made of a session is not added to."""
    standalone_place.ok("import", "doc-here")
    made = folder_of(standalone_place.root, "001-chat-about-doc-here")
    shutil.copytree(made, made.with_name("001-chat-foreign"))
    shutil.rmtree(made)
    SessionStorage().append("doc-here", SessionMessage("user", "And the bilby?"))
    assert standalone_place.ok("import", "doc-here").startswith("imported: 0")
    assert "bilby" not in standalone_place.ok("show", "001-chat-foreign")


def test_list_shows_copied_document_only_once(standalone_place: Place) -> None:
    """`cortext copy` keeps ids: one session, one row, where it can be arranged."""
    standalone_place.ok(
        "copy", f"document:{standalone_place.documents}", f"workspace:{standalone_place.root}"
    )
    rows = [
        row for row in json.loads(standalone_place.ok("list", "--json")) if row["id"] == "doc-here"
    ]
    assert [row["tool"] for row in rows] == [None]


def test_list_hides_tool_sessions_that_are_spawn_turns(
    standalone_place: Place, tmp_path: Path
) -> None:
    """A turn that was had in Claude Code is a session of it, which is passed over."""
    homes = lay_out(tmp_path / "person")
    move_project(homes, standalone_place.root)
    env = {**standalone_place.env, **homes.environment}
    id, _ = said("claude")
    listed = json.loads(ok(standalone_place.root, "list", "--json", env=env))
    assert id in {row["id"] for row in listed}
    program = (
        "from cortext.features.archive.archive_sync import skip_session\n"
        f"skip_session('claude', {id!r})"
    )
    subprocess.run([sys.executable, "-c", program], env={**os.environ, **env}, check=True)
    listed = json.loads(ok(standalone_place.root, "list", "--json", env=env))
    assert id not in {row["id"] for row in listed}


def test_resume_print_names_spawn_command_for_spawn_session(standalone_place: Place) -> None:
    """The command line says so; for programs too."""
    assert standalone_place.ok("resume", "talk-here", "--print", "--write") == (
        f"cd {standalone_place.root} && cortext spawn --resume talk-here\n"
    )
    plan = json.loads(standalone_place.ok("resume", "talk-here", "--print", "--write", "--json"))
    assert (plan["tool"], plan["way"], plan["session"]) == ("spawn", "native", "talk-here")
    assert plan["command"] == ["cortext", "spawn", "--resume", "talk-here"]


def test_resume_continues_spawn_session_in_terminal(standalone_place: Place) -> None:
    """`cortext resume` goes on where it was had, with what was said, and ends as that does."""
    env = {**standalone_place.env, "AURORA_SPAWN_TOOL": f"{sys.executable} {AGENT}"}
    with Terminal([SCRIPT, "resume", "talk-here"], cwd=standalone_place.root, env=env) as terminal:
        assert "2 turns so far" in terminal.prompt()
        terminal.line("/quit")
        assert terminal.process.wait(60) == 0


@pytest.mark.parametrize("id", ["talk-here", "doc-here"])
@pytest.mark.parametrize("tool", ["claude", "codex", "gemini"])
def test_resume_in_tool_converts_standalone_session_to_conversation(
    standalone_place: Place, id: str, tool: str
) -> None:
    """Written as a session of the tool, which is that of a conversation then."""
    install(standalone_place.programs, tool)
    before = standalone_place.looks()
    done = cortext(
        standalone_place.root,
        "resume",
        id,
        "--tool",
        tool,
        "--print",
        "--write",
        "--json",
        env=standalone_place.env,
    )
    assert done.returncode == 0, done.stderr
    plan = json.loads(done.stdout)
    made = f"001-chat-about-{id}"
    assert (plan["tool"], plan["way"], plan["conversation"]) == (tool, "converted", made)
    assert plan["cwd"] == str(standalone_place.root)
    assert f"Saved as {made}." in done.stderr
    assert [entry["tool"] for entry in head_of(standalone_place.root, made)["native"]] == [tool]
    assert set(standalone_place.rows("list")) == {made, *{"talk-here", "doc-here"} - {id}}
    again = json.loads(standalone_place.ok("resume", id, "--print", "--write", "--json"))
    assert (again["conversation"], again["tool"]) == (made, tool)
    assert standalone_place.looks() == before


def test_delete_and_stop_refuse_standalone_sessions_without_changes(
    standalone_place: Place,
) -> None:
    """One sentence and a hint, and nothing is changed."""
    before = standalone_place.looks()
    assert "belongs to a program" in standalone_place.refused(1, "delete", "doc-here", "--yes")
    assert "saves each message at once" in standalone_place.refused(1, "stop", "talk-here")
    assert "saves each message at once" in standalone_place.refused(1, "done", "talk-here")
    assert standalone_place.looks() == before
    standalone_place.ok("clean", "0", "--yes", "--all")
    assert "talk-there" in standalone_place.rows("list", "--all")


@pytest.mark.parametrize("id", ["talk-here", "doc-here"])
@pytest.mark.parametrize("words", [("rename", "x"), ("tag", "x"), ("fork",)])
def test_rename_tag_and_fork_convert_standalone_session_first(
    standalone_place: Place, id: str, words: tuple[str, ...]
) -> None:
    """And says so; the session itself stays as it is, and its id names the conversation."""
    before = standalone_place.looks()
    made = f"001-chat-about-{id}"
    done = cortext(standalone_place.root, words[0], id, *words[1:], env=standalone_place.env)
    assert done.returncode == 0, done.stderr
    assert f"Saved {id} as the conversation {made}." in done.stderr
    of = f"messages from {MONDAY:%Y-%m-%d}/{made}"
    assert (of in done.stderr) == (words == ("fork",))
    listed = {name.rpartition("/")[2] for name in standalone_place.rows("list")}
    assert (made in listed, id in listed) == (True, False)
    assert standalone_place.ok("tag", id, "more").endswith("more\n")
    assert standalone_place.looks() == before


def test_done_converts_document_and_delete_trashes_spawn_session(standalone_place: Place) -> None:
    """A document becomes a conversation first, a talk goes to the trash and comes back."""
    assert "has been completed" in standalone_place.ok("done", "doc-here")
    assert standalone_place.rows("list")["001-chat-about-doc-here"]["status"] == "completed"
    assert "talk-here" in standalone_place.ok("delete", "talk-here", "--yes")
    assert "talk-here" not in standalone_place.rows("list")
    standalone_place.ok("trash", "restore", "talk-here")
    assert "talk-here" in standalone_place.rows("list")


@needs_terminal
def test_show_accepts_list_numbers_of_standalone_sessions(standalone_place: Place) -> None:
    """In the same terminal, for each kind."""
    begin(standalone_place.root, "plan", "Rest", "Why?")
    line = f"{SCRIPT} list > /dev/tty; for n in 1 2 3; do {SCRIPT} show $n --no-pager --plain; done"
    done = subprocess.run(
        ["script", "-qec", f"sh -c '{line}'", "/dev/null"],
        cwd=standalone_place.root,
        env={**os.environ, **standalone_place.env, "TERM": "xterm"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
    )
    shown = done.stdout.decode("utf-8", "replace")
    assert "Is the quokka here?" in shown
    assert "Is the numbat here?" in shown
