"""Commit a stopped conversation to git, without the secrets in it."""

from __future__ import annotations

import logging
import os

from cortext.config import Config
from cortext.durability.durable_files import replace, side_dir
from cortext.durability.read_files import read_file
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
_SESSION_FILES = (".session/session.json", ".session/messages.jsonl")
_TRIES = 3


class Recorder:
    """Commits or stages the stopped conversations of a workspace in git.

    The setting `sessions.git` says whether to commit or to stage. The setting `sessions.secrets`
    says what to do with secrets in the files.
    """

    def __init__(self, workspace: Workspace) -> None:
        config = Config.load(workspace.root)
        self._workspace = workspace
        self._mode = str(config["sessions.git"])
        self._secrets, origin = config.get("sessions.secrets")
        self._needs_archive = origin == "default"
        self._secret_kinds: dict[str, list[str]] = {}
        self._secret_names: list[str] = []
        """Files whose names contain a secret. Names are never redacted."""

    def record(self, place: ConversationPath, session: Session, *, verb: str) -> list[str]:
        """Commit or stage a conversation, as the settings say, and return notes for the user.

        `verb` names the action for the commit message, such as "stop".
        """
        self._secret_kinds.clear()
        done = self._commit(place, session, verb)
        masked: dict[str, list[str]] = {}
        for _ in range(_TRIES):
            if done.outcome != "not-allowed" or self._secret_names or not self._may_redact(session):
                break
            masked.update(self._secret_kinds)
            self._redact_files(place)
            done = self._commit(place, session, verb)
        notes = [_describe_redacted(masked)] if masked else []
        if done.outcome == "not-allowed":
            refused = (
                _describe_secret_names(self._secret_names)
                if self._secret_names
                else _describe_refusal(self._secret_kinds)
            )
            return [*notes, refused]
        if self._secret_kinds:
            recorded = done.outcome in ("committed", "staged")
            verb = f"{done.outcome} with" if recorded else "found"
            notes.append(f"warning: {verb} {_describe_secrets(self._secret_kinds)}")
        if done.outcome == "committed":
            notes.append(f"committed as {done.commit[:10]}")
        if done.outcome == "staged":
            notes.append("staged in git, but not committed")
        return [*notes, done.note] if done.note else notes

    def _commit(self, place: ConversationPath, session: Session, verb: str) -> Recorded:
        self._secret_kinds, self._secret_names = {}, []
        return record(
            self._workspace.root,
            place.folder,
            _list_files(place),
            mode=self._mode,
            title=mask_text(session.title)[0],
            id=session.id,
            verb=verb,
            allow=None if self._secrets == "off" else self._allow_file,
        )

    def _allow_file(self, name: str, data: bytes) -> bool:
        """Return whether a file may be committed, and remember the kinds of secrets in it.

        `name` is the path of the file below the conversation's folder, and `data` are its contents.
        """
        kinds = _kinds_in_file(name, data)
        if in_name := mask_text(name)[1]:
            kinds = [*kinds, *in_name]
            self._secret_names.append(name)
        if kinds:
            self._secret_kinds[name] = kinds
        return not kinds or self._secrets == "warn"

    def _may_redact(self, session: Session) -> bool:
        """Return whether secrets may be redacted in the conversation's files.

        The setting `sessions.secrets` must be "mask". If the user did not choose this value, the
        archive must also have the original text of every tool session.
        """
        if self._secrets != "mask" or not self._needs_archive:
            return self._secrets == "mask"
        bindings = [each for each in bindings_of(session) if each.session_id or each.malformed]
        try:
            archived = [keep(each.tool, each.session_id) for each in bindings]
        except (CortextError, KeyError) as error:
            log.warning("the archive could not save the original transcript: %s", error)
            return False
        return bool(archived) and all(archived)

    def _redact_files(self, place: ConversationPath) -> None:
        """Redact the secrets in a conversation's files before the files are committed."""
        if any(name in _SESSION_FILES for name in self._secret_kinds):
            self._workspace.store.rewrite_at(place, lambda value: mask_value(value)[0])
        side = side_dir(conversations_dir(self._workspace.root))
        for name in self._secret_kinds:
            if name in _SESSION_FILES:
                continue
            path = f"{place.folder}/{name}"
            text = read_file(path).decode("utf-8", "surrogateescape")
            mode = os.stat(path).st_mode & 0o777
            replace(path, [mask_text(text)[0].encode("utf-8", "surrogateescape")], temp_dir=side)
            os.chmod(path, mode)


def _list_files(place: ConversationPath) -> list[str]:
    """Return the paths of a conversation's files for git.

    These are the session files, and all other files that are not hidden.
    """
    found: list[str] = []

    def fail(error: OSError) -> None:
        raise error

    for folder, folders, names in os.walk(place.folder, onerror=fail):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        found += [f"{folder}/{name}" for name in sorted(names) if not name.startswith(".")]
    return [*found, *(f"{place.folder}/{name}" for name in _SESSION_FILES)]


def _kinds_in_file(name: str, data: bytes) -> list[str]:
    if name == _SESSION_FILES[1]:
        return [kind for line in data.split(b"\n") for kind in _kinds_in_json(line)]
    if name == _SESSION_FILES[0]:
        return _kinds_in_json(data)
    return [kind for text in _decode_variants(data) for kind in mask_text(text)[1]]


def _decode_variants(data: bytes) -> list[str]:
    """Return the contents of a file as text. If it has NUL bytes, add a second text without them.

    A file with NUL bytes may be UTF-16, or a log with a gap after a crash.
    """
    texts = [data.decode("utf-8", "replace")]
    if b"\0" in data:
        texts += [data.replace(b"\0", b"").decode("utf-8", "replace")]
    return texts


def _kinds_in_json(data: bytes) -> list[str]:
    # Search the text too: if a key occurs twice, JSON has only its second value.
    in_text = [kind for text in _decode_variants(data) for kind in mask_text(text)[1]]
    try:
        return mask_value(json_codec.decode(data))[1] or in_text
    except ValueError:
        return in_text


def _describe_refusal(found: dict[str, list[str]]) -> str:
    return (
        f"not committed: {_describe_secrets(found)}; `cortext config sessions.secrets mask` "
        "redacts secrets in the files, and the value `warn` commits them; then stop the "
        "conversation again"
    )


def _describe_secret_names(names: list[str]) -> str:
    files = ", ".join(mask_text(name)[0] for name in names)
    return (
        f"not committed: a file name contains a secret ({files}); rename the file, then stop the "
        "conversation again"
    )


def _describe_redacted(found: dict[str, list[str]]) -> str:
    return f"redacted in the files: {_describe_secrets(found)}"


def _describe_secrets(found: dict[str, list[str]]) -> str:
    kinds = [kind for each in found.values() for kind in each]
    names = ", ".join(sorted(set(kinds)))
    what = f"{len(kinds)} secrets ({names})" if len(kinds) > 1 else f"a secret ({names})"
    files = (mask_text(os.path.basename(name))[0] for name in found)
    return f"{what} in {', '.join(files)}"
