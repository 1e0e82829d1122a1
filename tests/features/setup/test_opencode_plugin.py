"""The plug-in for OpenCode: put in by choice alone, and what it tells cortext."""

import hashlib
import json
import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from cortext.features.capture.bindings import ConversationRef, bind
from cortext.features.doctor.doctor_report import examine
from cortext.features.setup.tool_setup import has_hooks
from cortext.tools.opencode.plugin import plugin_path, plugin_text
from cortext.tools.registry import OPENCODE
from cortext.workspace.workspace import Workspace
from tests.command import SCRIPT, cortext, ok
from tests.features.setup.tool_files import files
from tests.tools.opencode.opencode_data import Made, text

DRIVER = """
import { CortextPlugin } from %s
const { event } = await CortextPlugin({ directory: process.cwd() })
for (const one of JSON.parse(process.argv[2])) await event({ event: one })
"""


def test_setup_installs_plugin_only_with_plugin_option(person_home: Path) -> None:
    """Plain setup never makes it; with --plugin it is shown, made, and gone after uninstall."""
    before = files(person_home)
    ok(person_home, "setup", "--tools", "opencode", "--yes")
    path = person_home / ".config/opencode/plugins/cortext.js"
    assert (path.exists(), has_hooks("opencode")) == (False, False)
    dry = cortext(person_home, "setup", "--tools", "opencode", "--plugin", "--dry-run")
    assert "note: with any plug-in, OpenCode contacts the npm registry" in dry.stderr
    shown = dry.stdout
    assert "create ~/.config/opencode/plugins/cortext.js" in shown
    assert "+export const CortextPlugin" in shown
    said = ok(person_home, "setup", "--tools", "opencode", "--plugin", "--yes")
    assert said == "Set up opencode: 1 file written.\nTo undo this: `cortext uninstall`\n"
    assert (path.read_bytes(), has_hooks("opencode")) == (plugin_text(), True)
    assert "Nothing to do" in ok(person_home, "setup", "--tools", "opencode", "--yes")
    ok(person_home, "uninstall", "--yes")
    assert files(person_home) == before


def test_setup_updates_old_plugin_and_keeps_changed_plugin(
    person_home: Path, data_home: Path
) -> None:
    ok(person_home, "setup", "--tools", "opencode", "--plugin", "--yes")
    path = Path(plugin_path())
    record = data_home / "cortext/setup.json"
    old = plugin_text() + b"// older\n"
    path.write_bytes(old)
    said = cortext(person_home, "setup", "--tools", "opencode", "--yes").stderr
    assert f"{path} is not replaced" in said
    known = json.loads(record.read_bytes())
    known["files"][str(path)]["digest"] = hashlib.sha256(old).hexdigest()
    record.write_text(json.dumps(known), encoding="utf-8")
    ok(person_home, "setup", "--tools", "opencode", "--yes")
    assert path.read_bytes() == plugin_text()
    path.write_bytes(b"// mine\n")
    ok(person_home, "uninstall", "--yes")
    assert path.read_bytes() == b"// mine\n"


def test_setup_does_not_write_through_broken_plugin_link(person_home: Path) -> None:
    """Nobody has chosen a plug-in by it; and where one is chosen, nothing is written through it."""
    path = Path(plugin_path())
    path.parent.mkdir(parents=True)
    path.symlink_to(person_home / "elsewhere.js")
    assert "cortext.js" not in cortext(person_home, "setup", "--tools", "opencode", "--yes").stderr
    done = cortext(person_home, "setup", "--tools", "opencode", "--plugin", "--yes")
    assert f"{path} is not replaced" in done.stderr
    assert (path.is_symlink(), (person_home / "elsewhere.js").exists()) == (True, False)


def test_uninstall_removes_plugin_link_and_keeps_its_target(person_home: Path) -> None:
    """What it leads to is a file of the person's."""
    path, real = Path(plugin_path()), person_home / "mine.js"
    path.parent.mkdir(parents=True)
    real.write_bytes(plugin_text())
    path.symlink_to(real)
    ok(person_home, "uninstall", "--tools", "opencode", "--yes")
    assert (os.path.lexists(path), real.read_bytes()) == (False, plugin_text())


def test_foreign_plugin_does_not_count_as_hooks(person_home: Path, data_home: Path) -> None:
    """A plug-in of that name is ours only if we wrote it."""
    path = Path(plugin_path())
    (data_home / "opencode").mkdir(parents=True)
    path.parent.mkdir(parents=True)
    path.write_bytes(b"// mine\n")
    assert not has_hooks("opencode")
    [health] = [tool for tool in examine().tools if tool.tool == "opencode"]
    assert health.hooks == "not used"
    path.unlink()
    path.mkdir()
    assert not has_hooks("opencode")


