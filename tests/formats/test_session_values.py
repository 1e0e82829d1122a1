"""What a session may hold: exactly what JSON can give back."""

from collections import OrderedDict
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from cortext.model.json_values import json_copy
from cortext.model.message import SessionMessage, ToolInvocation
from cortext.model.session import Session
from tests.formats.session_codecs import FORMATS, through

REFUSED: list[Any] = [
    float("nan"), float("inf"), float("-inf"), b"bytes", bytearray(b"x"), {1, 2}, frozenset(),
    {1: "a"}, {None: 1}, {True: 1}, {("a",): 1}, object(), Decimal(1), 1j,
    datetime(2025, 1, 1, tzinfo=UTC), range(3), {"deep": [{"er": float("nan")}]}, [[{2: 2}]],
]  # fmt: skip
ENTRIES = {
    "message.structured_data": lambda v: SessionMessage("user", "", structured_data=v),
    "message.tool_calls": lambda v: SessionMessage("user", "", tool_calls=[{"a": v}]),
    "message.extra": lambda v: SessionMessage("user", "", extra={"a": v}),
    "call.arguments": lambda v: ToolInvocation("t", {"a": v}),
    "call.result": lambda v: ToolInvocation("t", result=v),
    "call.extra": lambda v: ToolInvocation("t", extra={"a": v}),
    "session.metadata": lambda v: Session(metadata={"a": v}),
    "session.pending": lambda v: Session(pending=v),
    "session.native": lambda v: Session(native=[{"a": v}]),
    "session.extra": lambda v: Session(extra={"a": v}),
}


@pytest.mark.parametrize("entry", ENTRIES)
def test_values_without_json_form_are_refused(entry: str) -> None:
    """ValueError at once, not at the save an hour later."""
    for value in REFUSED:
        with pytest.raises(ValueError):
            ENTRIES[entry](value)


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("value", REFUSED[:10], ids=repr)
def test_encode_rejects_invalid_values_assigned_later(name: str, value: Any) -> None:
    """A session is mutable: what sneaked in is found before anything is written."""
    session = Session()
    session.metadata["a"] = value
    with pytest.raises(ValueError):
        FORMATS[name][0](session)


@pytest.mark.parametrize("duration", [float("nan"), float("inf")])
def test_non_finite_duration_is_refused(duration: float) -> None:
    """A duration without a JSON form is refused too."""
    with pytest.raises(ValueError):
        ToolInvocation("t", duration=duration)


def refused(make: Callable[..., Any], wrong: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The ones of `wrong` for which a call raises ValueError, and no other error."""
    found: list[dict[str, Any]] = []
    for fields in wrong:
        try:
            make(**fields)
        except ValueError:
            found.append(fields)
        except Exception as error:
            found.append({**fields, "raised": error})
    return found


def test_message_with_wrong_field_types_is_refused() -> None:
    """A message that no load could give back is never made."""
    wrong: list[dict[str, Any]] = [
        {"tokens": 1.5}, {"tokens": True}, {"name": 3}, {"id": 7}, {"tool_call_id": 7},
        {"tool_calls": {"a": 1}}, {"tool_calls": ["x"]}, {"content": None}, {"content": b"x"},
        {"role": "human"}, {"role": None}, {"timestamp": "2025-11-22"}, {"timestamp": None},
        {"extra": [1]},
    ]  # fmt: skip
    assert (
        refused(lambda **kw: SessionMessage(**{"role": "user", "content": "x", **kw}), wrong)
        == wrong
    )


def test_tool_call_with_wrong_field_types_is_refused() -> None:
    """The same for tool calls."""
    wrong: list[dict[str, Any]] = [
        {"tool_name": 1}, {"arguments": []}, {"success": "yes"}, {"error": 5}, {"id": 7},
        {"timestamp": "2025"}, {"duration": "long"}, {"extra": [1]},
    ]  # fmt: skip
    assert refused(lambda **kw: ToolInvocation(**{"tool_name": "t", **kw}), wrong) == wrong


@pytest.mark.parametrize("name", FORMATS)
def test_session_with_wrong_field_types_is_never_encoded(name: str) -> None:
    """Whether at construction or at encoding: ValueError, no file that cannot be read."""
    wrong: list[dict[str, Any]] = [
        {"title": 5}, {"tags": [1]}, {"tags": "text"}, {"status": "bogus"}, {"tools": [None]},
        {"total_prompt_tokens": 1.5}, {"native": ["x"]}, {"metadata": [1]}, {"extra": [1]},
        {"created_at": "2025-11-22"}, {"summary": 3},
    ]  # fmt: skip
    assert refused(lambda **kw: FORMATS[name][0](Session(**kw)), wrong) == wrong


def test_values_are_copied_on_entry() -> None:
    """What the caller changes later is not in the message."""
    inner: dict[str, Any] = {"list": [1]}
    message = SessionMessage("user", "x", structured_data=inner, tool_calls=[inner])
    call, session = ToolInvocation("t", inner), Session(metadata=inner, pending=inner)
    inner["list"].append(2)
    copies = [message.structured_data, (message.tool_calls or [])[0]]
    copies += [call.arguments, session.metadata, session.pending]
    assert copies == [{"list": [1]}] * 5


def test_json_copy_converts_subclasses_to_plain_values() -> None:
    """Ordered dicts, tuples and enums' strings come back as JSON has them."""

    class Word(str):
        __slots__ = ()

    given = {"o": OrderedDict(a=1), "t": (1, (2,)), Word("w"): Word("x"), "b": True}
    expected = {"o": {"a": 1}, "t": [1, [2]], "w": "x", "b": True}
    copy = json_copy(given)
    assert copy == expected
    assert [type(key) for key in copy] == [str] * 4
    assert type(copy["w"]) is str


def test_deep_nesting_raises_value_error_instead_of_recursion_error() -> None:
    """No RecursionError, neither on entry nor while reading."""
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(ValueError, match="nested too deeply"):
        SessionMessage("user", "x", structured_data=deep)
    with pytest.raises(ValueError, match="nested too deeply"):
        Session.from_json("[" * 100_000 + "]" * 100_000)


@pytest.mark.parametrize("name", FORMATS)
def test_deepest_accepted_value_round_trips(name: str) -> None:
    """The deepest value that a message takes can be written and read."""
    deep: Any = 1
    accepted = None
    for _ in range(2000):
        deep = [deep]
        try:
            accepted = SessionMessage("user", "x", structured_data=deep)
        except ValueError:
            break
    assert accepted is not None
    session = Session(messages=[accepted])
    assert through(session, name).messages == [accepted]


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("value", [10**4299, -(10**4000)], ids=["4300 digits", "4001 digits"])
def test_huge_integers_round_trip(name: str, value: int) -> None:
    """As long as Python itself reads them."""
    session = Session(metadata={"n": value})
    assert through(session, name) == session


def test_integers_over_4300_digits_are_refused() -> None:
    """Over 4,300 digits no reader could give them back: ValueError, at the latest by encoding."""
    with pytest.raises(ValueError):
        FORMATS["log"][0](Session(metadata={"n": 10**5000}))
