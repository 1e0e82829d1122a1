"""The command lines that start Gemini CLI."""

from __future__ import annotations

from collections.abc import Sequence

from cortext.tools.launch_plans import Launcher, LaunchPlan

_DENY = b'[[rule]]\ntoolName = "*"\ndecision = "deny"\npriority = 999\n'


class GeminiLauncher(Launcher):
    """The command lines that start `gemini`, resume its sessions, and ask questions about them."""

    asks_in_copy = True
    takes_command = True
    # Version 0.61 deletes a session after it is resumed in two different later minutes.
    deletes_resumed = True

    def resume(self, id: str, *, cwd: str, command: str = "", instructions: str = "") -> LaunchPlan:
        first = ("--prompt-interactive", command) if command else ()
        return LaunchPlan(self.tool.name, ("gemini", "--resume", id, *first), cwd)

    def start(self, *, cwd: str, command: str = "", instructions: str = "") -> LaunchPlan | None:
        words = ("gemini", "--prompt-interactive", command)
        return LaunchPlan(self.tool.name, words, cwd) if command else None

    def ask(self, id: str, *, cwd: str, policy: str, extra: Sequence[str]) -> LaunchPlan:
        words = ("gemini", "--resume", id, "--policy", policy, *extra)
        # Gemini CLI answers only in trusted folders. This folder is ours, and it is empty.
        return LaunchPlan(self.tool.name, words, cwd, {"GEMINI_CLI_TRUST_WORKSPACE": "true"})

    def deny_policy(self) -> bytes:
        return _DENY
