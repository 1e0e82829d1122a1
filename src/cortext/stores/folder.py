"""The folder store of a workspace: each session is in `conversations/DATE/ID/.session/`.

`session.json` is the head, which is everything of a session except its messages. The messages are
in `messages.jsonl`. A *place* is the path of the folder of one conversation.
"""

from __future__ import annotations

import errno
import os
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from functools import cached_property
from typing import Any

from cortext.durability.atomic_folders import (
    place_folder,
    remove_folder,
    swap_folder,
    write_folder,
)
from cortext.durability.durable_files import (
    refuse_link,
    replace,
    set_aside,
    side_dir,
    storage_errors,
    sweep_temps,
)
from cortext.durability.read_files import read_file
from cortext.errors import (
    InvalidIdError,
    SessionCorruptedError,
    SessionNotFoundError,
    SessionStorageError,
)
from cortext.formats import folder, line_checksum
from cortext.formats.line_formats import Format, encode_records, join
from cortext.formats.message_lines import Damage, RecordBlock, decode_lines, sorted_lines
from cortext.model import json_codec, message_dicts
from cortext.model.ids import check_workspace_id
from cortext.model.json_values import as_utc
from cortext.model.session import Session
from cortext.stores import workspace_layout
from cortext.stores.damage_checks import (
    WORKSPACE_HINT,
    at,
    log_damage,
    raise_if_damaged,
    read_session_file,
    refuse_newer,
)
from cortext.stores.file_fingerprint import Fingerprint
from cortext.stores.line_store_base import LinePaths, LineStore, StoredSession
from cortext.stores.workspace_layout import ConversationPath

_OWN_FILES = ("session.json", "messages.jsonl")


