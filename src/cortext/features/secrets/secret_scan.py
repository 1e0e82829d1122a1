"""Scan conversations, tool sessions, the archive and the trash for secrets.

The scan only reads files. It gets rows: each row stands for one conversation, session or entry of
the trash. Two special rows stand for data that belongs to no listed conversation.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from cortext import paths
from cortext.catalog.row import AUR, ConversationRow
from cortext.errors import CortextError, SessionNotFoundError
from cortext.features.listing.session_of_row import read_from, transcript_of
from cortext.features.manage.trash import list_trash
from cortext.features.secrets.adapter_side_files import (
    agents_of,
    as_row,
    checkpoints_of,
    is_checkpoints,
    is_state,
    list_adapter_files,
    shared_states_of,
)
from cortext.features.secrets.checkpoint_texts import checkpoint_values
from cortext.features.secrets.conversation_files import (
    NAME,
    loose_files,
    read_name_pieces,
    read_row_pieces,
)
from cortext.features.secrets.leftover_temp_files import (
    archive_temp_folders,
    files_in,
    is_temp,
    temp_folders,
    temps,
)
from cortext.features.secrets.redactor import decode_line, list_secrets, may_hold_secret
from cortext.features.secrets.text_pieces import TextPiece, Unread, read_files_pieces, why
from cortext.features.secrets.tool_session_files import SessionFiles, sessions_of
from cortext.model import json_codec, message_dicts
from cortext.model.secrets.key_formats import KEYS
from cortext.tools.archive_items import archive_source
from cortext.workspace.known_folders import program_folders

Progress = Callable[[int, int], None]
TRANSCRIPT, AGENTS, ARCHIVE = "transcript", "agents", "archive"
"""Values of `Finding.role` for raw text of a tool session, in which messages have no numbers.

TRANSCRIPT is the tool's own transcript, AGENTS is the transcript of a sub-agent, and ARCHIVE is a
copy in the archive.
"""
ORIGIN, LEFT, TRASH = "origin", "left over", "trash"
"""Values of `Finding.role` for other texts outside messages.

ORIGIN is the session that was copied into the conversation, LEFT is a temp file that a killed
process left, and TRASH is an entry of the trash.
"""
BESIDE = "beside"
"""The value of `Finding.role` for a file that is directly beside conversation or day folders."""
STATE, CHECKPOINTS = "state", "checkpoints"
"""Values of `Finding.role` for extra files of framework adapters.

STATE is state that sessions of a program share. CHECKPOINTS are checkpoints of LangGraph, which
cortext does not change.
"""
_UNLISTED = (ARCHIVE, STATE)
"""Values of `ConversationRow.tool` for data that belongs to no listed conversation."""
_RAW_ROLES = (TRANSCRIPT, AGENTS, ARCHIVE)
"""All roles of raw text, in which messages have no numbers."""
_PREVIEW_LENGTH = 4
_KEY_KINDS = frozenset(rule.kind for rule in KEYS)


class Finding(NamedTuple):
    """A secret that was found in a conversation.

    - `number` is the number of the finding in its conversation, and `family` is the kind of the
      secret.
    - `message` is the number of the message; 0 for text outside messages.
    - `role` is the role of the message. For text outside messages, it is a constant such as
      TRANSCRIPT.
    - `secret` is the text of the secret. It is used for redaction, and never shown.
    - `ours` is False for a tool's own file, which cortext never changes.
    """

    row: ConversationRow
    number: int
    family: str
    message: int
    role: str
    path: str
    secret: str
    ours: bool = True

    @property
    def is_copy(self) -> bool:
        """True if the secret is in the archive, which has copies of the tools' transcripts."""
        is_in_archive = self.path.startswith(f"{paths.archive()}/") or self.row.tool == ARCHIVE
        return self.ours and is_in_archive

    @property
    def is_name(self) -> bool:
        """True if the secret is in the name of a file, which only the user can change."""
        return self.role == NAME

    @property
    def stays(self) -> bool:
        """True if `redact` cannot remove the secret."""
        return self.role in (NAME, CHECKPOINTS)

    @property
    def preview(self) -> str:
        """A description of the secret that helps the user to recognise it but does not reveal it.

        It states the length of the secret. For an API key, it also shows the first characters,
        which are the same for all keys of a provider.
        """
        length = len(self.secret)
        shown = self.secret[:_PREVIEW_LENGTH] if self.family in _KEY_KINDS and length >= 20 else ""
        return f"{shown}… ({length} characters)"


class ScanResult(NamedTuple):
    """The result of a scan.

    `found` are the secrets, and `looked` is the number of scanned conversations. `unread` lists the
    files that could not be read, with the reason.
    """

    found: list[Finding]
    looked: int
    unread: list[str]


