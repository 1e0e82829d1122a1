"""What the service refuses, and in which words: the codes are a promise."""

import json
import socket
import uuid
from pathlib import Path
from typing import Any

import pytest

from tests.command import cortext, ok
from tests.service.http.serve_command import Reply, Served, served, until

BIG = 1 << 20


@pytest.fixture
def id(server: Served) -> str:
    return server.create()


def _post(server: Served, id: str, body: Any, **headers: str | None) -> Reply:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return server.ask("POST", f"/v1/conversations/{id}/messages", body, headers=named)


@pytest.mark.parametrize(
    "body",
    [
        {"role": "root", "content": "x"},
        {"role": "user"},
        {"content": "x"},
        {"role": "user", "content": 5},
        {"role": "user", "content": ["x"]},
        {"role": "user", "content": "x", "id": ""},
        {"role": "user", "content": "x", "id": "x" * 257},
        {"role": "user", "content": "x", "timestamp": "yesterday"},
        {"role": "user", "content": "x", "lc": 1, "type": "constructor", "id": ["langchain"]},
        {"role": "user", "content": "x", "__class__": "os.system"},
        {"role": "user", "content": "x", "owner": "anna"},
        [],
        "text",
        7,
        b"{",
        b"\xff\xfe",
        b'{"role": "user", "content": "x", "structuredData": NaN}',
        b'{"role": "user", "content": "x", "structuredData": 1e999}',
        b'{"role": "user", "content": "x", "structuredData": %b}' % (b"[" * 99_999 + b"]" * 99_999),
        b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    ],
    ids=lambda body: repr(body)[:40],
)  # fmt: skip
def test_post_refuses_invalid_message_and_stores_nothing(
    server: Served, id: str, body: Any
) -> None:
    """With 400 and a reason, and nothing is stored."""
    refused = _post(server, id, body)
    assert (refused.status, refused.code) == (400, "bad-request")
    assert refused.json["detail"]
    assert server.texts(id) == []


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"role": "bot", "content": "x"}, "valid roles are assistant, system, tool, user"),
        ({"role": 7, "content": "x"}, "valid roles are assistant, system, tool, user"),
        (
            {"role": "user", "content": "x", "structured_data": {}},
            "unknown field `structured_data`: did you mean `structuredData`?",
        ),
        ({"role": "user"}, "missing required field `content`"),
        ({"role": "user", "content": "x", "zzz": 1}, "valid names are role, content, timestamp, "),
    ],
)
def test_refused_message_detail_names_valid_fields_and_roles(
    server: Served, id: str, body: Any, said: str
) -> None:
    """Not only what is wrong."""
    reply = server.ask("POST", f"/v1/conversations/{id}/messages", body)
    assert (reply.status, said in reply.json["detail"]) == (400, True), reply.json


def test_post_refuses_message_without_body(server: Served, id: str) -> None:
    refused = _post(server, id, b"")
    assert (refused.code, refused.json["detail"]) == (
        "bad-request",
        "the request needs a JSON body",
    )


def test_structured_data_round_trips_as_plain_data(server: Served, id: str) -> None:
    """What other programs would make objects of comes back as it was."""
    data = {
        "lc": 1,
        "type": "constructor",
        "id": ["langchain", "llms", "OpenAI"],
        "kwargs": {"__class__": "subprocess.Popen", "py/object": "os.system"},
        "$ref": "file:///etc/passwd",
    }
    body = {"role": "assistant", "content": "x", "structuredData": data}
    assert _post(server, id, body).json["structuredData"] == data
    found = server.ask("GET", f"/v1/conversations/{id}").json
    assert found["messages"][0]["structuredData"] == data


def test_metadata_round_trips_as_plain_data_and_refuses_other_shapes(server: Served) -> None:
    """As structured data is; what is too deep, or no object, is refused."""
    data = {"lc": 1, "type": "constructor", "id": ["x"], "__class__": "os.system", "owner": "anna"}
    made = server.ask("POST", "/v1/conversations", {"metadata": data})
    assert (made.status, made.json["metadata"]) == (201, data)
    assert made.json.get("owner", "") == ""
    deep = b'{"metadata": {"a": %b}}' % (b"[" * 99_999 + b"]" * 99_999)
    for body in (deep, {"metadata": 7}, {"metadata": ["x"]}, {"owner": 7}, {"lc": 1}):
        refused = server.ask("POST", "/v1/conversations", body)
        assert (refused.status, refused.code) == (400, "bad-request")