class FolderStore(LineStore):
    """A session store for the conversations of one workspace.

    Usually an id is enough to identify a session. If several days have a session with the same id,
    use `DATE/ID`. The path of the conversation's folder, relative to the workspace, is always
    unique.
    """

    format: Format = folder.FOLDER

    @cached_property
    def _last_places(self) -> dict[str, ConversationPath]:
        """The path where each session was last found, by session id."""
        return {}

    def exists(self, id: str) -> bool:
        return bool(self._places(id))

    def list_session_ids(self) -> list[str]:
        """Return the ids of all sessions, sorted.

        If several days have a session with the same id, the result has `DATE/ID` for each of them.
        If `DATE/ID` is ambiguous too, the result has the paths of the folders, relative to the
        workspace.
        """
        places = [
            place
            for place in workspace_layout.places(self._folder)
            if workspace_layout.is_name(place.name) and place.has_session
        ]
        names = Counter(place.name for place in places)
        days = Counter((place.day, place.name) for place in places)
        return sorted(
            place.name
            if names[place.name] == 1
            else f"{place.day}/{place.name}"
            if days[place.day, place.name] == 1
            else place.folder[len(self._folder) + 1 :]
            for place in places
        )

    def save(self, session: Session) -> None:
        place = self._place_for(session)
        with storage_errors("write", place.session), self._lock(self._files_at(place)):
            _refuse_links(place, place.head, place.lines)
            if place.has_session:
                self._save_over(session, place)
            else:
                self._create(self._encode(session), place)
        self._known.note(session)
        self._notify(session.id)

    def create_at(
        self, place: ConversationPath, session: Session, lines: bytes | None = None
    ) -> None:
        """Store a new session in the conversation folder `place`.

        `lines` is the content of `messages.jsonl`. If it is None, the messages of `session` are
        written. SessionStorageError is raised if the folder already has a session.
        """
        with storage_errors("write", place.session), self._lock(self._files_at(place)):
            _refuse_links(place, place.head, place.lines)
            if place.has_session:
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), place.session)
            files = self._encode(session)
            if lines is not None:
                files["messages.jsonl"] = [lines]
            self._create(files, place)
        self._known.note(session)
        self._notify(session.id)

    def checkpoint(self, session: Session) -> None:
        self.checkpoint_at(self.place_of(session.id, session), session)

    def checkpoint_at(self, place: ConversationPath, session: Session) -> None:
        """Write only the head of a session: everything except its messages.

        This method is like `checkpoint`, for the session in the conversation folder `place`.
        """
        with storage_errors("write", place.head), self._lock(self._files_at(place)):
            _refuse_links(place, place.head)
            stored = self._read_at(place)
            head = folder.encode_head(session, stored.records)
            if _is_damaged(place.head, stored.reading.damages) and os.path.lexists(place.head):
                set_aside(place.head, "corrupt")
            self._replace(place.head, [head])
        self._notify(session.id)

    def delete(self, id: str) -> bool:
        """Remove the folder `.session/` of a conversation. Return False if there is no session.

        The markdown file of the conversation is not removed. The folder of the conversation is
        removed only if nothing is left in it. If `.session/` contains files of other programs,
        SessionStorageError is raised and nothing is removed.
        """
        if not self._places(id):
            return False
        place = self.place_of(id)
        with storage_errors("delete", place.session), self._lock(self._files_at(place)):
            _refuse_links(place, place.head, place.lines)
            _refuse_foreign(place.session)
            remove_folder(place.session, side_dir(self._conversations))
            if not os.listdir(place.folder):
                os.rmdir(place.folder)
            sweep_temps(side_dir(self._conversations))
        self._last_places.pop(id, None)
        self._forget(id)
        self._notify(id)
        return True

    def rewrite_at(self, place: ConversationPath, change: Callable[[Any], Any]) -> None:
        """Rewrite `session.json` and every line of `messages.jsonl` with the function `change`.

        `change` gets the decoded JSON of `session.json` or of a line, and returns the new value. It
        must also accept the text of a line that was not decoded, such as a damaged line, and then
        return text. The field `conversation_id` always keeps its value.
        """
        with storage_errors("write", place.session), self._lock(self._files_at(place)):
            _refuse_links(place, place.head, place.lines)
            lines = read_file(place.lines).split(b"\n")
            files = {
                "session.json": [
                    _rewrite_json(read_file(place.head), change, json_codec.pretty),
                    b"\n",
                ],
                "messages.jsonl": [
                    b"\n".join(_rewrite_json(line, change, json_codec.encode) for line in lines)
                ],
            }
            swap_folder(write_folder(side_dir(self._conversations), files), place.session)
        self._notify(place.name)

    def message_count_at(self, place: ConversationPath) -> int:
        """Return the number of messages according to `session.json`.

        The number was correct when `session.json` was last written. Later appends do not change it.
        """
        with storage_errors("read", place.head):
            return int(
                message_dicts.as_dict(json_codec.decode(read_file(place.head))).get("message_count")
                or 0
            )

    def sort_at(self, place: ConversationPath) -> None:
        """Sort the stored messages of a session by time.

        Use this method if you have appended messages that are older than the stored messages.
        """
        with storage_errors("write", place.session), self._lock(self._files_at(place)):
            _refuse_links(place, place.head, place.lines)
            lines = sorted_lines(read_file(place.lines), self.format.records)
            self._replace(place.lines, [lines])
        self._notify(place.name)

    def head(self, id: str) -> Session:
        """Return a session without its messages. Only `session.json` is read."""
        return self.head_at(self.place_of(id))

    def head_at(self, place: ConversationPath) -> Session:
        """Return the session in the folder `place` without its messages.

        Only `session.json` is read. SessionCorruptedError is raised if it is damaged, or if it is
        missing although there are messages.
        """
        try:
            data, _ = read_session_file(place.name, place.head)
        except SessionNotFoundError:
            _refuse_lost_head(place)
            raise
        try:
            head = folder.decode_head(data, [])
            refuse_newer(head, place.head)
            session = join(head, RecordBlock([], [], []), self.format)
        except ValueError as error:
            raise SessionCorruptedError(place.head, str(error), hint=WORKSPACE_HINT) from None
        session.id = place.name
        return session

    @property
    def _shelf(self) -> str:
        return self._conversations

    @property
    def _conversations(self) -> str:
        return workspace_layout.conversations_dir(self._folder)

    def _places(self, id: str) -> list[ConversationPath]:
        shelf, day, name = _split_id(id)
        shelves = workspace_layout.shelves(self._folder)
        candidates = [
            ConversationPath(each, one, name)
            for each in shelves
            if not shelf or each == f"{self._folder}/{shelf}"
            for one in ([day] if day else workspace_layout.days(each))
        ]
        return [place for place in candidates if place.has_session]

    def place_of(self, id: str, session: Session | None = None) -> ConversationPath:
        """Return the path of the conversation with the id `id`.

        If the id exists on several days, the conversation on the day when `session` began is
        chosen. SessionStorageError is raised if the id is still ambiguous, and SessionNotFoundError
        if there is no such conversation.
        """
        places = self._places(id)
        if len(places) > 1 and session is not None:
            places = [place for place in places if place.day == _day_of(session)] or places
        if len(places) > 1:
            ids = [place.folder[len(self._folder) + 1 :] for place in places]
            raise SessionStorageError(
                f"{id} exists several times: {', '.join(ids)}",
                path=self._conversations,
                hint=f"give the complete id, such as {ids[-1]}",
            )
        if not places:
            raise SessionNotFoundError(id, path=self._conversations)
        return places[0]

    def _place_for(self, session: Session) -> ConversationPath:
        if "/" in check_workspace_id(session.id):
            raise InvalidIdError(session.id)
        day = _day_of(session)
        places = {place.day: place for place in self._places(session.id)}
        if places and day not in places:
            # The same id on another day is another conversation, unless this session was moved
            # there.
            for place in places.values():
                if self._read_at(place).reading.session.created_at == session.created_at:
                    return place
        return places.get(day) or ConversationPath(self._conversations, day, session.id)

    def _files(self, id: str) -> LinePaths:
        # Reuse the last place, because finding the day of a session means listing every day.
        place = self._last_places.get(id) if type(id) is str else None
        if place is None or not place.has_session:
            place = self._last_places[id] = self.place_of(id)
        return self._files_at(place)

    def _files_at(self, place: ConversationPath) -> LinePaths:
        return LinePaths(place.lines, self.lock_of(place))

    def lock_of(self, place: ConversationPath) -> str:
        """Return the path of the lock file that every writer of a conversation locks."""
        return f"{self._conversations}/.cortext/locks/{place.day}~{place.name}.lock"

    def _before_appending(self, id: str) -> None:
        place = self.place_of(id)
        _refuse_links(place, place.lines)

    def _stored_head(self, files: LinePaths) -> dict[str, Any]:
        head = f"{os.path.dirname(files.lines)}/session.json"
        return folder.decode_head(read_file(head), [])

    def _replace(self, path: str, chunks: list[bytes]) -> os.stat_result:
        return replace(path, chunks, temp_dir=side_dir(self._conversations))

    def _create(self, files: dict[str, list[bytes]], place: ConversationPath) -> None:
        os.makedirs(place.folder, exist_ok=True)
        fresh = write_folder(side_dir(self._conversations), files)
        place_folder(fresh, place.session, below=place.shelf)

    def _save_over(self, session: Session, place: ConversationPath) -> None:
        stored = self._read_at(place)
        self._known.add_others_records(session, stored.reading.session)
        files = self._encode(session)
        for path in {damage.path for damage in stored.reading.damages if damage.path}:
            if os.path.lexists(path):
                set_aside(path, "corrupt")
        swap_folder(write_folder(side_dir(self._conversations), files), place.session)

    def _encode(self, session: Session) -> dict[str, list[bytes]]:
        records = encode_records(session, self._written_format)
        return {"messages.jsonl": records, "session.json": [folder.encode_head(session)]}

    def read_readable_part(self, place: ConversationPath) -> Session:
        """Return the readable part of the session in the folder `place`. No file is changed.

        Each line that cannot be read is logged and left out. SessionCorruptedError is raised if
        `session.json` cannot be read.
        """
        session, damages = self._read_at(place).reading
        head_damages = [damage for damage in damages if damage.path == place.head]
        if head_damages:
            _refuse_lost_head(place)
        raise_if_damaged(head_damages, WORKSPACE_HINT)
        for damage in damages:
            if damage.fatal and damage.path != place.head:
                log_damage(damage)
        return session

    def _guess_start(self, path: str) -> datetime:
        shelf, day, name = path.removesuffix("/.session/session.json").rsplit("/", 2)
        return workspace_layout.guess_start(ConversationPath(shelf, day, name))

    def _read(self, id: str) -> StoredSession:
        return self._read_at(self.place_of(id))

    def _read_at(self, place: ConversationPath) -> StoredSession:
        """Read `session.json` and the messages of a session, so that both are from the same save.

        If a save replaces the folder `.session/` meanwhile, both files are read again.
        """
        while True:
            before = Fingerprint.at(place.session)
            stored = self._read_files(place)
            after = Fingerprint.at(place.session)
            if before is None or after is None or before.inode == after.inode:
                return stored

    def _read_files(self, place: ConversationPath) -> StoredSession:
        damages: list[Damage] = []
        missing: list[Damage] = []
        notes: list[str] = []
        head: dict[str, Any] = {}
        data = b""
        with storage_errors("read", place.session):
            try:
                head = folder.decode_head(read_file(place.head), notes)
            except (FileNotFoundError, IsADirectoryError):
                damages.append(Damage(_describe_missing(place.head)))
            except ValueError as error:
                damages.append(Damage(str(error)))
            try:
                data = read_file(place.lines)
            except (FileNotFoundError, IsADirectoryError):
                missing = [Damage(_describe_missing(place.lines))]
        damages += [Damage(note, fatal=False) for note in notes]
        lines = decode_lines(data, self.format.records)
        lines.damages[:] = at(place.lines, [*missing, *lines.damages])
        return self._join(place.name, place.head, head, damages, lines)


