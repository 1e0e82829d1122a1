"""A real AI tool in a terminal, under tmux: typed into as a person would, and read as a screen."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType

from tests.tools.real.install import installed
from tests.tools.real.launch import Tool, check

POLL = 0.1
SIZE = ("-x", "110", "-y", "50")


class Terminal:
    """The tool with these arguments, until the `with` block ends. Its tmux server is its own."""

    def __init__(self, tool: Tool, arguments: Sequence[str] = (), *, cwd: Path | None = None):
        self._tool = tool
        self.tool = tool.name
        self._environment = {**tool.environment(), "TERM": "xterm-256color"}
        # A server that ends may hold its socket for a moment yet.
        self._socket = str(tool.root / f"tmux-{os.urandom(3).hex()}")
        self._arguments = arguments
        self._cwd = cwd or tool.project
        self._pid = 0

    def __enter__(self) -> "Terminal":
        check(self._tool.root, self._environment)
        self._tool.configure(self._cwd)
        program = str(installed(self._tool.name, self._tool.version))
        self._tmux("new-session", "-d", *SIZE, "-c", str(self._cwd), program, *self._arguments)
        self._pid = int(self._tmux("display-message", "-p", "#{pane_pid}"))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._tmux("kill-server", check=False)
        try:
            # The pane leads a group of its own, made by our server.
            os.killpg(self._pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    @property
    def screen(self) -> str:
        shown = self._tmux("capture-pane", "-p", check=False)
        return "\n".join(line.rstrip() for line in shown.split("\n")).rstrip()

    def type(self, text: str) -> None:
        """As keys, one after the other."""
        self._tmux("send-keys", "-l", "--", text)

    def paste(self, text: str) -> None:
        """As a paste: its line ends do not send it."""
        subprocess.run(
            ["tmux", "-S", self._socket, "load-buffer", "-"],
            input=text.encode(),
            env=self._environment,
            check=True,
            timeout=20,
        )
        self._tmux("paste-buffer", "-p")

    def press(self, *keys: str) -> None:
        self._tmux("send-keys", *keys)

    def until(self, holds: Callable[[], bool], *, seconds: float = 45) -> str:
        """Wait for it; the screen as it is then. AssertionError with the screen if it never is."""
        end = time.monotonic() + seconds
        while not holds():
            assert time.monotonic() < end, f"it never came to that:\n{self.screen}"
            time.sleep(POLL)
        return self.screen

    def shows(self, *texts: str, seconds: float = 45) -> str:
        return self.until(lambda: all(text in self.screen for text in texts), seconds=seconds)

    def _tmux(self, *arguments: str, check: bool = True) -> str:
        done = subprocess.run(
            ["tmux", "-S", self._socket, "-f", "/dev/null", *arguments],
            env=self._environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=20,
            check=check,
        )
        return done.stdout
