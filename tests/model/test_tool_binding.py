"""Bindings keep whatever stands in the file, and change only what they are told to."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from cortext.model.session import Session
from cortext.model.tool_binding import (
    ToolBinding,
    binding_from_json,
    binding_to_json,
    bindings_of,
    change_bindings,
)

KEYS = (
    "tool", "session_id", "path", "from", "to", "since", "until", "pid", "started", "cwd", "nonce",
    "held", "tokens", "at", "",
)  # fmt: skip
VALUES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(max_size=3)
    | st.lists(st.integers() | st.text(max_size=1), max_size=3)
)
ENTRIES = st.dictionaries(st.sampled_from(KEYS), VALUES)


@given(ENTRIES)
def test_binding_entry_round_trips_unchanged(entry: dict[str, Any]) -> None:
    binding = binding_from_json(entry)
    assert json.dumps(binding_to_json(binding)) == json.dumps(entry)
    assert set(binding.malformed) <= entry.keys()


@given(ENTRIES)
def test_changing_one_binding_field_keeps_every_other_key(entry: dict[str, Any]) -> None:
    changed = binding_to_json(structs.replace(binding_from_json(entry), end="m9"))
    assert changed.pop("to") == "m9"
    assert json.dumps(changed) == json.dumps({k: v for k, v in entry.items() if k != "to"})


@pytest.mark.parametrize(
    ("entry", "malformed"),
    [
        ({"tool": 5, "session_id": None}, ("tool", "session_id")),
        ({"tool": "t", "from": 0, "to": 5}, ("from", "to")),
        ({"tool": "t", "pid": True, "started": 10**400}, ("pid", "started")),
        ({"tool": "t", "pid": -1, "started": "x"}, ("pid", "started")),
        ({"tool": "t", "tokens": [1]}, ("tokens",)),
        ({"tool": "t", "unknown": object}, ()),
    ],
)
def test_binding_names_keys_with_values_of_wrong_type(
    entry: dict[str, Any], malformed: tuple[str, ...]
) -> None:
    binding = binding_from_json(entry)
    assert binding.malformed == malformed
    assert not binding.is_pending


def test_new_binding_has_its_keys_in_the_documented_order() -> None:
    binding = ToolBinding(
        tool="t", session_id="s", path="p", start="m1", end="", start_time="T", seen_digest="d"
    )
    assert [*binding_to_json(binding)] == [
        "tool", "session_id", "path", "from", "to", "since", "held"
    ]  # fmt: skip


def test_resolving_pending_binding_removes_process_keys() -> None:
    pending = {"tool": "t", "session_id": "", "path": "", "from": "T", "to": "", "x": 1}
    head = Session(native=[pending | {"pid": 7, "started": 1.5, "cwd": "/w", "held": ""}])
    assert bindings_of(head)[0].is_pending
    gone = dict.fromkeys(("pid", "process_start", "cwd"))
    change_bindings(head, lambda each: each.pid == 7, session_id="s", start_time="T2", **gone)
    assert head.native == [pending | {"session_id": "s", "held": "", "since": "T2"}]
    assert [*head.native[0]][-2:] == ["held", "since"]
