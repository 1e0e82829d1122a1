"""Text of others takes a time that grows with its length, whatever it says."""

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cortext import Session, SessionMessage
from cortext.config import parse_settings
from cortext.errors import CortextError, SessionStorageError
from cortext.features.doctor.check_results import Problem
from cortext.features.doctor.repair import problem_kind
from cortext.features.doctor.salvage import json_scan, salvage_documents
from cortext.features.search.decisions import decisions_in
from cortext.formats import (
    document,
    history_text,
    json_edit,
    slash_command_frame,
    toml_edit,
    tool_call_arguments,
)
from cortext.formats.exports import markdown_export
from cortext.formats.text_search import search_query
from cortext.model import closing_phrases, extractive_summary, slash_command_prefix, title
from cortext.model.secrets import detector
from cortext.model.secrets.settings_redaction import mask_settings
from cortext.service.http.problem_responses import hide_addresses
from cortext.tools import mcp_server_names as servers
from cortext.tools.claude import records as claude_records
from cortext.tools.codex import records as codex_records
from cortext.tools.gemini import reader
from cortext.tools.gemini.records import TranscriptState
from cortext.web import list_page
from tests.command import cortext

NONCE = "0" * 32
FRAMED = f"[cortext {NONCE}] /new plan\nwords\n[end cortext {NONCE}]"
FEWEST = 32_000
LARGE = 1_000_000


def messages(text: str) -> list[SessionMessage]:
    return [SessionMessage("user", text), SessionMessage("assistant", text)]


def title_of(text: str) -> str:
    return title.generate_title(Session("a-session", messages=messages(text)))


def mcp_servers(name: str, tool: str, text: str) -> list[str]:
    """The servers of a project whose settings have this text, in the current folder."""
    path = Path(name)
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return servers.mcp_servers(tool, os.getcwd())


def calm_line(text: str) -> str:
    return markdown_export._escape_line(text, spans=True)


def remove_hook(text: str) -> str:
    return json_edit.remove(f'{{"hooks": [{text}1]}}', ["hooks", 0])


