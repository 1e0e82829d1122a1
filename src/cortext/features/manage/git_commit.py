"""Commit a stopped conversation to git, without the secrets in it."""

from __future__ import annotations

import logging
import os

from cortext.config import Config
from cortext.durability.read_files import read_file
from cortext.durability.replace_file import replace, side_dir
from cortext.errors import CortextError
from cortext.features.archive.archive_sync import keep
from cortext.git.commit_conversation import record
from cortext.git.commit_outcome import Recorded
from cortext.model import json_codec
from cortext.model.secrets.detector import mask_text, mask_value
from cortext.model.session import Session
from cortext.model.tool_binding import bindings_of
from cortext.stores.workspace_layout import ConversationPath, conversations_dir
from cortext.workspace.workspace import Workspace

log: logging.Logger = logging.getLogger("cortext.features")
_SESSION = (".session/session.json", ".session/messages.jsonl")
_TRIES = 3


class Recorder:
    """A recorder that commits or stages the stopped conversations of a workspace in git.

    The settings `sessions.git` and `sessions.secrets` decide what it does.
    """

    def __init__(self, workspace: Workspace) -> None:
        config = Config.load(workspace.root)
        self._workspace = workspace
        self._mode = str(config["sessions.git"])
        self._secrets, said_by = config.get("sessions.secrets")
        self._unless_kept = said_by == "default"
        self._found: dict[str, list[str]] = {}
        self._named: list[str] = []
        """Files whose names contain a secret. Names are never redacted."""

    def record(self, place: ConversationPath, session: Session, *, verb: str) -> list[str]:
        """Commit or stage a conversation, as the settings say, and return notes for the user.

        `verb` names the action for the commit message, such as "stop".
        """
        self._found.clear()
        done = self._try(place, session, verb)
        masked: dict[str, list[str]] = {}
        for _ in range(_TRIES):
            if done.outcome != "not-allowed" or self._named or not self._may_mask(session):
                break
            masked.update(self._found)
            self._mask(place)
            done = self._try(place, session, verb)
        notes = [_say_masked(masked)] if masked else []
        if done.outcome == "not-allowed":
            refused = _say_named(self._named) if self._named else _say_refused(self._found)
            return [*notes, refused]
        if self._found:
            recorded = done.outcome in ("committed", "staged")
            verb = f"{done.outcome} with" if recorded else "there is"
            notes.append(f"warning: {verb} {_what(self._found)}")
        if done.outcome == "committed":
            notes.append(f"committed as {done.commit[:10]}")
        if done.outcome == "staged":
            notes.append("staged; the commit is yours")
        return [*notes, done.note] if done.note else notes

    def _try(self, place: ConversationPath, session: Session, verb: str) -> Recorded:
        self._found, self._named = {}, []
        return record(
            self._workspace.root,
            place.folder,
            _files(place),
            mode=self._mode,
            title=mask_text(session.title)[0],
            id=session.id,
            verb=verb,
            allow=None if self._secrets == "off" else self._look,
        )

    def _look(self, name: str, data: bytes) -> bool:
        """Return whether a file may be committed, and record the kinds of secrets in it."""
        kinds = _kinds(name, data)
        if in_name := mask_text(name)[1]:
            kinds = [*kinds, *in_name]
            self._named.append(name)
        if kinds:
            self._found[name] = kinds
        return not kinds or self._secrets == "warn"

    def _may_mask(self, session: Session) -> bool:
        """Return whether secrets may be redacted in the conversation's files.

        The setting must say so. If the user did not choose it, the archive must also have the
        original of every tool session.
        """
        if self._secrets != "mask" or not self._unless_kept:
            return self._secrets == "mask"
        bindings = [each for each in bindings_of(session) if each.session_id or each.malformed]
        try:
            kept = [keep(each.tool, each.session_id) for each in bindings]
        except (CortextError, KeyError) as error:
            log.warning("the archive cannot keep the original: %s", error)
            return False
        return bool(kept) and all(kept)

    def _mask(self, place: ConversationPath) -> None:
        """Redact the secrets in the files themselves, so that git and the disk agree."""
        if any(name in _SESSION for name in self._found):
            self._workspace.store.rewrite_at(place, lambda value: mask_value(value)[0])
        side = side_dir(conversations_dir(self._workspace.root))
        for name in self._found:
            if name in _SESSION:
                continue
            path = f"{place.folder}/{name}"
            text = read_file(path).decode("utf-8", "surrogateescape")
            mode = os.stat(path).st_mode & 0o777
            replace(path, [mask_text(text)[0].encode("utf-8", "surrogateescape")], temp_dir=side)
            os.chmod(path, mode)


def _files(place: ConversationPath) -> list[str]:
    """Return the files in a conversation's folder that are not hidden, and its session files."""
    found: list[str] = []

    def fail(error: OSError) -> None:
        raise error

    for folder, folders, names in os.walk(place.folder, onerror=fail):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        found += [f"{folder}/{name}" for name in sorted(names) if not name.startswith(".")]
    return [*found, *(f"{place.folder}/{name}" for name in _SESSION)]


def _kinds(name: str, data: bytes) -> list[str]:
    """Return the kinds of secrets in a file."""
    if name == _SESSION[1]:
        return [kind for line in data.split(b"\n") for kind in _kinds_in(line)]
    if name == _SESSION[0]:
        return _kinds_in(data)
    return [kind for text in _readings(data) for kind in mask_text(text)[1]]


def _readings(data: bytes) -> list[str]:
    """Return the contents of a file as text, and also without NUL bytes if there are any.

    A file with NUL bytes may be UTF-16 or a log with a gap.
    """
    texts = [data.decode("utf-8", "replace")]
    if b"\0" in data:
        texts += [data.replace(b"\0", b"").decode("utf-8", "replace")]
    return texts


def _kinds_in(data: bytes) -> list[str]:
    # Search the text too: if a key occurs twice, JSON has only its second value.
    seen = [kind for text in _readings(data) for kind in mask_text(text)[1]]
    try:
        return mask_value(json_codec.decode(data))[1] or seen
    except ValueError:
        return seen


def _say_refused(found: dict[str, list[str]]) -> str:
    return (
        f"not committed: {_what(found)}; `cortext config sessions.secrets mask` takes "
        "secrets out of the files, `warn` lets them pass; then stop it again"
    )


def _say_named(names: list[str]) -> str:
    told = ", ".join(mask_text(name)[0] for name in names)
    return f"not committed: the name of a file is a secret ({told}); rename it, then stop it again"


def _say_masked(found: dict[str, list[str]]) -> str:
    return f"masked in the files: {_what(found)}"


def _what(found: dict[str, list[str]]) -> str:
    kinds = [kind for each in found.values() for kind in each]
    names = ", ".join(sorted(set(kinds)))
    what = f"{len(kinds)} secrets ({names})" if len(kinds) > 1 else f"a secret ({names})"
    files = (mask_text(os.path.basename(name))[0] for name in found)
    return f"{what} in {', '.join(files)}"
