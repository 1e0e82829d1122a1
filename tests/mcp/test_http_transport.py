"""The server over HTTP: on loopback, with a token, and for no page in a browser."""

import http.client
import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import anyio
import httpx2
import pytest
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

from tests.command import SCRIPT, cortext
from tests.mcp.mcp_client import facts
from tests.mcp.tool_names import TOOLS

CALL = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})


class Served(NamedTuple):
    port: int
    token: str

    def post(
        self, body: str = CALL, *, method: str = "POST", twice: str = "", **headers: str
    ) -> int:
        """The status of a request with these headers beside those that it needs; one of them may
        be there `twice`, first as it should be."""
        given = {
            "Host": f"127.0.0.1:{self.port}",
            "Authorization": f"Bearer {self.token}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            **{name.replace("_", "-"): value for name, value in headers.items()},
        }
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            kept = {name: value for name, value in given.items() if value}
            connection.putrequest(method, "/mcp", skip_host=True, skip_accept_encoding=True)
            if twice:
                right = {"Host": f"127.0.0.1:{self.port}", "Authorization": f"Bearer {self.token}"}
                connection.putheader(twice, right[twice])
            for name, value in {**kept, "Content-Length": str(len(body))}.items():
                connection.putheader(name, value)
            connection.endheaders(body.encode())
            return connection.getresponse().status
        finally:
            connection.close()


@pytest.fixture
def served(workspace: Path) -> Iterator[Served]:
    process = subprocess.Popen(
        [SCRIPT, "mcp", "--http", "0"],
        cwd=workspace,
        env=os.environ,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
    )
    assert process.stderr is not None
    with process:
        found = re.search(r"http://127\.0\.0\.1:(\d+)/mcp", process.stderr.readline())
        token = process.stderr.readline().removeprefix("token: ").strip()
        assert found
        yield Served(int(found[1]), token)
        process.terminate()


def test_official_client_works_over_http(served: Served) -> None:
    async def run() -> tuple[list[str], int]:
        headers = {"Authorization": f"Bearer {served.token}"}
        async with httpx2.AsyncClient(headers=headers) as web:
            transport = streamable_http_client(
                f"http://127.0.0.1:{served.port}/mcp", http_client=web
            )
            async with Client(transport) as client:
                tools = [tool.name for tool in (await client.list_tools()).tools]
                found = await client.call_tool("search_workspace", {"query": "cursors"})
                return tools, len(facts(found)["hits"])

    assert anyio.run(run) == (TOOLS, 1)


def test_http_server_refuses_wrong_token_host_or_origin(served: Served) -> None:
    """No token, a wrong one, another name for this host, and a page of any origin."""
    assert served.post() not in (401, 403)
    assert served.post(Authorization="") == 401
    assert served.post(Authorization=f"Bearer {served.token}x") == 401
    assert served.post(Authorization=served.token) == 401
    assert served.post(Host=f"evil.example:{served.port}") == 403
    assert served.post(Host="127.0.0.1") == 403
    assert served.post(Host="") in (400, 403)
    assert served.post(Origin="null") == 403
    assert served.post(Origin="http://evil.example") == 403
    assert served.post(Origin="http://evil.example", Authorization="") == 403
    assert served.post(Content_Type="text/plain") in (400, 415)


def test_http_server_checks_hold_for_every_method_and_double_headers(served: Served) -> None:
    """Not by another method, nor by a token in the address, nor by a header that is there twice:
    one reader would take the first, another the last."""
    for method in ("GET", "DELETE", "OPTIONS", "PUT"):
        assert served.post(method=method, Authorization="") == 401
        assert served.post(method=method, Host=f"rebound.example:{served.port}") == 403
        assert served.post(method=method, Origin="https://evil.example") == 403
    assert served.post(twice="Host", Host=f"rebound.example:{served.port}") in (400, 403)
    assert served.post(twice="Authorization", Authorization="Bearer wrong") == 401
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=30)
    connection.request("POST", f"/mcp?token={served.token}", CALL)
    assert connection.getresponse().status == 401
    connection.close()


def test_mcp_refuses_to_listen_on_other_addresses(tmp_path: Path) -> None:
    for where in ("0.0.0.0:0", "[::]:0", "-1", "65536"):
        done = cortext(tmp_path, "mcp", "--http", where)
        assert (done.returncode, done.stdout) == (2, "")
        assert "Traceback" not in done.stderr


def test_http_server_listens_on_loopback_only(served: Served) -> None:
    """As the kernel has it, and no option says otherwise."""
    lines = Path("/proc/net/tcp").read_text(encoding="ascii").split("\n")[1:]
    listening = [line.split()[1] for line in lines if line and line.split()[3] == "0A"]
    here = [each for each in listening if int(each.partition(":")[2], 16) == served.port]
    assert here == [f"0100007F:{served.port:04X}"]


def test_mcp_reports_short_token_and_port_in_use(served: Served, workspace: Path) -> None:
    done = cortext(workspace, "mcp", "--http", "0", env={"CORTEXT_MCP_TOKEN": "short"})
    assert (done.returncode, "hint: use at least 16" in done.stderr) == (1, True)
    done = cortext(workspace, "mcp", "--http", str(served.port))
    assert f"error: cannot listen on 127.0.0.1:{served.port}: address already in use" in done.stderr
    assert "hint: `--http 0` uses any free port" in done.stderr
