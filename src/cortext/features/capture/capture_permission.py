"""Permissions of conversations to capture tool sessions (to copy their messages).

The `session.json` of a conversation names its tool sessions. Another person may have written this
file and shared it with git. It must not make cortext copy the user's sessions into a repository.
Therefore cortext needs a permission for each pair of a conversation and a tool session. A
permission is an empty file in the user's data folder on this machine, outside the repository. It is
valid for one folder of a conversation: it stays valid if the folder is moved, but a clone needs its
own permission.
"""

from __future__ import annotations

import os
from hashlib import blake2b

from cortext import paths
from cortext.durability.durable_files import make_private_dir
from cortext.features.capture.transcripts import find_transcript
from cortext.stores.workspace_layout import ConversationPath


def allow(place: ConversationPath, tool: str, session: str) -> None:
    """Record on this machine that a conversation may capture a tool session."""
    path = _consent_file(place, tool, session)
    make_private_dir(os.path.dirname(path))
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))


def is_allowed(place: ConversationPath, tool: str, session: str) -> bool:
    try:
        return os.path.exists(_consent_file(place, tool, session))
    except OSError:
        return False  # the conversation no longer exists


def may_capture(
    root: str, place: ConversationPath, tool: str, session: str, path: str = ""
) -> bool:
    """Return whether a conversation may capture a tool session.

    The result is True if the session was bound on this machine, took place in the workspace `root`,
    or has no transcript. Otherwise it is False. `path` is the path of the transcript, or "" if it
    is unknown.
    """
    if is_allowed(place, tool, session):
        return True
    found = find_transcript(tool, session, path)
    if found is None:
        return True  # there is nothing to capture
    bridge, source = found
    try:
        folder = source.cwd or bridge.glance(source).cwd
    except FileNotFoundError:
        return True
    is_in_workspace = f"{os.path.realpath(folder)}/".startswith(f"{os.path.realpath(root)}/")
    if is_in_workspace and folder:
        allow(place, tool, session)
    return is_in_workspace and bool(folder)


def _consent_file(place: ConversationPath, tool: str, session: str) -> str:
    key = f"{tool}\0{session}\0{os.stat(place.folder).st_ino}\0{place.name}"
    name = blake2b(key.encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()
    return os.path.join(paths.running(), "bound", name)