def test_setup_rejects_plugin_option_without_opencode(person_home: Path) -> None:
    done = cortext(person_home, "setup", "--tools", "claude", "--plugin", "--yes")
    assert (done.returncode, done.stderr.split("\n")[0]) == (
        1,
        "error: --plugin works only with OpenCode",
    )
    assert files(person_home) == {}


def told(folder: Path, events: list[dict[str, Any]], path: str) -> subprocess.CompletedProcess[str]:
    """The plug-in in node, as OpenCode calls it."""
    plugin = folder / "plugin.mjs"
    plugin.write_bytes(plugin_text())
    driver = folder / "driver.mjs"
    driver.write_text(DRIVER % json.dumps(str(plugin)), encoding="utf-8")
    return subprocess.run(
        ["node", driver, json.dumps(events)],
        cwd=folder,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


EVENT = {"type": "session.idle", "properties": {"sessionID": "ses_1"}}
OTHERS: list[dict[str, Any]] = [
    {"type": "message.updated", "properties": {"sessionID": "ses_1"}},
    {"type": "session.idle"},
    {"type": "session.idle", "properties": {"sessionID": 5}},
    {
        "type": "session.created",
        "properties": {"sessionID": "ses_2", "info": {"id": "ses_2", "parentID": "ses_1"}},
    },
    {"type": "session.idle", "properties": {"sessionID": "ses_2"}},
]


@pytest.mark.needs("node", "to run the plug-in")
def test_plugin_calls_hook_only_for_own_sessions_and_turns(tmp_path: Path) -> None:
    """Not of sub-agents; the words arrive as they are, and nothing is printed."""
    program = tmp_path / "bin/cortext"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$*" >> "{tmp_path}/calls"\n', "utf-8")
    program.chmod(0o755)
    created = {"type": "session.created", "properties": {"info": {"id": "ses_$(x)"}}}
    done = told(tmp_path, [*OTHERS, created, EVENT], f"{program.parent}:{os.environ['PATH']}")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    calls = tmp_path / "calls"
    deadline = time.monotonic() + 60
    while calls.read_text().count("\n") < 2 if calls.exists() else True:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert sorted(calls.read_text("utf-8").splitlines()) == [
        'hook opencode session.created {"session_id":"ses_$(x)"}',
        'hook opencode session.idle {"session_id":"ses_1"}',
    ]


@pytest.mark.needs("node", "to run the plug-in")
def test_plugin_is_silent_when_cortext_is_missing(tmp_path: Path) -> None:
    """OpenCode goes on as if the plug-in were not there."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/node").symlink_to(str(shutil.which("node")))
    done = told(tmp_path, [EVENT], str(tmp_path / "bin"))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("told_by", ["argument", "stdin"])
def test_opencode_hook_captures_turn_and_pauses_on_closing_phrase(
    told_by: str, tmp_path: Path, data_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the plug-in tells it, as an argument or on stdin; a closing phrase pauses."""
    made = Made(data_home / "opencode")
    made.session()
    made.message("msg_1", "user", text("Hello?"))
    made.message("msg_2", "assistant", text("Hello."))
    workspace = Workspace.init(tmp_path / "work")
    started = workspace.new("brainstorm", "The cache")
    place = workspace.store.place_of(started.session.id, started.session)
    bind(ConversationRef(workspace.root, place), "opencode", "ses_1", after="")

    def call() -> None:
        given = json.dumps({"session_id": "ses_1"})
        done = subprocess.run(
            [
                SCRIPT,
                "hook",
                "opencode",
                OPENCODE.hook_events[1],
                *([given] if told_by == "argument" else []),
            ],
            cwd=tmp_path / "work",
            input=given if told_by == "stdin" else "",
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")

    def said() -> list[str]:
        lines = Path(place.lines).read_bytes().split(b"\n")
        return [json.loads(line)["content"] for line in lines if line]

    call()
    assert said() == ["Hello?", "Hello."]
    assert workspace.store.head_at(place).status == "active"
    made.message("msg_3", "user", text("Let's stop here."))
    made.message("msg_4", "assistant", text("Until then."))
    call()
    assert said() == ["Hello?", "Hello.", "Let's stop here.", "Until then."]
    assert workspace.store.head_at(place).status == "paused"
    before = Path(place.lines).read_bytes(), Path(place.head).read_bytes()
    call()
    assert (Path(place.lines).read_bytes(), Path(place.head).read_bytes()) == before
    assert not (data_home / "cortext/errors.log").exists()