@pytest.mark.parametrize(
    "path",
    [
        "../../etc/passwd", "..%2f..%2fetc%2fpasswd", "%2e%2e%2f", "..", "%2e%2e", "a%00b",
        "%ff", "a%0ab", "-x", "_x", "x" * 129, "%F0%9F%98%80", "a b".replace(" ", "%20"),
        "....//....//etc", "C:%5cwindows",
    ],
)  # fmt: skip
@pytest.mark.parametrize("rest", ["", "/messages", "/summary", "/events"])
def test_routes_refuse_invalid_conversation_id(server: Served, path: str, rest: str) -> None:
    """Traversal and other strange names are 400 or 404, never a file and never an error of ours."""
    refused = server.ask("GET", f"/v1/conversations/{path}{rest}")
    assert (refused.status, refused.code) in (
        (400, "invalid-id"),
        (404, "no-such-path"),
        (404, "not-found"),
        (400, "bad-request"),
    )


def test_post_refuses_body_above_size_limit(server: Served, id: str) -> None:
    """By what its header says, and by what comes when there is no header."""
    body = json.dumps({"role": "user", "content": "x" * BIG}).encode()
    assert _post(server, id, body).code == "too-large"
    with socket.create_connection(("127.0.0.1", server.port), 30) as raw:
        head = (
            f"POST /v1/conversations/{id}/messages HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
            f"Authorization: Bearer {server.token}\r\nContent-Type: application/json\r\n"
            "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
        )
        raw.sendall(head.encode())
        try:
            for start in range(0, len(body), 65536):
                part = body[start : start + 65536]
                raw.sendall(f"{len(part):x}\r\n".encode() + part + b"\r\n")
            raw.sendall(b"0\r\n\r\n")
        except (BrokenPipeError, ConnectionResetError):
            pass
        answer = raw.makefile("rb").read()
    assert b" 413 " in answer.partition(b"\r\n")[0]
    assert b'"too-large"' in answer
    assert server.texts(id) == []


@pytest.mark.parametrize(
    "kind",
    ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x",
     "application/json; charset=utf-16", "application/xml", "", None],
)  # fmt: skip
def test_post_refuses_content_type_other_than_json(
    server: Served, id: str, kind: str | None
) -> None:
    """Also what a form of another page can send is refused, with 415."""
    refused = _post(server, id, {"role": "user", "content": "x"}, Content_Type=kind)
    assert (refused.status, refused.code) == (415, "unsupported-media-type")


def test_compressed_bodies_are_refused(server: Served, id: str) -> None:
    refused = _post(server, id, {"role": "user", "content": "x"}, Content_Encoding="gzip")
    assert refused.code == "unsupported-media-type"


def test_every_data_route_needs_the_token(server: Served, id: str) -> None:
    """No token, a wrong one, and one in the wrong place are the same 401, before anything else."""
    routes = [
        ("POST", "/v1/conversations"), ("GET", "/v1/conversations"),
        ("GET", f"/v1/conversations/{id}"), ("DELETE", f"/v1/conversations/{id}"),
        ("GET", f"/v1/conversations/{id}/messages"), ("GET", f"/v1/conversations/{id}/summary"),
        ("GET", f"/v1/conversations/{id}/events"), ("GET", "/v1/sessions"),
        ("GET", "/v1/search?q=x"), ("GET", "/v1/nothing"),
    ]  # fmt: skip
    for method, path in routes:
        for token in ("", "x", server.token[:-1], server.token + "x", server.token.upper()):
            refused = server.ask(method, path, token=token)
            assert (refused.status, refused.code) == (401, "unauthorized"), (path, token)
            assert refused.headers["www-authenticate"] == "Bearer"
        bare = server.ask(method, path, headers={"Authorization": server.token})
        assert bare.status == 401
    for path in ("//v1/sessions", "/%2Fv1/sessions", "//v1/conversations", "//v1/search?q=x"):
        assert server.ask("GET", path, token="").code == "no-such-path"
    assert server.ask("GET", f"/v1/conversations/{id}").status == 200
    assert server.ask("GET", f"/v1/conversations/{id}?token={server.token}", token="").status == 401


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:{port}", "127.0.0.1.evil.example", "localhost.evil.example",
     "127.0.0.1:80@evil.example", "169.254.169.254", "0.0.0.0:{port}", "192.168.0.1:{port}",
     "[::ffff:1.2.3.4]", "127.0.0.1, evil.example", "evil.example/127.0.0.1", "2130706433", "x y"],
)  # fmt: skip
def test_server_refuses_foreign_host_header(server: Served, id: str, host: str) -> None:
    """A page whose name was made to point here gets nothing, with or without the token."""
    named = {"Host": host.format(port=server.port)}
    for path in (f"/v1/conversations/{id}", "/healthz", "/schema"):
        refused = server.ask("GET", path, headers=named)
        assert (refused.status, refused.code) == (403, "wrong-host")


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost:{port}", "LocalHost", "[::1]:{port}"])
def test_server_accepts_host_names_of_this_machine(server: Served, host: str) -> None:
    found = server.ask("GET", "/v1/conversations", headers={"Host": host.format(port=server.port)})
    assert found.status == 200


