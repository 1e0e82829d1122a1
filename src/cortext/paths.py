"""Where things live: the literals of the specifications, and nothing else knows them."""

from __future__ import annotations

import os


def data_home() -> str:
    """`$XDG_DATA_HOME`, or `~/.local/share`; a relative value counts as not set."""
    value = os.environ.get("XDG_DATA_HOME", "")
    return value if os.path.isabs(value) else os.path.expanduser("~/.local/share")


def document_dir() -> str:
    """The default folder of session documents."""
    return os.path.join(data_home(), "src", "opencode", "sessions")


def project_document_dir(root: str | os.PathLike[str]) -> str:
    """The folder of session documents that belong to one project."""
    return os.path.join(root, ".src", "opencode", "sessions")


def personal_workspace() -> str:
    """The workspace of conversations that were had outside any workspace."""
    return os.path.join(data_home(), "cortext", "personal")
