"""What the slash commands print and change, as a tool would call them."""

import json
import os
from pathlib import Path

import pytest

from cortext.errors import CortextError
from cortext.features.capture.capture_permission import allow
from cortext.features.slash.long_output import in_pieces, next_piece
from cortext.stores.workspace_layout import ConversationPath
from cortext.tools.opencode.typed_slash_text import typed_words
from cortext.tools.system_processes import Process
from tests.command import begin, change_head, cortext, folder_of, head_of, ok
from tests.features.slash.slash_input import ID, fed


def test_slash_list_has_format_of_specification(claude_space: Path) -> None:
    """Type, title, last active, status and summary of each, the latest first, and the question."""
    begin(claude_space, "brainstorm", "API Design Discussion")
    id = begin(claude_space, "debug", "Auth Token Expiry Issue", "It expires.")
    change_head(claude_space, id, context_summary="Identified race condition in token refresh")
    told = ok(claude_space, "slash", "list")
    shown = told[told.rindex("Here are your resumable conversations:") :]
    assert shown == (
        "Here are your resumable conversations:\n\n"
        "1. [debug] Auth Token Expiry Issue\n"
        "   Last active: just now | Status: active\n"
        "   Summary: Identified race condition in token refresh\n\n"
        "2. [brainstorm] API Design Discussion\n"
        "   Last active: just now | Status: active\n"
        "   Summary: none yet\n\n"
        "Which conversation would you like to continue? (number or search)\n"
    )


def test_slash_briefing_number_refers_to_last_shown_list(claude_space: Path) -> None:
    """Also when another conversation has become the latest since."""
    for topic in ("First one", "Second one"):
        begin(claude_space, "plan", topic)
    ok(claude_space, "slash", "list")
    begin(claude_space, "plan", "Third one")
    assert "Conversation: plan / First one" in ok(claude_space, "slash", "briefing", "2")


def test_slash_new_creates_and_binds_one_conversation_per_session(claude_space: Path) -> None:
    """The command text, the path of the markdown, what was typed; a second one makes nothing."""
    told = fed(claude_space, "Paging, it's slow!\nAnd more", "new", "brainstorm")
    assert told.startswith("# Brainstorm\n")
    assert "/001-brainstorm-paging-it-s-slow-and-more/brainstorm.md\n" in told
    assert told.endswith("| Paging, it's slow!\n| And more\n")
    head = head_of(claude_space, "001-brainstorm-paging-it-s-slow-and-more")
    assert head["title"] == "Paging, it's slow! And more"
    assert [(each["tool"], each["session_id"]) for each in head["native"]] == [("claude", ID)]
    again = fed(claude_space, "Something else", "new", "plan")
    assert 'This session already belongs to the conversation "Paging' in again
    assert "# Brainstorm" in again
    assert len(list(claude_space.glob("conversations/*/0*"))) == 1


def test_slash_new_after_stop_creates_second_conversation(claude_space: Path) -> None:
    """One session of a tool may hold several conversations."""
    fed(claude_space, "One", "new", "plan")
    assert "Session saved." in ok(claude_space, "slash", "stop", "All is planned.")
    fed(claude_space, "Two", "new", "plan")
    assert head_of(claude_space, "001-plan-one")["status"] == "paused"
    assert head_of(claude_space, "002-plan-two")["status"] == "active"


def test_slash_new_without_topic_creates_nothing(claude_space: Path) -> None:
    told = fed(claude_space, "", "new", "learn")
    assert told.startswith("# Learn\n")
    assert "wrote nothing after `/workspace.learn`" in told
    assert list(claude_space.glob("conversations/*/0*")) == []


def test_slash_stop_has_confirmation_of_specification(claude_space: Path) -> None:
    """SESS-002, line by line."""
    fed(claude_space, "API Design Discussion", "new", "brainstorm")
    told = ok(claude_space, "slash", "stop", "Leaning toward REST", "for simplicity.")
    assert told.startswith(
        "Session saved.\n\n"
        'Conversation "API Design Discussion" has been paused.\n'
        "You can continue later with /workspace.resume\n\n"
        "Summary: Leaning toward REST for simplicity.\n"
    )
    done = ok(claude_space, "slash", "stop", "--done", "All said.")
    assert 'Conversation "API Design Discussion" has been completed.' in done
    assert head_of(claude_space, "001-brainstorm-api-design-discussion")["status"] == "completed"


def test_slash_stop_reports_unsaved_when_session_is_unknown(claude_space: Path) -> None:
    """Of a tool that does not say its session, and has not written it."""
    id = begin(claude_space, "plan", "API")
    mine = os.getpid()
    entry = {"tool": "gemini", "session_id": "", "path": "", "from": "", "to": ""}
    waits = {**entry, "pid": mine, "started": 1.0, "nonce": "0" * 32, "cwd": str(claude_space)}
    change_head(claude_space, id, native=[waits])
    shelf, day, name = str(folder_of(claude_space, id)).rsplit("/", 2)
    allow(ConversationPath(shelf, day, name), "gemini", f"process {mine} 1.00")
    told = ok(claude_space, "slash", "stop", "--id", id, "We chose REST.")
    assert told.startswith(
        "Nothing was saved: the gemini session of this conversation is unknown; "
        "nothing was captured from it."
        '\n\nConversation "API" has been paused.\n'
    )


def test_slash_stop_how_saves_nothing(claude_space: Path) -> None:
    """The text, this conversation's file, and what the person wrote."""
    fed(claude_space, "API", "new", "plan")
    told = fed(claude_space, "We chose REST", "stop", "--how")
    assert "# Stop conversation" in told
    assert "/001-plan-api/plan.md" in told
    assert told.endswith("| We chose REST\n")
    assert head_of(claude_space, "001-plan-api")["status"] == "active"


