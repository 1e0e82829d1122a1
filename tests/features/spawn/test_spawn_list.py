"""Which sessions of `aur spawn` are listed, and which one is meant."""

from pathlib import Path

import pytest

from cortext.features.spawn.find_spawned import find_spawned
from cortext.features.spawn.open_spawn_session import SpawnSession
from cortext.features.spawn.spawn_list import list_spawned
from cortext.features.spawn.spawn_locks_and_recovery import session_path


def had(id: str, agent: str, *said: str, title: str = "", completed: bool = True) -> None:
    session = SpawnSession.begin(agent, id=id)
    for text in said:
        session.keep(text, f"an answer to {id}")
    if title:
        session.rename(title)
    session.close(completed=completed)


def ids(query: str) -> list[str]:
    return sorted(row.key for row in find_spawned(query).rows)


@pytest.fixture
def sessions() -> None:
    had("session-1", "qa-test", "why does the parser fail?", title="Parser trouble")
    had("session-12", "architect", "what of the zebra?", title="Drawing", completed=False)
    had("other", "qa-test", "a zebra and an Okapi", "no more", title="Parser drawing")


@pytest.mark.usefixtures("sessions")
def test_list_spawned_filters_by_agent_and_status() -> None:
    """By agent, by status, by both; `paused` is another word for interrupted."""
    assert {row.key for row in list_spawned()} == {"session-1", "session-12", "other"}
    assert {row.key for row in list_spawned(agent="qa-test")} == {"session-1", "other"}
    assert {row.key for row in list_spawned(status="interrupted")} == {"session-12"}
    assert list_spawned(status="paused") == list_spawned(status="interrupted")
    assert list_spawned("qa-test", "interrupted") == []
    assert list_spawned(agent="qa") == []


def test_session_is_active_only_while_open() -> None:
    """While it is open, and not when its process was killed."""
    session = SpawnSession.begin("qa-test", id="one")
    assert [row.key for row in list_spawned(status="active")] == ["one"]
    session._mark.release()
    assert [row.key for row in list_spawned(status="interrupted")] == ["one"]


@pytest.mark.usefixtures("sessions")
@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("session-1", ["session-1"]),
        ("session", ["session-1", "session-12"]),
        ("ot", ["other"]),
        ("trouble PARSER", ["session-1"]),
        ("drawing", ["other", "session-12"]),
        ("zebra", ["other", "session-12"]),
        ("okapi zebra", ["other"]),
        ("okapi more", ["other"]),
        ("answer session-12", ["session-12"]),
        ("unicorn", []),
        ("", []),
        ("  ", []),
    ],
)
def test_query_matches_id_then_prefix_then_title_then_text(query: str, found: list[str]) -> None:
    """An id, the beginning of one, words of a title, words that were said."""
    assert ids(query) == found


@pytest.mark.usefixtures("sessions")
def test_query_finds_text_in_damaged_session() -> None:
    """What can be read of a damaged session is looked through."""
    path = Path(session_path("session-1"))
    path.write_bytes(b"{broken\n" + path.read_bytes())
    assert ids("parser fail") == ["session-1"]
