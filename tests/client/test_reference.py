"""What a program can import is documented, and documented names are there."""

from pathlib import Path

import pytest

import cortext.asgi
import cortext.client

ALIASES = {"addMessage", "getHistory"}
REFERENCE = Path(__file__).parents[2] / "docs/reference/python.md"


@pytest.mark.parametrize("module", [cortext.asgi, cortext.client])
def test_every_public_name_is_in_reference_page(module: object) -> None:
    """In a section of its module."""
    name = getattr(module, "__name__")  # noqa: B009  a plain object for the type checker
    section = REFERENCE.read_text(encoding="utf-8").partition(f"\n## {name}\n")[2]
    section = section.partition("\n## ")[0]
    names = getattr(module, "__all__")  # noqa: B009
    assert names == sorted(names)
    assert [each for each in names if f"`{each}" not in section] == []
    assert [each for each in names if getattr(module, each).__name__ != each] == []


@pytest.mark.parametrize("kind", [cortext.client.Client, cortext.client.AsyncClient])
def test_every_client_method_is_in_reference_page(kind: type) -> None:
    """The aliases of the service's interface are in docs/names.md."""
    section = REFERENCE.read_text(encoding="utf-8").partition("\n## cortext.client\n")[2]
    verbs = {name for name in vars(kind) if not name.startswith("_")} - ALIASES
    assert [name for name in verbs if f"`{name}" not in section] == []
    names = (REFERENCE.parents[1] / "names.md").read_text(encoding="utf-8")
    assert [name for name in ALIASES if f".{name}`" not in names] == []
