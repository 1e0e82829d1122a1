"""What people mean by "the second one"."""

from typing import Any

import pytest

from cortext import Message
from cortext.service.stores.ordinal_references import Reference, resolve

LIBRARIES = [{"name": n} for n in ("Redux", "Redux Toolkit", "Zustand", "Jotai")]
SEARCH = {"type": "search", "query": "state", "items": LIBRARIES}
ANALYSIS = {"type": "analysis", "subject": "Zustand", "tags": [1, 2]}


def after(text: str, *data: Any) -> Reference:
    return resolve(text, [Message("assistant", "x", structured_data=value) for value in data])


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("the second one", 2), ("Tell me about the FIRST", 1), ("3rd please", 3), ("#4", 4),
        ("2", 2), (" 3. ", 3),
        ("option 2", 2), ("number 1?", 1), ("the last one", 4), ("the second to last", 3),
        ("the penultimate", 3), ("the former", 1), ("analyze zustand", 3),
        ("is redux toolkit better?", 2), ("what about Redux", 1),
    ],
)  # fmt: skip
def test_ordinal_or_name_refers_to_one_item(text: str, position: int) -> None:
    """Ordinals, places from the end and names find the item in the newest list."""
    found = after(text, {"items": ["older"]}, SEARCH, ANALYSIS if "zustand" not in text else SEARCH)
    assert (found.item, found.position) == (LIBRARIES[position - 1], position)
    assert list(found.candidates) == []
    assert found.data == SEARCH


@pytest.mark.parametrize("text", ["analyze it", "more about this", "that one"])
def test_pronoun_refers_to_newest_data(text: str) -> None:
    """A single thing is meant; of a list with several, any."""
    assert after(text, SEARCH, ANALYSIS).item == ANALYSIS
    assert after(text, ANALYSIS, {"items": [{"name": "only"}]}).item == {"name": "only"}
    several = after(text, ANALYSIS, SEARCH)
    assert (several.item, several.candidates) == (None, LIBRARIES)


def test_ordinal_beyond_list_returns_candidates() -> None:
    """So that an agent can ask which."""
    found = after("the ninth", SEARCH)
    assert (found.item, found.candidates) == (None, LIBRARIES)


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("the first two", [0, 1]), ("compare the last three", [1, 2, 3]), ("both", [0, 1, 2, 3]),
        ("the first 2 please", [0, 1]), ("all of them", [0, 1, 2, 3]), ("the last 9", [0, 1, 2, 3]),
        ("the first and the third", [0, 2]), ("#2 or #4", [1, 3]),
        ("the first and the last", [0, 3]),
    ],
)  # fmt: skip
def test_plural_reference_returns_candidates(text: str, places: list[int]) -> None:
    """No one of them is what is meant."""
    found = after(text, ANALYSIS, SEARCH)
    assert (found.item, found.position) == (None, None)
    assert found.candidates == [LIBRARIES[place] for place in places]
    assert found.data == SEARCH


@pytest.mark.parametrize("text", ["hello", "the second one", "it", "both", "the ninth"])
def test_reference_candidates_are_always_a_list(text: str) -> None:
    """Also where there are none."""
    assert type(after(text, SEARCH).candidates) is list


def test_ambiguous_name_returns_all_items_of_that_name() -> None:
    """Several things of one name are candidates."""
    twins = [{"name": "A", "v": 1}, {"name": "A", "v": 2}, {"name": "B"}]
    assert after("take a", {"results": twins}).candidates == twins[:2]


@pytest.mark.parametrize(
    "text", ["", "hello there", "items within limits", "secondly", "#0", "0", "in 2026 2", "(.*"]
)
def test_other_text_refers_to_nothing(text: str) -> None:
    """Words that only contain such words mean nothing."""
    assert after(text, SEARCH) == Reference()


@pytest.mark.parametrize("data", [(), (7,), ("text",), ({"items": []},), ({"items": [1, 2]},)])
def test_ordinal_without_list_refers_to_nothing(data: tuple[Any, ...]) -> None:
    """Data that lists nothing has no second one."""
    assert after("the second one", *data) == Reference()


def test_last_one_without_list_refers_to_newest_data() -> None:
    """Where nothing is listed, things came one after another."""
    assert after("the last one", {"type": "a"}, ANALYSIS).item == ANALYSIS


def test_ordinal_uses_usual_key_then_named_items_then_bare_list() -> None:
    """A usual key goes first, then the first list of things with names; a bare list is one too."""
    assert after("the second", {"n": [1, 2], "libraries": ["a", "b"]}).item == "b"
    assert after("the second", {"tags": ["x", "y"], "results": ["a", "b"]}).item == "b"
    assert after("the second", ["a", "b"]).item == "b"