def _split_id(id: str) -> tuple[str, str, str]:
    """Split an id, such as `conversations/2025-01-31/NAME`, into shelf, day and name.

    The shelf (here `conversations`) is the folder that contains the folders of the days. The id may
    also be `DAY/NAME` or `NAME`. Then the missing parts are "".
    """
    if type(id) is not str or id.count("/") < 2:
        day, _, name = check_workspace_id(id).rpartition("/")
        return "", day, name
    shelf, day, name = id.rsplit("/", 2)
    check_workspace_id(f"{day}/{name}")
    return shelf, day, name


def _refuse_links(place: ConversationPath, *files: str) -> None:
    """Raise OSError if the conversation's folder or one of `files` is a symbolic link.

    A write through a link could change files outside the workspace.
    """
    for path in (f"{place.shelf}/{place.day}", place.folder, place.session, *files):
        refuse_link(path)


def _rewrite_json(
    data: bytes, change: Callable[[Any], Any], encode: Callable[[Any], bytes]
) -> bytes:
    text = data.decode("utf-8", "surrogateescape")
    try:
        old = json_codec.decode(data)
    except ValueError:
        return str(change(text)).encode("utf-8", "surrogateescape")
    new = change(old)
    if isinstance(old, dict) and "conversation_id" in old:
        new["conversation_id"] = old["conversation_id"]
    # Compare the text too: if a key occurs twice, the decoded JSON has only one of its values.
    is_same = new == old and change(text) == text
    return data.rstrip(b"\n") if is_same else line_checksum.reseal(encode(new))