Case = tuple[str, Callable[[str], Any], str, str]
# A name, what reads the text, how the text begins, and what is in it again and again.
CASES: list[Case] = [
    ("claude command", lambda t: claude_records.said(t, "user"), "", "<command-name>"),
    (
        "claude arguments",
        lambda t: claude_records.said(t, "user"),
        "<command-name>a</command-name>",
        "<command-args>",
    ),
    ("claude shell", lambda t: claude_records.said(t, "user"), "", "<bash-input>"),
    (
        "claude shell ends",
        lambda t: claude_records.said(t, "user"),
        "<bash-input>",
        "</bash-input> ",
    ),
    ("claude output", lambda t: claude_records.said(t, "user"), "<bash-stdout>", "<bash-std"),
    ("codex image", lambda t: codex_records.is_said(t, "user"), " ", "<image "),
    ("codex spaces", lambda t: codex_records.is_said(t, "user"), "", " "),
    ("codex request", codex_records.request_of, "", "## My request "),
    ("first line of a request", title.first_line, "", "<command-name>"),
    ("elements in a request", title.describe_request, "", "<system-reminder>"),
    ("tags in a request", title.describe_request, "", "<a>"),
    ("greetings in a request", title.describe_request, "", "hi, "),
    ("roles in a request", title.describe_request, "", "You are a b. "),
    ("lines of a request", title.describe_request, "", "ok\n"),
    (
        "gemini head",
        lambda t: reader._salvage(t.encode(), TranscriptState()),
        '{"summary":"',
        '\\"summary":"\\',
    ),
    (
        "gemini messages",
        lambda t: reader._salvage(t.encode(), TranscriptState()),
        '{"messages":[',
        '{"id":',
    ),
    ("gemini tail", lambda t: reader._LAST_SUMMARY.findall(t.encode()), "", '],"summary":"\\'),
    ("gemini spaces", lambda t: reader._MESSAGE.findall(t.encode()), "", " \t"),
    (
        "slash frame",
        slash_command_frame.as_typed,
        f"[cortext {NONCE}] /a\n",
        f"\n[end cortext {NONCE}",
    ),
    ("slash shell", slash_command_frame.as_typed, FRAMED, "[Shell command '"),
    ("slash mentions", slash_command_frame.without_mentions, "", "@"),
    ("briefing marks", history_text.escape, "", "[ "),
    ("briefing escapes", history_text.unescape, "", "\N{SYMBOL FOR ESCAPE}{4"),
    ("patch", lambda t: tool_call_arguments.changes({"patch": t}), "", "*** Update File: "),
    ("query", lambda t: search_query.find(t, search_query.parse("needle").terms), "", "needl"),
    ("settings strings", json_edit.parse, '{"a": "', '\\"'),
    ("settings comments", json_edit.parse, "[", "/*"),
    ("settings spaces", json_edit.parse, "[", " \r"),
    ("settings values", json_edit.parse, "[", '"a",'),
    ("settings removal", remove_hook, "", "/**/ "),
    ("toml key", toml_edit.read_toml, "", "a."),
    ("toml quoted key", toml_edit.read_toml, "", '"\\"" . '),
    ("toml table", toml_edit.read_toml, "[", "a."),
    ("toml text", toml_edit.read_toml, 'a = "', '\\"'),
    ("toml words", toml_edit.read_toml, 'a = "', "a- "),
    ("own settings", lambda t: parse_settings(t.encode(), "x"), "", f"a = {'1' * 4299} \n"),
    (".mcp.json", lambda t: mcp_servers(".mcp.json", "claude", t), '{"a": "', '\\"'),
    (".mcp.json comments", lambda t: mcp_servers(".mcp.json", "claude", t), "", "/*"),
    (".mcp.json commas", lambda t: mcp_servers(".mcp.json", "claude", t), "[", ", "),
    ("opencode.jsonc", lambda t: mcp_servers("opencode.jsonc", "opencode", t), '"', '\\"'),
    ("gemini settings", lambda t: mcp_servers(".gemini/settings.json", "gemini", t), "", '"\\'),
    ("codex settings", lambda t: mcp_servers(".codex/config.toml", "codex", t), "", "a."),
    ("markdown code", calm_line, "", "`a``b```c"),
    ("markdown definitions", calm_line, "> ", "[a"),
    ("digest", lambda t: extractive_summary.digest(messages(t)), "", "<system-reminder>"),
    ("title", title_of, "", "![["),
    ("closing", closing_phrases.is_closing, "", "thanks, "),
    ("own command", slash_command_prefix.without_command, "", "\n"),
    ("secrets", detector.find_secrets, "", "password="),
    ("secret tokens", detector.find_secrets, "", "eyJaaaaaaaa."),
    ("secret addresses", detector.find_secrets, "", "://a:"),
    ("printed secrets", detector.without_fingerprints, "", "[redacted a"),
    ("decisions", lambda t: list(decisions_in(messages(t))), "", "let's use a "),
    ("objects", lambda t: list(json_scan.find_objects(t)), "", '{"type":'),
    ("fields", json_scan.find_fields, "", '"a" : '),
    ("records", lambda t: salvage_documents.salvage_records(t.encode(), "x"), "", '{ "role"'),
    ("document", lambda t: document.salvage(t.encode(), "x"), '{"messages":[', '{"role":"'),
    ("problems", lambda t: problem_kind(Problem(t, "")), "", "("),
    ("addresses", lambda t: hide_addresses(SessionStorageError(t)), "", "a"),
    ("hosts", lambda t: hide_addresses(SessionStorageError(t)), "", "a."),
    ("settings with quotes", mask_settings, '"', '\\"'),
    ("settings with words", mask_settings, "", "token "),
    ("settings with one word", mask_settings, "", "a"),
    ("signs on a page", lambda t: list_page._SIGNS.sub("", t), "", "**a"),
]


def seconds(read: Callable[[str], Any], text: str) -> float:
    """How long reading a text takes at best, of three times."""
    taken: list[float] = []
    for _ in range(3):
        json_edit.parse.cache_clear()
        begun = time.process_time()
        try:
            read(text)
        except (ValueError, LookupError, CortextError):
            pass  # most are no JSON, no TOML, no session
        taken.append(time.process_time() - begun)
    return min(taken)


@pytest.mark.parametrize(
    ("read", "begin", "unit"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_foreign_text_is_read_in_linear_time(
    read: Callable[[str], Any],
    begin: str,
    unit: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    short = seconds(read, begin + unit * (FEWEST // len(unit)))
    long = seconds(read, begin + unit * (4 * FEWEST // len(unit)))
    # Below a few milliseconds the clock says nothing.
    assert long <= 8 * max(short, 0.004)


def test_list_is_quick_with_message_of_one_megabyte_of_opening_tags(tmp_path: Path) -> None:
    folder = tmp_path / ".claude/projects/-home-you-project"
    folder.mkdir(parents=True)
    id = "0b5f0a3e-1111-4222-8333-444455556666"
    line = {
        "type": "user",
        "uuid": "u1",
        "sessionId": id,
        "cwd": "/home/you/project",
        "timestamp": "2026-01-02T03:04:05.000Z",
        "message": {"role": "user", "content": "<command-name>" * (LARGE // 14)},
    }
    (folder / f"{id}.jsonl").write_text(json.dumps(line) + "\n", encoding="utf-8")
    done = cortext(tmp_path, "list", "--all", "--json", env={"HOME": str(tmp_path)})
    assert done.returncode == 0, done.stderr
    assert [row["id"] for row in json.loads(done.stdout)] == [id]
