"""Every command that writes, on one home: what is typed, and what is to be seen when it is done."""

import json
from collections.abc import Callable, Iterator
from typing import NamedTuple

from tests.faults.home import CHAT, DOCUMENT, LOOSE, SECRET, SERVED, SPAWNED, Home
from tests.faults.kept import kept_in

TALK, REST, OLD = "001-brainstorm-cache", "002-plan-rest", "003-debug-old"
DEPLOY, BOUND, GONE = "004-plan-deploy", "001-chat-5e0c9d1e-said-0", "005-learn-gone"
EXPORT = "exported.json"
IMPORTED = "011-plan-imported"


_SAID_OF_GIT = ("not recorded in git: ", "git's index is behind: ", "left out, ", "not committed: ")


class Said(NamedTuple):
    """How a command ended, and what it said."""

    code: int | None
    out: str = ""
    err: str = ""


NOTHING = Said(None)


class Scene(NamedTuple):
    """`did` names what is missing of the command's effect: nothing, when it was done."""

    words: tuple[str, ...]
    did: Callable[[Home, Said], Iterator[str]]
    stdin: str = ""
    program: str = "cortext"
    setting: tuple[str, str] | None = None


def _is(what: bool, sentence: str) -> Iterator[str]:
    if not what:
        yield sentence


def _status(id: str, status: str) -> Callable[[Home, Said], Iterator[str]]:
    def did(home: Home, said: Said) -> Iterator[str]:
        now = home.head(id)["status"]
        yield from _is(now == status, f"the status is {now}")

    return did


def _in_git(id: str, status: str) -> Callable[[Home, Said], Iterator[str]]:
    def did(home: Home, said: Said) -> Iterator[str]:
        yield from _status(id, status)(home, said)
        if said.code == 0 and not any(words in said.err for words in _SAID_OF_GIT):
            import subprocess

            git = ["git", "-C", str(home.work), "status", "--porcelain", "conversations"]
            left = subprocess.run(git, capture_output=True, text=True, check=False).stdout
            yield from _is(not any(id in line for line in left.splitlines()), f"not in git: {left}")

    return did


def _titled(title: str) -> Callable[[Home, Said], Iterator[str]]:
    def did(home: Home, said: Said) -> Iterator[str]:
        titles = [head["title"] for head in home.conversations()]
        yield from _is(title in titles, f"there is no {title}: {titles}")

    return did


def _forked(home: Home, said: Said) -> Iterator[str]:
    kept = kept_in(home).texts
    ids = [head["conversation_id"] for head in home.conversations() if head["title"] == "Forked"]
    whole = [id for id in ids if kept[f"workspace/{id}"] == kept[f"workspace/{TALK}"]]
    yield from _is(bool(whole), f"no whole fork: {ids}")


def _tagged(home: Home, said: Said) -> Iterator[str]:
    tags = home.head(TALK).get("tags") or []
    yield from _is("urgent" in tags, f"the tags are {tags}")


def _in_trash(id: str) -> Callable[[Home, Said], Iterator[str]]:
    def did(home: Home, said: Said) -> Iterator[str]:
        there = list(home.work.glob(f"conversations/*/{id}"))
        yield from _is(not there, "it is still there")

    return did


def _restored(home: Home, said: Said) -> Iterator[str]:
    name = f"workspace/{GONE}"
    yield from _is(len(kept_in(home).texts.get(name, [])) == 3, "it is not back")


def _imported(home: Home, said: Said) -> Iterator[str]:
    kept = kept_in(home).texts
    same = kept.get(f"workspace/{IMPORTED}") == kept[f"workspace/{REST}"]
    yield from _is(same, "it is not there as it was exported")


def _imported_session(home: Home, said: Said) -> Iterator[str]:
    expected = [f"{LOOSE[:8]} said {number}" for number in range(4)]
    yield from _is(expected in kept_in(home).texts.values(), "the session is not there")


def _captured(home: Home, said: Said) -> Iterator[str]:
    texts = kept_in(home).texts[f"workspace/{BOUND}"]
    told = said.code == 0 and home.log.exists() and "hook claude" in home.log.read_text("utf-8")
    yield from _is(f"{CHAT[:8]} said 5" in texts or told, f"neither captured nor told: {texts}")


def _synced(home: Home, said: Said) -> Iterator[str]:
    kept = kept_in(home).texts
    for id, count in ((CHAT, 6), (LOOSE, 4)):
        texts = kept.get(f"archive/{id}.jsonl.gz", [])
        whole = texts == [f"{id[:8]} said {number}" for number in range(count)]
        yield from _is(whole or f"{id}.jsonl" in said.err, f"not copied: {id}: {texts}")


