"""The bridges, by the names of their tools; each is imported when it is asked for."""

from __future__ import annotations

from importlib import import_module

from cortext.bridges.port import Bridge

BRIDGES = {
    "claude": "ClaudeBridge",
    "codex": "CodexBridge",
    "gemini": "GeminiBridge",
    "opencode": "OpenCodeBridge",
}


def open_bridge(tool: str) -> Bridge:
    """The bridge to one tool, where its histories usually are."""
    return getattr(import_module(f"cortext.bridges.{tool}"), BRIDGES[tool])()
