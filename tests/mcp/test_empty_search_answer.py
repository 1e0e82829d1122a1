"""What an agent is told where nothing has what it asked for, and where a hit is no message."""

import json
from pathlib import Path

import pytest

from cortext import Session, SessionMessage, open_session_store
from cortext.mcp import visibility
from cortext.mcp.client_session import Own
from tests.command import begin, folder_of, ok
from tests.homes import lay_out, move_project, said
from tests.mcp.mcp_client import call, facts, refused, text

OUTSIDE = "`all: true` also searches outside this workspace. Use it only if the person agrees."


def test_search_names_words_that_best_match_lacks(workspace: Path) -> None:
    answer = call("search_workspace", query="when did we choose cursors for the orders?")
    found = facts(answer)
    assert found["without"] == ["choose"]
    assert {hit["title"] for hit in found["hits"]} == {"Paging"}
    lines = text(answer).split("\n")
    assert lines[0].endswith("No conversation has all words; the best one lacks: choose.")
    assert any("| With opaque cursors." in line for line in lines)


def test_search_without_results_says_how_to_search_everywhere(workspace: Path) -> None:
    assert text(call("search_workspace", query="xylophone")).split("\n")[-1] == OUTSIDE
    assert OUTSIDE not in text(call("search_workspace", query="xylophone", all_=True))


def test_search_corrects_to_words_of_this_workspace_only(workspace: Path, elsewhere: str) -> None:
    """One that was said here; what was said elsewhere is not told, unless that is asked for."""
    answer = call("search_workspace", query="graphqll")
    assert facts(answer)["corrections"] == [{"typed": "graphqll", "used": "graphql"}]
    assert 'No conversation contains "graphqll"; these are results for "graphql".' in text(answer)
    hidden = call("search_workspace", query="quokkka")
    assert (facts(hidden)["corrections"], 'quokka"' in text(hidden)) == ([], False)
    (found,) = facts(call("search_workspace", query="quokkka", all_=True))["corrections"]
    assert found["used"] == "quokka"
    # Nor is a title of another workspace.
    assert facts(call("search_workspace", query="Privatematte"))["did_you_mean"] == []
    everywhere = facts(call("search_workspace", query="Privatematte", all_=True))
    assert everywhere["did_you_mean"]


def test_search_suggests_similar_title_with_id(workspace: Path) -> None:
    """With its id, as text of the past."""
    answer = call("search_workspace", query="apidesign")
    lines = text(answer).split("\n")
    assert facts(answer)["did_you_mean"]
    assert any("001-brainstorm-api-design" in line for line in lines)


@pytest.mark.parametrize(
    ("given", "told", "narrowed"),
    [
        (
            {"date_range": "2001"},
            "Without `date_range`, the search finds something.",
            ["date_range"],
        ),
        ({"type": "plan"}, "Without `type`, the search finds something.", ["type"]),
        ({"type": "debug"}, "No conversation matches this `type`.", []),
    ],
)
def test_search_names_argument_that_excluded_all_hits(
    workspace: Path, given: dict[str, str], told: str, narrowed: list[str]
) -> None:
    """Is named."""
    answer = call("search_workspace", query="GraphQL", **given)
    assert text(answer).split("\n")[0] == f"Nothing was found. {told}"
    assert facts(answer)["narrowed_by"] == narrowed


def test_search_names_excluded_words_and_empty_query(workspace: Path) -> None:
    """Is named, and so is a question without a word."""
    first = text(call("search_workspace", query="REST -partners -cache -use")).split("\n")[0]
    assert first.endswith("also contain an excluded word: partners, cache, use.")
    assert text(call("search_workspace", query="?!")).startswith(
        "The query has no word to search for."
    )


