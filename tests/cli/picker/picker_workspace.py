"""A workspace to pick from, made by the real commands, and the picker over it."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from textual.pilot import Pilot

from cortext.catalog.row import ConversationRow
from cortext.cli.picker.picker_app import Picker
from cortext.cli.picker.picker_items import Chosen, PickerItems

Story = Callable[[Pilot[Chosen | None], Picker], Awaitable[None]]
PATIENCE = 60.0


def play(story: Story, *, size: tuple[int, int] = (110, 30), everywhere: bool = False) -> Picker:
    """The picker, while something is done with it; as it is afterwards."""
    shelf = PickerItems.everywhere() if everywhere else PickerItems.here()
    picker = Picker(shelf)

    async def run() -> None:
        async with picker.run_test(size=size) as pilot:
            await pilot.pause()
            await story(pilot, picker)

    asyncio.run(run())
    return picker


async def until(pilot: Pilot[Chosen | None], holds: Callable[[], bool]) -> None:
    """Wait for what comes from another thread."""
    end = asyncio.get_running_loop().time() + PATIENCE
    while not holds():
        assert asyncio.get_running_loop().time() < end, screen(pilot.app)
        await pilot.pause(0.02)


async def shows(pilot: Pilot[Chosen | None], *texts: str) -> None:
    await until(pilot, lambda: all(text in screen(pilot.app) for text in texts))


def screen(app: object) -> str:
    """What a person sees, line by line."""
    picker = app
    assert isinstance(picker, Picker)
    lines = picker.screen._compositor.render_strips()
    return "\n".join(line.text.rstrip() for line in lines)


def titles(picker: Picker) -> list[str]:
    """The list from top to bottom, with what stands between its parts."""
    return [
        row.title if isinstance(row, ConversationRow) else f"-- {row}" for row in picker.rows.items
    ]


def make_workspace(folder: Path) -> Path:
    (folder / ".workspace").mkdir(parents=True)
    return folder
