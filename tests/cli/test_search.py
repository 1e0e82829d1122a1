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


def test_what_was_decided(place: Place) -> None:
    """In whichever tool: who said it, when, and the commands that open it, by ids that work."""
    found = place.search("emptied", "hour")
    for tool in TOOLS:
        id, words = said(tool)
        assert "Decided: the cache is emptied every hour." in [text for _, text in words]
        assert f"   cortext resume {id}\n   cortext show {id} --at 14\n" in found
    assert "#14 Claude Code, 2026-11-16 01:26: Decided: the cache is emptied every hour." in found
    hits = place.hits("emptied", "hour")
    assert {hit["tool"] for hit in hits} == set(TOOLS)
    assert [hit["timestamp"] for hit in hits] == sorted(
        (hit["timestamp"] for hit in hits), reverse=True
    )
    for hit in hits:
        shown = json.loads(ok(place.root, "show", hit["id"], "--json", env=place.env))
        message = shown["messages"][hit["message"] - 1]
        assert (message["role"], hit["text"] in message["content"]) == (hit["role"], True)
        assert [hit["text"][a:b] for a, b in hit["matches"]] == ["emptied", "hour"]


def test_what_a_tool_deleted(place: Place) -> None:
    """It is found in the archive, once."""
    ok(place.root, "sync", env=place.env)
    before = {(hit["id"], hit["message"]) for hit in place.hits("emptied", "hour")}
    for path in place.homes.own.values():
        shutil.rmtree(path)
    after = [(hit["id"], hit["message"]) for hit in place.hits("emptied", "hour")]
    assert (set(after), len(after)) == (before, len(before))
    assert all("/archive/" in hit["transcript"] for hit in place.hits("emptied", "hour"))


def test_sub_agents(place: Place) -> None:
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
    assert "   a sub-agent, 2026-11-16 " in found
    assert f"   cortext show {id} --at agents\n" in found


def test_one_conversation_does_not_flood(place: Place) -> None:
    """Three of it are shown and it is said that there is more; `--conversation` has all."""
    id = begin(place.root, "plan", "Colours", *[f"zebra number {n}" for n in range(1, 31)])
    found = place.search("zebra")
    assert found.count("zebra number") == 3
    assert "#30 agent" in found
    assert f"more of it: --conversation {id}\n" in found
    whole = place.search("zebra", "--conversation", id, "-n", "100")
    assert whole.count("zebra number") == 30
    assert "more of it" not in whole
    assert len(place.hits("zebra", "-n", "25")) == 25
    done = cortext(place.root, "search", "zebra", "--conversation", id, env=place.env)
    assert done.stdout.count("zebra number") == 20
    assert "there is more: -n 40 shows it\n" in done.stderr


def test_a_title_is_told_once(place: Place) -> None:
    """Where only the title has the words it stands alone, and not beside what was said with them;
    a document that has them only as its title says nothing more."""
    id = begin(place.root, "plan", "Zebra crossing", "Nothing of that.")
    found = place.search("zebra")
    assert found.count("ebra") == 3  # the title, and the id in the two commands
    assert [hit["role"] for hit in place.hits("zebra")] == ["title"]
    say(place.root, id, "The zebra is painted.")
    assert [hit["role"] for hit in place.hits("zebra")] == ["user"]
    (document,) = place.root.glob(f"conversations/*/{id}/*.md")
    document.write_text(document.read_text(encoding="utf-8") + "\nzebras cross\n", encoding="utf-8")
    # It has to be seen that something changed: the document alone does not say it in a list.
    say(place.root, id, "And more.")
    assert {hit["role"] for hit in place.hits("zebra*")} == {"user", "document"}


def test_documents_are_shown_as_they_are(place: Place) -> None:
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


def test_json_has_the_names_of_a_list(place: Place) -> None:
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


def test_summaries(place: Place) -> None:
    """They are searched, and told as what they are."""
    keep(place, "001-plan-a", SessionMessage("user", "x"), summary="The giraffe was chosen.")
    assert "its summary, " in (found := place.search("giraffe"))
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
def test_options(place: Place, options: list[str], expected: set[int]) -> None:
    """Each leaves what it says."""
    _days(place)
    hits = place.hits("walrus", *options)
    assert {int(hit["text"][-1]) for hit in hits} == expected


