"""Rates and tokens by themselves."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection
from pathlib import Path

import pytest

from cortext import CortextError
from cortext.service.http.access_tokens import AccessTokens, TokenFolder, local_token, new_token
from cortext.service.http.rate_limits import Places, Rate
from tests.service.http.serve_command import Served, served, until


def test_rate_limits_each_client_separately_and_refills() -> None:
    """So many at once, then one whenever its share of a minute has passed."""
    now = [0.0]
    rate = Rate(6, lambda: now[0])
    assert [rate.wait("anna") for _ in range(7)] == [0] * 6 + [10]
    assert rate.wait("bob") == 0
    now[0] = 9.0
    assert rate.wait("anna") == pytest.approx(1)
    now[0] = 10.0
    assert (rate.wait("anna"), rate.wait("anna") > 9) == (0, True)
    now[0] = 1e6
    assert [rate.wait("anna") for _ in range(7)][-2:] == [0, 10]


def test_rate_of_zero_means_no_limit() -> None:
    rate = Rate(0)
    assert {rate.wait("anna") for _ in range(1000)} == {0}


def test_places_are_limited_per_client_and_reusable() -> None:
    """One that is full takes none from another; what is given back can be taken again."""
    places = Places(2)
    assert [places.take("anna") for _ in range(3)] == [True, True, False]
    assert places.take("bob")
    places.give_back("anna")
    assert [places.take("anna") for _ in range(2)] == [True, False]
    assert all(Places(0).take("anna") for _ in range(100))


def test_event_streams_are_capped_per_client(tmp_path: Path) -> None:
    """Above it a client is told to close one; another client is not held up."""
    bob = new_token(str(tmp_path / "data/cortext/tokens"), "bob")
    env = {"CORTEXT_SERVE_MAX_STREAMS": "2", "XDG_DATA_HOME": str(tmp_path / "data")}
    with served(tmp_path, env=env) as server, ExitStack() as stack:
        id = server.create()
        path = f"/v1/conversations/{id}/events"
        streams = [stack.enter_context(_stream(server, path, server.token)) for _ in range(2)]
        refused = server.ask("GET", path)
        assert (refused.status, refused.code) == (429, "too-many-streams")
        assert refused.headers["retry-after"] == "5"
        assert "serve.max_streams" in refused.json["hint"]
        bobs = f"/v1/conversations/{server.create(token=bob)}/events"
        stack.enter_context(_stream(server, bobs, bob))
        streams[0].close()
        until(lambda: _opens(server, path), "a place that is free again")


@contextmanager
def _stream(server: Served, path: str, token: str) -> Iterator[HTTPConnection]:
    connection = HTTPConnection("127.0.0.1", server.port, timeout=30)
    try:
        connection.request("GET", path, headers={"Authorization": f"Bearer {token}"})
        response = connection.getresponse()
        assert response.status == 200
        assert response.readline() == b"retry: 2000\n"
        response.close()
        yield connection
    finally:
        connection.close()


def _opens(server: Served, path: str) -> bool:
    connection = HTTPConnection("127.0.0.1", server.port, timeout=30)
    connection.request("GET", path, headers={"Authorization": f"Bearer {server.token}"})
    status = connection.getresponse().status
    connection.close()
    return status == 200


def test_access_tokens_map_to_owners() -> None:
    tokens = AccessTokens({"a" * 20: "", "b" * 20: "bob"})
    assert [tokens.owner(t) for t in ("a" * 20, "b" * 20, "", "b" * 19)] == ["", "bob", None, None]


def test_token_folder_follows_added_and_removed_files(tmp_path: Path) -> None:
    """A new file is a new client at once, and a removed one is none within a second."""
    now, folder = [0.0], str(tmp_path / "tokens")
    mine = local_token(folder)
    tokens = TokenFolder(folder, lambda: now[0])
    annas = new_token(folder, "anna")
    assert (tokens.owner(mine), tokens.owner(annas)) == ("", "anna")
    os.unlink(f"{folder}/anna")
    now[0] = 3.0
    assert (tokens.owner(annas), tokens.owner(mine)) == (None, "")
    assert local_token(folder) == mine


def test_unknown_tokens_cause_few_directory_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who sends many unknown ones has the files looked at some times, and then once a second."""
    now, folder, looks = [0.0], str(tmp_path / "tokens"), [0]
    local_token(folder)
    tokens = TokenFolder(folder, lambda: now[0])
    listdir = os.listdir

    def counted(path: str) -> list[str]:
        looks[0] += 1
        return listdir(path)

    monkeypatch.setattr(os, "listdir", counted)
    guesses = [f"guess{number:020}" for number in range(1000)]
    assert {tokens.owner(guess) for guess in guesses} == {None}
    assert looks[0] <= 60
    before, now[0] = looks[0], 0.5
    assert tokens.owner("") is None
    assert looks[0] == before
    annas, now[0] = new_token(folder, "anna"), 1.6
    assert tokens.owner(annas) == "anna"


