"""What a person sees in the end, on the screen of a real terminal emulator."""

import os
import shlex
import subprocess
import time
from collections.abc import Callable, Iterator

import pytest

from tests.cli.repl.conftest import Person

pytestmark = pytest.mark.needs("tmux", "to see a screen")
Screen = Callable[..., "Tmux"]


class Tmux:
    """`spawn` in a terminal of some size."""

    def __init__(self, person: Person, columns: int, lines: int, env: dict[str, str]) -> None:
        self._tmux = ["tmux", "-S", str(person.home / "tmux"), "-f", "/dev/null"]
        self._cwd = person.cwd
        command = shlex.join(person.words("--session", "s"))
        size = ("-x", str(columns), "-y", str(lines))
        subprocess.run(
            [*self._tmux, "new-session", "-d", *size, command],
            cwd=person.cwd,
            env={**os.environ, **person.env, "LC_ALL": "C.UTF-8", **env},
            check=True,
        )
        self.wait_for("default>")

    def _run(self, *words: str) -> str:
        done = subprocess.run([*self._tmux, *words], capture_output=True, text=True, check=True)
        return done.stdout

    def shown(self) -> str:
        """The screen and what was scrolled away."""
        return self._run("capture-pane", "-p", "-J", "-S", "-5000").rstrip("\n")

    def wait_for(self, text: str, *, end: bool = True) -> str:
        deadline = time.monotonic() + 60
        shown = self.shown()
        while not (shown.rstrip().endswith(text) if end else text in shown):
            assert time.monotonic() < deadline, f"{text!r} is not shown:\n{shown}"
            shown = self.shown()
        return shown

    def answered(self, text: str) -> str:
        """What is shown of an answer, when it is there."""
        (self._cwd / "answer").write_text(text, encoding="utf-8")
        before = self.shown().count("default>")
        self.keys("show answer")
        deadline = time.monotonic() + 60
        while (shown := self.shown()).count("default>") == before or not shown.endswith("default>"):
            assert time.monotonic() < deadline, shown
        return shown.rpartition("show answer")[2].rpartition("default>")[0].strip("\n")

    def keys(self, text: str) -> None:
        self._run("send-keys", "-l", text)
        self._run("send-keys", "Enter")

    def end(self) -> None:
        subprocess.run([*self._tmux, "kill-server"], check=False, capture_output=True)


@pytest.fixture
def screen(person: Person) -> Iterator[Screen]:
    opened: list[Tmux] = []

    def begin(columns: int = 80, lines: int = 24, **env: str) -> Tmux:
        opened.append(Tmux(person, columns, lines, env))
        return opened[-1]

    yield begin
    for each in opened:
        each.end()


def test_screen_replaces_raw_markdown_with_rendered_blocks(screen: Screen) -> None:
    """Each block gives way to its rendered form, and nothing else on the screen does."""
    terminal = screen()
    terminal.answered("first answer")
    text = "# Title\n\nA **bold** word.\n\n```python\nx = 1\n```\n- a\n- b\n\nend"
    lines = [line.strip() for line in terminal.answered(text).split("\n") if line.strip()]
    assert lines == ["Title", "A bold word.", "x = 1", "• a", "• b", "end"]
    assert "first answer" in terminal.shown()


def test_screen_replaces_wrapped_and_wide_text_completely(screen: Screen) -> None:
    """Rows are counted as terminals fold them: neither too few nor too many go."""
    terminal = screen(columns=40, lines=50)
    terminal.answered("above")
    wide = "漢字" * 30
    for text in (f"**{'w' * 36}** end", f"**{'w' * 37}** end", f"**{wide}**", f"a**{wide}**"):
        shown = "".join(terminal.answered(f"{text}\n\nlast").split())
        assert shown == text.replace("**", "").replace(" ", "") + "last"
    assert terminal.shown().count("above") == 1


def test_screen_leaves_text_of_ambiguous_width_raw(screen: Screen) -> None:
    """Joined emoji and combining marks have no width that all agree on."""
    shown = screen().answered("**e\u0301** and **\U0001f469\u200d\U0001f680**\n\n**plain**")
    assert shown.count("**") == 4


def test_screen_leaves_block_taller_than_screen_raw(screen: Screen) -> None:
    """It was scrolled away in part, and stands there once and whole."""
    lines = [f"**{number}**" for number in range(30)]
    shown = screen(lines=10).answered("\n".join((*lines, "", "the **end**")))
    assert [line for line in shown.split("\n") if line] == [*lines, "the end"]


def test_no_color_leaves_markdown_raw(screen: Screen) -> None:
    """As the agent wrote it."""
    text = "# Title\n\nA **bold** word."
    assert screen(NO_COLOR="1").answered(text) == text


def test_spinner_runs_until_first_byte_and_disappears(screen: Screen, person: Person) -> None:
    """And nothing of it is left when the answer comes."""
    terminal = screen()
    terminal.keys("hush go")
    frames: set[str] = set()
    deadline = time.monotonic() + 60
    while len(frames) < 3 and time.monotonic() < deadline:
        shown = terminal.wait_for(name := " python agent.py")
        frames.add(shown.rstrip()[-len(name) - 1])
    assert len(frames) == 3
    (person.cwd / "go").touch()
    shown = terminal.wait_for("default>")
    assert "spoke at last" in shown
    assert not frames & set(shown)
