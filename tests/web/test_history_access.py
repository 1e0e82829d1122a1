"""What this machine keeps of its person's conversations is in the pages of a service only where
somebody asked for that, and for that person alone."""

from pathlib import Path
from typing import Any

import pytest

from cortext import CortextError, MemoryConversationStore
from cortext.asgi import create_app
from tests.service.stores.loops import in_loop
from tests.web import stories
from tests.web.page_requests import browsing

LOCAL = "l" * 24
OURS = ("/", "/?q=rounding", "/charts", "/usage", "/?kind=debug")


@pytest.fixture(autouse=True)
def history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine on which something was said."""
    monkeypatch.chdir(tmp_path)
    stories.checkout(stories.workspace(tmp_path / "shop"))


@pytest.mark.parametrize(
    "arguments",
    [
        {"owner_of": lambda _scope: ""},
        {"owner_of": lambda _scope: "anna"},
        {},
        {"tokens": {LOCAL: ""}},
    ],
    ids=["owner_of nobody", "owner_of anna", "loopback", "token of the owner nobody"],
)
@in_loop
async def test_pages_hide_machine_history_by_default(arguments: dict[str, Any]) -> None:
    """Whoever asks, `/` leads to what the service keeps, and all else of it is not there."""
    service = create_app(MemoryConversationStore(), pages=True, **arguments)
    async with browsing(service) as client:
        client.headers["Authorization"] = f"Bearer {LOCAL}"
        for path in OURS:
            found = await client.get(path)
            assert "Checkout" not in found.text
            if path in ("/charts", "/usage"):
                assert found.status_code == 404
            else:
                assert (found.status_code, found.headers["location"]) == (303, "/kept")
        assert (await client.get("/c/0123456789abcdef")).status_code == 404
        listed = await client.get("/kept")
        assert listed.status_code == 200
        assert "/charts" not in listed.text


@in_loop
async def test_sessions_option_shows_history_to_local_token_only() -> None:
    """With `sessions` the owner "" does, as at `/v1/sessions`; a client does not."""
    tokens = {LOCAL: "", "c" * 24: "client"}
    service = create_app(MemoryConversationStore(), tokens=tokens, sessions=True, pages=True)
    async with browsing(service) as client:
        for token, has_it in ((LOCAL, True), ("c" * 24, False)):
            client.headers["Authorization"] = f"Bearer {token}"
            assert ("Checkout" in (await client.get("/")).text) is has_it
            assert (await client.get("/v1/sessions")).status_code == (200 if has_it else 403)


def test_create_app_refuses_sessions_with_owner_of() -> None:
    """Both together are refused at the call: one mistake in `owner_of` would open everything."""
    with pytest.raises(CortextError, match="sessions and owner_of cannot be combined"):
        create_app(MemoryConversationStore(), owner_of=lambda _scope: "", sessions=True, pages=True)


@in_loop
async def test_store_error_page_hides_store_address_without_sessions() -> None:
    """Also not the owner "", who may be anybody behind a proxy."""
    from cortext import SessionStorageError

    class Down(MemoryConversationStore):
        async def list(self, **_options: Any) -> Any:
            raise SessionStorageError("no answer from Redis at 10.0.0.7:6379 within 5 s")

    async with browsing(create_app(Down(), pages=True)) as client:
        found = await client.get("/kept")
    assert (found.status_code, "10.0.0.7" in found.text) == (503, False)
