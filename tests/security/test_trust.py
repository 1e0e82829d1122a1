"""A tool's questions to its person are not ours to answer: no key that answers one is written."""

import os

import pytest

from cortext import Session, SessionMessage
from cortext.tools.writer_protocol import open_writer, turns_of
from tests.command import begin, ok
from tests.tools.file_tools import IN_FILES

KEYS = [
    "hasTrustDialogAccepted", "hasTrustDialogHooksAccepted", "bypassPermissions",
    "bypassPermissionsModeAccepted", "skipDangerousModePermissionPrompt", "defaultMode",
    "enableAllProjectMcpServers", "enabledMcpjsonServers", "hasCompletedOnboarding",
    "hasClaudeMdExternalIncludesApproved", "dangerously", "trustedFolders", "TRUST_FOLDER",
    "folderTrust", "GEMINI_CLI_TRUST", "yolo", "autoAccept", "approvalMode", "trust_level",
    "approval_policy", "sandbox_mode", "danger-full-access", "hide_full_access_warning",
    '"trust"', '"allow"', '"permission"', "autoupdate",
]  # fmt: skip
TOOLS = ("claude", "opencode", "gemini", "codex")


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Every file of a home and a project after all that writes for a tool, with its text."""
    root = tmp_path_factory.mktemp("trust")
    home, project = root / "home", root / "project"
    for folder in (home, project):
        folder.mkdir()
    env = {"HOME": str(home), "XDG_CONFIG_HOME": str(home / ".config"),
           "XDG_DATA_HOME": str(home / ".data"), "XDG_CACHE_HOME": str(home / ".cache"),
           "AURORA_HOME": str(home / ".aurora")}  # fmt: skip
    old = {name: os.environ.get(name) for name in env}
    os.environ.update(env)
    try:
        ok(project, "init")
        begin(project, "plan", "Paging", "How do we page?", "With cursors.")
        ok(project, "setup", "--tools", ",".join(TOOLS), "--yes")
        session = Session(
            messages=[SessionMessage("user", "How?"), SessionMessage("assistant", "So.")]
        )
        turns = turns_of(session, show=lambda number: f"cortext show it --message {number}")
        for tool in IN_FILES:
            open_writer(tool, str(home / f".{tool}")).write(turns, cwd=str(project), title="T")
        ok(project, "stop")
    finally:
        os.environ.update({name: value for name, value in old.items() if value is not None})
    found = {
        str(path.relative_to(root)): path.read_text("utf-8", "replace")
        for path in root.rglob("*")
        if path.is_file()
    }
    assert len(found) > 20
    return found


@pytest.mark.parametrize("key", KEYS)
def test_no_written_file_answers_trust_question_of_tool(key: str, written: dict[str, str]) -> None:
    """Neither its settings nor a session that is written for it."""
    assert [name for name, text in written.items() if key in text] == []


def test_written_files_include_cortext_settings_of_every_tool(written: dict[str, str]) -> None:
    """Settings of each tool are among the files, with what we do add to them."""
    for part in (".claude", "opencode", ".gemini", ".codex"):
        assert [name for name, text in written.items() if part in name and "cortext" in text], part
