"""Topics in any script give readable folder names."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortext.model.ids import check_workspace_id
from cortext.workspace.slug import LONGEST, slugify


@pytest.mark.parametrize(
    ("topic", "slug"),
    [
        ("API Design", "api-design"),
        ("日本語の設計", "日本語の設計"),
        ("Émilie & Ça va?", "émilie-ça-va"),
        ("a/b", "a-b"),
        ("../../etc", "etc"),
        ("🚀🔥", "untitled"),
        ("", "untitled"),
        ("-- x --", "x"),
        ("हिन्दी में", "हिन्दी-में"),
        ("ﬁne Ｗｉｄｅ", "fine-wide"),
        ("a\x00b\nc", "a-b-c"),
        ("x" * 300, "x" * 60),
    ],
)
def test_slugify_makes_readable_names_in_any_script(topic: str, slug: str) -> None:
    """As a person would write them."""
    assert slugify(topic) == slug


@given(st.text())
def test_slugify_makes_stable_valid_id_of_any_topic(topic: str) -> None:
    """Short, stable, and always an id."""
    slug = slugify(topic)
    assert (0 < len(slug) <= LONGEST, slugify(slug)) == (True, slug)
    check_workspace_id(f"001-brainstorm-{slug}")
