"""The interactive prompt (REPL) of `cortext spawn`, in which the user talks to an agent."""

from __future__ import annotations

from cortext.cli.repl.repl_loop import run as run
