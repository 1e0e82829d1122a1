"""Edits of a person's settings: what is added is there, and taken out it leaves nothing."""

import re
import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortext.formats import toml_edit
from cortext.formats.json_edit import append, insert, parse, remove
from tests.formats.settings_texts import VALUES, settings


@given(settings())
def test_parse_reads_settings_with_comments_and_trailing_commas(given: tuple[Any, str]) -> None:
    """The value is what a reader of JSON would find."""
    value, text = given
    assert parse(text).plain == value


@given(settings(), VALUES)
def test_append_adds_element_and_leaves_rest_unchanged(given: tuple[Any, str], added: Any) -> None:
    """At the end of its list; all other values as they were, every byte of the old text kept."""
    value, text = given
    insertions = append(text, ["hooks", "Stop"], added)
    new = insert(text, insertions)
    hooks = value.get("hooks", {})
    expected = {**value, "hooks": {**hooks, "Stop": [*hooks.get("Stop", []), added]}}
    assert parse(new).plain == expected
    assert len(new) == len(text) + sum(len(each.text) for each in insertions)
    letters = iter(new)
    assert all(letter in letters for letter in text)


@given(settings(), VALUES)
def test_remove_undoes_last_append(given: tuple[Any, str], added: Any) -> None:
    """The values are those of before."""
    value, text = given
    stop = [*value.get("hooks", {}).get("Stop", [])]
    new = insert(text, append(text, ["hooks", "Stop"], added))
    left = parse(remove(new, ["hooks", "Stop", len(stop)])).plain
    assert left == {**value, "hooks": {**value.get("hooks", {}), "Stop": stop}}


@given(settings(), st.data())
def test_remove_deletes_only_named_member(given: tuple[Any, str], data: st.DataObject) -> None:
    """It is gone, and all others are as they were."""
    value, text = given
    if not value:
        return
    key = data.draw(st.sampled_from(sorted(value)))
    assert parse(remove(text, [key])).plain == {k: v for k, v in value.items() if k != key}


def test_append_follows_indentation_and_line_ends_of_file() -> None:
    """Indentation, line ends, and a comment stays with its line."""
    text = '{\r\n\t"a": 1, // one\r\n\t"hooks": {\r\n\t\t"Stop": [] // mine\r\n\t}\r\n}\r\n'
    new = insert(text, append(text, ["hooks", "Start"], {"x": 1}))
    assert new == (
        '{\r\n\t"a": 1, // one\r\n\t"hooks": {\r\n\t\t"Stop": [], // mine\r\n'
        '\t\t"Start": [\r\n\t\t\t{\r\n\t\t\t\t"x": 1\r\n\t\t\t}\r\n\t\t]\r\n\t}\r\n}\r\n'
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "not JSON at line 1"),
        ('{"a": 1', "not JSON at line 1"),
        ("{\n'a': 1}", "not JSON at line 2"),
        ('{"a": 1} x', "not JSON at line 1"),
        ("[]", "it is not an object"),
        ('{"hooks": []}', "its hooks is not an object"),
        ('{"hooks": {"Stop": {}}}', "its hooks.Stop is not a list"),
        ("[" * 500, "nested too deeply"),
    ],
)
def test_append_states_why_settings_cannot_be_edited(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        append(text, ["hooks", "Stop"], 1)


TOML = st.sampled_from(
    ["", "# a comment\n", 'model = "x"\r\n', "[a]\nnotify = 1\n", "b = '''\n[x]\n'''\n", "c = 1"]
)


@given(st.lists(TOML, unique=True, max_size=5).map(lambda parts: sorted(parts, key=len)))
def test_toml_line_is_added_outside_tables_and_removed_again(parts: list[str]) -> None:
    """It is outside any table, and the rest is as it was."""
    text = "".join(part if part.endswith("\n") else f"{part}\n" for part in parts if part)
    try:
        before = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    new = insert(text, toml_edit.put_first(text, "notify", ["a", "b"]))
    assert tomllib.loads(new) == {**before, "notify": ["a", "b"]}
    assert toml_edit.take_out(new, "notify", ["a", "b"]) == text


def test_put_first_rejects_toml_that_already_has_key() -> None:
    with pytest.raises(ValueError, match="already has a `notify`"):
        toml_edit.put_first("notify = []\n", "notify", ["a"])