def test_seal_becomes_invalid_when_its_token_is_removed(tmp_path: Path) -> None:
    """It tells whose token it was made of, and only with the same secret."""
    now, folder = [0.0], str(tmp_path / "tokens")
    tokens = TokenFolder(folder, lambda: now[0])
    annas = new_token(folder, "anna")
    seal = tokens.seal(b"secret", annas)
    assert annas not in seal
    assert tokens.owner_of_seal(b"secret", seal) == "anna"
    assert [tokens.owner_of_seal(*given) for given in ((b"other", seal), (b"secret", annas))] == [
        None,
        None,
    ]
    os.unlink(f"{folder}/anna")
    now[0] = 1.5
    assert tokens.owner_of_seal(b"secret", seal) is None


def test_stray_file_in_token_folder_is_logged_and_ignored(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It is logged and is nobody's token; others work, and can be taken back meanwhile."""
    now, folder = [0.0], tmp_path / "tokens"
    mine, annas = local_token(str(folder)), new_token(str(folder), "anna")
    tokens = TokenFolder(str(folder), lambda: now[0])
    note = folder / "note.txt"
    note.write_text("n" * 20, encoding="ascii")
    note.chmod(0o644)
    (folder / "a-folder").mkdir()
    (folder / "nowhere").symlink_to(folder / "missing")
    now[0] = 2.0
    assert [tokens.owner(t) for t in (mine, annas, "n" * 20)] == ["", "anna", None]
    assert f"other users can read the token in {note}" in caplog.text
    (folder / "anna").unlink()
    now[0] = 4.0
    assert [tokens.owner(t) for t in (mine, annas)] == ["", None]
    again = TokenFolder(str(folder), lambda: now[0])
    assert [again.owner(t) for t in (mine, annas, "n" * 20)] == ["", None, None]


def test_token_rewritten_in_place_replaces_old_token(tmp_path: Path) -> None:
    """The old one is good no more, though its folder looks as before."""
    now, folder = [0.0], str(tmp_path / "tokens")
    old = new_token(folder, "anna")
    tokens = TokenFolder(folder, lambda: now[0])
    with open(f"{folder}/anna", "r+", encoding="ascii") as file:
        file.write("n" * len(old))
    now[0] = 2.0
    assert [tokens.owner(t) for t in (old, "n" * len(old))] == [None, "anna"]


def test_token_folder_keeps_tokens_when_listing_fails(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A failing look is logged, and made again; a folder that is gone has no tokens."""
    now, folder = [0.0], tmp_path / "tokens"
    mine = local_token(str(folder))
    tokens = TokenFolder(str(folder), lambda: now[0])
    folder.rename(tmp_path / "kept")
    folder.write_text("in its place", encoding="ascii")
    now[0] = 2.0
    assert tokens.owner(mine) == ""
    assert "cannot be read" in caplog.text
    folder.unlink()
    now[0] = 4.0
    assert tokens.owner(mine) is None
    (tmp_path / "kept").rename(folder)
    now[0] = 6.0
    assert tokens.owner(mine) == ""


@pytest.mark.parametrize("text", ["", "short", "x" * 15, "with space in the middle", "é" * 20])
def test_local_token_refuses_file_with_invalid_token(tmp_path: Path, text: str) -> None:
    """A file by hand that holds nothing safe stops the server, and names itself."""
    path = tmp_path / "local"
    path.write_text(text, encoding="utf-8")
    path.chmod(0o600)
    with pytest.raises(CortextError, match="does not contain a token"):
        local_token(str(tmp_path))


def test_new_token_refuses_second_token_for_same_client(tmp_path: Path) -> None:
    new_token(str(tmp_path), "anna")
    with pytest.raises(CortextError, match="anna already has a token"):
        new_token(str(tmp_path), "anna")


def test_serve_options_bound_window_conversations_and_ttl(tmp_path: Path) -> None:
    """How many messages are shown, how many conversations there are, and how long they live."""
    bounds = ("--window", "2", "--max-conversations", "1", "--ttl", "0")
    with served(tmp_path, *bounds) as server:
        first = server.create()
        for text in ("one", "two", "three"):
            server.say(first, text)
        assert server.texts(first) == ["two", "three"]
        server.create()
        assert server.ask("GET", f"/v1/conversations/{first}").code == "not-found"
    with served(tmp_path, "--ttl", "0.2") as server:
        id = server.create()
        until(lambda: server.ask("GET", f"/v1/conversations/{id}").status == 404, "its end")
