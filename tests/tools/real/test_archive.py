"""The archive with the real tools: copied between turns, it outlives what they wrote."""

import shutil
from pathlib import Path

import pytest

from cortext.features.archive.archive_copy_states import folder_of
from cortext.features.archive.archive_sync import sync
from cortext.tools.registry import open_bridge
from tests.tools.archive_contents import archived, contents
from tests.tools.real.four_tools import FOUR
from tests.tools.real.install import PACKAGES
from tests.tools.real.stub import Stub

pytestmark = [
    pytest.mark.slow,
    pytest.mark.needs("node", "to run the AI tools"),
    pytest.mark.needs("npm", "to install the AI tools"),
]
PINNED = [(name, version) for name, it in PACKAGES.items() for version in it.versions]


@pytest.mark.parametrize(("name", "version"), PINNED)
def test_archive_keeps_conversation_after_tool_folder_is_deleted(
    name: str, version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three turns with a sync after each: one copy that grows by what is new, the tool goes on
    undisturbed, and when its folder is gone the copy says the same."""
    words = [f"Question {number}?" for number in range(3)]
    with Stub([f"Answer {number}." for number in range(3)]) as stub:
        tool = FOUR[name](tmp_path / "root", stub.url, version=version)
        monkeypatch.setenv("HOME", str(tool.home))
        monkeypatch.setenv("XDG_DATA_HOME", str(tool.home / ".local/share"))
        monkeypatch.delenv("CODEX_HOME", raising=False)
        session = ""
        for number, prompt in enumerate(words):
            done = tool.run(prompt, resume=session)
            assert (done.code, done.stdout) == (0, f"Answer {number}.\n"), done
            session = session or tool.sessions()[-1]
            result = next(one for one in sync().tools if one.tool == name)
            changed = (result.new, result.grown, result.replaced)
            assert changed[0 if number == 0 else 1] >= 1, result
            assert changed[2] == 0, result
    before = contents(name)
    shutil.rmtree(tool.store)
    assert contents(name) == {}
    assert archived(name) == before
    bridge = open_bridge(name, folder_of(name))
    (source,) = [one for one in bridge.sources() if one.id == session]
    said = [(m.role, m.content) for m in bridge.decode(source).session.messages]
    answers = [f"Answer {number}." for number in range(3)]
    assert [text for role, text in said if role == "user"] == words
    assert [text for role, text in said if role == "assistant"] == answers
