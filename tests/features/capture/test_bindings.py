"""A hook finds its conversation by the session, and not by listing workspaces."""

import json
import os
import shutil
from pathlib import Path

import pytest

from cortext import paths
from cortext.catalog.catalog import Catalog
from cortext.features.capture.bindings import find_binding
from cortext.features.capture.capture_permission import allow
from cortext.features.capture.current_conversation import make_conversation
from cortext.features.capture.hook_events import hook
from cortext.features.capture.pending_bindings import bind_process, resolve_pending
from cortext.tools.system_processes import find_process
from tests.features.capture.hook_payloads import payload_of
from tests.features.capture_bench import Bench


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    return Bench("claude", tmp_path, monkeypatch)


def forbid_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: Catalog, roots: list[str]) -> None:
        raise AssertionError(f"listed {roots}")

    monkeypatch.setattr(Catalog, "list", fail)


def call_stop(bench: Bench, cwd: str | Path = "") -> None:
    assert hook("claude", "Stop", payload_of(bench, cwd=str(cwd or bench.workspace.root))) == {}


def test_hook_in_bound_session_lists_no_workspace(
    work: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    work.bind()
    forbid_lists(monkeypatch)
    call_stop(work)
    assert work.said() == work.expected


def test_session_of_new_conversation_is_found_without_a_list(
    work: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = make_conversation(work.workspace.root, "claude", work.session)
    forbid_lists(monkeypatch)
    assert find_binding("claude", work.session, work.workspace.root) == made


def test_resolved_session_is_found_without_a_list(
    work: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = find_process(os.getpid())
    assert process
    bind_process(work.bound, "claude", process)
    resolve_pending("claude", work.session, str(work.transcript), process)
    forbid_lists(monkeypatch)
    assert find_binding("claude", work.session, work.workspace.root) == work.bound


def test_binding_from_another_machine_is_found_in_its_workspace(work: Bench) -> None:
    """It came with git: no command of this machine wrote it."""
    head = work.head()
    entry = {"tool": "claude", "session_id": work.session, "path": "", "from": "", "to": ""}
    Path(work.bound.place.head).write_text(json.dumps(head | {"native": [entry]}), encoding="utf-8")
    allow(work.bound.place, "claude", work.session)
    call_stop(work)
    assert work.said() == work.expected


def test_binding_is_found_from_other_folder_when_catalog_is_deleted(
    work: Bench, tmp_path: Path
) -> None:
    work.bind()
    shutil.rmtree(Path(paths.catalog()).parent)
    call_stop(work, tmp_path)
    assert work.said() == work.expected


def test_binding_is_found_in_a_workspace_with_two_names(work: Bench, tmp_path: Path) -> None:
    work.bind()
    alias = tmp_path / "alias"
    alias.symlink_to(work.workspace.root)
    call_stop(work, alias)
    hook("claude", "SessionStart", payload_of(work, cwd=str(alias)))
    work.say("user", "One more question?", 1)
    call_stop(work, alias)
    assert work.said() == [*work.expected, ["user", "One more question?"]]


def test_link_to_a_deleted_conversation_is_ignored(work: Bench) -> None:
    work.bind()
    shutil.rmtree(work.bound.place.folder)
    assert find_binding("claude", work.session, work.workspace.root) is None


def test_session_id_with_lone_surrogate_has_no_binding(work: Bench) -> None:
    assert find_binding("claude", "\ud800", work.workspace.root) is None
