"""A whole session in a terminal with each of the real tools, against the loopback stub."""

import json
import time
from pathlib import Path

import pytest

from tests.cli.repl.terminal import CTRL_C, CTRL_D, Terminal
from tests.command import SCRIPT
from tests.tools.real.four_tools import FOUR
from tests.tools.real.spawn_machine import living, machine
from tests.tools.real.streaming_stub import StreamingStub

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(300),
    pytest.mark.needs("node", "to run the AI tools"),
    pytest.mark.needs("npm", "to install the AI tools"),
]


@pytest.mark.parametrize("name", FOUR)
def test_real_tool_streams_interrupts_and_resumes_in_repl(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An answer that streams, one that is interrupted, the end, and going on with what was said."""
    with StreamingStub(["It begins ", "and **it** ", "ends."], hold=1) as stub:
        made = machine(tmp_path, stub, name, monkeypatch)
        words = [SCRIPT, "spawn", "-i", "--tool", name]
        file = made.root / "home/.aurora/spawn/sessions/s.jsonl"
        with Terminal([*words, "--session", "s"], cwd=made.project, env={}) as terminal:
            assert f"session s · {name}" in terminal.prompt()
            terminal.line("A question.")
            terminal.until("It begins")
            stub.go.set()
            terminal.until("and it ends.")
            terminal.prompt()
            stub.go.clear()
            terminal.line("Another question.")
            terminal.until("It begins")
            terminal.keys(CTRL_C)
            terminal.until("Interrupted. Returning to prompt.")
            terminal.prompt()
            stub.go.set()
            assert left_by_the_tool(terminal, made.root) == []
            terminal.keys(CTRL_D)
            assert terminal.ends() == 0
        said = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        assert [turn["content"] for turn in said[1:]] == [
            "A question.",
            "It begins and **it** ends.",
        ]
        assert said[0]["status"] == "completed"
        before = len(stub.asked)
        with Terminal([*words, "--resume", "s"], cwd=made.project, env={}) as terminal:
            assert "Resuming completed session" in terminal.prompt()
            terminal.line("A last question.")
            terminal.until("and it ends.")
            terminal.prompt()
        asked = json.dumps(stub.asked[before:])
        assert "It begins and **it** ends." in asked
        assert "Another question." not in asked


def left_by_the_tool(terminal: Terminal, root: Path) -> list[str]:
    """What goes on running, but for the REPL itself."""
    ours = Path(f"/proc/{terminal.process.pid}/cmdline").read_bytes().decode()
    end = time.monotonic() + 60
    while (found := [each for each in living(root) if each != ours]) and time.monotonic() < end:
        time.sleep(0.05)
    return found
