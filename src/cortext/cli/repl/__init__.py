"""The REPL of `aur spawn`."""

from __future__ import annotations

from cortext.cli.repl.repl_loop import run as run
