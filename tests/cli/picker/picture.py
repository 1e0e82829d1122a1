"""The picture of the picker in the README: `python -m tests.cli.picker.picture` draws it anew.

What is on it are real files, made in a temporary HOME, at a time that stands still.
"""

import asyncio
import os
import re
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from unittest.mock import patch

from cortext import Session, SessionMessage
from cortext.cli.picker.picker_app import Picker
from cortext.cli.picker.picker_items import PickerItems
from cortext.formats.folder import FOLDER, encode_head
from cortext.formats.line_formats import encode_records
from tests.cli.picker.picker_workspace import screen, until

PICTURE = Path(__file__).parents[3] / "docs/picture/picker.svg"
NOW = datetime(2026, 11, 16, 10, 30, tzinfo=UTC)
TYPED = "cache"
# What a drawing would else fetch from elsewhere.
_FONTS = re.compile(r"\s*@font-face \{[^}]*\}")

CACHE = """\
Three things speak for the hourly one:

- nobody sees prices that are **older than an hour**
- the cache is small enough to fill again in `2.1 s`
- no list of what to invalidate, and when

```python
@every(hours=1)
def empty() -> None:
    cache.clear()
```
"""
TALKS = [
    ("plan", "Cache the product pages", "claude", 0.05, "active", ["speed"], [
        ("user", "How do we keep the product pages fast when prices change?"),
        ("assistant", "Either we empty the **cache** every hour, or whenever a price changes."),
        ("user", "Which one would you take?"),
        ("assistant", CACHE),
        ("user", "Good: the hourly cache. Write it down as decided."),
        ("assistant", "Decided: the cache is emptied every hour. It is in plan.md."),
    ]),
    ("review", "Why is the cache cold after a deploy?", "codex", 27, "completed", [], [
        ("user", "Why?"), ("assistant", "The deploy empties it."),
    ]),
    ("brainstorm", "Names for the price service", "gemini", 3, "paused", [], [
        ("user", "What do we call it?"), ("assistant", "Tally. It has no cache to name."),
    ]),
    ("chat", "日本語のエラーメッセージ", "opencode", 52, "paused", ["i18n"], [
        ("user", "cache miss は何と訳す?"), ("assistant", "キャッシュミス、でよいです。"),
    ]),
    ("plan", "Move checkout to the new API", "claude", 98, "completed", [], [
        ("user", "What breaks?"), ("assistant", "Only what the cache of sessions expects."),
    ]),
    ("chat", "Flaky test in the basket", "codex", 170, "paused", [], [
        ("user", "It fails on Mondays."), ("assistant", "Its clock has a time zone."),
    ]),
]  # fmt: skip


def make_talks(root: Path) -> None:
    (root / ".workspace").mkdir(parents=True)
    for number, (kind, title, tool, hours, status, tags, said) in enumerate(TALKS):
        when = NOW - timedelta(hours=hours)
        session = Session(
            f"{number + 1:03}-{kind}-{number}",
            title=title,
            kind=kind,
            status=status,
            tags=tags,
            created_at=when - timedelta(hours=1),
            updated_at=when,
            native=[{"tool": tool, "session_id": f"{number}", "at": "2026-11-16T00:00:00Z"}],
            messages=[
                SessionMessage(role, text, timestamp=when + timedelta(minutes=n - len(said)))
                for n, (role, text) in enumerate(said)
            ],
        )
        folder = root / "conversations" / f"{session.created_at:%Y-%m-%d}" / session.id
        (folder / ".session").mkdir(parents=True)
        (folder / ".session/session.json").write_bytes(encode_head(session))
        lines = b"".join(encode_records(session, FOLDER))
        (folder / ".session/messages.jsonl").write_bytes(lines)


async def drawn() -> str:
    picker = Picker(PickerItems.here())
    async with picker.run_test(size=(112, 33)) as pilot:
        picker.type(TYPED)
        await until(pilot, lambda: "Move checkout" in screen(picker))
        await until(pilot, lambda: "cache.clear()" in screen(picker))
        await pilot.pause(0.3)
        return _FONTS.sub("", picker.export_screenshot(title="cortext"))


@contextmanager
def at_home(folder: Path) -> Generator[None]:
    """In a project of a person of whom nothing else is known, at a time that stands still."""
    names = {"XDG_DATA_HOME": "data", "XDG_CACHE_HOME": "cache", "XDG_CONFIG_HOME": "config"}
    env = {name: str(folder / below) for name, below in names.items()}
    make_talks(folder / "shop")
    before = os.getcwd()
    with (
        patch.dict(os.environ, {**env, "HOME": str(folder), "AURORA_HOME": str(folder / "aur")}),
        patch("cortext.clock.now", lambda: NOW),
        patch("time.time", NOW.timestamp),
    ):
        os.chdir(folder / "shop")
        try:
            yield
        finally:
            os.chdir(before)


def draw() -> str:
    """The picture, as SVG."""
    with tempfile.TemporaryDirectory() as folder, at_home(Path(folder)):
        return asyncio.run(drawn())


if __name__ == "__main__":
    PICTURE.parent.mkdir(exist_ok=True)
    PICTURE.write_text(draw(), encoding="utf-8")
