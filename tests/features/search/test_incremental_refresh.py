"""Of a transcript that grew only the new is read for the search, and the same is found as if all of
it had been."""

import json
import os
import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from cortext.catalog.fulltext.fulltext_index import TextEntry
from cortext.catalog.row import ConversationRow
from cortext.features.search import index_entries
from cortext.features.search.index_entries import read_new
from cortext.features.search.search import Search
from cortext.tools import new_transcript_lines
from cortext.tools.claude import old_subagent_files
from cortext.tools.claude.reader import ClaudeBridge
from cortext.tools.opencode.reader import OpenCodeBridge
from cortext.tools.registry import open_bridge
from tests.catalog.spaces import Space
from tests.features.capture_bench import Bench
from tests.homes import Homes, lay_out

AGENT = "agent-0a1b2c3d.jsonl"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache of its own, and nothing that goes on in the background."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("CI", "true")


class Index:
    """What the index would hold of one session, each time that it is looked at."""

    def __init__(self, tool: str, id: str, path: Path) -> None:
        self.row = ConversationRow(
            tool=tool, path=str(path), key=id, status="paused", last_active=1, title="A title"
        )
        self.held: dict[int, TextEntry] = {}
        self.state = ""

    def look(self) -> int:
        """How many texts were new."""
        work = read_new(self.row, self.state)
        assert work is not None
        _, self.state, new, keep = work
        self.held = self.held if keep else {}
        self.held |= {entry.number: entry for entry in new}
        return len(new)

    @property
    def words(self) -> list[str]:
        return [self.held[number].text for number in sorted(self.held) if number > 0]

    @property
    def whole(self) -> dict[int, TextEntry]:
        """What it would hold if it had read all at once."""
        fresh = Index("", "", Path())
        fresh.row = self.row
        fresh.look()
        return fresh.held


def of(bench: Bench) -> Index:
    return Index(bench.tool, bench.session, bench.transcript)


