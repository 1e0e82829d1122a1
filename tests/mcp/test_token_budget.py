"""A search never returns more tokens than the agent asked for."""

import json
from pathlib import Path
from typing import Any

import pytest
from mcp_types import CallToolResult

from cortext import Session, SessionMessage, open_session_store
from cortext.mcp import mcp_server
from tests.command import begin
from tests.mcp.inert_text import HOSTILE, leaks_in, leaks_of
from tests.mcp.mcp_client import call, facts, text

BUDGETS = (100, 150, 300, 500, 1000, 2000, 5000, 50_000)
QUERIES = ("heron", "why did the heron lose a fether?", "xylophone", "-heron -feather -birds")


@pytest.fixture
def birds(workspace: Path) -> Path:
    """Thirty conversations about herons with long, hostile texts and titles."""
    store = open_session_store(f"workspace:{workspace}")
    for number in range(30):
        texts = [f"heron {number} {HOSTILE} " + "鷺 feather " * 80 for _ in range(4)]
        messages = [SessionMessage("user", each) for each in texts]
        title = f"Birds {number} {HOSTILE}" + " and feathers" * 20
        store.save(Session(f"{number + 10:03}-plan-{number}", title=title, messages=messages))
    return workspace


def tokens(result: CallToolResult) -> int:
    """Count the tokens of the longer form of an answer: its text, or its facts as JSON."""
    as_json = json.dumps(facts(result), ensure_ascii=False, separators=(",", ":"))
    return -(-max(len(text(result)), len(as_json)) // 4)


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.usefixtures("birds")
def test_answer_stays_within_token_budget(query: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def many(self: Any, request: Any) -> int:
        return 12_345

    monkeypatch.setattr(mcp_server.Face, "_catch_up", many)
    for budget in BUDGETS:
        answer = call("search_workspace", query=query, max_tokens=budget)
        assert tokens(answer) <= budget
        assert facts(answer)["unread"] == 12_345
        assert leaks_of(text(answer)) == []
        assert leaks_in(facts(answer)) == []


@pytest.mark.usefixtures("birds")
def test_default_budget_is_two_thousand_tokens() -> None:
    answer = call("search_workspace", query="heron", limit=50)
    assert 1500 < tokens(answer) <= 2000


@pytest.mark.usefixtures("birds")
def test_larger_budget_returns_more_conversations_in_same_order() -> None:
    def found(budget: int) -> list[str]:
        hits = facts(call("search_workspace", query="heron", limit=50, max_tokens=budget))["hits"]
        return [*dict.fromkeys(hit["id"] for hit in hits)]

    few, more, most = found(700), found(4000), found(50_000)
    assert 0 < len(few) < len(more) < len(most) == 30
    assert (few, more) == (most[: len(few)], most[: len(more)])


@pytest.mark.usefixtures("birds")
def test_next_continues_with_first_conversation_that_was_left_out() -> None:
    seen: list[str] = []
    start: int | None = 1
    while start:
        answer = call("search_workspace", query="heron", limit=50, max_tokens=1500, from_=start)
        page = facts(answer)
        seen += dict.fromkeys(hit["id"] for hit in page["hits"])
        assert (f"`from: {page['next']}`" in text(answer)) == bool(page["next"])
        start = page["next"]
    assert len(seen) == len({*seen}) == 30


@pytest.mark.usefixtures("birds")
def test_budget_too_small_for_any_text_says_what_to_do() -> None:
    answer = call("search_workspace", query="heron", max_tokens=100)
    assert text(answer) == (
        "30 conversations found, but no text fits into 100 tokens. "
        "Call again with a larger `max_tokens`, such as 1000."
    )
    page = facts(answer)
    assert (page["hits"], page["total"], page["next"]) == ([], 30, 1)


def test_second_texts_give_way_to_further_conversations(workspace: Path) -> None:
    for number in range(4):
        begin(workspace, "plan", f"Birds {number}", *[f"heron {n}" for n in range(3)])
    answer = call("search_workspace", query="heron", max_tokens=800)
    page = facts(answer)
    assert len({hit["id"] for hit in page["hits"]}) == 4
    assert "a larger `max_tokens` shows them" in text(answer)


@pytest.mark.usefixtures("workspace")
def test_every_hit_names_conversation_and_message_to_read() -> None:
    hit = facts(call("search_workspace", query="opaque"))["hits"][0]
    read = facts(call("get_conversation", id=hit["id"], from_=hit["message"], limit=1))
    assert "With opaque cursors." in read["messages"][0]["text"]
