"""A conversation whose session of a tool cannot be told yet."""

import json
import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from cortext import clock
from cortext.features.capture.bindings import ConversationRef, bind
from cortext.features.capture.capture import capture
from cortext.features.capture.current_conversation import find_current_binding
from cortext.features.capture.pending_bindings import (
    bind_process,
    describe_pending,
    disambiguate_session,
    find_pending,
    note_nonce,
    resolve_pending_all,
)
from cortext.formats.slash_command_frame import frame
from cortext.tools.registry import open_bridge
from cortext.tools.surrounding_session import Inside
from cortext.tools.system_processes import Process, find_process
from cortext.workspace.workspace import Workspace
from tests.features.capture_bench import Bench

NONCE = "0123456789abcdef" * 2
TIME = "2099-01-01T00:00:0{}.000Z"


@pytest.fixture
def gemini(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    return Bench("gemini", tmp_path, monkeypatch)


@pytest.fixture
def process() -> Process:
    """One that runs: ours."""
    found = find_process(os.getpid())
    assert found
    return replace(found, arguments=("gemini",))


def another(bench: Bench, id: str, *said: str) -> Path:
    """One more session of the same folder, in which this was asked."""
    head = {**json.loads(bench.lines[0]), "sessionId": id}
    head |= {"startTime": TIME.format(0), "lastUpdated": TIME.format(9)}
    asked = [
        {
            "id": f"{id}-{n}",
            "timestamp": TIME.format(n),
            "type": "user",
            "content": [{"text": text}],
        }
        for n, text in enumerate(said, 1)
    ]
    path = bench.transcript.with_name(f"session-2099-01-01T00-00-{id[:8]}.jsonl")
    path.write_text("".join(f"{json.dumps(each)}\n" for each in (head, *asked)), encoding="utf-8")
    return path


def native(bound: ConversationRef) -> list[dict[str, str]]:
    return Workspace(bound.root).store.head_at(bound.place).native


def name_of(bound: ConversationRef) -> str:
    return bound.place.folder.removeprefix(f"{bound.root}/")


def framed() -> str:
    return frame("# Plan", command="workspace.plan", words="A house", nonce=NONCE)


def test_pending_binding_resolves_to_session_that_contains_nonce(
    gemini: Bench, process: Process
) -> None:
    """Of several sessions of one process; what was said before in it is not the conversation's,
    and what else was had in it ends there."""
    before = gemini.begin("Before")
    bind_process(gemini.bound, "gemini", process, NONCE)
    another(gemini, "aaaaaaaa-1", "Of another session")
    path = another(gemini, "bbbbbbbb-2", "Before it", framed(), "After it")
    bind(before, "gemini", "bbbbbbbb-2", str(path), after="")
    gemini.capture()
    (entry,) = native(gemini.bound)
    assert (entry["session_id"], entry["path"]) == ("bbbbbbbb-2", str(path))
    assert not {"pid", "started", "nonce", "cwd"} & set(entry)
    assert [said for _, said in gemini.said()] == ["/workspace.plan A house", "After it"]
    assert describe_pending(gemini.bound) == []
    capture(before.root, before.place)
    assert [m.content for m in Workspace(before.root).store.read(name_of(before))[0].messages] == [
        "Before it"
    ]


def test_pending_binding_captures_nothing_until_session_is_known(
    gemini: Bench, process: Process
) -> None:
    """And that is said: while the process runs its session may be written yet."""
    bind_process(gemini.bound, "gemini", process, NONCE)
    assert gemini.capture(whole=True).new == 0
    assert find_pending("gemini", process) == gemini.bound
    (note,) = describe_pending(gemini.bound)
    assert (
        note == "the gemini session of this conversation is unknown; nothing was captured from it"
    )
    another(gemini, "bbbbbbbb-2", framed())
    resolve_pending_all("gemini")
    assert find_pending("gemini", process) is None
    assert gemini.capture().new == 1


def test_pending_binding_without_nonce_ignores_sessions_of_other_folders(
    gemini: Bench, tmp_path: Path, process: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if it is the only one of that time."""
    (source,) = open_bridge("gemini").sources()
    began = open_bridge("gemini").glance(source).started_at
    assert began
    then = replace(process, started=began.timestamp() - 3)
    for folder, takes in ((str(tmp_path / "elsewhere"), False), (source.cwd, True)):
        bound = gemini.begin(f"In {folder}")
        with monkeypatch.context() as patch:
            patch.setattr(
                "cortext.features.capture.pending_bindings.folder_of",
                lambda pid, found=folder: found,
            )
            patch.setattr(clock, "now", lambda: began)
            bind_process(bound, "gemini", then)
        assert bool(capture(bound.root, bound.place).new) == takes


def test_ambiguous_session_resolves_to_session_of_last_command(
    gemini: Bench, process: Process
) -> None:
    """Of several that a process wrote to; before any command it cannot be told."""
    for id, said in (("aaaaaaaa-1", "Another"), ("bbbbbbbb-2", framed())):
        another(gemini, id, said)
    several = Inside("gemini", ("aaaaaaaa-1", "bbbbbbbb-2"), process)
    assert disambiguate_session(several) == several
    assert note_nonce("gemini", process, NONCE)
    assert disambiguate_session(several).id == "bbbbbbbb-2"
    assert not note_nonce("gemini", process, "f" * 32)
    assert disambiguate_session(several) == several


def test_unbound_session_beside_bound_session_leaves_binding_uncertain(
    gemini: Bench, process: Process
) -> None:
    """A new one beside one that is bound: surely it is neither's."""
    path = another(gemini, "bbbbbbbb-2", "Hello")
    bind(gemini.bound, "gemini", "bbbbbbbb-2", str(path), after="")
    both = Inside("gemini", ("aaaaaaaa-1", "bbbbbbbb-2"), process)
    assert find_current_binding(both) == gemini.bound
    assert find_current_binding(both, surely=True) is None
    assert find_current_binding(both._replace(ids=("bbbbbbbb-2",)), surely=True) == gemini.bound
