"""The paths of all files and folders that cortext uses. No other module contains them."""

from __future__ import annotations

import os

_FEW = 100
"""The largest number of date folders, and of conversations in each, that a search checks."""


def _at_home(name: str) -> str:
    """Return a path below the user's home folder; an empty `$HOME` counts as not set."""
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
    """Return the default folder of session documents, which hold one session in each JSON file."""
    return os.path.join(data_home(), "src/opencode/sessions")


def project_document_dir(root: str | os.PathLike[str]) -> str:
    """Return the folder of session documents in the project at `root`."""
    return os.path.join(root, ".src/opencode/sessions")


def personal_workspace() -> str:
    """Return the personal workspace, for conversations that took place outside any workspace."""
    return os.path.join(data_home(), "cortext", "personal")


def current_folder() -> str:
    """Return the current folder. If the folder was removed, return its former path from `$PWD`."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        return os.environ.get("PWD", "").rstrip("/") or "/"


def workspace_root(start: str | os.PathLike[str] | None = None) -> str:
    """Return the workspace that contains a folder, or the personal workspace if there is none.

    `start` is the folder, by default the current one. The result is `start` or its nearest parent
    that contains `.workspace/` or conversations. A git clone may contain only conversations.
    """
    folder: str = os.path.abspath(os.fspath(start or current_folder()))
    while not (os.path.isdir(f"{folder}/.workspace") or _has_conversations(folder)):
        parent = os.path.dirname(folder)
        if parent == folder:
            return personal_workspace()
        folder = parent
    return folder


def _has_conversations(folder: str) -> bool:
    """Return whether a folder contains a conversation: `conversations/DATE/NAME/.session/`."""
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
    """Return the path of the catalog, the database from which conversations are listed."""
    return os.path.join(cache_home(), "cortext", "catalog.sqlite3")


def former_catalog() -> str:
    """Return the path at which earlier versions stored the catalog."""
    return os.path.join(data_home(), "cortext", "catalog.sqlite3")


def words() -> str:
    """Return the path of the database that is the full-text index of all conversations."""
    return os.path.join(cache_home(), "cortext", "words.sqlite3")


def checked() -> str:
    """Return the file with fingerprints of files that `cortext doctor` found intact.

    `cortext doctor` skips these files until they change.
    """
    return os.path.join(cache_home(), "cortext", "checked.json")


def known_workspaces() -> str:
    """Return the file that lists every workspace in which cortext was used."""
    return os.path.join(data_home(), "cortext", "workspaces")


def trash() -> str:
    """Return the folder of deleted conversations."""
    return os.path.join(data_home(), "cortext", "trash")


def archive() -> str:
    """Return the folder of our copies of transcripts, which has one folder for each AI tool."""
    return os.path.join(data_home(), "cortext", "archive")


def service_tokens() -> str:
    """Return the folder of access tokens for `cortext serve`, with one file for each client."""
    return os.path.join(data_home(), "cortext", "tokens")


def running() -> str:
    """Return the folder of temporary state, such as the notes of hooks about running sessions."""
    return os.path.join(data_home(), "cortext", "running")


def log_file() -> str:
    """Return the path of the log file for errors that could not be shown to the user."""
    return os.path.join(data_home(), "cortext", "errors.log")


def aurora_home() -> str:
    """Return the folder of the `aur` program: `$AURORA_HOME`, or `~/.aurora`.

    A relative value of the variable counts as not set.
    """
    value = os.environ.get("AURORA_HOME", "")
    return value if os.path.isabs(value) else _at_home(".aurora")


def spawn_sessions() -> str:
    """Return the folder in which `aur spawn` stores its sessions."""
    return os.path.join(aurora_home(), "spawn", "sessions")


def program_sessions() -> str:
    """Return the default folder for sessions of programs that use cortext as a library."""
    return os.path.join(data_home(), "cortext", "programs")


def known_programs() -> str:
    """Return the file that lists further folders in which programs store sessions as log files."""
    return os.path.join(data_home(), "cortext", "program-folders")


def known_documents() -> str:
    """Return the file that lists further folders in which programs store session documents."""
    return os.path.join(data_home(), "cortext", "document-folders")


def redaction_key() -> str:
    """Return the file with the key for the fingerprints of redacted secrets."""
    return os.path.join(data_home(), "cortext", "redaction.key")


def unfinished_redact() -> str:
    """Return the file that lists the conversations of a redaction that has not finished."""
    return f"{redaction_key()}.begun"


def setup_record() -> str:
    """Return the file that records the changes that `cortext setup` made."""
    return os.path.join(data_home(), "cortext", "setup.json")


def watch_mark() -> str:
    """Return the lock file that `cortext watch` holds while it runs."""
    return os.path.join(data_home(), "cortext", "watch.lock")
