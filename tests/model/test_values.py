"""Ids, times, titles and statuses."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortext.errors import InvalidIdError, InvalidTransitionError
from cortext.model.ids import check_id, check_workspace_id, derived_id, new_id
from cortext.model.json_values import as_utc, parse_time
from cortext.model.message import SessionMessage
from cortext.model.session import Session
from cortext.model.status import check_transition
from cortext.model.title import generate_title

WHEN = datetime(2025, 11, 22, 10, 30, tzinfo=UTC)


@pytest.mark.parametrize("id", ["a", "0", "A.b_c-d", "x" * 128, "001-brainstorm-api"])
def test_check_id_accepts_letters_digits_dot_underscore_and_dash(id: str) -> None:
    """Letters, digits, dot, underscore and dash, from a letter or digit on."""
    assert check_id(id) == check_workspace_id(id) == id


BAD = [
    "",
    ".",
    "..",
    "-a",
    "_a",
    ".a",
    "a/b",
    "/a",
    "a\\b",
    "a\n",
    "a b",
    "a\0",
    "x" * 129,
    "a\ud800",
]


@pytest.mark.parametrize("id", [*BAD, None, 7, b"a", ["a"]], ids=repr)
def test_check_id_refuses_invalid_id_with_short_message(id: Any) -> None:
    """Anything else is refused with a sentence that shows it, shortened."""
    for check in (check_id, check_workspace_id):
        with pytest.raises(InvalidIdError) as caught:
            check(id)
        assert (caught.value.id, bool(caught.value.hint)) == (id, True)
        assert len(str(caught.value)) < 120


@pytest.mark.parametrize("id", ["001-plan-größe", "计划", "2025-11-22/001-plan-x", "कि"])
def test_workspace_id_accepts_any_script_and_a_day(id: str) -> None:
    """And may be named with their day."""
    assert check_workspace_id(id) == id
    with pytest.raises(InvalidIdError):
        check_id(id)


@pytest.mark.parametrize(
    "id", ["2025-11-22/", "2025-11-22/..", "x/y", "2025-1-2/a", "2025-11-22/a/b", "/a", "a\u202e"]
)
def test_workspace_id_refuses_malformed_day_or_path(id: str) -> None:
    """One day, one name, nothing that moves."""
    with pytest.raises(InvalidIdError):
        check_workspace_id(id)


@given(st.text(max_size=20))
def test_accepted_ids_are_safe_file_names(id: str) -> None:
    """Whatever passes can be a file name on every system that we know."""
    try:
        check_workspace_id(id)
    except InvalidIdError:
        return
    assert not set(id.partition("/")[2] or id) & set('/\\\0\n:*?"<>|')


@given(st.text(), st.text())
def test_derived_ids_are_stable(first: str, second: str) -> None:
    """The same parts, the same id; other parts, another."""
    assert derived_id(first, second) == derived_id(first, second)
    assert derived_id(first, second + "x") != derived_id(first, second)
    assert new_id() != new_id()


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2025-11-22T10:30:00Z", WHEN),
        ("2025-11-22T10:30:00", WHEN),
        ("2025-11-22 10:30:00+00:00", WHEN),
        ("2025-11-22T12:30:00+02:00", WHEN),
        ("20251122T103000Z", WHEN),
        (WHEN.timestamp(), WHEN),
        (int(WHEN.timestamp() * 1000), WHEN),
    ],
)
def test_parse_time_reads_iso_8601_seconds_and_milliseconds(value: Any, expected: datetime) -> None:
    """ISO 8601 in its forms, seconds, milliseconds."""
    assert parse_time(value) == expected


@pytest.mark.parametrize(
    "value", ["", "x", "2025-13-01", None, True, [], 1e300, -1e300, 10**400], ids=range(9)
)
def test_parse_time_raises_value_error_for_invalid_time(value: Any) -> None:
    """ValueError, never another error."""
    with pytest.raises(ValueError):
        parse_time(value)


def test_as_utc_treats_naive_as_utc_and_refuses_overflow() -> None:
    """Naive is UTC; what does not fit into the calendar is a ValueError."""
    assert as_utc(WHEN.replace(tzinfo=None)) == WHEN
    assert as_utc(WHEN.astimezone(timezone(timedelta(hours=-8)))) == WHEN
    with pytest.raises(ValueError):
        as_utc(datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=5))))


def test_status_changes_only_along_allowed_transitions() -> None:
    """active to paused or completed, paused to active or completed, and no other."""
    words = ("active", "paused", "completed", "odd")
    allowed = {(a, b) for a in words for b in words if _allowed(a, b)}
    assert allowed == {
        ("active", "paused"),
        ("active", "completed"),
        ("paused", "active"),
        ("paused", "completed"),
    }


def _allowed(old: str, new: str) -> bool:
    try:
        check_transition(old, new)
    except InvalidTransitionError:
        return False
    return True


@pytest.mark.parametrize(
    ("content", "title"),
    [
        ("short", "short"),
        ("\n\n  first line \nsecond", "first line"),
        ("x" * 50, "x" * 50),
        ("x" * 51, "x" * 47 + "..."),
        ("  \n\t", "Session 2025-11-22 10:30"),
    ],
)
def test_generated_title_is_first_line_or_creation_time(content: str, title: str) -> None:
    """The first line of the first request, at most 50 characters; else the time."""
    said = [SessionMessage("system", "rules"), SessionMessage("user", content)]
    assert generate_title(Session(created_at=WHEN, messages=said)) == title


def test_touch_advances_updated_at_even_when_clock_goes_back() -> None:
    """Also when the clock went back."""
    session = Session(updated_at=datetime(2999, 1, 1, tzinfo=UTC))
    session.touch()
    assert session.updated_at == datetime(2999, 1, 1, 0, 0, 0, 1, UTC)


def test_messages_are_frozen_and_compare_by_value() -> None:
    """A record does not change once it is made."""
    first = SessionMessage("user", "x", WHEN, "a")
    assert first == SessionMessage("user", "x", WHEN.replace(tzinfo=None), "a")
    with pytest.raises(AttributeError):
        first.content = "y"  # pyright: ignore[reportAttributeAccessIssue]


def test_sessions_share_no_defaults() -> None:
    """Each has lists of its own."""
    one, two = Session(), Session()
    one.tags.append("t")
    one.metadata["k"] = 1
    one.add_message_from_dict("user", "x")
    one.record_tool_call("t", {})
    assert (two.tags, two.metadata, two.messages, two.tool_history) == ([], {}, [], [])
