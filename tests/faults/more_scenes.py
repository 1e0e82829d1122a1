"""The rest of the commands that write: what is typed less often, and what is no conversation."""

import json
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing

from cortext.features.setup.tool_setup import COMMANDS
from cortext.tools.slash_command_files import open_slash_commands
from tests.faults.home import CHAT, HELD, SPAWNED, Home
from tests.faults.programs import ADAPTED, adapt
from tests.faults.scenes import (
    DEPLOY,
    ECHO,
    REST,
    TALK,
    Said,
    Scene,
    captured,
    in_trash,
    is_so,
    restored,
    secret_in,
)
from tests.faults.stored_texts import kept_in
from tests.features.transfer.agents_database import TABLES, add

_OTHER, _PASSING, _OUT = "other", "passing", "out.md"
_DATABASE, _AGENT = "agents.db", "parcel"
_COMMAND = "work/.workspace/templates"
_COMMANDS = [open_slash_commands("claude").file_name(command) for command in COMMANDS]


def _redacted_in_copy(home: Home, said: Said) -> Iterator[str]:
    # Of the one that it was asked for; the other has it still.
    (folder,) = home.work.glob(f"conversations/*/{DEPLOY}")
    yield from secret_in(home, but=(str(folder.relative_to(home.root)),))


def _redacted_everywhere(home: Home, said: Said) -> Iterator[str]:
    yield from secret_in(home)


def _emptied(home: Home, said: Said) -> Iterator[str]:
    left = [path.name for path in home.trash.glob("*") if path.is_dir()]
    yield from is_so(not left, f"still in the trash: {left}")


def _made(home: Home, said: Said) -> Iterator[str]:
    ours, theirs = home.work / ".workspace", home.root / _OTHER / ".workspace"
    wanted = {str(path.relative_to(ours)) for path in ours.rglob("*.md")}
    there = {str(path.relative_to(theirs)) for path in theirs.rglob("*.md")}
    yield from is_so(wanted <= there, f"not made: {sorted(wanted - there)}")


def _lose_a_template(home: Home) -> None:
    min(home.root.glob(f"{_COMMAND}/*.md")).unlink()


def _upgraded(home: Home, said: Said) -> Iterator[str]:
    before = home.root.parent / "prepared" / _COMMAND
    gone = {path.name for path in before.glob("*.md")}
    gone -= {path.name for path in (home.root / _COMMAND).glob("*.md")}
    yield from is_so(not gone, f"not there again: {gone}")


def _settings(home: Home) -> str:
    path = home.root / ".claude/settings.json"
    return path.read_text("utf-8") if path.exists() else "{}"


def _connected(home: Home, said: Said) -> Iterator[str]:
    missing = [
        event for event in ("Stop", "SessionEnd") if f"claude {event}" not in _settings(home)
    ]
    yield from is_so(not missing, f"no hook for {missing}")
    there = {path.name for path in (home.root / ".claude/commands").glob("*.md")}
    missing = [name for name in _COMMANDS if name not in there]
    yield from is_so(not missing, f"no command: {missing}")


def _disconnected(home: Home, said: Said) -> Iterator[str]:
    yield from is_so("cortext" not in _settings(home), f"still there: {_settings(home)}")


def _have_own_settings(home: Home) -> None:
    (home.root / ".claude/settings.json").write_text('{"model": "mine"}\n', encoding="utf-8")


def _own_settings_hold(home: Home) -> Iterator[str]:
    """What a person set in a tool is theirs, whatever happens to ours."""
    try:
        model = json.loads(_settings(home)).get("model")
    except ValueError as error:
        yield f"the tool cannot read its settings: {error}"
        return
    yield from is_so(model == "mine", f"the person's own setting is {model}")


def _forgotten(home: Home, said: Said) -> Iterator[str]:
    known = (home.root / "data/cortext/workspaces").read_text("utf-8")
    yield from is_so(_PASSING not in known, f"still known: {known}")


def _workspaces_hold(home: Home) -> Iterator[str]:
    known = (home.root / "data/cortext/workspaces").read_text("utf-8").splitlines()
    yield from is_so(str(home.work) in known, f"this one is not known any more: {known}")


def _exported(home: Home, said: Said) -> Iterator[str]:
    text = (home.root / _OUT).read_text("utf-8")
    yield from is_so(_whole(text), f"the file is {text!r}")


def _old_or_new(home: Home) -> Iterator[str]:
    text = (home.root / _OUT).read_text("utf-8")
    yield from is_so(text == "old" or _whole(text), f"half a file: {text!r}")