def _redacted(home: Home, said: Said) -> Iterator[str]:
    (folder,) = home.work.glob(f"conversations/*/{DEPLOY}")
    files = [path for path in folder.rglob("*") if path.is_file()]
    left = [path.name for path in files if SECRET.encode() in path.read_bytes()]
    yield from _is(not left, f"the secret is in {left}")


def _masked(home: Home, said: Said) -> Iterator[str]:
    yield from _in_git(DEPLOY, "paused")(home, said)
    if said.code == 0 and "not " not in said.err:
        yield from _redacted(home, said)


def _configured(home: Home, said: Said) -> Iterator[str]:
    path = home.root / "config/cortext/config.toml"
    text = path.read_text("utf-8") if path.exists() else ""
    yield from _is("budget = 5000" in text, f"the settings are {text!r}")


def _copied(home: Home, said: Said) -> Iterator[str]:
    kept = kept_in(home).texts
    same = kept.get(f"service/{DOCUMENT}") == kept[f"document/{DOCUMENT}"]
    yield from _is(same, "it was not copied")


def _found(home: Home, said: Said) -> Iterator[str]:
    # Only what it prints tells; of one that was killed, nothing is to be seen.
    yield from _is(said.code is None or TALK in said.out, f"not found: {said.out} {said.err}")


def _spoken(home: Home, said: Said) -> Iterator[str]:
    texts = kept_in(home).texts[f"spawned/{SPAWNED}"][4:]
    yield from _is(texts.count("another one") >= 1, f"not kept: {texts}")
    if said.code == 0:
        yield from _is(texts == ["another one", "another one!"], f"not the whole turn: {texts}")


def _served(home: Home, said: Said) -> Iterator[str]:
    texts = kept_in(home).texts[f"service/{SERVED}"]
    for line in said.out.splitlines():
        yield from _is(line in texts, f"acknowledged, and not kept: {line}")
    yield from _is("served said 5" in texts, f"not kept: {texts}")


def _well(home: Home, said: Said) -> Iterator[str]:
    found = home.work.glob("conversations/*/*/.session/messages.jsonl")
    broken = [path for path in found if b"\0" in path.read_bytes()]
    yield from _is(not broken, f"not mended: {broken}")


_HOOK = json.dumps({"session_id": CHAT, "hook_event_name": "Stop"})
_ECHO = "sed '$!d; s/$/!/'"
SERVE = ("service-append",)
"""No command: a program that adds to a conversation store."""
SCENES: dict[str, Scene] = {
    "new": Scene(("new", "plan", "Fresh"), _titled("Fresh")),
    "stop": Scene(("stop", TALK), _in_git(TALK, "paused")),
    "done": Scene(("done", TALK), _in_git(TALK, "completed")),
    "stop and mask": Scene(("stop", DEPLOY), _masked, setting=("CORTEXT_SESSIONS_SECRETS", "mask")),
    "resume": Scene(("resume", REST), _status(REST, "active")),
    "resume in a tool": Scene(
        ("resume", REST, "--print", "--tool", "claude"),
        lambda home, said: _is(said.code is None or "claude" in said.out, f"printed {said.out}"),
    ),
    "hook": Scene(("hook", "claude", "Stop"), _captured, _HOOK),
    "sync": Scene(("sync",), _synced),
    "import": Scene(("import", f"../{EXPORT}", "--as", IMPORTED), _imported),
    "import a session": Scene(("import", LOOSE), _imported_session),
    "fork": Scene(("fork", TALK, "--title", "Forked"), _forked),
    "rename": Scene(("rename", TALK, "Another title"), _titled("Another title")),
    "tag": Scene(("tag", TALK, "urgent"), _tagged),
    "delete": Scene(("delete", TALK, "--yes"), _in_trash(TALK)),
    "restore": Scene(("trash", "restore", "1"), _restored),
    "clean": Scene(("clean", "0", "--yes"), _in_trash(OLD)),
    "redact": Scene(("redact", DEPLOY, "--yes"), _redacted),
    "index": Scene(("search", "cache"), _found),
    "aur turn": Scene(
        ("spawn", "--resume", SPAWNED, "--tool", _ECHO), _spoken, "another one\n", "aur"
    ),
    "copy": Scene(("copy", "document:../data/src/opencode/sessions", "log:../service"), _copied),
    "config": Scene(("config", "resume.budget", "5000"), _configured),
    "service append": Scene(SERVE, _served),
    "doctor --fix": Scene(("doctor", "--fix", "--yes"), _well),
}
