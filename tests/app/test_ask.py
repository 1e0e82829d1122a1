"""Asking an old conversation, with programs in the place of the tools."""

import os
from pathlib import Path

import pytest

from cortext.app.ask import ask
from cortext.app.tool_session import row_in_list
from cortext.bridges.writing import Written
from cortext.errors import CortextError
from tests.app.captures import Bench


def program(folder: Path, name: str, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = folder / "bin" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{path.parent}:{os.environ['PATH']}")


def test_what_was_said_lately_is_asked_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where no hook took it, it is taken first; a second file of Gemini's does not stay."""
    gemini = Bench("gemini", tmp_path, monkeypatch)
    gemini.bind()
    # As it does when a minute has passed since the copy was made.
    script = f"""copy=$(grep -rl "$2" "{gemini.home}/.gemini")
short=$(echo "$2" | cut -c1-8)
echo '{{"sessionId": "'"$2"'"}}' > "$(dirname "$copy")/session-2000-01-01T00-00-$short.jsonl"
echo answered"""
    program(tmp_path, "gemini", script, monkeypatch)
    monkeypatch.chdir(gemini.workspace.root)
    before = sorted(gemini.home.rglob("session-*"))
    assert ask(row_in_list(gemini.bound), "What?", "gemini", budget=10_000).text == "answered\n"
    assert sorted(gemini.home.rglob("session-*")) == before
    assert gemini.said() == gemini.expected


def test_codex_without_a_repository_has_a_hint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    codex = Bench("codex", tmp_path, monkeypatch)
    codex.bind()
    said = "Not inside a trusted directory and --skip-git-repo-check was not specified."
    program(tmp_path, "codex", f"echo '{said}' >&2; exit 1", monkeypatch)
    monkeypatch.chdir(codex.workspace.root)
    with pytest.raises(CortextError, match="codex failed") as caught:
        ask(row_in_list(codex.bound), "What?", "codex", budget=10_000)
    assert "git init" in caught.value.hint


def test_an_empty_folder_is_empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where somebody put settings into it, no tool is started there."""
    gemini = Bench("gemini", tmp_path, monkeypatch)
    gemini.bind()
    program(tmp_path, "gemini", f"pwd > {tmp_path}/ran; echo answered", monkeypatch)
    monkeypatch.chdir(gemini.workspace.root)
    row = row_in_list(gemini.bound)
    assert ask(row, "What?", "gemini", budget=10_000).text == "answered\n"
    folder = Path((tmp_path / "ran").read_text(encoding="utf-8").strip())
    assert (list(folder.iterdir()), folder.stat().st_mode & 0o777) == ([], 0o700)
    (folder / ".gemini").mkdir()
    (tmp_path / "ran").unlink()
    with pytest.raises(CortextError, match="not empty"):
        ask(row, "What?", "gemini", budget=10_000)
    assert not (tmp_path / "ran").exists()


def test_a_model_that_only_a_project_names_has_a_hint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """OpenCode itself says only that something is wrong, and the copy goes all the same."""
    bench = Bench("claude", tmp_path, monkeypatch)
    bench.bind()
    monkeypatch.setattr("cortext.app.ask.write_copy", lambda *_, **__: Written("ses_1", "x.db"))
    script = f"""echo "$@" >> {tmp_path}/ran
[ "$1" = session ] || {{ echo '{{"name": "UnknownError"}}' >&2; exit 1; }}"""
    program(tmp_path, "opencode", script, monkeypatch)
    monkeypatch.chdir(bench.workspace.root)
    with pytest.raises(CortextError, match="opencode failed") as caught:
        ask(row_in_list(bench.bound), "What?", "opencode", budget=10_000)
    assert "opencode.json" in caught.value.hint
    ran = (tmp_path / "ran").read_text(encoding="utf-8").splitlines()
    assert ran[-1] == "session delete ses_1"
