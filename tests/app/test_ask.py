"""Asking an old conversation, with programs in the place of the tools."""

import os
from pathlib import Path

import pytest

from cortext.app.ask import ask
from cortext.app.tool_session import row_in_list
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
