"""The tools that keep each session in a file of its own."""

IN_FILES = ("claude", "codex", "gemini")
