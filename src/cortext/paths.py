"""The paths of all files and folders that cortext uses. No other module contains them."""

from __future__ import annotations

import os

_FEW = 100
"""The number of folders to check when a workspace is looked for."""


def _at_home(name: str) -> str:
    """Return a path below the person's home folder; an empty `$HOME` counts as not set."""
    if os.environ.get("HOME") == "":
        import pwd

        return os.path.join(pwd.getpwuid(os.getuid()).pw_dir, name)
    return os.path.expanduser(f"~/{name}")


def data_home() -> str:
    """Return `$XDG_DATA_HOME`, or `~/.local/share`; a relative value counts as not set."""
    value = os.environ.get("XDG_DATA_HOME", "")
    return value if os.path.isabs(value) else _at_home(".local/share")


def config_home() -> str:
    """Return `$XDG_CONFIG_HOME`, or `~/.config`; a relative value counts as not set."""
    value = os.environ.get("XDG_CONFIG_HOME", "")
    return value if os.path.isabs(value) else _at_home(".config")


def cache_home() -> str:
    """Return `$XDG_CACHE_HOME`, or `~/.cache`; a relative value counts as not set."""
    value = os.environ.get("XDG_CACHE_HOME", "")
    return value if os.path.isabs(value) else _at_home(".cache")


def document_dir() -> str:
    """Return the default folder of session documents."""
    return os.path.join(data_home(), "src/opencode/sessions")


def project_document_dir(root: str | os.PathLike[str]) -> str:
    """Return the folder of the session documents of one project."""
    return os.path.join(root, ".src/opencode/sessions")


def personal_workspace() -> str:
    """Return the workspace for conversations that took place outside any workspace."""
    return os.path.join(data_home(), "cortext", "personal")


def current_folder() -> str:
    """Return the current folder; if that was removed, the path that the shell has in `$PWD`."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        return os.environ.get("PWD", "").rstrip("/") or "/"


def workspace_root(start: str | os.PathLike[str] | None = None) -> str:
    """Return the nearest parent folder that is a workspace, or else the personal workspace.

    A workspace contains `.workspace/` or conversations, because a clone may have only the latter.
    The search begins at `start`, by default the current folder.
    """
    folder: str = os.path.abspath(os.fspath(start or current_folder()))
    while not (os.path.isdir(f"{folder}/.workspace") or _has_conversations(folder)):
        parent = os.path.dirname(folder)
        if parent == folder:
            return personal_workspace()
        folder = parent
    return folder


def _has_conversations(folder: str) -> bool:
    """Return whether a folder contains `conversations/DATE/NAME/.session/`."""
    try:
        days = [name for name in os.listdir(f"{folder}/conversations") if name.count("-") == 2]
        return any(
            os.path.isdir(f"{folder}/conversations/{day}/{name}/.session")
            for day in days[:_FEW]
            for name in os.listdir(f"{folder}/conversations/{day}")[:_FEW]
        )
    except OSError:
        return False


def catalog() -> str:
    """Return the path of the catalog, the derived database for lists of conversations."""
    return os.path.join(cache_home(), "cortext", "catalog.sqlite3")


def former_catalog() -> str:
    """Return the path at which earlier versions stored the catalog."""
    return os.path.join(data_home(), "cortext", "catalog.sqlite3")


def words() -> str:
    """Return the path of the derived full-text index."""
    return os.path.join(cache_home(), "cortext", "words.sqlite3")


def checked() -> str:
    """Return the file that lists what `cortext doctor` found intact and need not read again."""
    return os.path.join(cache_home(), "cortext", "checked.json")


def known_workspaces() -> str:
    """Return the file that lists every workspace in which cortext was used."""
    return os.path.join(data_home(), "cortext", "workspaces")


def trash() -> str:
    """Return the folder of deleted conversations."""
    return os.path.join(data_home(), "cortext", "trash")


def archive() -> str:
    """Return the folder of our copies of transcripts; it has one folder for each tool."""
    return os.path.join(data_home(), "cortext", "archive")


def service_tokens() -> str:
    """Return the folder of the access tokens for `cortext serve`: one file for each client name."""
    return os.path.join(data_home(), "cortext", "tokens")


def running() -> str:
    """Return the folder of temporary state, such as what hooks record about running sessions."""
    return os.path.join(data_home(), "cortext", "running")


def log_file() -> str:
    """Return the log of errors that could not be shown to a person."""
    return os.path.join(data_home(), "cortext", "errors.log")


def aurora_home() -> str:
    """Return `$AURORA_HOME`, or `~/.aurora`; a relative value counts as not set."""
    value = os.environ.get("AURORA_HOME", "")
    return value if os.path.isabs(value) else _at_home(".aurora")


def spawn_sessions() -> str:
    """Return the folder of the sessions of `aur spawn`."""
    return os.path.join(aurora_home(), "spawn", "sessions")


def program_sessions() -> str:
    """Return the default folder for sessions of programs that use cortext as a library."""
    return os.path.join(data_home(), "cortext", "programs")


def known_programs() -> str:
    """Return the file that lists the other folders of sessions that programs store as logs."""
    return os.path.join(data_home(), "cortext", "program-folders")


def known_documents() -> str:
    """Return the file that lists the other folders of sessions that programs store as documents."""
    return os.path.join(data_home(), "cortext", "document-folders")


def redaction_key() -> str:
    """Return the file with the key for the marks that replace redacted secrets."""
    return os.path.join(data_home(), "cortext", "redaction.key")


def unfinished_redact() -> str:
    """Return the file that names the conversations that a running redaction changes."""
    return f"{redaction_key()}.begun"


def setup_record() -> str:
    """Return the file that records what `cortext setup` wrote."""
    return os.path.join(data_home(), "cortext", "setup.json")


def watch_mark() -> str:
    """Return the lock file that `cortext watch` holds while it runs."""
    return os.path.join(data_home(), "cortext", "watch.lock")