def test_server_refuses_two_host_headers(server: Served) -> None:
    with socket.create_connection(("127.0.0.1", server.port), 30) as raw:
        raw.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: evil.example\r\n\r\n")
        assert raw.recv(4096).split(b" ")[1] in (b"400", b"403")


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "null", "https://127.0.0.1.evil.example", "http://localhost:1",
     "file://", "http://127.0.0.1", ""],
)  # fmt: skip
def test_server_refuses_requests_from_other_origins(server: Served, id: str, origin: str) -> None:
    """A form or a script elsewhere in the browser, even with the token; and no CORS header."""
    body = {"role": "user", "content": "x"}
    refused = _post(server, id, body, Origin=origin)
    assert (refused.status, refused.code) == (403, "wrong-origin")
    form = _post(
        server, id, b"role=user&content=x", Origin=origin, Authorization=None,
        Content_Type="application/x-www-form-urlencoded",
    )  # fmt: skip
    assert form.status == 403
    asked = server.ask("OPTIONS", "/v1/conversations", headers={"Origin": origin})
    assert asked.status == 403
    for reply in (refused, form, asked):
        assert not [name for name in reply.headers if name.startswith("access-control")]
    assert server.texts(id) == []


def test_server_accepts_requests_from_its_own_origin(server: Served, id: str) -> None:
    own = f"http://127.0.0.1:{server.port}"
    assert _post(server, id, {"role": "user", "content": "x"}, Origin=own).status == 201


def test_unknown_path_method_or_bad_limit_answers_problem_code(server: Served, id: str) -> None:
    assert server.ask("GET", "/nothing").code == "no-such-path"
    assert server.ask("GET", "/v2/conversations").code == "no-such-path"
    assert server.ask("PUT", f"/v1/conversations/{id}").code == "method-not-allowed"
    for query in ("limit=-1", "limit=x", "limit=1001", "limit=1.5"):
        assert server.ask("GET", f"/v1/conversations/{id}/messages?{query}").code == "bad-request"


def test_foreign_conversation_answers_like_missing_conversation(tmp_path: Path) -> None:
    """A foreign id is the same 404 as a missing one, on every verb; a token can be taken back."""
    with served(tmp_path) as server:
        anna, bob = (ok(tmp_path, "serve", "--new-token", n).strip() for n in ("anna", "bob"))
        until(lambda: server.ask("GET", "/v1/conversations", token=bob).status == 200, "a token")
        id = server.create(token=anna)
        missing = str(uuid.uuid4())
        body = {"role": "user", "content": "x"}
        for token in (bob, server.token):
            for method, rest, sent in [
                ("GET", "", None), ("GET", "/messages", None), ("GET", "/summary", None),
                ("GET", "/events", None), ("DELETE", "", None), ("POST", "/messages", body),
            ]:  # fmt: skip
                foreign, none = (
                    server.ask(method, f"/v1/conversations/{each}{rest}", sent, token=token)
                    for each in (id, missing)
                )
                assert (foreign.status, foreign.code) == (404, "not-found")
                assert foreign.body.replace(id.encode(), missing.encode()) == none.body
                assert foreign.headers.keys() == none.headers.keys()
            loaded = server.ask("POST", "/v1/conversations", {"conversationId": id}, token=token)
            assert (loaded.status, loaded.json["id"] != id) == (201, True)
            listed = server.ask("GET", "/v1/conversations", token=token).json["conversations"]
            assert id not in [entry["id"] for entry in listed]
        assert server.ask("GET", f"/v1/conversations/{id}", token=anna).json["messages"] == []
        (server.tokens / "anna").unlink()
        until(lambda: server.ask("GET", "/v1/conversations", token=anna).status == 401, "its end")


