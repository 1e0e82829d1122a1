"""Conversations by what was said in them, when nothing is called so."""

from pathlib import Path

import pytest

from cortext import Session, SessionMessage, open_session_store
from cortext.features.listing.conversation_list import ConversationList
from cortext.features.search.name_or_text_lookup import find_conversation


@pytest.fixture
def root(tmp_path: Path, data_home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(data_home / "cache"))
    monkeypatch.setenv("HOME", str(data_home))
    folder = tmp_path / "space"
    (folder / ".workspace").mkdir(parents=True)
    return folder


def keep(root: Path, id: str, *texts: str) -> None:
    messages = [SessionMessage("user", text) for text in texts]
    open_session_store(f"workspace:{root}").save(Session(id, title=id, messages=messages))


def said(root: Path, words: str) -> list[str]:
    return [row.id for row in find_conversation(ConversationList(str(root)), words).rows]


def test_find_conversation_matches_word_prefix_of_three_characters(root: Path) -> None:
    """It is enough, as it is in titles; two characters are not."""
    keep(root, "001-plan-a", "The parser is slow.")
    keep(root, "002-plan-b", "It is a pity.")
    assert said(root, "pars slo") == ["001-plan-a"]
    assert said(root, "pi") == []


def test_find_conversation_treats_operators_as_words(root: Path) -> None:
    """Nothing that is typed here is an operator, nor an error."""
    keep(root, "001-plan-a", "this or that, not c++")
    assert said(root, "that OR c++") == ["001-plan-a"]
    for odd in ('"', "*", "NOT", "AND OR", "(", "'; DROP TABLE words", "x" * 3000):
        assert said(root, odd) == []


def test_find_conversation_finds_new_message_in_every_conversation(root: Path) -> None:
    """It is found at once, and what was said before still is; the latest first."""
    keep(root, "001-plan-a", "a lynx")
    assert said(root, "lynx") == ["001-plan-a"]
    keep(root, "002-plan-b", "another lynx")
    assert sorted(said(root, "lynx")) == ["001-plan-a", "002-plan-b"]


def test_find_conversation_reports_progress_and_searched_count(root: Path) -> None:
    """Whoever waits is told how far it is, and afterwards how many were looked through."""
    for number in range(1, 4):
        keep(root, f"00{number}-plan-a", "a lynx")
    told: list[tuple[int, int]] = []
    conversations = ConversationList(str(root))
    found = find_conversation(conversations, "lynx", progress=lambda *far: told.append(far))
    assert told[-1] == (3, 3)
    assert found.searched == (3, 3)
    find_conversation(conversations, "nobody said it", progress=lambda *far: told.append(far))
    assert len(told) == 3
