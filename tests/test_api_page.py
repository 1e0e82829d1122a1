"""The reference of the Python API is made from the source, and complete."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from scripts import api, api_source

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / api.PAGE).read_text(encoding="utf-8")
TOY = '''"""A module."""

from cortext.base import Base, LONG

__all__ = ["Plain", "Toy", "play"]
_SECONDS = 3.0


class Plain:
    pass


class Toy(Base):
    """A toy. It is small.

    It cannot break. ToyError if it does.
    """

    def __init__(self, name: str, *, wait: float = _SECONDS, long: int = LONG) -> None:
        self.name = name
        self.is_old: bool = False

    def throw(self, far: int = 1) -> str: ...

    again = throw

    def _hide(self) -> None: ...


async def play(*toys: Toy, **rules: int) -> "Toy | None":
    """Play with toys."""
'''
BASE = '''"""Its base."""

LONG = 7


class Base:
    """A base."""

    def throw(self, far: int = 1) -> str:
        """Away with it."""

    @property
    def weight(self) -> float:
        """In grams."""
'''


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A module of another source."""
    for name, text in (("toy", TOY), ("base", BASE)):
        (tmp_path / "cortext").mkdir(exist_ok=True)
        (tmp_path / f"cortext/{name}.py").write_text(text, encoding="utf-8")
    monkeypatch.setattr(api_source, "SOURCE", tmp_path)
    monkeypatch.setattr(api, "modules", lambda: ["cortext.toy"])
    api_source.tree_of.cache_clear()
    yield "cortext.toy"
    api_source.tree_of.cache_clear()


def test_api_page_matches_source() -> None:
    """`make docs` writes it anew."""
    assert api.write_in(PAGE) == PAGE
    assert api.problems(PAGE) == []


@pytest.mark.parametrize("module", api.modules())
def test_api_page_contains_every_public_name(module: str) -> None:
    """Under its module, with what it is."""
    names = api.names_of(module)
    block = next(each for each in api.BLOCK.finditer(PAGE) if each["module"] == module)[0]
    assert names
    assert [name for _, name in names if f"\n#### {name}\n" not in block] == []


def test_api_page_renders_signatures_and_docstrings(toy: str) -> None:
    """Constants by their values, methods of bases too, and a docstring that a base has."""
    text = api.render(toy)
    assert "class Toy(name: str, *, wait: float = 3.0, long: int = 7)" in text
    assert "A toy. It is small. ToyError if it does. A subclass of `Base`." in text
    assert "- `is_old: bool`" in text
    assert "- `throw(far: int = 1) -> str`: Away with it." in text
    assert "- `again(far: int = 1) -> str`" in text
    assert "- `weight: float`: In grams." in text
    assert "async def play(*toys: Toy, **rules: int) -> Toy | None" in text
    assert "_hide" not in text


def test_api_check_reports_missing_docstrings_and_modules(toy: str) -> None:
    """A name without a docstring, and a module that is not on the page."""
    page = f"<!-- api: {toy} -->\n<!-- end -->\n<!-- api: cortext.gone -->\n<!-- end -->\n"
    assert api.problems(page) == [
        "docs/reference/python.md: cortext.gone has no public names",
        "cortext.toy.Plain has no docstring",
    ]
    assert "docs/reference/python.md: no `<!-- api: cortext.toy -->`" in api.problems("")


def test_write_in_updates_old_api_page(toy: str) -> None:
    """So that a check sees it."""
    old = f"before\n<!-- api: {toy} -->\nold\n<!-- end -->\nafter\n"
    new = api.write_in(old)
    assert (new != old, api.write_in(new) == new) == (True, True)
    assert new.startswith("before\n")
    assert new.endswith("<!-- end -->\nafter\n")
