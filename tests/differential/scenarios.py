"""What people type, feature by feature, on a home where all four AI tools were used."""

import json
from typing import Any, NamedTuple

from tests import homes

CLAUDE, CODEX, GEMINI, OPENCODE = (homes.said(tool)[0] for tool in homes.VERSIONS)
API = "001-brainstorm-api-design"
CACHE = "002-debug-cache"
# In parts: this file holds no secret.
SECRET = "sk-ant-" + "api03-" + "q7Wn2Zx9Lk4Tb8Vr3Mp6Yd1Hs5Jc0Gf" + "EuXoKqWvB"
EXPORTED = "exported.json"


class Step(NamedTuple):
    """A command, its standard input, and whether it prints JSON."""

    words: tuple[str, ...]
    stdin: str = ""
    is_json: bool = False
    program: str = "cortext"


def run(*words: str, stdin: str = "") -> Step:
    return Step(words, stdin)


def read(*words: str) -> Step:
    """A command whose JSON is compared."""
    return Step((*words, "--json"), is_json=True)


def hook(tool: str, event: str, **payload: Any) -> Step:
    return Step(("hook", tool, event), stdin=json.dumps(payload))


def python(program: str) -> Step:
    return Step(("-c", program), program="python", is_json=True)


LISTS = [read("list"), read("list", "--all"), read("resume", "--list")]
BEGIN = [
    run("init"),
    run("new", "brainstorm", "API design"),
    run("new", "debug", "Cache"),
]
SESSIONS = """
import json, sys, os
from cortext import SessionIndex, SessionManager, SessionStorage
storage = SessionStorage(os.path.expanduser("~/documents"))
manager = SessionManager(storage, auto_save_interval=0)
for title, tag in (("First", "python"), ("Second", "api")):
    session = manager.create(title=title, model="m", tags=[tag], working_dir="/w")
    manager.add_message("user", f"{title} question")
    manager.record_tool_call("bash", {"command": "ls"}, result={"output": "x"})
    manager.update_usage(100, 50)
    manager.save()
manager.close()
rows = [row.to_dict() for row in manager.list_sessions(sort_by="title")]
print(json.dumps({"rows": rows, "ids": len(storage.list_session_ids())}))
"""
STORES = """
import json, os
from cortext import SessionMessage, Session, open_session_store
out = {}
for url in ("log:logs", "document:documents", "workspace:."):
    store = open_session_store(url)
    id = "001-plan-kept" if url == "workspace:." else "kept"
    store.save(Session(id, title="Kept", kind="plan", messages=[]))
    one, two = SessionMessage("user", "one", id="a"), SessionMessage("assistant", "two", id="b")
    store.append(id, one, two)
    store.append(id, one)
    out[url] = [m.content for m in store.tail(id, 5)]
print(json.dumps(out))
"""

SCENARIOS: dict[str, list[Step]] = {
    "lists": [*LISTS, run("sync", "--quiet"), *LISTS, read("list", "--tool", "codex", "--all")],
    "tool sessions": [
        step
        for id in (CLAUDE, CODEX, GEMINI, OPENCODE)
        for step in (read("show", id), run("export", id, "--format", "json", "-o", f"{id}.json"))
    ],
    "search": [
        run("sync", "--quiet"),
        read("search", "zyzzyvaphobia"),
    ],
    "life of a conversation": [
        *BEGIN,
        *LISTS,
        run("rename", API, "API", "plans"),
        run("tag", API, "rest", "later"),
        run("stop", API),
        read("show", API),
        run("done", CACHE),
        run("done", API),
        run("stop", CACHE),
        *LISTS,
        run("fork", API),
        *LISTS,
    ],
    "trash": [
        *BEGIN,
        run("delete", API),
        run("delete", API, "--yes"),
        read("trash", "list"),
        *LISTS,
        run("trash", "restore", "1"),
        read("show", API),
        run("delete", CLAUDE, "--yes"),
        read("list", "--all"),
        read("trash", "list"),
        run("trash", "empty", "--yes"),
        read("trash", "list"),
    ],
    "import and export": [
        run("init"),
        run("import", CLAUDE),
        run("import", CODEX),
        *LISTS,
        read("show", "1"),
        run("export", "1", "--format", "json", "-o", EXPORTED),
        run("export", "1", "--format", "md", "-o", "exported.md"),
        run("export", "1", "--format", "jsonl", "-o", "exported.jsonl"),
        read("import", EXPORTED),
        *LISTS,
    ],
    "resume": [
        run("init"),
        run("resume", CLAUDE, "--print"),
        run("resume", GEMINI, "--tool", "claude"),
        run("resume", OPENCODE, "--tool", "codex"),
        run("resume", "no-such-session"),
        *LISTS,
    ],
    "hooks": [
        *BEGIN,
        hook("claude", "SessionStart", session_id=CLAUDE, cwd=".", source="startup"),
        hook("claude", "UserPromptSubmit", session_id=CLAUDE, cwd=".", prompt="hello"),
        hook("claude", "Stop", session_id=CLAUDE, cwd="."),
        hook("claude", "SessionEnd", session_id=CLAUDE, cwd=".", reason="exit"),
        *LISTS,
    ],
    "set-up": [
        run("setup", "--dry-run"),
        run("setup", "--yes"),
        run("init", "--tools", "claude"),
        run("uninstall", "--yes"),
        read("config"),
        run("config", "list.limit", "7"),
        read("config"),
        run("config", "no.such", "7"),
    ],
    "secrets": [
        *BEGIN,
        run("slash", "stop", stdin=""),
        python(
            "import json\nfrom cortext import SessionMessage, open_session_store\n"
            f"open_session_store('workspace:.').append('{API}', "
            f"SessionMessage('user', 'the key is {SECRET}', id='a'))\nprint(json.dumps(1))"
        ),
        read("scan"),
        run("redact", API, "--yes"),
        read("scan"),
        read("show", API),
    ],
    "doctor": [
        *BEGIN,
        python(
            "import json, glob\n"
            f"(path,) = glob.glob('conversations/*/{API}/.session/messages.jsonl')\n"
            'open(path, "ab").write(b\'{"role": "user", "content": "one", "timestamp": '
            '"2026-01-01T00:00:00Z"}\\n{bad\\n{"role": "user", "cont\')\n'
            "print(json.dumps(1))"
        ),
        read("doctor"),
        run("doctor", "--fix", "--yes"),
        read("doctor"),
        read("show", API),
    ],
    "statistics": [run("sync", "--quiet"), read("stats"), read("stats", "--all")],
    "spawn": [
        Step(("spawn", "-i", "--session", "talk-1", "--tool", "cat"), stdin="hello\nworld\n"),
        Step(("spawn", "--list-sessions", "--json"), is_json=True),
        Step(("spawn", "--resume", "talk-1", "--tool", "cat"), stdin="again\n"),
        Step(("spawn", "--list-sessions", "--status", "completed", "--json"), is_json=True),
        run("spawn", "--delete-session", "talk-1", "--yes"),
        Step(("spawn", "--list-sessions", "--json"), is_json=True),
        run("spawn", "--resume", "no-such"),
    ],
    "python": [python(SESSIONS), python(STORES), read("list", "--all")],
    "wrong words": [
        run("lst"),
        run("list", "--no-such-option"),
        run("show", "../../etc/passwd"),
        run("new", "no-such-type", "x"),
        run("show"),
        run("trash", "restore", "99"),
    ],
}
