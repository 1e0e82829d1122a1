"""Commands that take a store, with one on a real server."""

import json
import os
from pathlib import Path

import pytest

from cortext import Session, SessionMessage, open_session_store
from tests.command import cortext, ok
from tests.service.stores.conftest import postgres_server as postgres_server
from tests.service.stores.conftest import redis_server as redis_server
from tests.service.stores.servers import free_port

_spaces = iter(range(10**6))


@pytest.fixture(params=["redis", "postgres"])
def url(request: pytest.FixtureRequest) -> str:
    """A space of its own on each kind of server."""
    server = request.getfixturevalue(f"{request.param}_server")
    return f"{server.url}/cli{os.getpid()}-{next(_spaces)}"


def said(id: str, text: str) -> Session:
    return Session(id, title=f"About {id}", messages=[SessionMessage("user", text)])


def put(url: str, session: Session) -> None:
    store = open_session_store(url)
    store.save(session)
    store.close()


def texts(url: str, id: str) -> list[str]:
    store = open_session_store(url)
    found = [message.content for message in store.load(id).messages]
    store.close()
    return found


def test_copy_to_server_and_back_keeps_session_equal(tmp_path: Path, url: str) -> None:
    """Equal, both ways, and a second copy has nothing to do."""
    put("log:" + str(tmp_path / "here"), said("pond", "How deep?"))
    here, back = f"log:{tmp_path}/here", f"log:{tmp_path}/back"
    assert ok(tmp_path, "copy", here, url) == "1 copied, 0 already up to date, 0 not copied\n"
    assert ok(tmp_path, "copy", here, url) == "0 copied, 1 already up to date, 0 not copied\n"
    assert ok(tmp_path, "copy", url, back) == "1 copied, 0 already up to date, 0 not copied\n"
    assert open_session_store(back).load("pond") == open_session_store(here).load("pond")


def test_list_show_and_export_work_on_server_store(tmp_path: Path, url: str) -> None:
    """By the beginning of its id; exported too."""
    put(url, said("pond", "How deep?"))
    [row] = json.loads(ok(tmp_path, "list", "--store", url, "--json"))
    assert (row["id"], row["title"], row["message_count"]) == ("pond", "About pond", 1)
    assert "How deep?" in ok(tmp_path, "show", "po", "--store", url)
    assert "How deep?" in ok(tmp_path, "export", "po", "--store", url)
    assert cortext(tmp_path, "show", "nobody", "--store", url).returncode == 3


def test_list_reports_empty_server_store_without_error(tmp_path: Path, url: str) -> None:
    """Nothing there is no error, and is not silent."""
    done = cortext(tmp_path, "list", "--store", url)
    assert (done.returncode, done.stdout) == (0, "")
    assert "No sessions in" in done.stderr
    assert "`cortext web --store URL` shows them" in done.stderr


@pytest.mark.parametrize("to_server", [True, False])
def test_copy_refuses_different_session_with_same_id(
    tmp_path: Path, url: str, to_server: bool
) -> None:
    """The one in the target is left as it was, and named; also one without a message."""
    folder = f"log:{tmp_path}/here"
    source, target = (folder, url) if to_server else (url, folder)
    put(target, said("pond", "theirs"))
    put(target, Session("bare", title="Theirs"))
    put(source, said("pond", "ours"))
    put(source, said("bare", "ours"))
    done = cortext(tmp_path, "copy", source, target)
    assert (done.returncode, done.stdout) == (1, "0 copied, 0 already up to date, 2 not copied\n")
    assert "not copied: pond (the target has a different session with this id)" in done.stderr
    assert (texts(target, "pond"), texts(target, "bare")) == (["theirs"], [])


def test_unreachable_server_error_has_address_but_no_password(tmp_path: Path) -> None:
    """With its address and a hint, for each command, and no traceback."""
    url = f"redis://:secret@127.0.0.1:{free_port()}/0"
    done = cortext(tmp_path, "list", "--store", url)
    assert done.returncode == 1
    assert "no answer from Redis at 127.0.0.1" in done.stderr
    assert "hint:" in done.stderr
    assert "secret" not in done.stderr
    assert "Traceback" not in done.stderr


def test_memory_store_is_refused_with_its_reason(tmp_path: Path) -> None:
    done = cortext(tmp_path, "list", "--store", "memory:")
    reason = "memory: exists only inside one program, so no command can read it"
    assert (done.returncode, reason in done.stderr) == (2, True)


def test_unknown_redis_host_is_named_once(tmp_path: Path) -> None:
    done = cortext(tmp_path, "list", "--store", "redis://no.such.host.invalid:1/0")
    assert (done.returncode, done.stderr.count("no.such.host.invalid")) == (1, 1)
