"""Titles of sessions, from small transcripts in `tests/tools/corpus/titles`."""

import json
import uuid
from pathlib import Path
from typing import Any

import pytest

from tests.command import ok
from tests.tools.opencode.opencode_data import Made

CASES = Path(__file__).parents[1] / "tools/corpus/titles"
EXPECTED: dict[str, dict[str, str]] = json.loads((CASES / "expected.json").read_text())
CLAUDE_FOLDER = ".claude/projects/-home-you-project"
CODEX_FOLDER = ".codex/sessions/2026/01/02"
GEMINI_FOLDER = ".gemini/tmp/project/chats"


@pytest.fixture
def title_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("CI", "true")
    return tmp_path


def session_id(tool: str, case: str) -> str:
    id = str(uuid.uuid5(uuid.NAMESPACE_OID, case))
    return f"ses_{id}" if tool == "opencode" else id


def place(home: Path, tool: str, case: str, id: str) -> None:
    """Put a transcript of the corpus where the tool keeps its transcripts."""
    names = {
        "claude": f"{CLAUDE_FOLDER}/{id}.jsonl",
        "codex": f"{CODEX_FOLDER}/rollout-2026-01-02T03-04-00-{id}.jsonl",
        "gemini": f"{GEMINI_FOLDER}/session-2026-01-02T03-04-{id[:8]}.jsonl",
    }
    source = CASES / tool / f"{case}.{'json' if tool == 'opencode' else 'jsonl'}"
    text = source.read_text(encoding="utf-8").replace("SESSION", id)
    if tool in names:
        path = home / names[tool]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return
    folder = home / "data/opencode"
    folder.parent.mkdir(exist_ok=True)
    database = Made(folder, f"opencode-{case}.db")
    session: dict[str, Any] = json.loads(text)
    database.session(id, title=session["info"]["title"])
    for number, message in enumerate(session["messages"]):
        name, role = f"{message['info']['id']}_{case}", message["info"]["role"]
        assert message["info"]["id"] == f"msg_{number + 1}"
        database.message(name, role, *message["parts"], session=id)


def listed_titles(cwd: Path) -> dict[str, str]:
    return {row["id"]: row["title"] for row in json.loads(ok(cwd, "list", "--all", "--json"))}


@pytest.mark.parametrize("tool", EXPECTED)
def test_every_title_case_has_a_transcript(tool: str) -> None:
    assert {path.stem for path in (CASES / tool).iterdir()} == EXPECTED[tool].keys()


@pytest.mark.parametrize("tool", EXPECTED)
def test_list_titles_sessions_by_topic(title_home: Path, tool: str) -> None:
    ids = {case: session_id(tool, case) for case in EXPECTED[tool]}
    for case, id in ids.items():
        place(title_home, tool, case, id)
    titles = listed_titles(title_home)
    assert {case: titles.get(id) for case, id in ids.items()} == EXPECTED[tool]


@pytest.mark.parametrize("tool", EXPECTED)
def test_list_show_and_export_agree_on_title(title_home: Path, tool: str) -> None:
    ids = [session_id(tool, case) for case in EXPECTED[tool]]
    for case, id in zip(EXPECTED[tool], ids, strict=True):
        place(title_home, tool, case, id)
    titles = listed_titles(title_home)
    for id in ids:
        shown = json.loads(ok(title_home, "show", id, "--json"))["title"]
        exported = json.loads(ok(title_home, "export", id, "--format", "json"))["title"]
        first = ok(title_home, "show", id).splitlines()[0]
        assert (shown, exported, first) == (titles[id],) * 3


def test_list_and_show_agree_on_title_in_middle_of_long_transcript(title_home: Path) -> None:
    """A list does not read the middle of a long transcript."""
    id = session_id("claude", "long")
    place(title_home, "claude", "greeting-before-request", id)
    path = title_home / CLAUDE_FOLDER / f"{id}.jsonl"
    request, reply = path.read_bytes().splitlines(keepends=True)
    padding = b'{"type":"progress","text":"%s"}\n' % (b"x" * 100_000)
    title = b'{"type":"ai-title","aiTitle":"Locks on Windows"}\n'
    path.write_bytes(request + padding + title + padding + reply)
    shown = json.loads(ok(title_home, "show", id, "--json"))["title"]
    assert listed_titles(title_home)[id] == shown


def test_list_finds_line_of_summary_beyond_lines_that_it_decodes(title_home: Path) -> None:
    id = session_id("claude", "long")
    place(title_home, "claude", "summary-before-its-session", id)
    path = title_home / CLAUDE_FOLDER / f"{id}.jsonl"
    *head, leaf = path.read_bytes().splitlines(keepends=True)
    padding = b'{"type":"progress","text":"%s"}\n' % (b"x" * 50_000)
    last = leaf.replace(b"000000000002", b"000000000009")
    path.write_bytes(b"".join(head) + padding + leaf + padding + last)
    assert listed_titles(title_home)[id] == "Faster Parser With Tables"
