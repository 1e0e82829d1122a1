"""The bridges, by the names of their tools; each is imported when it is asked for."""

from __future__ import annotations

from importlib import import_module

from cortext.tools.protocol import Bridge

BRIDGES = {
    "claude": "ClaudeBridge",
    "codex": "CodexBridge",
    "gemini": "GeminiBridge",
    "opencode": "OpenCodeBridge",
}


def open_bridge(tool: str, home: str | None = None) -> Bridge:
    """The bridge to one tool: over `home`, which may be its mirror in the archive, else where
    its histories usually are."""
    return getattr(import_module(f"cortext.tools.{tool}.reader"), BRIDGES[tool])(home)
