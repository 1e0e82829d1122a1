"""Every face returns the same conversations in the same order."""

import json
import os

import pytest

from cortext.features.listing.conversation_list import ConversationList
from cortext.features.search.name_or_text_lookup import find_by_text
from cortext.features.search.search_results import Finder, SearchRequest
from cortext.web import list_page
from cortext.web.list_request import ListRequest
from tests.cli.search_workspace import Place, place
from tests.command import begin, cortext

__all__ = ["place"]

TEXTS = {
    "Telemetry": "We disabled telemetry by default, because the start was slow.",
    "Start-up": "The start takes 800 ms with telemetry and 200 ms without.",
    "Flags": "Rename the flag no-telemetry. Its default is false.",
    "Garden": "How deep must a pond be?",
}
QUERIES = ("telemetry default", "why is the start slow with telemetry?", "telemetyr flag", "pond")


@pytest.fixture
def filled(place: Place, monkeypatch: pytest.MonkeyPatch) -> Place:
    for name, value in place.env.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(place.root)
    for title, text in TEXTS.items():
        begin(place.root, "plan", title, text)
    return place


@pytest.mark.parametrize("query", QUERIES)
def test_command_web_page_and_core_return_same_order(filled: Place, query: str) -> None:
    finder = Finder()
    finder.refresh(patience=None)
    core = [group.row.id for group in finder.answer(SearchRequest(query)).groups]
    assert core
    done = cortext(filled.root, "search", query, "--json", env=filled.env)
    assert [*dict.fromkeys(hit["id"] for hit in json.loads(done.stdout))] == core
    page = list_page.search(ListRequest(q=query))
    assert [found.card.row.id for found in page.found] == core


def test_resume_by_words_offers_conversations_in_order_of_search(filled: Place) -> None:
    finder = Finder()
    finder.refresh(patience=None)
    core = [group.row.id for group in finder.answer(SearchRequest("telemetry default")).groups]
    conversations = ConversationList(os.getcwd())
    assert not conversations.find("telemetry default")
    found = [row.id for row in find_by_text(conversations, "telemetry default").rows]
    assert found == [id for id in core if id in found]