def test_local_token_is_private_and_survives_restart(tmp_path: Path, data_home: Path) -> None:
    with served(tmp_path) as server:
        first = server.token
        assert server.tokens == data_home / "cortext/tokens"
        assert len(first) == 48
        modes = [path.stat().st_mode & 0o777 for path in (server.tokens, server.tokens / "local")]
        assert modes == [0o700, 0o600]
    with served(tmp_path) as server:
        assert server.token == first
    (server.tokens / "local").chmod(0o644)
    done = cortext(tmp_path, "serve", "--port", "0")
    assert (done.returncode, "other users can read the token" in done.stderr) == (1, True)


def test_serve_refuses_public_address_until_a_token_exists(tmp_path: Path) -> None:
    """Without one nothing listens; with one, addresses and given names are hosts."""
    done = cortext(tmp_path, "serve", "--host", "0.0.0.0", "--port", "0")
    assert done.returncode == 1
    assert (
        "there is no token yet\nhint: make a token first: `cortext serve --new-token" in done.stderr
    )
    token = ok(tmp_path, "serve", "--new-token", "anna").strip()
    args = ("--host", "0.0.0.0", "--allow-host", "chat.example")
    with served(tmp_path, *args) as server:
        for host, status in [
            ("chat.example", 200), ("10.1.2.3:80", 200), ("evil.example", 403),
        ]:  # fmt: skip
            asked = server.ask("GET", "/v1/conversations", token=token, headers={"Host": host})
            assert asked.status == status
        assert server.ask("GET", "/v1/conversations", token="").status == 401


def test_rate_setting_limits_requests_per_client(tmp_path: Path) -> None:
    """Over it there is 429 and when to come again, for that client only."""
    with served(tmp_path, env={"CORTEXT_SERVE_RATE": "5"}) as server:
        anna = ok(tmp_path, "serve", "--new-token", "anna").strip()
        replies = [server.ask("GET", "/v1/conversations") for _ in range(7)]
        assert [reply.status for reply in replies] == [200] * 5 + [429] * 2
        assert replies[-1].code == "too-many-requests"
        assert 1 <= int(replies[-1].headers["retry-after"]) <= 13
        until(lambda: server.ask("GET", "/v1/conversations", token=anna).status == 200, "a token")
        assert server.ask("GET", "/healthz").status == 200


def test_max_body_setting_limits_message_size(tmp_path: Path) -> None:
    with served(tmp_path, env={"CORTEXT_SERVE_MAX_BODY": "1024"}) as server:
        id = server.create()
        assert server.say(id, "x" * 500).status == 201
        assert server.say(id, "x" * 1024).code == "too-large"


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--store", "nothing:"), "not a conversation store"),
        (("--store", "file:"), "needs a path"),
        (("--workers", "2"), "several workers cannot share the store memory:"),
        (("--host", "no.such.host.invalid"), "other machines can reach"),
        (("--new-token", "../x"), "is not a valid name"),
    ],
)
def test_serve_refuses_invalid_options_in_one_sentence(
    tmp_path: Path, args: tuple[str, ...], said: str
) -> None:
    """In one sentence, before anything listens."""
    done = cortext(tmp_path, "serve", "--port", "0", *args)
    assert done.returncode in (1, 2)
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_serve_reports_port_in_use_with_hint(server: Served, tmp_path: Path) -> None:
    done = cortext(tmp_path, "serve", "--port", str(server.port))
    assert "address already in use\nhint: `--port 0` uses any free port" in done.stderr
