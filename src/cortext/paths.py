"""Where things live: the literals of the specifications, and nothing else knows them."""

from __future__ import annotations

import os

_FEW = 100
"""Folders that are looked at to know a workspace."""


def _at_home(name: str) -> str:
    """A path below the person's home; an empty `$HOME` counts as not set."""
    if os.environ.get("HOME") == "":
        import pwd

        return os.path.join(pwd.getpwuid(os.getuid()).pw_dir, name)
    return os.path.expanduser(f"~/{name}")


def data_home() -> str:
    """`$XDG_DATA_HOME`, or `~/.local/share`; a relative value counts as not set."""
    value = os.environ.get("XDG_DATA_HOME", "")
    return value if os.path.isabs(value) else _at_home(".local/share")


def config_home() -> str:
    """`$XDG_CONFIG_HOME`, or `~/.config`; a relative value counts as not set."""
    value = os.environ.get("XDG_CONFIG_HOME", "")
    return value if os.path.isabs(value) else _at_home(".config")


def cache_home() -> str:
    """`$XDG_CACHE_HOME`, or `~/.cache`; a relative value counts as not set."""
    value = os.environ.get("XDG_CACHE_HOME", "")
    return value if os.path.isabs(value) else _at_home(".cache")


def document_dir() -> str:
    """The default folder of session documents."""
    return os.path.join(data_home(), "src/opencode/sessions")


def project_document_dir(root: str | os.PathLike[str]) -> str:
    """The folder of session documents that belong to one project."""
    return os.path.join(root, ".src/opencode/sessions")


def personal_workspace() -> str:
    """The workspace of conversations that were had outside any workspace."""
    return os.path.join(data_home(), "cortext", "personal")


def current_folder() -> str:
    """Where we are; where that was removed, what the shell calls it still."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        return os.environ.get("PWD", "").rstrip("/") or "/"


def workspace_root(start: str | os.PathLike[str] | None = None) -> str:
    """The nearest parent that has a `.workspace/`, or conversations: a clone may have only these.
    Outside any, the personal workspace."""
    folder: str = os.path.abspath(os.fspath(start or current_folder()))
    while not (os.path.isdir(f"{folder}/.workspace") or _has_conversations(folder)):
        parent = os.path.dirname(folder)
        if parent == folder:
            return personal_workspace()
        folder = parent
    return folder


def _has_conversations(folder: str) -> bool:
    """Whether `conversations/DATE/NAME/.session/` is below it."""
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
    """The derived database that lists are made from."""
    return os.path.join(cache_home(), "cortext", "catalog.sqlite3")


def former_catalog() -> str:
    """Where earlier versions had that."""
    return os.path.join(data_home(), "cortext", "catalog.sqlite3")


def words() -> str:
    """The derived full-text index."""
    return os.path.join(cache_home(), "cortext", "words.sqlite3")


def checked() -> str:
    """What `cortext doctor` found sound, so that it need not read it again."""
    return os.path.join(cache_home(), "cortext", "checked.json")


def known_workspaces() -> str:
    """The file that names every workspace in which cortext was used."""
    return os.path.join(data_home(), "cortext", "workspaces")


def trash() -> str:
    """What commands deleted."""
    return os.path.join(data_home(), "cortext", "trash")


def archive() -> str:
    """Our copies of the tools' transcripts, below the names of the tools."""
    return os.path.join(data_home(), "cortext", "archive")


def service_tokens() -> str:
    """The tokens of who may ask `cortext serve`: a file each, under the client's name."""
    return os.path.join(data_home(), "cortext", "tokens")


def running() -> str:
    """What hooks wrote down about sessions of tools that are going on."""
    return os.path.join(data_home(), "cortext", "running")


def log_file() -> str:
    """What went wrong where nobody could be told."""
    return os.path.join(data_home(), "cortext", "errors.log")


def aurora_home() -> str:
    """`$AURORA_HOME`, or `~/.aurora`; a relative value counts as not set."""
    value = os.environ.get("AURORA_HOME", "")
    return value if os.path.isabs(value) else _at_home(".aurora")


def spawn_sessions() -> str:
    """The sessions of `aur spawn`."""
    return os.path.join(aurora_home(), "spawn", "sessions")


def program_sessions() -> str:
    """The sessions of programs that do not say where to keep them."""
    return os.path.join(data_home(), "cortext", "programs")


def known_programs() -> str:
    """The file that names every other folder in which programs keep sessions as logs."""
    return os.path.join(data_home(), "cortext", "program-folders")


def known_documents() -> str:
    """The file that names every other folder in which programs keep sessions as documents."""
    return os.path.join(data_home(), "cortext", "document-folders")


def redaction_key() -> str:
    """What the marks of redacted secrets are made with."""
    return os.path.join(data_home(), "cortext", "redaction.key")


def unfinished_redact() -> str:
    """Return the file that names the conversations a running redact changes."""
    return f"{redaction_key()}.begun"


def setup_record() -> str:
    """Return the file that names what `cortext setup` wrote."""
    return os.path.join(data_home(), "cortext", "setup.json")


def watch_mark() -> str:
    """What `cortext watch` holds for as long as it runs."""
    return os.path.join(data_home(), "cortext", "watch.lock")