def scan(rows: Sequence[ConversationRow], progress: Progress | None = None) -> ScanResult:
    """Scan conversations for secrets, and return the secrets in the order of the rows.

    `progress` gets the number of scanned rows and the number of all rows.
    """
    scanner, found, failed = SecretScan(), list[Finding](), 0
    for done, row in enumerate(rows, 1):
        try:
            found += scanner.at(row)
        except (CortextError, OSError) as error:
            failed += 1
            scanner.unread.append(f"{row.key}: {why(error)}")
        if progress:
            progress(done, len(rows))
    # A row for unlisted data counts as scanned only if it has findings.
    silent = {row.tool for row in rows if row.tool in _UNLISTED} - {one.row.tool for one in found}
    failed += len(silent)
    return ScanResult(found, max(len(rows) - failed, 0), list(dict.fromkeys(scanner.unread)))


def scan_one(row: ConversationRow) -> list[Finding]:
    """Return the secrets in one conversation.

    A secret counts once in each message that contains it. Outside messages, it counts once in each
    file that contains it.
    """
    return SecretScan().at(row)


def scan_own(row: ConversationRow) -> list[Finding]:
    """Scan the files of one conversation, but only files that `redact` may change.

    Return the secrets. Files of the tools and copies in the archive are not scanned.
    """
    return SecretScan().at(row, behind=False)


class SecretScan:
    """A scan of several conversations, which searches each folder and shared file only once.

    `unread` lists the files that could not be read, with the reason.
    """

    def __init__(self) -> None:
        self._files = SessionFiles()
        self._temps: set[str] = set()
        self._inner: set[str] = set()
        self.unread: Unread = []

    def at(self, row: ConversationRow, *, behind: bool = True) -> list[Finding]:
        """Scan one conversation and return its secrets.

        If `behind` is true, also scan the tool sessions in which the conversation took place, and
        their copies in the archive.
        """
        found: list[Finding] = []
        seen: set[tuple[object, ...]] = set()
        for message, role, path, value, ours in self._read_pieces(row, behind):
            for family, secret in list_secrets(value):
                if (message, role, path, secret) in seen:
                    continue
                # Skip raw text if a message with this secret was found: the message has a number,
                # which helps the user more.
                if role in _RAW_ROLES and (path, secret) in seen:
                    continue
                seen |= {(message, role, path, secret), (path, secret)}
                number = len(found) + 1
                found.append(Finding(row, number, family, message, role, path, secret, ours))
        return found

    def _read_pieces(self, row: ConversationRow, behind: bool) -> Iterator[TextPiece]:
        if row.tool == TRASH:
            packed, files = _split_checkpoints(files_in(row.path, self.unread))
            yield from read_files_pieces(files, TRASH, self.unread)
            yield from self._read_adapter_files(packed)
            yield from read_name_pieces(row.path)
        elif row.tool == ARCHIVE:
            yield from read_files_pieces(self._files.unclaimed(self.unread), ARCHIVE, self.unread)
        elif row.tool == STATE:
            yield from self._read_adapter_files(list_adapter_files())
        elif row.tool and not row.is_standalone:
            yield from self._read_tool_row(row)
        else:
            yield from read_row_pieces(row, self.unread)
            yield from self._read_tool_sessions(row) if behind else ()
            yield from self._read_origins(row)
        yield from self._read_temp_files(row, behind)
        if not row.tool:
            new = [path for path in loose_files(row) if path not in self._temps]
            self._temps.update(new)
            yield from read_files_pieces(new, BESIDE, self.unread)

    def _read_tool_row(self, row: ConversationRow) -> Iterator[TextPiece]:
        own = self._files.own(row.tool, row.key)
        copies = self._files.copies(row.tool, row.key)
        id = row.key.encode("utf-8", "surrogatepass")
        raw = [*self._read_own_files(own, row.tool, row.key)]
        raw += read_files_pieces(copies, ARCHIVE, self.unread, having=id)
        # Read the messages only if the raw text really contains a secret.
        raw = [piece for piece in raw if list_secrets(piece.value)]
        try:
            found = transcript_of(row)
        except SessionNotFoundError:
            if not own and not copies:
                raise
            found = None
        if raw and found:
            ours = found[1].path in copies
            for number, message in enumerate(read_from(row, found).session.messages, 1):
                record = message_dicts.message_to_dict(message)
                if may_hold_secret(json_codec.encode(record)):
                    yield TextPiece(number, message.role, found[1].path, record, ours)
        yield from raw

    def _read_tool_sessions(self, row: ConversationRow) -> Iterator[TextPiece]:
        """Yield the texts of a conversation's tool sessions, from the tools and the archive."""
        for tool, id in sessions_of(row):
            copies = self._files.copies(tool, id)
            name = id.encode("utf-8", "surrogatepass")
            yield from read_files_pieces(copies, ARCHIVE, self.unread, having=name)
            yield from self._read_own_files(self._files.own(tool, id), tool, id)

    def _read_origins(self, row: ConversationRow) -> Iterator[TextPiece]:
        inner = [one.path for one in (*agents_of(row), *shared_states_of(row))]
        yield from self._read_adapter_files(filter(None, (*inner, checkpoints_of(row))))
        for origin in origins_of(row):
            for piece in read_row_pieces(origin, self.unread) if origin.path not in inner else ():
                yield piece._replace(message=0, role=ORIGIN)

    def _read_adapter_files(self, paths: Iterable[str]) -> Iterator[TextPiece]:
        """Yield the texts of extra files that framework adapters store beside sessions.

        `paths` are the paths of the extra files. A file that several sessions share is read only
        once.
        """
        new = [path for path in paths if path not in self._inner]
        self._inner.update(new)
        for path in new:
            try:
                if is_checkpoints(path):
                    values = checkpoint_values(path, self.unread)
                    yield from (TextPiece(0, CHECKPOINTS, path, value) for value in values)
                    continue
                role = STATE if is_state(path) else ORIGIN
                for piece in read_row_pieces(as_row(path), self.unread):
                    yield piece._replace(message=0, role=role)
            except OSError as error:
                self.unread.append(f"{path}: {why(error)}")

    def _read_own_files(self, paths: Sequence[str], tool: str, id: str) -> Iterator[TextPiece]:
        """Yield the raw texts in a tool's own files of one session."""
        name = id.encode("utf-8", "surrogatepass")
        source = archive_source(tool)
        if not source.copy_name(id):
            for path in paths:
                is_agent = "agent" in os.path.basename(path) or f"/{id}/" in path
                role = AGENTS if is_agent else TRANSCRIPT
                yield from read_files_pieces([path], role, self.unread, ours=False, having=name)
            return
        for path in paths:
            try:
                for line in source.read_rows(path, id):
                    if may_hold_secret(line):
                        yield TextPiece(0, TRANSCRIPT, path, decode_line(line), ours=False)
            except (CortextError, OSError) as error:
                self.unread.append(f"{path}: {why(error)}")

    def _read_temp_files(self, row: ConversationRow, behind: bool) -> Iterator[TextPiece]:
        """Yield the texts of temp files that killed processes left in the folders of this row.

        Each temp file is read once, even if several rows share its folder.
        """
        folders = temp_folders(row)
        if behind and (row.tool == ARCHIVE or sessions_of(row)):
            folders += archive_temp_folders()
        new = [path for path in temps(folders) if path not in self._temps]
        self._temps.update(new)
        for path in new:
            yield from read_files_pieces(files_in(path, self.unread), LEFT, self.unread)


