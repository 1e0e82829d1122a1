"""Lists in a terminal of 80 columns, the chooser, and what is said where nothing is found."""

import json
import re
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.cli.list_terminal import put, terminal
from tests.command import cortext, ok
from tests.homes import Homes, lay_out, move_project, said

TITLE = "How do we make the parser fast?"


@pytest.fixture
def view_homes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Homes:
    found = lay_out(tmp_path / "person")
    for name, value in found.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("CI", "true")
    return found


@pytest.fixture
def tool_space(tmp_path: Path, view_homes: Homes) -> Path:
    root = tmp_path / "space"
    (root / ".workspace").mkdir(parents=True)
    move_project(view_homes, root)
    return root


def narrow(space: Path, *words: str, answers: Sequence[str] = ()) -> list[str]:
    shown = terminal(space, list(words), answers=answers, columns=80)
    return shown.text.splitlines()


def test_list_shows_25_title_characters_at_80_columns(tool_space: Path) -> None:
    """At 80 columns beside a conversation with a long id: 25 characters; rows are numbered."""
    put(tool_space, "001-plan-a-name-that-goes-on-and-on", "hello", title=TITLE)
    lines = narrow(tool_space, "list")
    assert lines[0].split() == ["#", "ID", "LAST", "ACTIVE", "STATUS", "TOOL", "TITLE"]
    (line,) = [line for line in lines if " 001 " in line]
    assert TITLE[:25] in line
    assert all(len(line) <= 80 for line in lines)
    assert [line.split()[0] for line in lines[1:4]] == ["1", "2", "3"]


def test_list_all_shows_20_title_characters_at_80_columns(tool_space: Path) -> None:
    """Twenty characters of it."""
    put(tool_space, "001-plan-a-name-that-goes-on-and-on", "hello", title=TITLE)
    (line,) = [line for line in narrow(tool_space, "list", "--all") if " 001 " in line]
    assert TITLE[:20] in line


def test_list_shows_message_counts_of_tool_sessions(tool_space: Path) -> None:
    table = ok(tool_space, "list").splitlines()
    assert "MESSAGES" in table[0]
    counts = {row["messages"] for row in json.loads(ok(tool_space, "list", "--json"))}
    assert None not in counts
    assert 0 not in counts


def test_list_shows_tools_of_imported_conversation(tool_space: Path) -> None:
    """Those that it was had in, in the table and in JSON."""
    id, _ = said("codex")
    key = ok(tool_space, "import", id).strip().removeprefix("imported: ")
    (line,) = [line for line in ok(tool_space, "list").splitlines() if line.startswith(key)]
    assert "  codex  " in line
    (row,) = [row for row in json.loads(ok(tool_space, "list", "--json")) if row["id"] == key]
    assert (row["tool"], row["tools"]) == (None, ["codex"])
    # The beginning of the tool's id names it still.
    assert json.loads(ok(tool_space, "show", id[:12], "--json"))["id"] == key


def test_resume_list_wraps_entries_between_facts(tool_space: Path) -> None:
    """Never inside a word; and nothing is said of a summary that nobody makes."""
    put(tool_space, "001-plan-" + "x" * 50, "hello", title="long")
    lines = narrow(tool_space, "resume", "--list")
    facts = [line for line in lines if re.match("   (001|Last|Status)", line)]
    assert [line.split()[0] for line in facts[:2]] == ["001-plan-" + "x" * 50, "Last"]
    assert not any("Summary" in line for line in lines)
    assert any(re.fullmatch(r"   \S{13} \| Last active: .* \| Tool: codex", each) for each in lines)


def test_chooser_shows_tool_age_and_id_beside_title(tool_space: Path) -> None:
    """The tool, the age and a short id stand beside the title."""
    for _ in range(2):
        lines = narrow(tool_space, "resume", "emptied every hour", "--context", answers=["1"])
    beside = re.compile(r" +\d\. .+  \((claude|codex|gemini|opencode), .+, \S{13}\)")
    shown = [line for line in lines if beside.fullmatch(line)]
    assert len(shown) > 1
    # A day after these were had it was yesterday.
    assert all(re.search(r", (yesterday|\d+ \w+ ago), ", line) for line in shown)
    assert all(len(line) <= 80 for line in shown)