def test_slash_briefing_prints_history_once_per_session(claude_space: Path) -> None:
    """Command, block and history in that order; a second time this session holds the history."""
    id = begin(claude_space, "plan", "Moving house", "Where to?", "To the coast.")
    ok(claude_space, "stop", id)
    told = fed(claude_space, "moving house", "briefing")
    wanted = ["# Plan\n", "[RESUMED CONVERSATION]", "[END RESUMED CONTEXT]", "[HISTORY "]
    wanted += ["| Where to?", "| To the coast.", "[END HISTORY "]
    places = [told.find(text) for text in wanted]
    assert (-1 not in places, places) == (True, sorted(places))
    assert told.count("[END RESUMED CONTEXT]") == 1
    assert head_of(claude_space, id)["status"] == "active"
    again = fed(claude_space, "moving house", "briefing")
    assert "[RESUMED CONVERSATION]" in again
    assert "This session already contains the history." in again
    assert "| Where to?" not in again
    assert "Continue that one." in fed(claude_space, "Another", "new", "debug")


def test_slash_briefing_reopens_completed_conversation_only_with_reopen(claude_space: Path) -> None:
    id = begin(claude_space, "plan", "Moving house")
    ok(claude_space, "done", id)
    told = fed(claude_space, "moving", "briefing")
    assert "was marked complete" in told
    assert f'`cortext slash briefing --reopen "{id}"`' in told
    assert head_of(claude_space, id)["status"] == "completed"
    assert "[RESUMED CONVERSATION]" in ok(claude_space, "slash", "briefing", "--reopen", id)
    assert head_of(claude_space, id)["status"] == "active"


def test_slash_briefing_lists_several_matches(claude_space: Path) -> None:
    begin(claude_space, "plan", "House one")
    begin(claude_space, "plan", "House two")
    told = fed(claude_space, "house", "briefing")
    assert '2 conversations match "house":' in told
    assert "1. [plan] House two" in told
    assert "Conversation: plan / House one" in ok(claude_space, "slash", "briefing", "2")


def test_slash_briefing_without_match_tells_agent_and_exits_zero(claude_space: Path) -> None:
    """A tool drops what a failing command prints."""
    begin(claude_space, "plan", "Moving house")
    told = fed(claude_space, 'zzz $(x) "q"', "briefing")
    assert 'No conversation matches "zzz $(x) "q"".' in told
    assert "`/workspace.brainstorm`" in told


def test_slash_failure_is_printed_to_stdout_with_hint(claude_space: Path) -> None:
    """One sentence and its hint, on stdout, where the tools look."""
    told = fed(claude_space, "x", "new", "nonsense")
    assert told.startswith("error: there is no conversation type 'nonsense'\nhint: ")
    assert "Tell the user this in one line" in told


def test_slash_stop_exits_1_when_no_conversation_is_active(
    claude_space: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Outside a tool, with nothing active: nothing is called saved."""
    monkeypatch.delenv("CLAUDE_CODE_SESSION_ID")
    done = cortext(claude_space, "slash", "stop", "It is over.")
    assert (done.returncode, done.stdout) == (1, "")
    assert "no conversation is active" in done.stderr


@pytest.mark.parametrize(("tool", "longest"), [("claude", 30_000), ("codex", 9_500)])
def test_long_text_is_split_into_chunks_that_fit_tool(
    data_home: Path, tool: str, longest: int
) -> None:
    """Each small enough for the tool, all of it in order, in a private file meanwhile."""
    text = "\n".join([f"line {n} \u20ac \ud800" for n in range(9_000)] + ["x" * 50_000, ""])
    piece, found = in_pieces(text, tool), []
    while "\n\n[This is piece " in piece:
        assert len(piece.encode("utf-8", "surrogatepass")) < longest
        body, _, more = piece.rpartition("\n\n[This is piece ")
        found.append(body)
        piece = next_piece(more.partition("--rest ")[2].partition("`")[0])
    found.append(piece)
    assert len(found) > len(text) // longest
    assert "".join(found).replace("\n", "") == text.replace("\n", "")
    (kept,) = (data_home / "cortext/running/pieces").iterdir()
    assert kept.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("token", ["", "../../x.1", "0123456789abcdef.1", "0123456789abcdef.x"])
def test_next_piece_rejects_invalid_token(token: str) -> None:
    with pytest.raises(CortextError, match="no further piece"):
        next_piece(token)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("opencode run --command workspace.x", ""),
        ("opencode run --title t --command workspace.x two words", "two words"),
        ("node /bin/opencode run --command=workspace.x -s ses_1 -- --help -m", "--help -m"),
    ],
)
def test_typed_words_come_from_process_arguments_of_script(arguments: str, words: str) -> None:
    process = Process(1, 1, 0.0, tuple(arguments.split()))
    assert typed_words("workspace.x", process) == words


def test_typed_words_come_from_last_opencode_prompt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With pastes in their places; another command's words are not ours."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    path = tmp_path / "opencode/prompt-history.jsonl"
    path.parent.mkdir()
    source = {"text": {"start": 13, "end": 30, "value": "[Pasted ~2 lines]"}}
    last = {
        "input": "/workspace.x [Pasted ~2 lines] end",
        "parts": [{"type": "text", "text": "two\nlines", "source": source}, 7],
    }
    path.write_text(f"{json.dumps({'input': 'a'})}\n{json.dumps(last)}\n", encoding="utf-8")
    process = Process(1, 1, 0.0, ("opencode",))
    assert typed_words("workspace.x", process) == "two\nlines end"
    assert typed_words("workspace.xy", process) == ""
