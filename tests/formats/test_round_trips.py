"""Through any two formats and back a session is equal."""

from datetime import UTC, datetime, timedelta, timezone
from itertools import product

import pytest
from hypothesis import example, given, settings

from cortext.model.message import SessionMessage, ToolInvocation
from cortext.model.session import Session
from tests.formats.session_codecs import FORMATS, through
from tests.formats.strategies import sessions

WHEN = datetime(2025, 11, 22, 10, 30, tzinfo=UTC)
AWKWARD = Session(
    "a",
    title="lone \ud800 and \udfff",
    created_at=WHEN,
    updated_at=WHEN,
    messages=[SessionMessage("user", "\0 \u2028 \udead", WHEN + timedelta(1), extra={"type": 1})],
    tool_history=[ToolInvocation("t", timestamp=WHEN + timedelta(2), extra={"id": None})],
    extra={"agent_config": {}, "cortext_extra": {"x": 1}, "turns_at_update": 7, "version": "9"},
)


@pytest.mark.parametrize(("first", "second"), list(product(FORMATS, FORMATS)))
@settings(max_examples=25)
@example(AWKWARD)
@given(session=sessions)
def test_session_is_equal_after_any_two_formats(first: str, second: str, session: Session) -> None:
    """Whatever it holds, whichever way it goes."""
    there = through(session, first)
    assert there == session
    assert through(there, second) == session


@settings(max_examples=100)
@example(AWKWARD)
@given(session=sessions)
def test_session_is_equal_after_to_dict_and_to_json(session: Session) -> None:
    """The public pairs are inverse."""
    assert Session.from_dict(session.to_dict()) == session
    for indent in (None, 2):
        assert Session.from_json(session.to_json(indent)) == session


@pytest.mark.parametrize("name", FORMATS)
@settings(max_examples=40)
@given(session=sessions)
def test_encoding_decoded_session_gives_same_bytes(name: str, session: Session) -> None:
    """Writing what was read gives the same bytes, so that a save of nothing new is no diff."""
    encode, decode = FORMATS[name]
    written = encode(session)
    assert encode(decode(written)) == written


@pytest.mark.parametrize("name", FORMATS)
def test_times_are_read_in_utc(name: str) -> None:
    """A naive time counts as UTC, one of another zone is moved; microseconds stay."""
    naive = datetime(2025, 11, 22, 10, 30, 0, 123456)
    aware = datetime(2025, 11, 22, 12, 0, 0, 1, timezone(timedelta(hours=1, minutes=30)))
    session = Session(
        created_at=naive, updated_at=aware, messages=[SessionMessage("user", "", naive)]
    )
    found = through(session, name)
    assert found.created_at == found.messages[0].timestamp == naive.replace(tzinfo=UTC)
    assert found.updated_at == datetime(2025, 11, 22, 10, 30, 0, 1, UTC)
    assert found.created_at.utcoffset() == found.updated_at.utcoffset() == timedelta(0)


@pytest.mark.parametrize("name", FORMATS)
def test_updated_at_does_not_follow_saved_messages(name: str) -> None:
    """A message later than updated_at is no reason to change it, in any order of times."""
    for offsets in [(1,), (-1,), (2, 1), (-1, 1), (1, -1)]:
        said = [SessionMessage("user", "x", WHEN + timedelta(n)) for n in offsets]
        session = Session(created_at=WHEN, updated_at=WHEN, messages=said)
        assert through(session, name) == session


@pytest.mark.parametrize("name", FORMATS)
def test_tool_calls_at_any_time_keep_their_order(name: str) -> None:
    """Before, between, with and after messages, also when the clock went back."""
    said = [SessionMessage("user", str(n), WHEN + timedelta(n)) for n in range(3)]
    calls = [
        ToolInvocation(str(n), timestamp=WHEN + timedelta(days))
        for n, days in enumerate([-5, 0, 0.5, 1, 5, 1.5, -5, 9, 2])
    ]
    session = Session(created_at=WHEN, messages=said, tool_history=calls)
    assert through(session, name) == session
