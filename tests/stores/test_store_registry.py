"""Stores by URL, and what their objects say when something changes."""

from pathlib import Path

import pytest

from cortext.stores.store_registry import STORES, open_session_store
from cortext.testing.store_writer_program import open_store
from cortext.testing.suite_base import message, session

URLS = ("document:{}", "log:{}", "workspace:{}", "memory:")


@pytest.mark.parametrize("url", URLS)
def test_open_session_store_opens_every_kind(url: str, tmp_path: Path) -> None:
    """A relative or absolute path; memory takes none."""
    store = open_session_store(url.format(tmp_path / "deep/er"))
    store.save(session("s"))
    assert store.list_session_ids() == ["s"]


def test_tested_urls_cover_every_registered_store() -> None:
    """A kind that the registry has is tested here."""
    assert {url.partition(":")[0] for url in URLS} == set(STORES)


@pytest.mark.parametrize("url", ["", "log", "log:", "odd:/x", "memory:/x", ":", "LOG:/x"])
def test_open_session_store_rejects_invalid_urls(url: str) -> None:
    """ValueError that says what there is."""
    with pytest.raises(ValueError):
        open_session_store(url)


@pytest.mark.parametrize("url", URLS)
def test_on_change_names_session_after_every_write(url: str, tmp_path: Path) -> None:
    """After every write, and after nothing else."""
    changed: list[str] = []
    store = open_session_store(url.format(tmp_path), on_change=changed.append)
    store.save(session("s"))
    store.append("s", message("one"))
    store.checkpoint(store.load("s"))
    store.tail("s", 1)
    store.delete("s")
    store.delete("s")
    assert changed == ["s"] * 4


def test_open_store_opens_custom_store_class(tmp_path: Path) -> None:
    """The suite's children open stores that the registry does not know."""
    store = open_store(f"python:cortext.stores.log:LogStore:{tmp_path}/with:colon")
    store.save(session("s"))
    assert (tmp_path / "with:colon/s.jsonl").exists()
