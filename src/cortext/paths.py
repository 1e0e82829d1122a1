"""Where things live: the literals of the specifications, and nothing else knows them."""

from __future__ import annotations

import os
from pathlib import Path


def data_home() -> Path:
    """`$XDG_DATA_HOME`, or `~/.local/share`; a relative value counts as not set."""
    value = os.environ.get("XDG_DATA_HOME", "")
    return Path(value) if os.path.isabs(value) else Path.home() / ".local" / "share"


def document_dir() -> Path:
    """The default folder of session documents."""
    return data_home() / "src" / "opencode" / "sessions"


def project_document_dir(root: str | os.PathLike[str]) -> Path:
    """The folder of session documents that belong to one project."""
    return Path(root) / ".src" / "opencode" / "sessions"


def spawn_log_dir() -> Path:
    """The folder of `aur spawn` session logs."""
    return Path.home() / ".aurora" / "spawn" / "sessions"


def personal_workspace() -> Path:
    """The workspace of conversations that were had outside any workspace."""
    return data_home() / "cortext" / "personal"


def trash_dir() -> Path:
    """What the command line deleted, until it is emptied."""
    return data_home() / "cortext" / "trash"
