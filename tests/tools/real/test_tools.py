"""The real tools, each through its own resume: what was said before reaches the model again."""

from pathlib import Path

import pytest

from tests.tools.real.four_tools import FOUR
from tests.tools.real.install import PACKAGES
from tests.tools.real.launch import FAKE_KEY
from tests.tools.real.request_messages import of_role
from tests.tools.real.stub import Stub

pytestmark = [
    pytest.mark.slow,
    pytest.mark.needs("node", "to run the AI tools"),
    pytest.mark.needs("npm", "to install the AI tools"),
]
PINNED = [(name, version) for name, it in PACKAGES.items() for version in it.versions]
FIRST, SECOND = "What is the first question?", "And what is the second one?"


@pytest.mark.parametrize(("name", "version"), PINNED)
def test_resumed_tool_session_sends_first_turn_before_second(
    name: str, version: str, tmp_path: Path
) -> None:
    """Both prompts and the first answer, in order, in one session; with the fake key."""
    with Stub(["The first answer.", "The second answer."]) as stub:
        tool = FOUR[name](tmp_path / "root", stub.url, version=version)
        first = tool.run(FIRST)
        assert (first.code, first.stdout) == (0, "The first answer.\n"), first
        (session,) = tool.sessions()
        second = tool.run(SECOND, resume=session)
        assert (second.code, second.stdout) == (0, "The second answer.\n"), second
        assert tool.sessions() == [session]
    begun, resumed = stub.asked
    assert FIRST in of_role("user", begun)
    assert SECOND not in of_role("user", begun)
    assert of_role("user", resumed)[-2:] == [FIRST, SECOND]
    assert of_role("assistant", resumed) == ["The first answer."]
    for request in stub.log:
        if request.status == 200:
            assert FAKE_KEY in " ".join(request.headers.values())


@pytest.mark.parametrize("name", FOUR)
def test_cached_tool_is_pinned_version(name: str, tmp_path: Path) -> None:
    """What is in the cache is what its folder says."""
    with Stub() as stub:
        for version in PACKAGES[name].versions:
            tool = FOUR[name](tmp_path / version, stub.url, version=version)
            assert version in tool.start(["--version"]).stdout