def _refuse_foreign(folder: str) -> None:
    """Raise SessionStorageError if a folder contains files that cortext did not write."""
    with os.scandir(folder) as entries:
        foreign = [
            entry.name
            for entry in entries
            if not (entry.name.startswith(_OWN_FILES) and (entry.is_file() or entry.is_symlink()))
        ]
    if foreign:
        raise SessionStorageError(
            f"{folder} contains files that cortext did not write: {', '.join(sorted(foreign))}",
            path=folder,
            hint="move these files away first; nothing was deleted",
        )


def _refuse_lost_head(place: ConversationPath) -> None:
    """Raise SessionCorruptedError if a conversation has messages but no `session.json`."""
    if os.path.lexists(place.lines) and not os.path.lexists(place.head):
        raise SessionCorruptedError(
            place.folder, "it has no session.json", hint="`cortext doctor --fix` restores it"
        )


def _describe_missing(path: str) -> str:
    return "is not a regular file" if os.path.lexists(path) else "is missing"


def _is_damaged(path: str, damages: Sequence[Damage]) -> bool:
    return any(damage.fatal and damage.path == path for damage in damages)


def _day_of(session: Session) -> str:
    """Return the date on which a session began, in the local time zone, such as "2024-05-31"."""
    began = as_utc(session.created_at)
    with suppress(OverflowError):
        began = began.astimezone()
    return began.strftime("%Y-%m-%d").rjust(10, "0")
