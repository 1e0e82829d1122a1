"""Every face returns the same conversations in the same order."""

import json
import os
import re
from collections.abc import Callable

import pytest

from cortext.cli.picker.picker_items import PickerItems
from cortext.cli.picker.picker_search import PickerQuery, TextFinder
from cortext.features.listing.conversation_list import ConversationList
from cortext.features.search.name_or_text_lookup import find_by_text
from cortext.features.search.search_results import Finder, SearchRequest
from cortext.web import list_page
from cortext.web.list_request import ListRequest
from tests.cli.search_workspace import Place, place
from tests.command import begin, cortext
from tests.mcp.mcp_client import call, facts

__all__ = ["place"]

TEXTS = {
    "Telemetry": ("We disabled telemetry by default.", "Because the start was slow."),
    "Start-up": ("The start takes 800 ms with telemetry and 200 ms without.",),
    "Flags": ("Rename the flag no-telemetry. Its default is false.", "It is telemetry again."),
    "Garden": ("How deep must a pond be?", "Herons wade in the pond, telemetry or not."),
    "Branches": ("Look at shadowBranch first.", "It moves the shadow branch."),
    "Names": ("def shadow_branch(): pass", "The branch has a long shadow."),
    "Issue": ("See #255 about the cache.", "The cache is emptied every hour."),
    "Numbers": ("255 is the largest number. 255 again.", "We emptied the cache is what I said."),
}
QUERIES = (
    "telemetry default",
    "why is the start slow with telemetry?",
    "telemetyr flag",
    "zeppelin telemetry start",
    "#255",
    '"cache is emptied"',
    '"emptied hourly" cache',
    "shadowBranch",
    "shadow_branch",
    "(pond OR zeppelin) herons",
    "telemetry NOT default",
    "emptying caches",
)
_OFFER = re.compile(r"^(\S+)  \(", re.MULTILINE)


@pytest.fixture
def filled(place: Place, monkeypatch: pytest.MonkeyPatch) -> Place:
    for name, value in place.env.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(place.root)
    for title, texts in TEXTS.items():
        begin(place.root, "plan", title, *texts)
    return place


def by_core(filled: Place, query: str) -> list[str]:
    finder = Finder()
    finder.refresh(patience=None)
    return [group.row.id for group in finder.answer(SearchRequest(query)).groups]


def by_search(filled: Place, query: str) -> list[str]:
    done = cortext(filled.root, "search", query, env=filled.env)
    return [line.split("\t")[0] for line in done.stdout.splitlines()]


def by_json(filled: Place, query: str) -> list[str]:
    done = cortext(filled.root, "search", query, "--json", env=filled.env)
    return [*dict.fromkeys(hit["id"] for hit in json.loads(done.stdout))]


def by_web_page(filled: Place, query: str) -> list[str]:
    return [found.card.row.id for found in list_page.search(ListRequest(q=query)).found]


def by_picker(filled: Place, query: str) -> list[str]:
    finder = TextFinder(lambda _: None, lambda: False)
    result = finder.find(PickerQuery(query, PickerItems.everywhere()))
    return [match.row.id for match in result.found]


def by_mcp(filled: Place, query: str) -> list[str]:
    answer = call("search_workspace", query=query, all_=True, max_tokens=50_000)
    return [*dict.fromkeys(hit["id"] for hit in facts(answer)["hits"])]


def by_mcp_context(filled: Place, query: str) -> list[str]:
    answer = facts(call("get_context", topic=query, all_=True, max_results=20))
    return [each["conversation"]["id"] for each in answer["conversations"]]


@pytest.mark.parametrize(
    "face", [by_search, by_json, by_web_page, by_picker, by_mcp, by_mcp_context]
)
def test_face_returns_conversations_in_order_of_core(
    filled: Place, face: Callable[[Place, str], list[str]]
) -> None:
    for query in QUERIES:
        expected = by_core(filled, query)
        assert expected, query
        assert (query, face(filled, query)) == (query, expected)


@pytest.mark.parametrize("command", [("show",), ("resume", "--context")])
def test_command_offers_conversations_in_order_of_core(
    filled: Place, command: tuple[str, ...]
) -> None:
    """It takes the first one without a question only if no other has all words."""
    asked = 0
    for query in QUERIES:
        expected = by_core(filled, query)
        conversations = ConversationList(os.getcwd())
        assert not conversations.find(query)
        found = [row.id for row in find_by_text(conversations, query).rows]
        done = cortext(filled.root, *command, query, env=filled.env)
        offered = _OFFER.findall(done.stderr)
        asked += bool(offered)
        assert (query, found) == (query, expected if offered else expected[:1])
        assert (query, offered) == (query, expected if done.returncode else [])
    assert 0 < asked < len(QUERIES)
