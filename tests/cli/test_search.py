"""`cortext search`: over what the real tools wrote, workspaces and `spawn`; in a pipe, and in a
real pseudo terminal."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from cortext import Session, SessionMessage, open_session_store
from tests.cli.search_workspace import Place, keep, place
from tests.cli.shell_completion import offered
from tests.cli.show_terminal import HOSTILE, STYLE, assert_harmless
from tests.command import begin, cortext, ok, say
from tests.homes import said

__all__ = ["place"]

TOOLS = ("claude", "codex", "gemini", "opencode")
MONDAY = datetime(2026, 3, 2, 12, tzinfo=UTC)


def test_search_finds_message_in_every_tool_with_working_commands(place: Place) -> None:
    """In whichever tool: who said it, when, and the commands that open it, by ids that work."""
    found = place.search("emptied", "hour")
    for tool in TOOLS:
        id, words = said(tool)
        assert "Decided: the cache is emptied every hour." in [text for _, text in words]
        assert f"\n{id}\t14\t" in f"\n{found}"
    assert "#14 Claude Code, 2026-11-16 01:26: Decided: the cache is emptied every hour." in found
    hits = place.hits('"emptied every hour"')
    assert {hit["tool"] for hit in hits} == set(TOOLS)
    newest = [hit["timestamp"] for hit in place.hits("emptied", "hour", "--sort", "newest")]
    assert newest == sorted(newest, reverse=True)
    for hit in hits:
        shown = json.loads(ok(place.root, "show", hit["id"], "--json", env=place.env))
        message = shown["messages"][hit["message"] - 1]
        assert (message["role"], hit["text"] in message["content"]) == (hit["role"], True)
        assert [hit["text"][a:b] for a, b in hit["matches"]] == ["emptied every hour"]


def test_search_finds_deleted_transcripts_in_archive_only_once(place: Place) -> None:
    """It is found in the archive, once."""
    ok(place.root, "sync", env=place.env)
    before = {(hit["id"], hit["message"]) for hit in place.hits("emptied", "hour")}
    for path in place.homes.own.values():
        shutil.rmtree(path)
    after = [(hit["id"], hit["message"]) for hit in place.hits("emptied", "hour")]
    assert (set(after), len(after)) == (before, len(before))
    assert all("/archive/" in hit["transcript"] for hit in place.hits("emptied", "hour"))


def test_search_finds_sub_agent_text_in_parent_conversation(place: Place) -> None:
    """What they said is found in the conversation that started them."""
    id, _ = said("claude")
    path = place.homes.transcript("claude")
    lines = [json.loads(line) for line in path.read_bytes().splitlines()]
    side = [{**line, "isSidechain": True, "agentId": "a1"} for line in lines if "uuid" in line]
    folder = path.parent / id / "subagents"
    folder.mkdir(parents=True)
    text = "".join(f"{json.dumps(line)}\n" for line in side).replace("emptied", "an ocelot")
    (folder / "agent-a1.jsonl").write_text(text, encoding="utf-8")
    (hit,) = place.hits("ocelot")
    assert (hit["id"], hit["role"], hit["message"]) == (id, "agents", None)
    found = place.search("ocelot")
    assert "\tsub-agent, 2026-11-16 " in found
    assert found.startswith(f"{id}\tagents\t")


def test_search_shows_at_most_three_hits_per_conversation(place: Place) -> None:
    """Three of it are shown and it is said that there is more; `--conversation` has all."""
    id = begin(place.root, "plan", "Colours", *[f"zebra number {n}" for n in range(1, 31)])
    found = place.page("zebra")
    assert found.count("zebra number") == 3
    assert "#30 agent" in place.page("zebra", "--sort", "newest")
    assert "more matches here: add --conversation 1" in found
    whole = place.search("zebra", "--conversation", id, "-n", "100")
    assert whole.count("zebra number") == 30
    assert "more matches here" not in whole
    assert len(place.hits("zebra", "-n", "25")) == 3
    assert len(place.hits("zebra", "-n", "25", "--sort", "newest")) == 25
    done = cortext(place.root, "search", "zebra", "--conversation", id, env=place.env)
    assert done.stdout.count("zebra number") == 10
    assert "More results: add -n 20.\n" in done.stderr


def test_search_reports_title_hit_only_when_no_message_matches(place: Place) -> None:
    """Where only the title has the words it stands alone, and not beside what was said with them;
    a document that has them only as its title says nothing more."""
    id = begin(place.root, "plan", "Zebra crossing", "Nothing of that.")
    found = place.search("zebra")
    assert found.count("ebra") == 2  # the id and the title
    assert [hit["role"] for hit in place.hits("zebra")] == ["title"]
    say(place.root, id, "The zebra is painted.")
    assert [hit["role"] for hit in place.hits("zebra")] == ["user"]
    (document,) = place.root.glob(f"conversations/*/{id}/*.md")
    document.write_text(document.read_text(encoding="utf-8") + "\nzebras cross\n", encoding="utf-8")
    # It has to be seen that something changed: the document alone does not say it in a list.
    say(place.root, id, "And more.")
    assert {hit["role"] for hit in place.hits("zebra*")} == {"user", "document"}


def test_search_finds_document_text_with_same_words_as_title(place: Place) -> None:
    """What they say is not changed by their title, and found although it has the same words."""
    id = begin(place.root, "brainstorm", "zebu", "Nothing of that.")
    (document,) = place.root.glob(f"conversations/*/{id}/*.md")
    said = "We settled that zebu validity is late; memzebued was dropped, its zebulines are cold."
    document.write_text(f"{document.read_text(encoding='utf-8')}\n{said}\n", encoding="utf-8")
    say(place.root, id, "And more.")
    for typed in (["validity"], ["zebu"], ["memzebued"], ['"zebu validity"']):
        (hit,) = place.hits(*typed)
        assert hit["role"] == "document"
        assert said in hit["text"]
        assert hit["matches"]


def test_search_json_uses_same_field_names_as_list(place: Place) -> None:
    """Where a conversation is, is called the same in both."""
    begin(place.root, "plan", "Colours", "zebra emptied hour")
    listed = json.loads(ok(place.root, "list", "--all", "--json", env=place.env))
    rows = {row["id"]: row for row in listed}
    hits = place.hits("emptied", "hour")
    assert len({hit["tool"] for hit in hits}) == len(TOOLS) + 1
    for hit in hits:
        row = rows[hit["id"]]
        names = ("type", "title", "tool", "workspace", "folder", "cwd", "transcript")
        assert [hit[name] for name in names] == [row[name] for name in names]
        assert hit["cwd"] == str(place.root)


def test_search_finds_summary_and_labels_hit(place: Place) -> None:
    """They are searched, and told as what they are."""
    keep(place, "001-plan-a", SessionMessage("user", "x"), summary="The giraffe was chosen.")
    assert "\tsummary, " in (found := place.search("giraffe"))
    assert ": The giraffe was chosen.\n" in found


def _days(place: Place) -> None:
    for day in range(3):
        when = MONDAY + timedelta(days=day)
        keep(
            place,
            f"00{day + 1}-plan-x",
            SessionMessage("user", f"walrus {day}", timestamp=when),
            SessionMessage("assistant", f"walrus answer {day}", timestamp=when),
            tags=["sea"] if day else ["land"],
            kind="debug" if day == 2 else "plan",
            status="completed" if day == 2 else "paused",
        )


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ([], {0, 1, 2}),
        (["--since", "2026-03-03"], {1, 2}),
        (["--until", "2026-03-03"], {0, 1}),
        (["--since", "2026-03-03", "--until", "2026-03-03"], {1}),
        (["--until", "2026-03-03T10:00+00:00"], {0}),
        (["--tag", "sea"], {1, 2}),
        (["--type", "debug"], {2}),
        (["--status", "completed"], {2}),
        (["--status", "interrupted"], {0, 1}),
        (["--tool", "claude"], set()),
        (["--in", "."], {0, 1, 2}),
        (["--in", "/nowhere"], set()),
        (["--role", "tool"], set()),
        (["--all"], {0, 1, 2}),
    ],
)
def test_search_options_filter_hits(place: Place, options: list[str], expected: set[int]) -> None:
    """Each leaves what it says."""
    _days(place)
    hits = place.hits("walrus", *options)
    assert {int(hit["text"][-1]) for hit in hits} == expected


def test_search_returns_newest_of_many_hits_without_duplicates(place: Place) -> None:
    """However many there are, the newest come first, each once."""
    for day in range(3):
        messages = [
            SessionMessage("user", f"heron {n}", timestamp=MONDAY + timedelta(days=day, seconds=n))
            for n in range(400)
        ]
        keep(place, f"00{day + 1}-plan-x", *messages)
    hits = place.hits("heron", "-n", "500", "--sort", "newest")
    found = [(hit["id"], hit["message"]) for hit in hits]
    expected = [("003-plan-x", n) for n in range(400, 0, -1)]
    assert found == expected + [("002-plan-x", n) for n in range(400, 300, -1)]


def test_search_role_option_filters_by_speaker(place: Place) -> None:
    """What the person said, and what the agent did."""
    _days(place)
    assert {hit["text"] for hit in place.hits("walrus", "--role", "user")} == {
        f"walrus {day}" for day in range(3)
    }
    assert len(place.hits("walrus", "--role", "assistant")) == 3


def test_search_sort_relevance_ranks_best_match_before_newest(place: Place) -> None:
    """What says most about the words comes before what is newer."""
    old, new = MONDAY, MONDAY + timedelta(days=30)
    about = "Otters hold hands. Why otters hold hands: an otter that sleeps holds another otter."
    keep(place, "001-plan-a", SessionMessage("user", about, timestamp=old))
    passing = "In passing, otters and their hands; " + "and of something else entirely " * 40
    keep(place, "002-plan-b", SessionMessage("user", passing, timestamp=new))
    ids = [hit["id"] for hit in place.hits("otters", "hands")]
    assert ids == ["001-plan-a", "002-plan-b"]
    assert [hit["id"] for hit in place.hits("otters", "hands", "--sort", "newest")] == ids[::-1]


def test_search_finds_spawn_sessions_with_their_resume_command(place: Place) -> None:
    """They are found beside the others, with their own command; their numbers are good too."""
    folder = Path(place.env["AURORA_HOME"]) / "spawn/sessions"
    session = Session("helper-1", title="Ask", agent="helper", status="paused")
    session.messages = [SessionMessage("user", "Where is the platypus?")]
    folder.mkdir(parents=True)
    open_session_store(f"log:{folder}").save(session)
    (hit,) = place.hits("platypus")
    assert (hit["id"], hit["tool"]) == ("helper-1", "spawn")
    assert hit["resume"] == "cortext spawn --resume helper-1"
    shown = ok(place.root, "show", "helper-1", "--at", "1", env=place.env)
    assert "Where is the platypus?" in shown
    for name in ("spawn", "aur", "AUR"):
        assert len(place.hits("platypus", "--tool", name)) == 1
    assert len(place.hits("platypus", "--status", "paused")) == 1
    assert len(place.hits("platypus", "--conversation", "helper")) == 1


def test_search_resume_command_is_unambiguous_across_workspaces(
    place: Place, tmp_path: Path
) -> None:
    """The command opens the right one, from wherever it is typed."""
    other = tmp_path / "other place"
    other.mkdir()
    ok(other, "init", env=place.env)
    id = begin(other, "plan", "Same", "A pangolin.")
    assert begin(place.root, "plan", "Same", "No such animal.") == id
    (hit,) = place.hits("pangolin")
    assert hit["resume"].startswith(f"cortext resume '{other}/")
    line = f"{hit['resume'].replace('cortext resume', 'cortext show')} > shown"
    path = f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}"
    subprocess.run(
        ["sh", "-c", line], check=True, cwd=place.root, env={**os.environ, "PATH": path}, timeout=60
    )
    assert "A pangolin." in (place.root / "shown").read_text(encoding="utf-8")


def test_search_in_terminal_highlights_words_and_numbers_hits(place: Place) -> None:
    """The words are bold, lines fit, and the numbers are good for the next command there."""
    begin(place.root, "plan", "Colours", *[f"zebra number {n} " + "x " * 90 for n in range(5)])
    screen = place.screen("search", "zebra", columns=60)
    assert "\x1b[1mzebra\x1b[0m number 4" in screen
    bare = STYLE.sub("", screen)
    assert all(len(line) <= 60 for line in bare.splitlines())
    assert "cortext resume 1 · cortext show 1 --at 5" in bare
    assert "--conversation 1" in bare
    plain = place.screen("search", "zebra", columns=60, NO_COLOR="1")
    assert "«zebra» number 4" in plain
    assert "\x1b" not in plain
    assert all(len(line) <= 60 for line in plain.splitlines())


def test_search_in_pipe_prints_one_line_per_conversation_that_show_accepts(place: Place) -> None:
    begin(place.root, "plan", "Many\tcolours", "zebra", "a zebra", "zebras", "no")
    begin(place.root, "plan", "Other", "the zebra\tand\nits foal")
    lines = place.search("zebra").splitlines()
    assert [len(line.split("\t")) for line in lines] == [5, 5]
    for line in lines:
        id, at, title, *_ = line.split("\t")
        shown = ok(place.root, "show", id, "--at", at, env=place.env)
        assert shown.startswith(f"{title}\n")
        assert "zebra" in shown


def test_search_pages_only_long_output_unless_no_pager(place: Place, tmp_path: Path) -> None:
    """In a terminal, with the person's pager, as `show` is; a short one is not, nor with
    `--no-pager`."""
    pager = tmp_path / "pager"
    pager.write_text("#!/bin/sh\necho PAGED\ncat\n", encoding="utf-8")
    pager.chmod(0o755)
    for number in range(20):
        keep(place, f"{number:03}-plan-x", SessionMessage("user", f"zebra number {number}"))
    long = place.screen("search", "zebra", "-n", "20", PAGER=str(pager))
    assert long.startswith("PAGED\n")
    assert long.count("number") == 20
    assert "PAGED" not in place.screen("search", "zebra", "-n", "3", PAGER=str(pager))
    assert "PAGED" not in place.screen("search", "zebra", "--no-pager", PAGER=str(pager))


def test_search_output_neutralizes_hostile_text(place: Place) -> None:
    """Nothing of it reaches a terminal or a pipe, wherever in a conversation it stands."""
    for number, bad in enumerate(HOSTILE):
        text = f"before {bad} armadillo {bad} after {bad}"
        safe = bad.encode("utf-8", "replace").decode()
        keep(
            place,
            f"{number:03}-plan-x",
            SessionMessage("user", text.encode("utf-8", "replace").decode()),
            title=f"armadillo {safe}",
            summary=f"{safe} armadillo {safe}",
            agent=f"agent{safe}",
        )
    found = place.search("armadillo", "-n", "200")
    assert_harmless(found)
    assert "\x1b" not in found
    assert len(found.splitlines()) == len(HOSTILE)
    assert_harmless(place.screen("search", "armadillo", "-n", "200"))


def test_search_finds_message_appended_just_before(place: Place) -> None:
    """The next search has it, in another process."""
    id = begin(place.root, "plan", "Colours", "Nothing.")
    assert place.hits("quokka") == []
    say(place.root, id, "A quokka!")
    assert [hit["message"] for hit in place.hits("quokka")] == [2]


def test_completion_offers_tools_types_and_tags_for_search(place: Place) -> None:
    """Tools, types and tags."""
    _days(place)
    assert offered(place.root, "cortext search x --tool c") == ["claude", "codex"]
    assert "debug" in offered(place.root, "cortext search x --type d")
    assert offered(place.root, "cortext search x --tag ") == ["land", "sea"]


def test_search_rebuilds_deleted_or_damaged_index(place: Place) -> None:
    """Thrown away or damaged, it is made anew, and the answer is the same."""
    before = place.hits("emptied", "hour")
    (path,) = Path(place.env["XDG_CACHE_HOME"]).rglob("words.sqlite3")
    damage: list[Callable[[], object]] = [
        lambda: shutil.rmtree(path.parent),
        lambda: path.write_bytes(b"no database " * 1000),
    ]
    for harm in damage:
        harm()
        assert place.hits("emptied", "hour") == before
