"""Update the archive in a background process, at most once every few minutes."""

from __future__ import annotations

import os
import sys
import time

from cortext import paths
from cortext.config import Config
from cortext.durability.durable_files import make_private_dir
from cortext.features.errors_log import write_error

EVERY = 300.0
"""The minimum number of seconds between two starts of a background sync."""


def start_in_background(config: Config | None = None) -> bool:
    """Start `cortext sync --quiet` in the background. Return whether it was started.

    Start nothing in CI, or if the archive is turned off. Also start nothing if the last background
    sync started only a few minutes ago.
    """
    if os.environ.get("CI") or (config or Config.load(None))["archive.enabled"] != "on":
        return False
    try:
        due = claim_start(os.path.join(paths.archive(), ".started"), EVERY)
    except OSError as error:
        _log_failed_start(error)
        return False
    return due and start_detached("-m", "cortext", "sync", "--quiet")


def start_detached(*arguments: str) -> bool:
    """Start Python with these arguments as a background process without output.

    Return whether the process was started. On failure, write the reason to the log that `cortext
    doctor` shows.
    """
    # `-P`: a folder named `cortext` in the current folder must not replace our package.
    command = [sys.executable, "-P", *arguments]
    quiet = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in (0, 1, 2)]
    try:
        os.posix_spawn(command[0], command, os.environ, file_actions=quiet, setsid=True)
    except OSError as error:
        _log_failed_start(error)
        return False
    return True


def _log_failed_start(error: OSError) -> None:
    write_error("starting a background process", error)


def notice() -> str:
    """Return the one-time notice about where the archive is and how to turn it off.

    Return "" if the notice was returned before, or if there is no archive yet.
    """
    folder = paths.archive()
    marker = os.path.join(folder, ".told")
    if not os.path.isdir(folder) or os.path.exists(marker):
        return ""
    try:
        _touch(marker)
    except OSError:
        return ""  # Otherwise the notice would be shown every time.
    return (
        f"cortext keeps compressed copies of your AI tools' conversations in {folder}, so that "
        "they remain when a tool deletes them; `cortext config archive.enabled off` turns that off"
    )


def claim_start(stamp: str, every: float) -> bool:
    """Return whether a background process may start now. If it may, record the start.

    A process may start if the last start was at least `every` seconds ago. `stamp` is the path of a
    file. Its modification time is the time of the last start.
    """
    try:
        if 0 <= time.time() - os.stat(stamp).st_mtime < every:
            return False
    except FileNotFoundError:
        make_private_dir(os.path.dirname(stamp))
    _touch(stamp)
    return True


def _touch(path: str) -> None:
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
    os.utime(path)
