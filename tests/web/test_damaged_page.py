"""A conversation whose file is damaged, as its page shows it."""

import re
from pathlib import Path

import pytest

from cortext import MemoryConversationStore
from cortext.asgi import create_app
from tests.service.stores.loops import in_loop
from tests.web import stories
from tests.web.page_requests import browsing


@pytest.mark.parametrize(
    ("added", "said"),
    [
        (b'{"broken\n', "Some parts of this conversation could not be read."),
        (b'{"role": "user", "content": "x"', "no complete message is missing"),
    ],
)
@in_loop
async def test_damaged_conversation_page_names_damage_and_shows_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, added: bytes, said: str
) -> None:
    """Whether something is missing, in which line, and what helps; all else is shown."""
    monkeypatch.chdir(tmp_path)
    folder = stories.checkout(stories.workspace(tmp_path / "shop"))
    lines = folder / ".session/messages.jsonl"
    lines.write_bytes(lines.read_bytes() + added)
    service = create_app(MemoryConversationStore(), sessions=True, pages=True)
    async with browsing(service) as client:
        listed = (await client.get("/")).text
        [path] = set(re.findall(r"/c/[0-9a-f]+", listed))
        page = (await client.get(path)).text
    damage = page.partition('<div class="damage">')[2].partition("</div>")[0]
    assert said in damage
    assert "<code>cortext doctor</code>" in damage
    assert re.search(r"line 10 of <bdi>messages\.jsonl</bdi>: \w", damage)
    assert "fails for the right reason" in page
