"""The paths of the files and folders in which cortext stores its data, outside of workspaces."""

from __future__ import annotations

import os

_MOST_CHECKED = 100
"""`_has_conversations` checks at most this many date folders, and this many folders in each."""


def _home_path(name: str) -> str:
    """Return the path of `name` in the user's home folder. An empty `$HOME` counts as not set."""
    if os.environ.get("HOME") == "":
        import pwd

        return os.path.join(pwd.getpwuid(os.getuid()).pw_dir, name)
    return os.path.expanduser(f"~/{name}")


def data_home() -> str:
    """Return the user's data folder: `$XDG_DATA_HOME` if it is absolute, or `~/.local/share`."""
    value = os.environ.get("XDG_DATA_HOME", "")
    return value if os.path.isabs(value) else _home_path(".local/share")


def config_home() -> str:
    """Return the user's settings folder: `$XDG_CONFIG_HOME` if it is absolute, or `~/.config`."""
    value = os.environ.get("XDG_CONFIG_HOME", "")
    return value if os.path.isabs(value) else _home_path(".config")


def cache_home() -> str:
    """Return the user's cache folder: `$XDG_CACHE_HOME` if it is absolute, or `~/.cache`."""
    value = os.environ.get("XDG_CACHE_HOME", "")
    return value if os.path.isabs(value) else _home_path(".cache")


def document_dir() -> str:
    """Return the default folder of session documents: JSON files with one session each."""
    return os.path.join(data_home(), "src/opencode/sessions")


def project_document_dir(root: str | os.PathLike[str]) -> str:
    """Return the folder of session documents in the project at `root`."""
    return os.path.join(root, ".src/opencode/sessions")


def personal_workspace() -> str:
    """Return the folder of the personal workspace.

    It contains the conversations that took place outside of any workspace.
    """
    return os.path.join(data_home(), "cortext", "personal")


def current_folder() -> str:
    """Return the current folder. If the folder was removed, return its former path from `$PWD`."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        return os.environ.get("PWD", "").rstrip("/") or "/"


def workspace_root(start: str | os.PathLike[str] | None = None) -> str:
    """Return the root folder of the workspace that contains the folder `start`.

    By default, `start` is the current folder. The root folder is `start` or its nearest parent that
    contains `.workspace/` or conversations. (A git clone of a workspace may have only
    conversations.) If there is no such folder, return the personal workspace.
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
            for day in days[:_MOST_CHECKED]
            for name in os.listdir(f"{folder}/conversations/{day}")[:_MOST_CHECKED]
        )
    except OSError:
        return False


def catalog() -> str:
    """Return the path of the catalog, the database from which cortext lists conversations."""
    return os.path.join(cache_home(), "cortext", "catalog.sqlite3")


def former_catalog() -> str:
    """Return the path at which an early version stored the catalog."""
    return os.path.join(data_home(), "cortext", "catalog.sqlite3")


def words() -> str:
    """Return the path of the full-text index, the database of all words in conversations."""
    return os.path.join(cache_home(), "cortext", "words.sqlite3")


def checked() -> str:
    """Return the path of the file in which `cortext doctor` lists the files that are intact.

    The list has their fingerprints (size and time). `cortext doctor` skips an intact file until it
    changes.
    """
    return os.path.join(cache_home(), "cortext", "checked.json")


def known_workspaces() -> str:
    """Return the path of the file that lists every workspace in which cortext was used."""
    return os.path.join(data_home(), "cortext", "workspaces")


def moved_folders() -> str:
    """Return the path of the file that lists the folders which the user declared as moved."""
    return os.path.join(data_home(), "cortext", "moved-folders")


def trash() -> str:
    """Return the folder of deleted conversations."""
    return os.path.join(data_home(), "cortext", "trash")


def archive() -> str:
    """Return the folder of cortext's copies of transcripts, with a subfolder for each AI tool."""
    return os.path.join(data_home(), "cortext", "archive")


def service_tokens() -> str:
    """Return the folder of access tokens for `cortext serve`, with one file for each client."""
    return os.path.join(data_home(), "cortext", "tokens")


def running() -> str:
    """Return the folder for temporary state, such as what hooks record about running sessions."""
    return os.path.join(data_home(), "cortext", "running")


def log_file() -> str:
    """Return the path of the log file for errors that could not be shown to the user."""
    return os.path.join(data_home(), "cortext", "errors.log")


def aurora_home() -> str:
    """Return the folder of the `aur` program: `$AURORA_HOME`, or `~/.aurora`.

    A relative value of the variable counts as not set.
    """
    value = os.environ.get("AURORA_HOME", "")
    return value if os.path.isabs(value) else _home_path(".aurora")


def spawn_sessions() -> str:
    """Return the folder in which `aur spawn` stores its sessions."""
    return os.path.join(aurora_home(), "spawn", "sessions")


def program_sessions() -> str:
    """Return the default folder for sessions of programs that use cortext as a library."""
    return os.path.join(data_home(), "cortext", "programs")


def known_programs() -> str:
    """Return the path of the file that lists more folders in which programs store logs.

    A log is a JSONL file with one session.
    """
    return os.path.join(data_home(), "cortext", "program-folders")


def known_documents() -> str:
    """Return the path of the file that lists more folders in which programs store documents.

    Each document is a JSON file with one session.
    """
    return os.path.join(data_home(), "cortext", "document-folders")


def redaction_key() -> str:
    """Return the path of the file with the secret key for redactions.

    A redaction is a placeholder that replaces a secret. It contains a fingerprint of the secret,
    which is computed with this key.
    """
    return os.path.join(data_home(), "cortext", "redaction.key")


def unfinished_redact() -> str:
    """Return the path of the file that lists the conversations of an unfinished redaction."""
    return f"{redaction_key()}.begun"


def setup_record() -> str:
    """Return the path of the file that records the changes that `cortext setup` made."""
    return os.path.join(data_home(), "cortext", "setup.json")


def watch_lock_file() -> str:
    """Return the path of the lock file that `cortext watch` holds while it runs."""
    return os.path.join(data_home(), "cortext", "watch.lock")