def test_ambiguous_show_names_each_id_once(tool_space: Path) -> None:
    """For a program: each whole id on a line."""
    done = cortext(tool_space, "show", "emptied every hour")
    assert done.returncode == 4
    id, _ = said("codex")
    assert done.stderr.count(id) == 1


def test_empty_list_names_the_other_folders_and_how_to_begin(
    tool_space: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    count = len(json.loads(ok(tool_space, "list", "--json")))
    begin = 'hint: to start a conversation: `cortext new brainstorm "your topic"`\n'
    done = cortext(other, "list")
    expected = f"no conversations here; other folders have {count}: `cortext list --all`\n"
    assert (done.returncode, done.stderr) == (0, expected + begin)
    for command in (["resume"], ["resume", "--list"], ["resume", "--last"]):
        done = cortext(other, *command)
        expected = f"here; other folders have {count}: `cortext resume --list --all`\n"
        assert done.stderr.endswith(expected + begin)
    done = cortext(other, "resume", "--list", "--type", "plan")
    assert "hint: begin" not in done.stderr


def test_empty_list_names_slash_command_only_if_init_installed_it(tmp_path: Path) -> None:
    assert "/workspace.brainstorm" not in cortext(tmp_path, "list").stderr
    ok(tmp_path, "init", "--tools", "claude")
    assert "or `/workspace.brainstorm` in your AI tool\n" in cortext(tmp_path, "list").stderr


def test_empty_list_of_all_folders_is_not_about_this_folder(tmp_path: Path) -> None:
    assert cortext(tmp_path, "list", "--all").stderr.startswith("no conversations yet\n")
    assert cortext(tmp_path, "list").stderr.startswith("no conversations here yet\n")


def test_no_match_error_hints_at_list_all_and_list_numbers(tool_space: Path) -> None:
    """What shows all; and what numbers are, for whoever has no terminal."""
    done = cortext(tool_space, "show", "zzzzqqq")
    assert (done.returncode, "`cortext list --all`" in done.stderr) == (3, True)
    done = cortext(tool_space, "resume", "987654")
    assert "refers to the last list in the same terminal" in done.stderr


def test_suggestion_adds_no_second_question_mark_to_title(tool_space: Path) -> None:
    """After a title that is a question."""
    put(tool_space, "001-plan-x", "hello", title="How do we bill the exports?")
    done = cortext(tool_space, "resume", "bill exprots of the year", "--context")
    assert "How do we bill the exports?\n" in done.stderr


def _wait_for(path: Path) -> None:
    end = time.monotonic() + 60
    while not path.exists():
        assert time.monotonic() < end, path
        time.sleep(0.01)


@pytest.mark.parametrize("words", [["show"], ["export"], ["resume", "--context"]])
def test_show_export_and_resume_start_archive_sync(
    words: list[str], tool_space: Path, view_homes: Homes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not only lists, which then have nothing new; and it is said where copies are kept."""
    monkeypatch.delenv("CI")
    done = cortext(tool_space, *words, said("claude")[0])
    assert "cortext keeps compressed copies" in done.stderr
    _wait_for(view_homes.data / "cortext/archive/.known/claude.json")


def test_list_starts_sync_later_for_change_seen_too_soon(
    tool_space: Path, view_homes: Homes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A change that a list saw within five minutes of a sync starts the next one."""
    import os

    monkeypatch.delenv("CI")
    started = view_homes.data / "cortext/archive/.started"
    started.parent.mkdir(parents=True)
    started.touch()
    ok(tool_space, "list")
    ok(tool_space, "list")
    old = time.time() - 600
    os.utime(started, (old, old))
    ok(tool_space, "list")
    assert started.stat().st_mtime > old + 300
    _wait_for(view_homes.data / "cortext/archive/.known/claude.json")


def test_stats_count_the_sessions_of_tools(tool_space: Path) -> None:
    """Someone may have only these; `--tool` keeps to one tool."""
    shown = ok(tool_space, "stats", "--json")
    tools = {share["name"]: share for share in json.loads(shown)["tools"]}
    assert {"claude", "codex"} <= set(tools)
    assert all(share["messages"] for share in tools.values())
    (only,) = json.loads(ok(tool_space, "stats", "--tool", "codex", "--json"))["tools"]
    assert only == tools["codex"]


def test_stats_distinguish_same_id_of_two_workspaces(tmp_path: Path, view_homes: Homes) -> None:
    """Of two workspaces with the same id on the same day."""
    for name in ("one", "two"):
        (tmp_path / name / ".workspace").mkdir(parents=True)
        put(tmp_path / name, "001-plan-x", "hello", title=name)
        ok(tmp_path / name, "list")
    shown = ok(tmp_path / "one", "stats", "--all", "--type", "plan")
    names = re.findall(r"(\w+)/\d{4}-\d\d-\d\d/001-plan-x", shown)
    assert sorted(names) == ["one", "two"]


def test_completion_offers_sessions_for_import_and_tools_for_sync(
    tool_space: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sessions to import, and the tools of a sync one after the other."""
    id, _ = said("codex")
    monkeypatch.setenv("_CORTEXT_COMPLETE", "bash_complete")
    for line, words, found in (
        (f"cortext import {id[:4]}", "2", id),
        ("cortext import ./x", "2", "file,./x"),
        ("cortext sync --tools claude,co", "3", "claude,codex"),
    ):
        monkeypatch.setenv("COMP_WORDS", line)
        monkeypatch.setenv("COMP_CWORD", words)
        assert found in cortext(tool_space).stdout


def test_sync_shows_no_archive_notice_without_transcripts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where no tool was used there are none."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    done = cortext(tmp_path, "sync")
    assert "No transcripts of AI tools" in done.stderr
    assert "compressed copies" not in done.stderr


@pytest.mark.parametrize("options", [[], ["--all"]])
@pytest.mark.parametrize("columns", [24, 40, 60])
def test_list_keeps_title_in_narrow_terminal(
    tool_space: Path, options: list[str], columns: int
) -> None:
    """Beside the number and how long ago; the tool too, where there is room for it."""
    put(tool_space, "001-plan-a-name-that-goes-on-and-on", "hello", title="Marmots in the yard")
    lines = terminal(tool_space, ["list", *options], columns=columns).text.splitlines()
    heading, *rows = [line for line in lines if re.match(r" *(#|\d) ", line)]
    assert ("AGE" in heading, "LAST ACTIVE" in heading) == (columns < 60, columns >= 60)
    assert ("TOOL" in heading, "TITLE" in heading) == (columns > 24, True)
    (row,) = [row for row in rows if "Marmots in the" in row]
    assert row.split()[1] in (["now"] if columns < 60 else ["001", "space"])
    assert len(rows) > 3
    assert all(len(line) <= columns for line in (heading, *rows))


def test_suggestion_requires_similar_word_in_title(tool_space: Path) -> None:
    """A title with a word that is alike; not any that has some of the letters."""
    put(tool_space, "001-plan-x", "hello", title="A plan for open telemetry")
    assert "did you mean" not in cortext(tool_space, "tail", "nope").stderr
    done = cortext(tool_space, "tail", "telemetri gone")
    assert "A plan for open telemetry" in done.stdout + done.stderr


def test_delete_counts_single_message_in_singular_form(tool_space: Path) -> None:
    """What is about to be deleted is counted as people count."""
    put(tool_space, "001-plan-x", "hello")
    assert "001-plan-x" in (told := cortext(tool_space, "delete", "001", "--yes").stderr)
    assert told.rstrip().endswith(", 1 message")


def test_search_shortens_long_title_to_keep_facts_in_two_lines(
    tool_space: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A search says of each conversation where it is and how it stands, in two lines."""
    monkeypatch.setenv("NO_COLOR", "1")
    put(tool_space, "001-plan-x", "It is not there.", title="Why the linker does not find it " * 8)
    lines = narrow(tool_space, "search", "linker")
    first = next(number for number, line in enumerate(lines) if line.startswith("1. Why the "))
    head = lines[first : first + 2]
    assert "… · plan · " in " ".join(line.strip() for line in head)
    assert head[1].endswith(" · paused")
    assert all(len(line) <= 80 for line in head)
