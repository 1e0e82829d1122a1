"""`cortext serve --pages` and `cortext web --store`: what programs keep, in a browser."""

import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tests.command import SCRIPT
from tests.service.http.serve_command import PATIENCE, served, until


@pytest.mark.parametrize("workers", ["1", "2"])
def test_serve_pages_login_works_in_every_worker(tmp_path: Path, workers: str) -> None:
    """A client signs in once, and every worker knows it; the token is not in the log."""
    store = f"file:{tmp_path / 'kept'}"
    homes = {"XDG_DATA_HOME": str(tmp_path / "data")}
    made = subprocess.run(
        [SCRIPT, "serve", "--new-token", "anna"],
        env={**os.environ, **homes}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    annas = made.stdout.strip()
    args = ("--pages", "--store", store, "--workers", workers)
    with served(tmp_path, *args, env=homes) as server:
        until(lambda: any("pages: " in line for line in server.log), "the line of the pages")
        (line,) = [line for line in server.log if "pages: " in line]
        assert line.strip() == f"pages: {server.url}/ (sign in with a token)"
        id = server.create(token=annas)
        with httpx.Client(base_url=server.url, follow_redirects=True) as client:
            assert client.get("/kept").status_code == 401
            assert client.get(f"/?token={annas}").url.path == "/kept"
            # Each on a connection of its own, so that every worker is asked.
            cookies = dict(client.cookies)
        for _ in range(20):
            found = httpx.get(f"{server.url}/kept", cookies=cookies)
            assert (found.status_code, id in found.text) == (200, True)
        mine = httpx.get(f"{server.url}/", params={"token": server.token}, follow_redirects=True)
        assert mine.url.path == "/"
        assert server.token not in "".join(server.log)


def test_serve_without_pages_option_answers_404_for_pages(tmp_path: Path) -> None:
    """A token in an address opens nothing then."""
    with served(tmp_path) as server:
        for path in ("/", "/kept", f"/?token={server.token}"):
            assert server.ask("GET", path).status == 404


def test_serve_prints_login_link_on_terminal(tmp_path: Path) -> None:
    """It has the token, and opens the person's pages."""
    ours, its = pty.openpty()
    command = [SCRIPT, "serve", "--pages", "--port", "0"]
    with subprocess.Popen(command, cwd=tmp_path, stdin=subprocess.DEVNULL, stderr=its) as process:
        os.close(its)
        try:
            said = ""
            while "token=" not in said or not said.endswith("\n"):
                said += os.read(ours, 1000).decode()
            (link,) = re.findall(r"pages: (http://127.0.0.1:\d+/\?token=\w+)", said)
            opened = httpx.get(link, follow_redirects=True)
            assert opened.status_code == 200
            assert "Charts" in opened.text
        finally:
            process.terminate()
            process.wait(PATIENCE)
            os.close(ours)


def test_serve_prints_absolute_folder_of_file_store(tmp_path: Path) -> None:
    """Not as it was written, which says little without the folder that it was written in."""
    command = [SCRIPT, "serve", "--port", "0", "--store", "file:./kept"]
    with subprocess.Popen(
        command, cwd=tmp_path, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        first = process.stderr.readline()
        process.terminate()
        process.wait(PATIENCE)
    assert first.startswith(f"serving file:{tmp_path}/kept on http://127.0.0.1:")


def test_web_store_option_shows_conversations_of_store(tmp_path: Path) -> None:
    """Of all owners, beside what the machine keeps; and nothing is changed by it."""
    store = f"file:{tmp_path / 'kept'}"
    with served(tmp_path, "--store", store) as server:
        id = server.create()
        server.say(id, "Where is the bill?")
    command = [sys.executable, "-m", "cortext", "web", "--no-open", "--port", "0", "--store", store]
    with subprocess.Popen(
        command, cwd=tmp_path, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            link = process.stdout.readline().strip()
            with httpx.Client(follow_redirects=True) as client:
                listed = client.get(link)
                assert (listed.status_code, listed.url.path) == (200, "/kept")
                assert "Where is the bill?" in listed.text
                opened = client.get(listed.url.join(f"/kept/{id}"))
                assert "Where is the bill?" in opened.text
                assert client.get(listed.url.join("/")).status_code == 200
                assert client.get(listed.url.join("/kept/x")).status_code == 404
        finally:
            process.send_signal(signal.SIGINT)
            assert process.wait(PATIENCE) in (0, 130, -signal.SIGINT)


@pytest.mark.parametrize(
    ("store", "said"),
    [
        ("memory:", "a memory: store exists only inside its program"),
        ("file:./nowhere", "there is no folder "),
        ("nothing", "not a conversation store: 'nothing'"),
        ("redis://u:secret@127.0.0.1:port", "the port is not a number"),
    ],
)
def test_web_refuses_store_that_cannot_be_shown(tmp_path: Path, store: str, said: str) -> None:
    """One sentence, and nothing is served or made."""
    command = [SCRIPT, "web", "--no-open", "--store", store]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert "secret" not in done.stderr
    assert list(tmp_path.iterdir()) == []
