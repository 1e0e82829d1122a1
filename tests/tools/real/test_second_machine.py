"""Another machine: a workspace by git alone, at another path, with no history of any tool."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.tools.real.four_tools import FOUR
from tests.tools.real.machine import Machine, missing, times_told
from tests.tools.real.record import Said, converse
from tests.tools.real.stub import Stub

pytestmark = [
    pytest.mark.slow,
    pytest.mark.needs("git", "to carry a workspace"),
    pytest.mark.needs("node", "to run the AI tools"),
    pytest.mark.needs("npm", "to install the AI tools"),
]


def git(cwd: Path, *words: str) -> None:
    alone = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
    environment = {"PATH": os.environ["PATH"], **alone}
    subprocess.run(["git", *words], cwd=cwd, env=environment, check=True, capture_output=True)


@pytest.fixture(scope="module")
def pushed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, Said]:
    """A conversation had in Claude Code on one machine, stopped there and pushed."""
    folder = tmp_path_factory.mktemp("first")
    with Stub() as stub:
        machine = Machine(folder / "root", stub, tools=["claude"])
        said = converse(machine.tools["claude"], stub)
        git(machine.project, "config", "user.name", "You")
        git(machine.project, "config", "user.email", "you@example.invalid")
        machine.ok("init")
        (id,) = machine.tools["claude"].sessions()
        name = machine.ok("import", id).strip().removeprefix("imported: ")
        machine.ok("stop", name)
    git(folder, "init", "-q", "--bare", "bare.git")
    git(machine.project, "add", "-A")
    git(machine.project, "commit", "-q", "--allow-empty", "-m", "All of it")
    git(machine.project, "push", "-q", str(folder / "bare.git"), "HEAD:refs/heads/main")
    return folder / "bare.git", name, said


@pytest.mark.parametrize("name", FOUR)
def test_conversation_resumes_in_clone_on_second_machine(
    name: str, pushed: tuple[Path, str, Said], tmp_path: Path
) -> None:
    """All that was said, once and in order, in a session of the tool's own; said there, it is in
    the conversation."""
    bare, key, said = pushed
    with Stub(["Going on.", "Still here."]) as stub:
        machine = Machine(tmp_path / "second", stub, tools=[name])
        git(tmp_path, "clone", "-q", "-b", "main", str(bare), str(machine.root / "cloned here"))
        clone = machine.root / "cloned here"
        for tool in machine.tools.values():
            (tool.home / ".codex/config.toml").unlink(missing_ok=True)
            tool.configure(clone)
        line = machine.line(key, "--tool", name, cwd=clone)
        assert line.cwd == clone
        done = machine.headless(line, "Where were we?")
        assert done.code == 0, done
        assert missing(said, stub.asked[0]) == []
        assert [text for _, text in said if times_told(text, stub.asked[0]) != 1] == []
        again = machine.line(key, "--tool", name, cwd=clone)
        assert again.words[2] == line.words[2]
        shown = machine.ok("show", key, cwd=clone)
        assert "Where were we?" in shown
        assert "Going on." in shown