def _split_checkpoints(paths: Iterable[str]) -> tuple[list[str], list[str]]:
    """Split paths into checkpoint files of LangGraph and other files."""
    every = list(paths)
    packed = [path for path in every if is_checkpoints(path)]
    return packed, [path for path in every if path not in packed]


def trash_rows() -> list[ConversationRow]:
    """Return a row for each entry in the trash, to scan and redact the entry.

    Entries whose description file is lost are included.
    """
    known = {entry.id: entry for entry in list_trash()}
    try:
        names = sorted(os.listdir(paths.trash()))
    except FileNotFoundError:
        return []
    rows: list[ConversationRow] = []
    for name in (name for name in names if not is_temp(name)):
        entry = known.get(name)
        when = int(entry.deleted_at.timestamp() * 1_000_000) if entry else 0
        row = ConversationRow(
            tool=TRASH,
            path=os.path.join(paths.trash(), name),
            key=name,
            status="deleted",
            last_active=when,
            kind=TRASH,
            title=entry.label if entry else "unknown (its description is missing)",
        )
        rows.append(row)
    return rows


def archive_row() -> ConversationRow:
    """Return one row for all archive copies that belong to no listed session.

    Scan this row after all other rows, because their scan finds out which copies belong to a
    session.
    """
    return _unlisted_row(ARCHIVE, paths.archive(), "copies that belong to no listed session")


def state_row() -> ConversationRow:
    """Return one row for all adapter files that belong to no listed session.

    Scan this row after all other rows, because their scan finds out which files belong to a
    session.
    """
    title = "program data that belongs to no listed session"
    return _unlisted_row(STATE, paths.program_sessions(), title)


def _unlisted_row(kind: str, path: str, title: str) -> ConversationRow:
    return ConversationRow(
        tool=kind, path=path, key=kind, status="paused", last_active=0, kind=kind, title=title
    )


def origins_of(row: ConversationRow) -> list[ConversationRow]:
    """Return rows for the other sessions and files that contain texts of a conversation.

    These are the logs of its sub-agents and the state files that it shares with other sessions. If
    the conversation was copied from a session of `aur spawn` or of a program, that session is
    included too.
    """
    found = [*agents_of(row), *shared_states_of(row)]
    for tool, _, id in (each.partition(":") for each in row.source_ids) if not row.tool else ():
        name = os.path.basename(id)
        logs = (paths.spawn_sessions(),) if tool == AUR else program_folders()
        candidates = [f"{folder}/{name}.jsonl" for folder in logs]
        candidates += (
            [] if tool == AUR else [f"{each}/{name}.json" for each in _document_folders(row)]
        )
        found += [
            ConversationRow(tool=tool, path=path, key=id, status="paused", last_active=0)
            for path in filter(os.path.isfile, candidates)
        ]
    return found


def _document_folders(row: ConversationRow) -> tuple[str, ...]:
    return paths.document_dir(), paths.project_document_dir(row.workspace)
