"""Every command that writes, on one home: what is typed, and what is to be seen when it is done."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from cortext.durability.gzip_members import read_packed
from tests.faults.home import CHAT, DOCUMENT, LOOSE, SECRET, SERVED, SPAWNED, Home
from tests.faults.programs import serve
from tests.faults.stored_texts import kept_in

TALK, REST, OLD = "001-brainstorm-cache", "002-plan-rest", "003-debug-old"
DEPLOY, BOUND, GONE = "004-plan-deploy", "001-chat-5e0c9d1e-said-0", "005-learn-gone"
EXPORT = "exported.json"
IMPORTED = "011-plan-imported"


_SAID_OF_GIT = (
    "not recorded in git: ",
    "the git index was not updated: ",
    "not recorded (",
    "not committed: ",
)


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
    repeats: bool = False
    """It leaves nothing to be seen, and is done again after every fault."""
    first: tuple[str, ...] = ()
    """Another command that comes before it, in peace."""
    prepare: Callable[[Home], object] = lambda home: None
    holds: Callable[[Home], Iterator[str]] = lambda home: iter(())
    """What must be so whether it was done or not: it names what is not."""
    loses: str = ""
    """What it is there to lose, by the beginning of its name."""
    act: Callable[[Home], int] | None = None
    """What a program does, where it is no command."""
    acknowledged: str = ""
    """Where each line is kept that it says it has kept, however it ends."""
    far: bool = False
    """What we keep for a person, the trash too, is on another disk than their work."""


def is_so(what: bool, sentence: str) -> Iterator[str]:
    if not what:
        yield sentence


def _status(id: str, status: str) -> Callable[[Home, Said], Iterator[str]]:
    def did(home: Home, said: Said) -> Iterator[str]:
        now = home.head(id)["status"]
        yield from is_so(now == status, f"the status is {now}")

    return did


def _in_git(id: str, status: str) -> Callable[[Home, Said], Iterator[str]]:
    def did(home: Home, said: Said) -> Iterator[str]:
        yield from _status(id, status)(home, said)
        if said.code == 0 and not any(words in said.err for words in _SAID_OF_GIT):
            import subprocess

            git = ["git", "-C", str(home.work), "status", "--porcelain", "conversations"]
            left = subprocess.run(git, capture_output=True, text=True, check=False).stdout
            yield from is_so(
                not any(id in line for line in left.splitlines()), f"not in git: {left}"
            )

    return did


def _titled(title: str) -> Callable[[Home, Said], Iterator[str]]:
    def did(home: Home, said: Said) -> Iterator[str]:
        titles = [head["title"] for head in home.conversations()]
        yield from is_so(title in titles, f"there is no {title}: {titles}")

    return did


def _forked(home: Home, said: Said) -> Iterator[str]:
    kept = kept_in(home).texts
    ids = [head["conversation_id"] for head in home.conversations() if head["title"] == "Forked"]
    whole = [id for id in ids if kept[f"workspace/{id}"] == kept[f"workspace/{TALK}"]]
    yield from is_so(bool(whole), f"no whole fork: {ids}")


def _tagged(home: Home, said: Said) -> Iterator[str]:
    tags = home.head(TALK).get("tags") or []
    yield from is_so("urgent" in tags, f"the tags are {tags}")


def in_trash(id: str) -> Callable[[Home, Said], Iterator[str]]:
    def did(home: Home, said: Said) -> Iterator[str]:
        there = list(home.work.glob(f"conversations/*/{id}"))
        yield from is_so(not there, "it is still there")

    return did


def restored(home: Home, said: Said) -> Iterator[str]:
    name = f"workspace/{GONE}"
    yield from is_so(len(kept_in(home).texts.get(name, [])) == 3, "it is not back")


def _imported(home: Home, said: Said) -> Iterator[str]:
    kept = kept_in(home).texts
    same = kept.get(f"workspace/{IMPORTED}") == kept[f"workspace/{REST}"]
    yield from is_so(same, "it is not there as it was exported")


def _imported_session(home: Home, said: Said) -> Iterator[str]:
    expected = [f"{LOOSE[:8]} said {number}" for number in range(4)]
    yield from is_so(expected in kept_in(home).texts.values(), "the session is not there")


def captured(home: Home, said: Said) -> Iterator[str]:
    texts = kept_in(home).texts[f"workspace/{BOUND}"]
    told = said.code == 0 and home.log.exists() and "hook claude" in home.log.read_text("utf-8")
    yield from is_so(f"{CHAT[:8]} said 5" in texts or told, f"neither captured nor told: {texts}")


def _synced(home: Home, said: Said) -> Iterator[str]:
    kept = kept_in(home).texts
    for id, count in ((CHAT, 6), (LOOSE, 4)):
        texts = kept.get(f"archive/{id}.jsonl.gz", [])
        whole = texts == [f"{id[:8]} said {number}" for number in range(count)]
        told = said.code and f"{id}.jsonl" in said.err
        yield from is_so(whole or bool(told), f"not copied: {id}: {texts}")


def _redacted(home: Home, said: Said) -> Iterator[str]:
    """Nowhere: neither in what is derived, nor in what was left half-written."""
    yield from secret_in(home, but=("data/cortext/archive",))


def secret_in(home: Home, but: tuple[str, ...] = ()) -> Iterator[str]:
    """The files of ours that the secret is in; what a tool keeps is the tool's."""
    left = [
        name
        for name in sorted(home.names())
        if not name.startswith((*but, ".claude")) and (home.root / name).is_file()
        if SECRET.encode() in unpacked(home.root / name)
    ]
    yield from is_so(not left, f"the secret is in {left}")