def test_search_hides_conversation_of_own_session(
    tmp_path: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An agent finds neither its session nor the conversation that this belongs to."""
    homes = lay_out(tmp_path / "person")
    move_project(homes, workspace)
    for name, value in homes.environment.items():
        monkeypatch.setenv(name, value)
    id, _ = said("codex")

    def found() -> set[str]:
        hits = facts(call("search_workspace", query="emptied every", limit=50))["hits"]
        return {hit["id"] for hit in hits}

    key = ok(workspace, "import", id).strip().removeprefix("imported: ")
    before = found()
    assert key in before
    monkeypatch.setattr(visibility, "own_session", lambda: Own("codex", (id,)))
    assert found() == before - {key}
    monkeypatch.setattr(visibility, "own_session", lambda: Own("claude", (id,)))
    assert found() == before


def test_get_conversation_reads_document_in_pages(workspace: Path) -> None:
    """A hit in it names it; its pieces are paged."""
    id = begin(workspace, "plan", "Written", "said aloud")
    path = folder_of(workspace, id) / "plan.md"
    path.write_text("a word\n" * 9000 + "We keep xylophones.\n", encoding="utf-8")
    answer = call("search_workspace", query="xylophones")
    (hit,) = facts(answer)["hits"]
    assert (hit["role"], hit["message"]) == ("document", None)
    assert "document" in text(answer)
    page = facts(call("get_conversation", id=id, part="document"))
    assert (page["total"], page["next"]) == (4, 2)
    last = call("get_conversation", id=id, part="document", from_=4)
    assert "| We keep xylophones." in text(last)
    assert "said aloud" not in text(last)
    why = refused(call("get_conversation", id=id, part="agents"))
    assert "has no sub-agents" in why


def test_get_conversation_reads_sub_agent_messages(
    tmp_path: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What they said, message by message."""
    homes = lay_out(tmp_path / "person")
    move_project(homes, workspace)
    for name, value in homes.environment.items():
        monkeypatch.setenv(name, value)
    id, _ = said("claude")
    beside = homes.transcript("claude").parent / id / "subagents"
    beside.mkdir(parents=True)
    line = {"type": "user", "sessionId": id, "isSidechain": True, "uuid": "u1", "parentUuid": None}
    when = {"timestamp": "2026-01-05T12:00:00.000Z", "cwd": "/", "version": "2"}
    first = {**line, **when, "message": {"role": "user", "content": "count the walruses"}}
    (beside / "agent-1.jsonl").write_text(json.dumps(first) + "\n", encoding="utf-8")
    (hit,) = facts(call("search_workspace", query="walruses"))["hits"]
    page = facts(call("get_conversation", id=hit["id"], part="agents"))
    assert [message["role"] for message in page["messages"]] == ["user"]
    assert "| count the walruses" in page["messages"][0]["text"]
    assert "has no document" in refused(call("get_conversation", id=id, part="document"))


def test_get_conversation_reads_found_tool_result_by_number(workspace: Path) -> None:
    """From its number on, though it stands in the line of its call otherwise."""
    made = {"id": "c1", "name": "Bash", "arguments": {"command": "make it"}}
    printed = "\n".join(["the ibex is here", *(f"line {n}" for n in range(40))])
    session = Session("009-debug-x", title="Busy", kind="debug")
    session.messages = [
        SessionMessage("user", "Where is it?"),
        SessionMessage("assistant", "I look.", tool_calls=[made]),
        SessionMessage("tool", printed, tool_call_id="c1"),
        SessionMessage("assistant", "There."),
    ]
    open_session_store(f"workspace:{workspace}").save(session)
    (hit,) = facts(call("search_workspace", query="ibex"))["hits"]
    assert (hit["message"], hit["role"]) == (3, "tool")
    told = facts(call("get_conversation", id=hit["id"], from_=3))["messages"]
    assert [(each["message"], each["role"]) for each in told] == [(3, "tool"), (4, "assistant")]
    assert "| the ibex is here" in told[0]["text"]
    all_of_it = facts(call("get_conversation", id=hit["id"]))["messages"]
    assert [each["message"] for each in all_of_it] == [1, 2, 2, 4]
