"""Conversations of a service in files, from the command line."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from cortext import Message, open_store

SCRIPT = str(Path(sys.executable).with_name("cortext"))


def cortext(*args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [SCRIPT, *args], capture_output=True, encoding="utf-8", timeout=60, check=False,
        stdin=subprocess.DEVNULL, env={**os.environ, "TZ": "UTC"},
    )  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """One conversation that is kept there."""

    async def talk() -> None:
        async with open_store(f"file:{tmp_path / 'kept'}") as store:
            id = await store.create()
            await store.add_message(id, Message("user", "\nHow deep is the pond?\nIn metres."))
            await store.add_message(id, Message("assistant", "Two."))

    asyncio.run(talk())
    return tmp_path / "kept"


@pytest.mark.parametrize("kind", ["file:", "file://", "log:"])
def test_list_shows_file_store_conversations_by_first_question(folder: Path, kind: str) -> None:
    """A service gives no titles, so the first question is one."""
    done = cortext("list", "--store", f"{kind}{folder}")
    assert (done.returncode, done.stderr) == (0, "")
    [id] = [path.stem for path in folder.glob("*.jsonl")]
    assert "How deep is the pond?" in done.stdout
    assert id in done.stdout
    [row] = json.loads(cortext("list", "--store", f"{kind}{folder}", "--json").stdout)
    assert (row["title"], row["message_count"]) == ("How deep is the pond?", 2)


def test_show_finds_file_store_conversation_by_id_prefix(folder: Path) -> None:
    """By the beginning of its id."""
    [id] = [path.stem for path in folder.glob("*.jsonl")]
    done = cortext("show", id[:8], "--store", f"file:{folder}")
    assert done.returncode == 0
    assert "Two." in done.stdout


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("file://kept", "write file:kept for a relative path"),
        ("mysql://:secret@h/0", "redis://HOST:PORT/DB, postgresql://HOST/DATABASE"),
        ("redis://:sec/ret@h/0", "in USER and PASSWORD, write '/' as %2F"),
        ("file:", "workspace:PATH, file:PATH"),
    ],
)
def test_list_refuses_invalid_store_url_with_hint_and_no_password(url: str, said: str) -> None:
    """With what can be, and without a password."""
    done = cortext("list", "--store", url)
    assert done.returncode == 2
    assert said in " ".join(done.stderr.split())
    assert "secret" not in done.stderr
    assert "ret@" not in done.stderr
