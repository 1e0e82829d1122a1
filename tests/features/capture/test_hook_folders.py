"""Hooks find the conversation of the folder that the tool works in, and leave no change behind."""

import shutil
from pathlib import Path

import pytest
from msgspec.structs import replace

from cortext.features.capture.bindings import ConversationRef, row_of
from cortext.features.capture.capture import capture
from cortext.features.capture.capture_permission import allow
from cortext.features.capture.hook_events import hook
from cortext.features.errors_log import last_errors
from cortext.features.manage.stop_conversation import stop
from cortext.workspace.known_folders import remember_workspace
from tests.command import git
from tests.features.capture.hook_payloads import payload_of
from tests.features.capture_bench import Bench


@pytest.fixture
def captured_bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, git_identity: None) -> Bench:
    made = Bench("claude", tmp_path, monkeypatch)
    git(Path(made.workspace.root), "init", "-q", "-b", "main")
    made.bind()
    made.capture()
    return made


def has(bench: Bench, root: str | Path, text: str) -> bool:
    lines = bench.bound.place.lines.replace(bench.workspace.root, str(root))
    return text in Path(lines).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["another", "work/inside"])
def test_hook_captures_only_into_checkout_where_tool_runs(
    captured_bench: Bench, tmp_path: Path, name: str
) -> None:
    """What is said where the tool works; where that tells nothing, nowhere, and it is logged."""
    root, other = captured_bench.workspace.root, tmp_path / name
    shutil.copytree(root, other)
    remember_workspace(str(other))
    place = captured_bench.bound.place
    allow(
        replace(place, shelf=place.shelf.replace(root, str(other), 1)),
        "claude",
        captured_bench.session,
    )
    captured_bench.say("user", "Said in the first.", 1)
    hook("claude", "Stop", payload_of(captured_bench, cwd=root))
    assert (
        has(captured_bench, root, "in the first"),
        has(captured_bench, other, "in the first"),
    ) == (True, False)
    (other / "src").mkdir()
    captured_bench.say("user", "Said in the second.", 2)
    hook("claude", "Stop", payload_of(captured_bench, cwd=str(other / "src")))
    assert (has(captured_bench, root, "the second"), has(captured_bench, other, "the second")) == (
        False,
        True,
    )
    captured_bench.say("user", "Said elsewhere.", 3)
    hook("claude", "Stop", payload_of(captured_bench, cwd=str(tmp_path)))
    assert (has(captured_bench, root, "elsewhere"), has(captured_bench, other, "elsewhere")) == (
        False,
        False,
    )
    assert "is bound to several conversations" in last_errors(1)[0]


def test_clone_captures_no_session_bound_in_original_workspace(
    captured_bench: Bench, tmp_path: Path
) -> None:
    """Whoever can write a head can name any session in it; only what was bound here counts."""
    root, clone = captured_bench.workspace.root, tmp_path / "clone"
    shutil.copytree(root, clone)
    shutil.rmtree(root)
    remember_workspace(str(clone))
    captured_bench.say("user", "Said in private.", 1)
    hook("claude", "Stop", payload_of(captured_bench, cwd="/home/you/project"))
    assert not has(captured_bench, clone, "in private")
    place = captured_bench.bound.place
    there = ConversationRef(
        str(clone), replace(place, shelf=place.shelf.replace(root, str(clone), 1))
    )
    (note,) = capture(there.root, there.place, whole=True).notes
    assert "took place elsewhere" in note
    assert not has(captured_bench, clone, "in private")


def test_hook_captures_in_moved_workspace(captured_bench: Bench, tmp_path: Path) -> None:
    """Nobody called cortext there yet: the tool works in it, and that is enough."""
    moved = tmp_path / "moved"
    shutil.move(captured_bench.workspace.root, moved)
    captured_bench.say("user", "After the move.", 1)
    hook("claude", "Stop", payload_of(captured_bench, cwd=str(moved)))
    assert has(captured_bench, moved, "After the move.")


def test_closing_phrase_changes_nothing_in_completed_conversation(captured_bench: Bench) -> None:
    """There is nothing to stop: no word, no change."""
    stop(row_of(captured_bench.bound), summary=None, completed=True)
    before = captured_bench.files
    payload = payload_of(
        captured_bench, prompt="Let's stop here.", cwd=captured_bench.workspace.root
    )
    assert hook("claude", "UserPromptSubmit", payload) == {}
    assert captured_bench.files == before


def test_exit_after_closing_phrase_leaves_no_uncommitted_change(captured_bench: Bench) -> None:
    """The confirmation and `/exit` wait until the person goes on."""
    root = Path(captured_bench.workspace.root)
    hook("claude", "UserPromptSubmit", payload_of(captured_bench, prompt="I need to go."))
    before = captured_bench.files
    captured_bench.say("user", "I need to go.", 1)
    captured_bench.say("assistant", "Saved. See you!", 2)
    hook("claude", "Stop", payload_of(captured_bench))
    exit = "<command-name>/exit</command-name>\n<command-message>exit</command-message>"
    captured_bench.say("user", exit, 3)
    captured_bench.say("user", "<local-command-stdout>Bye!</local-command-stdout>", 4)
    hook("claude", "SessionEnd", payload_of(captured_bench, reason="prompt_input_exit"))
    assert captured_bench.files == before
    assert git(root, "diff", "--name-only", "HEAD") == ""
    captured_bench.say("user", "/workspace.plan the rest", 5)
    captured_bench.say("assistant", "A plan.", 6)
    hook("claude", "Stop", payload_of(captured_bench))
    assert captured_bench.head()["status"] == "active"
    assert captured_bench.said()[-1] == ["assistant", "A plan."]