def unpacked(path: Path) -> bytes:
    """A file's bytes; of a compressed one, what can be read of it."""
    data = path.read_bytes()
    return b"".join(read_packed(str(path), lambda _: None)) if path.suffix == ".gz" else data


def _masked(home: Home, said: Said) -> Iterator[str]:
    yield from _in_git(DEPLOY, "paused")(home, said)
    if said.code == 0 and not any(words in said.err for words in _SAID_OF_GIT):
        # It is the files that are masked: what a list remembers of them is looked at by `redact`.
        yield from secret_in(home, but=("data/cortext/archive", "cache/"))


def _configured(home: Home, said: Said) -> Iterator[str]:
    path = home.root / "config/cortext/config.toml"
    text = path.read_text("utf-8") if path.exists() else ""
    yield from is_so("budget = 5000" in text, f"the settings are {text!r}")


def _copied(home: Home, said: Said) -> Iterator[str]:
    kept = kept_in(home).texts
    same = kept.get(f"service/{DOCUMENT}") == kept[f"document/{DOCUMENT}"]
    yield from is_so(same, "it was not copied")


def _found(home: Home, said: Said) -> Iterator[str]:
    # Only what it prints tells; of one that was killed, nothing is to be seen.
    yield from is_so(said.code is None or TALK in said.out, f"not found: {said.out} {said.err}")


def _spoken(home: Home, said: Said) -> Iterator[str]:
    texts = kept_in(home).texts[f"spawned/{SPAWNED}"][4:]
    yield from is_so(texts.count("another one") >= 1, f"not kept: {texts}")
    if said.code == 0:
        yield from is_so(texts == ["another one", "another one!"], f"not the whole turn: {texts}")


def _served(home: Home, said: Said) -> Iterator[str]:
    texts = kept_in(home).texts[f"service/{SERVED}"]
    yield from is_so("served said 5" in texts, f"not kept: {texts}")


def _put_zeros(home: Home) -> None:
    """The line before is whole, and so is the one after: only what is torn has to go."""
    (path,) = home.work.glob(f"conversations/*/{REST}/.session/messages.jsonl")
    first, _, rest = path.read_bytes().partition(b"\n")
    path.write_bytes(first + b"\n" + bytes(64) + b"\n" + rest)


def _well(home: Home, said: Said) -> Iterator[str]:
    found = home.work.glob("conversations/*/*/.session/messages.jsonl")
    broken = [path for path in found if b"\0" in path.read_bytes()]
    yield from is_so(not broken, f"not mended: {broken}")


_HOOK = json.dumps({"session_id": CHAT, "hook_event_name": "Stop"})
ECHO = "sed '$!d; s/$/!/'"
SCENES: dict[str, Scene] = {
    "new": Scene(("new", "plan", "Fresh"), _titled("Fresh")),
    "stop": Scene(("stop", TALK), _in_git(TALK, "paused")),
    "done": Scene(("done", TALK), _in_git(TALK, "completed")),
    "stop and mask": Scene(("stop", DEPLOY), _masked, setting=("CORTEXT_SESSIONS_SECRETS", "mask")),
    "resume": Scene(("resume", REST), _status(REST, "active")),
    "resume in a tool": Scene(
        ("resume", REST, "--print", "--write", "--tool", "claude"),
        lambda home, said: is_so(said.code is None or "claude" in said.out, f"printed {said.out}"),
        repeats=True,
    ),
    "hook": Scene(("hook", "claude", "Stop"), captured, _HOOK),
    "sync": Scene(("sync",), _synced),
    "import": Scene(("import", f"../{EXPORT}", "--as", IMPORTED), _imported),
    "import a session": Scene(("import", LOOSE), _imported_session),
    "fork": Scene(("fork", TALK, "--title", "Forked"), _forked),
    "rename": Scene(("rename", TALK, "Another title"), _titled("Another title")),
    "tag": Scene(("tag", TALK, "urgent"), _tagged),
    "delete": Scene(("delete", TALK, "--yes"), in_trash(TALK)),
    "restore": Scene(("trash", "restore", "1"), restored),
    "clean": Scene(("clean", "0", "--yes"), in_trash(OLD)),
    "redact": Scene(("redact", DEPLOY, "--yes"), _redacted),
    "index": Scene(("search", "cache"), _found, repeats=True),
    "aur turn": Scene(
        ("spawn", "--resume", SPAWNED, "--tool", ECHO), _spoken, "another one\n", "aur"
    ),
    "copy": Scene(("copy", "document:../data/src/opencode/sessions", "log:../service"), _copied),
    "config": Scene(("config", "resume.budget", "5000"), _configured),
    "service append": Scene(
        ("service-append",), _served, act=serve, acknowledged=f"service/{SERVED}"
    ),
    "doctor --fix": Scene(("doctor", "--fix", "--yes"), _well, prepare=_put_zeros),
}