def test_the_newest_of_very_many(place: Place) -> None:
    """However many there are, the newest come first, each once."""
    for day in range(3):
        messages = [
            SessionMessage("user", f"heron {n}", timestamp=MONDAY + timedelta(days=day, seconds=n))
            for n in range(400)
        ]
        keep(place, f"00{day + 1}-plan-x", *messages)
    found = [(hit["id"], hit["message"]) for hit in place.hits("heron", "-n", "500")]
    expected = [("003-plan-x", n) for n in range(400, 0, -1)]
    assert found == expected + [("002-plan-x", n) for n in range(400, 300, -1)]


def test_roles(place: Place) -> None:
    """What the person said, and what the agent did."""
    _days(place)
    assert {hit["text"] for hit in place.hits("walrus", "--role", "user")} == {
        f"walrus {day}" for day in range(3)
    }
    assert len(place.hits("walrus", "--role", "assistant")) == 3


def test_the_best_first(place: Place) -> None:
    """What says most about the words comes before what is newer."""
    old, new = MONDAY, MONDAY + timedelta(days=30)
    about = "Otters hold hands. Why otters hold hands: an otter that sleeps holds another otter."
    keep(place, "001-plan-a", SessionMessage("user", about, timestamp=old))
    passing = "In passing, otters and their hands; " + "and of something else entirely " * 40
    keep(place, "002-plan-b", SessionMessage("user", passing, timestamp=new))
    ids = [hit["id"] for hit in place.hits("otters", "hands")]
    assert ids == ["002-plan-b", "001-plan-a"]
    assert [hit["id"] for hit in place.hits("otters", "hands", "--sort", "relevance")] == ids[::-1]


def test_sessions_of_spawn(place: Place) -> None:
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


def test_names_that_two_workspaces_have(place: Place, tmp_path: Path) -> None:
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


def test_numbers_in_a_terminal(place: Place) -> None:
    """The words are bold, lines fit, and the numbers are good for the next command there."""
    begin(place.root, "plan", "Colours", *[f"zebra number {n} " + "x " * 90 for n in range(5)])
    screen = place.screen("search", "zebra", columns=60)
    assert "\x1b[1mzebra\x1b[0m number 4" in screen
    bare = STYLE.sub("", screen)
    assert all(len(line) <= 60 for line in bare.splitlines())
    assert "cortext resume 001-plan-colours" in bare
    assert "cortext show 1 --at 5" in bare
    assert "--conversation 1" in bare
    plain = place.screen("search", "zebra", columns=60, NO_COLOR="1")
    assert "«zebra» number 4" in plain
    assert "\x1b" not in plain
    assert all(len(line) <= 60 for line in plain.splitlines())


def test_a_pipe_has_no_numbers(place: Place) -> None:
    """They are good for nothing there."""
    begin(place.root, "plan", "Colours", "zebra")
    assert place.search("zebra").startswith("Colours · plan")


def test_a_long_answer_is_paged(place: Place, tmp_path: Path) -> None:
    """In a terminal, with the person's pager, as `show` is; a short one is not, nor with
    `--no-pager`."""
    pager = tmp_path / "pager"
    pager.write_text("#!/bin/sh\necho PAGED\ncat\n", encoding="utf-8")
    pager.chmod(0o755)
    for number in range(20):
        keep(place, f"{number:03}-plan-x", SessionMessage("user", f"zebra number {number}"))
    long = place.screen("search", "zebra", PAGER=str(pager))
    assert long.startswith("PAGED\n")
    assert long.count("number") == 20
    assert "PAGED" not in place.screen("search", "zebra", "-n", "3", PAGER=str(pager))
    assert "PAGED" not in place.screen("search", "zebra", "--no-pager", PAGER=str(pager))


def test_hostile_text(place: Place) -> None:
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
    assert found.count("cortext resume") == len(HOSTILE)
    assert_harmless(place.screen("search", "armadillo", "-n", "200"))


def test_what_was_just_said(place: Place) -> None:
    """The next search has it, in another process."""
    id = begin(place.root, "plan", "Colours", "Nothing.")
    assert place.hits("quokka") == []
    say(place.root, id, "A quokka!")
    assert [hit["message"] for hit in place.hits("quokka")] == [2]


def test_completion(place: Place) -> None:
    """Tools, types and tags."""
    _days(place)
    assert offered(place.root, "cortext search x --tool c") == ["claude", "codex"]
    assert "debug" in offered(place.root, "cortext search x --type d")
    assert offered(place.root, "cortext search x --tag ") == ["land", "sea"]


def test_the_index_is_only_derived(place: Place) -> None:
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
