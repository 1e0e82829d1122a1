"""The real `adk` command keeps its sessions in a store of ours."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cortext.adapters.session_log import id_of
from cortext.stores.log import LogStore

ROOT = Path(__file__).parents[3]
AGENT = """
from google.adk.agents import LlmAgent
from tests.adapters.google_adk.scenes import Script
root_agent = LlmAgent(name="clerk", model=Script(steps=["hello", "again"], seen=[]))
"""
SERVICES = "from cortext.adapters.google_adk import register\n\nregister()\n"


def ask(url: str, body: Any = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


@contextmanager
def server(folder: Path) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [Path(sys.executable).parent / "adk", "api_server", "--port", str(port),
               f"--session_service_uri=cortext:{folder}/kept", str(folder / "agents")]  # fmt: skip
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    with (folder / "output").open("w", encoding="utf-8") as output:
        child = subprocess.Popen(command, stdout=output, stderr=output, env=env, cwd=folder)
    try:
        deadline = time.monotonic() + 90
        while True:
            try:
                ask(f"http://127.0.0.1:{port}/list-apps")
                break
            except (urllib.error.URLError, ConnectionError):
                assert child.poll() is None, (folder / "output").read_text(encoding="utf-8")
                assert time.monotonic() < deadline
                time.sleep(0.2)
        yield f"http://127.0.0.1:{port}"
    finally:
        child.send_signal(signal.SIGTERM)
        child.wait(30)


def test_adk_api_server_stores_sessions_by_cortext_uri(tmp_path: Path) -> None:
    """`adk api_server --session_service_uri=cortext:PATH`: a session is made, run and read."""
    (tmp_path / "agents" / "shop").mkdir(parents=True)
    (tmp_path / "agents" / "shop" / "agent.py").write_text(AGENT, encoding="utf-8")
    (tmp_path / "agents" / "shop" / "__init__.py").write_text("from . import agent\n", "utf-8")
    (tmp_path / "agents" / "services.py").write_text(SERVICES, encoding="utf-8")
    with server(tmp_path) as url:
        session = f"{url}/apps/shop/users/ada/sessions/s"
        ask(session, {"lang": "no"})
        said = {"role": "user", "parts": [{"text": "hi"}]}
        given = {"appName": "shop", "userId": "ada", "sessionId": "s", "newMessage": said}
        events = ask(f"{url}/run", given)
        assert events[-1]["content"]["parts"][0]["text"] == "hello"
        assert len(ask(session)["events"]) == 2
    kept = LogStore(tmp_path / "kept").load(id_of("shop", "ada", "s"))
    assert (kept.owner, kept.title) == ("ada", "hi")
    assert [(one.role, one.content) for one in kept.messages if one.content] == [
        ("user", "hi"),
        ("assistant", "hello"),
    ]
