"""A real Redis for the tests of an adapter: other processes and machines see what it keeps."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cortext.adapters.session_log import SessionLog
from cortext.stores.servers.server_store_base import ServedStore
from tests.adapters.children import all_do

PAGES = Path(__file__).parents[2] / "docs" / "how-to" / "building-agents"
PLACE = "redis://cache:6379/0"


def eight_write(write: Callable[..., None], url: str, each: int) -> list[str]:
    """Eight processes write so many texts each, `NAME-NUMBER`, to one conversation; none fails.
    What they wrote."""
    names = [f"w{number}" for number in range(8)]
    all_do(write, *((url, name, each) for name in names))
    return [f"{name}-{number}" for name in names for number in range(each)]


def in_each_ones_order(texts: list[str], written: list[str]) -> None:
    """All are there, once, and those of each writer in its order."""
    assert sorted(texts) == sorted(written)
    for name in {text.partition("-")[0] for text in written}:
        own = [text for text in texts if text.startswith(f"{name}-")]
        assert own == [text for text in written if text.startswith(f"{name}-")]


def fleet_of(page: str, url: str) -> Any:
    """What the page's line for several machines makes, with our server in the place of its own."""
    text = (PAGES / page).read_text(encoding="utf-8")
    (line,) = re.findall(r"^(fleet = .*)$", text, re.MULTILINE)
    imports = "\n".join(re.findall(r"^from cortext\.adapters\.\w+ import .*$", text, re.MULTILINE))
    assert PLACE in line
    made: dict[str, Any] = {}
    exec(f"{imports}\n{line.replace(PLACE, url)}", made)
    return made["fleet"]


def stored(url: str, framework: str = "") -> Any:
    """What is on the server, past the adapter."""
    store = SessionLog(url, framework).store
    assert isinstance(store, ServedStore)
    return store