@pytest.fixture
def nothing_whole(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """From when it is called, no transcript can be read from its beginning."""

    def refuse(*args: object, **more: object) -> None:
        raise AssertionError("all of it was read")

    return lambda: monkeypatch.setattr(index_entries, "read_from", refuse)


@pytest.mark.parametrize("context", [300, 3000, new_transcript_lines.CONTEXT])
@pytest.mark.parametrize("seed", range(3))
def test_index_of_growing_transcript_equals_full_index(
    bench: Bench, seed: int, context: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Looked at after any number of bytes, and with little of what stands before them, the index
    holds what it would if it had read all at once."""
    monkeypatch.setattr(new_transcript_lines, "CONTEXT", context)
    data = b"".join(bench.lines)
    index = of(bench)
    bench.write([data[: len(bench.lines[0])]])
    for cut in sorted(random.Random(seed).sample(range(len(data)), 20)):
        bench.write([data[:cut]])
        index.look()
        assert index.held == index.whole
    bench.write([data])
    index.look()
    assert index.held == index.whole
    assert any(text in index.words for _, text in bench.expected)


def test_refresh_reads_only_appended_lines(bench: Bench, nothing_whole: Callable[[], None]) -> None:
    """Of Claude Code, Codex and Gemini CLI what is appended is read, and nothing else."""
    ends = [at for at in range(1, len(bench.lines)) if _says_something_new(bench, at)]
    bench.write(bench.lines[: ends[-1]])
    index = of(bench)
    index.look()
    count = len(index.words)
    nothing_whole()
    bench.write(bench.lines)
    assert index.look() > 0
    assert len(index.words) > count
    assert index.look() == 0


def _says_something_new(bench: Bench, at: int) -> bool:
    """Whether after so many lines there is a turn that only adds to what was said."""
    line = json.loads(bench.lines[at])
    if bench.tool == "claude":
        return line["type"] == "user" and not line.get("isMeta")
    if bench.tool == "codex":
        return line["type"] == "response_item" and line["payload"].get("role") == "user"
    return line.get("type") == "user"


def test_refresh_after_rewind_keeps_only_live_branch(claude_bench: Bench) -> None:
    """Where the person went back only the live branch is found, with the numbers of `show`."""
    for number in range(1, 5):
        claude_bench.say("user" if number % 2 else "assistant", f"word{number}", number)
    index = of(claude_bench)
    index.look()
    before = len(index.words)
    claude_bench.say("user", "instead", 5, parent="a2")
    index.look()
    assert index.words[-3:] == ["word1", "word2", "instead"]
    assert (len(index.words), index.held) == (before - 1, index.whole)


def test_refresh_after_rewind_beyond_context_keeps_only_live_branch(
    claude_bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new line that goes on from far before is not taken for the next one."""
    monkeypatch.setattr(new_transcript_lines, "CONTEXT", 600)
    first = claude_bench.say("user", "start", 1)
    for number in range(2, 12):
        claude_bench.say("assistant" if number % 2 else "user", f"word{number} " * 20, number)
    index = of(claude_bench)
    index.look()
    claude_bench.say("assistant", "instead", 12, parent=first)
    index.look()
    assert index.words[-2:] == ["start", "instead"]
    assert index.held == index.whole


def test_refresh_reads_replaced_or_shortened_transcript_again(claude_bench: Bench) -> None:
    """A transcript that is another file, or shorter, or was changed at its end is read anew."""
    claude_bench.say("user", "first words", 1)
    index = of(claude_bench)
    index.look()
    data = claude_bench.transcript.read_bytes()
    claude_bench.transcript.with_suffix(".new").write_bytes(data.replace(b"first", b"other"))
    claude_bench.transcript.with_suffix(".new").rename(claude_bench.transcript)
    index.look()
    assert index.words[-1] == "other words"
    claude_bench.write([data.replace(b"first", b"third")])
    index.look()
    assert index.words[-1] == "third words"
    claude_bench.write(claude_bench.lines)
    index.look()
    assert index.held == index.whole
    assert index.words[-1] != "third words"


def test_refresh_indexes_line_without_newline_once(claude_bench: Bench) -> None:
    """What was read before its newline was there is not there twice afterwards."""
    claude_bench.say("user", "the last words", 1)
    claude_bench.write([claude_bench.transcript.read_bytes()[:-1]])
    index = of(claude_bench)
    index.look()
    assert index.words[-1] == "the last words"
    claude_bench.append(b"\n")
    claude_bench.say("assistant", "and an answer", 2)
    index.look()
    assert index.words[-2:] == ["the last words", "and an answer"]
    assert index.held == index.whole


def test_refresh_indexes_line_appended_during_read_once(
    claude_bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What comes between the look and the reading is not there twice afterwards."""
    read = index_entries.read_from

    def late(*args: Any) -> Any:
        claude_bench.say("user", "just in time", 1)
        return read(*args)

    index = of(claude_bench)
    with monkeypatch.context() as patch:
        patch.setattr(index_entries, "read_from", late)
        index.look()
    assert index.words[-1] == "just in time"
    claude_bench.say("assistant", "and after", 2)
    index.look()
    assert index.words[-2:] == ["just in time", "and after"]
    assert index.held == index.whole


def agent_line(session: str, words: str) -> str:
    message = {"role": "user", "content": words}
    line = {"type": "user", "sessionId": session, "isSidechain": True, "uuid": words}
    when = {"timestamp": "2026-01-05T12:00:00.000Z", "parentUuid": None}
    return json.dumps({**line, **when, "message": message}) + "\n"


def test_refresh_indexes_new_words_of_sub_agent(
    claude_bench: Bench, nothing_whole: Callable[[], None]
) -> None:
    """What a sub-agent said since is found when its session says more; while none says more,
    nothing of them is read."""
    beside = claude_bench.transcript.parent / AGENT
    beside.write_text(agent_line(claude_bench.session, "count the walruses"), encoding="utf-8")
    index = of(claude_bench)
    index.look()
    assert index.held[-2].text == "count the walruses"
    with beside.open("a", encoding="utf-8") as file:
        file.write(agent_line(claude_bench.session, "and the oysters"))
    claude_bench.say("user", "well?", 1)
    index.look()
    assert index.held[-2].text.split("\n") == ["count the walruses", "and the oysters"]
    nothing_whole()
    claude_bench.say("assistant", "seven", 2)
    assert index.look() == 1


def test_sub_agent_files_of_folder_are_read_once(
    claude_bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whose the files of sub-agents are is read once for all sessions of a folder, and again for
    those that come, also if their first line comes later."""
    folder = claude_bench.transcript.parent
    for number in range(20):
        path = folder / f"agent-{number:08x}.jsonl"
        path.write_text(agent_line(claude_bench.session, f"walrus {number}"), encoding="utf-8")
    late = folder / AGENT
    late.touch()
    os.utime(folder, (1, 1))
    read = list[str]()
    head = old_subagent_files.jsonl_transcripts.read_head

    def noted(path: str, most: int) -> bytes:
        read.append(os.path.basename(path))
        return head(path, most)

    monkeypatch.setattr(old_subagent_files.jsonl_transcripts, "read_head", noted)
    bridge = ClaudeBridge()
    (source,) = (source for source in bridge.sources() if source.id == claude_bench.session)
    for _ in range(5):
        assert len(bridge.decode(source).side) == 20
    assert len([name for name in read if name != AGENT]) == 20
    late.write_text(agent_line(claude_bench.session, "an oyster"), encoding="utf-8")
    os.utime(folder, (1, 1))
    assert len(bridge.decode(source).side) == 21
    (folder / "agent-ffffffff.jsonl").write_text(agent_line("other", "a"), encoding="utf-8")
    assert len(bridge.decode(source).side) == 21
    assert read.count("agent-ffffffff.jsonl") == 1


def test_refresh_of_opencode_reads_only_changed_messages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of OpenCode the rows of new messages are read, and all of them where an answer grew."""
    homes = lay_out(tmp_path)
    for name, value in homes.environment.items():
        monkeypatch.setenv(name, value)
    path = homes.transcript("opencode")
    with closing(sqlite3.connect(path)) as database:
        (source,) = list(open_bridge("opencode").sources())[:1]
        last = "SELECT id FROM message WHERE session_id = ? ORDER BY time_created DESC LIMIT 2"
        ids = [id for (id,) in database.execute(last, (source.id,))]
        taken = _take(database, ids)
        index = Index("opencode", source.id, path)
        index.look()
        count = len(index.words)
        for table, rows in taken.items():
            marks = ",".join("?" * len(rows[0]))
            database.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)
        database.commit()
        with monkeypatch.context() as patch:
            patch.setattr(OpenCodeBridge, "decode", None)
            assert index.look() > 0
        assert len(index.words) > count
        assert index.held == index.whole
        later = "SELECT max(time_updated) + 5 FROM message"
        database.execute(
            f"UPDATE part SET data = json_set(data, '$.text', 'a walrus'), time_updated = ({later})"
            " WHERE message_id = ? AND json_extract(data, '$.type') = 'text'",
            ids[:1],
        )
        database.commit()
        index.look()
        assert "a walrus" in index.words
        assert index.held == index.whole


def _take(database: sqlite3.Connection, ids: list[str]) -> dict[str, list[Any]]:
    """The rows of two messages, which are in the database no more."""
    found: dict[str, list[Any]] = {}
    for table, key in (("message", "id"), ("part", "message_id")):
        found[table] = database.execute(
            f"SELECT * FROM {table} WHERE {key} IN (?,?)", ids
        ).fetchall()
        database.execute(f"DELETE FROM {table} WHERE {key} IN (?,?)", ids)
    database.commit()
    return found


def test_search_finds_tool_calls_and_output_of_claude_session(
    claude_bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command, a path and the end of what was printed are found, with the words marked."""
    output = "collected 50 items\n" + "tests/test_a.py ....\n" * 60 + "E  WalrusOverflowError: bad"
    base = {"timestamp": "2031-01-01T00:00:01.000Z", "sessionId": claude_bench.session, "cwd": "/"}
    command = {"command": "pytest -q --maxfail=3 oysters"}
    use = {"type": "tool_use", "id": "t1", "name": "Bash", "input": command}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": output}
    call = {"type": "assistant", "uuid": "c1", "parentUuid": claude_bench.tip}
    call |= {"message": {"id": "m1", "role": "assistant", "content": [use]}}
    answer = {"type": "user", "uuid": "r1", "parentUuid": "c1"}
    answer |= {"message": {"role": "user", "content": [result]}}
    lines = [json.dumps({**base, **line}).encode() + b"\n" for line in (call, answer)]
    claude_bench.append(*lines)
    monkeypatch.chdir(claude_bench.home)
    search = Search()
    search.refresh()
    (hit,) = search.find("maxfail oysters")
    assert hit.role == "assistant"
    assert "--maxfail=3" in hit.snippet.text
    (hit,) = search.find("WalrusOverflowError")
    assert hit.role == "tool"
    assert "WalrusOverflowError" in hit.snippet.text
    assert search.find("characters maxfail") == []


def test_search_finds_tool_calls_in_workspace_conversation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same of a conversation that is kept as lines."""
    space = Space(tmp_path / "space")
    monkeypatch.chdir(space.root)
    folder = space.add("001-a", "said")
    call = {"id": "t1", "name": "Edit", "arguments": {"file_path": "src/walrus.py"}}
    record = {"id": "c", "role": "assistant", "content": "", "tool_calls": [call]}
    record["timestamp"] = "2026-01-05T12:00:00+00:00"
    with (folder / ".session/messages.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(record) + "\n")
    search = Search()
    search.refresh()
    (hit,) = search.find("walrus.py")
    assert (hit.number, "src/walrus.py" in hit.snippet.text) == (2, True)


def test_search_ignores_template_text_in_markdown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a markdown what somebody wrote is found, and not what each of its type begins with."""
    space = Space(tmp_path / "space")
    monkeypatch.chdir(space.root)
    templates = space.root / ".workspace/templates"
    templates.mkdir()
    (templates / "plan.md").write_text("# {{title}}\n\n_A cheap test._\n", encoding="utf-8")
    folder = space.add("001-a", "said")
    text = "# 001-a\n\n_A cheap test._\nThe walrus is cheap.\n"
    (folder / "plan.md").write_text(text, encoding="utf-8")
    search = Search()
    search.refresh()
    assert search.find('"cheap test"') == []
    assert [hit.number for hit in search.find("cheap")] == [-1]


def test_search_lists_folder_whose_name_is_not_utf_8(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder whose name is not UTF-8 is listed as it is, also when nothing changed."""
    homes: Homes = lay_out(tmp_path)
    for name, value in homes.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(homes.home)
    own = homes.own["claude"]
    odd = os.path.join(os.fsencode(own), b"projects", b"-odd-\xff")
    source = homes.transcript("claude")
    os.mkdir(odd)
    os.rename(source, os.path.join(odd, os.fsencode(source.name)))
    first, second = Search().rows, Search().rows
    assert first == second
    assert os.fsdecode(odd) in {os.path.dirname(row.path) for row in second}
