"""The command lines that start Claude Code."""

from __future__ import annotations

from collections.abc import Sequence

from cortext.tools.launch_plans import Launcher, LaunchPlan


class ClaudeLauncher(Launcher):
    """The command lines that start `claude`, resume its sessions, and ask questions about them."""

    takes_command = True

    def resume(self, id: str, *, cwd: str, command: str = "", instructions: str = "") -> LaunchPlan:
        words = ("claude", "--resume", id, *([command] if command else []))
        return LaunchPlan(self.tool.name, words, cwd)

    def fork(self, id: str, *, new: str, cwd: str, command: str = "") -> LaunchPlan | None:
        words = ("claude", "--resume", id, "--fork-session", "--session-id", new)
        return LaunchPlan(self.tool.name, (*words, *([command] if command else [])), cwd)

    def start(self, *, cwd: str, command: str = "", instructions: str = "") -> LaunchPlan | None:
        return LaunchPlan(self.tool.name, ("claude", command), cwd) if command else None

    def ask(self, id: str, *, cwd: str, policy: str, extra: Sequence[str]) -> LaunchPlan:
        words = ["claude", "-p", "--resume", id, "--fork-session", "--no-session-persistence"]
        # Ignore project settings: without a terminal, Claude Code runs a project's hooks unasked.
        words += ["--tools", "", "--strict-mcp-config", "--setting-sources", "user", *extra]
        return LaunchPlan(self.tool.name, tuple(words), cwd)
