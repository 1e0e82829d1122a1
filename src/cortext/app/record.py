"""Recording a stopped conversation in git, without the secrets that were said in it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, NamedTuple

from cortext.config import Config
from cortext.durability.read import read_file
from cortext.durability.replace import replace
from cortext.lifecycle.workspace import Workspace
from cortext.model import json
from cortext.model.secrets import mask_text, mask_value
from cortext.model.session import Session
from cortext.stores.layout import Place
from cortext.vcs.git import record, would_record

_SESSION = ("session.json", "messages.jsonl")


class _Found(NamedTuple):
    """The kinds of secrets in the files that would be recorded."""

    file: str
    kinds: list[str]


def record_conversation(
    workspace: Workspace, place: Place, session: Session, *, verb: str
) -> list[str]:
    """Commit, stage or leave it, as the settings say; what there is to say about it."""
    config = Config.load(workspace.root)
    mode = str(config["sessions.git"])
    if not would_record(workspace.root, place.folder, mode):
        return _record(workspace, place, session, mode, verb, _files(place))
    secrets = _secrets_setting(config)
    found = _look(place) if secrets != "off" else []
    notes = [_say(secrets, found)] if found else []
    if found and secrets == "refuse":
        return notes
    if found and secrets == "mask":
        _mask(workspace, place, [each.file for each in found])
    return [*notes, *_record(workspace, place, session, mode, verb, _files(place))]


def _secrets_setting(config: Config) -> str:
    """What was decided. By default secrets are masked where an archive keeps the original; there
    is none yet, so the default is to refuse."""
    value, origin = config.get("sessions.secrets")
    return "refuse" if origin == "default" else str(value)


def _record(
    workspace: Workspace, place: Place, session: Session, mode: str, verb: str, files: list[str]
) -> list[str]:
    done = record(
        workspace.root,
        place.folder,
        files,
        mode=mode,
        title=session.title,
        id=session.id,
        verb=verb,
    )
    said = f"committed as {done.commit[:10]}" if done.outcome == "committed" else ""
    return [text for text in (said, done.note) if text]


def _files(place: Place) -> list[str]:
    """The files of a conversation: what its folder holds, and its session; nothing hidden else."""
    found: list[str] = []
    for folder, folders, names in os.walk(place.folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        found += [f"{folder}/{name}" for name in sorted(names) if not name.startswith(".")]
    return [*found, *(f"{place.session}/{name}" for name in _SESSION)]


def _look(place: Place) -> list[_Found]:
    found = [_Found(path, _kinds(path)) for path in _files(place) if os.path.isfile(path)]
    return [each for each in found if each.kinds]


def _kinds(path: str) -> list[str]:
    data = read_file(path)
    if path.endswith("messages.jsonl"):
        return [kind for line in data.split(b"\n") for kind in _kinds_in(line)]
    if path.endswith("session.json"):
        return _kinds_in(data)
    # A file that is no text is not ours to judge.
    return [] if b"\0" in data else mask_text(data.decode("utf-8", "replace"))[1]


def _kinds_in(data: bytes) -> list[str]:
    try:
        value = json.decode(data)
    except ValueError:
        return mask_text(data.decode("utf-8", "replace"))[1]
    return mask_value(value)[1]


def _mask(workspace: Workspace, place: Place, paths: Sequence[str]) -> None:
    """In the files themselves: what is committed and what is on disk stay the same."""
    if any(path.startswith(place.session) for path in paths):
        workspace.store.rewrite(f"{place.day}/{place.name}", _masked)
    for path in paths:
        if path.startswith(place.session):
            continue
        text = read_file(path).decode("utf-8", "surrogateescape")
        mode = os.stat(path).st_mode & 0o777
        replace(path, [mask_text(text)[0].encode("utf-8", "surrogateescape")])
        os.chmod(path, mode)


def _masked(value: Any) -> Any:
    return mask_value(value)[0]


def _say(secrets: str, found: Sequence[_Found]) -> str:
    kinds = ", ".join(sorted({kind for each in found for kind in each.kinds}))
    count = sum(len(each.kinds) for each in found)
    what = f"{count} secrets ({kinds})" if count > 1 else f"a secret ({kinds})"
    where = ", ".join(os.path.basename(each.file) for each in found)
    if secrets == "refuse":
        return (
            f"not committed: {where} holds {what}; `cortext config sessions.secrets mask` takes "
            "secrets out of the files, `warn` commits them"
        )
    if secrets == "mask":
        return f"masked in {where} before the commit: {what}"
    return f"warning: committed with {what} in {where}"