def _whole(text: str) -> bool:
    return f"> {REST} said 2" in text and text.endswith("-->\n")


def _have_agents(home: Home) -> None:
    with closing(sqlite3.connect(home.root / _DATABASE)) as db:
        db.executescript(TABLES)
    lines = [{"content": f"parcel said {number}", "role": "user"} for number in range(4)]
    add(home.root / _DATABASE, _AGENT, *map(json.dumps, lines))


def _agents_imported(home: Home, said: Said) -> Iterator[str]:
    kept = kept_in(home).texts
    expected = [f"parcel said {number}" for number in range(4)]
    yield from is_so(kept.get(f"program/{_AGENT}") == expected, f"not there: {[*kept]}")


def _begun(home: Home, said: Said) -> Iterator[str]:
    texts = kept_in(home).texts.get("spawned/coder-2", [])
    yield from is_so(texts == ["a first one", "a first one!"], f"not the whole turn: {texts}")


def _away(kind: str, id: str) -> Callable[[Home, Said], Iterator[str]]:
    def did(home: Home, said: Said) -> Iterator[str]:
        yield from is_so(f"{kind}/{id}" not in kept_in(home).texts, "it is still there")

    return did


def _copy_deleted(home: Home, said: Said) -> Iterator[str]:
    yield from is_so(f"archive/{HELD}.jsonl.gz" not in kept_in(home).texts, "our copy is there")
    note = home.archive / ".forgotten"
    told = note.read_text("utf-8") if note.exists() else ""
    yield from is_so(HELD in told, f"the next sync would copy it again: {told!r}")


def _adapted(home: Home, said: Said) -> Iterator[str]:
    texts = kept_in(home).texts.get(f"program/{ADAPTED}", [])
    yield from is_so(len(texts) == 2, f"not kept: {texts}")


def _hook(event: str, **more: str) -> Scene:
    payload = {"session_id": CHAT, "hook_event_name": event, **more}
    return Scene(("hook", "claude", event), captured, json.dumps(payload))


MORE: dict[str, Scene] = {
    "redact --archive": Scene(("redact", HELD, "--archive", "--yes"), _redacted_in_copy),
    "redact --all": Scene(("redact", "--all", "--archive", "--yes"), _redacted_everywhere),
    "trash empty": Scene(("trash", "empty", "--yes"), _emptied, loses="trash/"),
    "delete from afar": Scene(("delete", TALK, "--yes"), in_trash(TALK), far=True),
    "restore from afar": Scene(("trash", "restore", "1"), restored, far=True),
    "init": Scene(("init", f"../{_OTHER}"), _made),
    "upgrade": Scene(("upgrade",), _upgraded, prepare=_lose_a_template),
    "setup": Scene(
        ("setup", "--tools", "claude", "--yes"),
        _connected,
        prepare=_have_own_settings,
        holds=_own_settings_hold,
    ),
    "uninstall": Scene(
        ("uninstall", "--tools", "claude", "--yes"),
        _disconnected,
        first=("setup", "--tools", "claude", "--yes"),
    ),
    "list --forget": Scene(
        ("list", "--forget"),
        _forgotten,
        first=("init", f"../{_PASSING}"),
        prepare=lambda home: shutil.rmtree(home.root / _PASSING),
        holds=_workspaces_hold,
    ),
    "export -o": Scene(
        ("export", REST, "--force", "-o", f"../{_OUT}"),
        _exported,
        prepare=lambda home: (home.root / _OUT).write_text("old", encoding="utf-8"),
        holds=_old_or_new,
    ),
    "import of agents": Scene(
        ("import", f"../{_DATABASE}"), _agents_imported, prepare=_have_agents
    ),
    "spawn": Scene(
        ("spawn", "-i", "--session", "coder-2", "--tool", ECHO), _begun, "a first one\n", "aur"
    ),
    "delete of spawn": Scene(("delete", SPAWNED, "--yes"), _away("spawned", SPAWNED)),
    "delete of a copy": Scene(("delete", HELD, "--yes"), _copy_deleted),
    "hook SessionEnd": _hook("SessionEnd", reason="exit"),
    "hook PreCompact": _hook("PreCompact", trigger="auto"),
    "hook UserPrompt": Scene(
        ("hook", "claude", "UserPromptSubmit"),
        captured,
        json.dumps({"session_id": CHAT, "prompt": "and now?"}),
    ),
    "adapter append": Scene(
        ("adapter-append",), _adapted, act=adapt, acknowledged=f"program/{ADAPTED}"
    ),
}
