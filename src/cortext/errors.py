"""Every error that cortext raises on purpose.

    CortextError
    ├── AmbiguousIdError          (also LookupError)
    ├── InvalidIdError            (also ValueError)
    ├── InvalidTransitionError    (also ValueError)
    └── SessionStorageError
        ├── SessionNotFoundError  (also LookupError)
        ├── SessionCorruptedError (also ValueError)
        ├── SessionLockedError    (also TimeoutError)
        ├── SessionOwnerError     (also PermissionError)
        ├── CheckpointTypeError   (also TypeError)
        ├── NewerVersionError
        └── ReplicationError      (in service.stores.redis)

Each error stores the details of the failure as attributes and builds its message from them. An
error may have a `hint`, which tells the user what to do next.
"""

from __future__ import annotations

import errno
from collections.abc import Sequence
from typing import Any


class CortextError(Exception):
    """The base class of all cortext errors."""

    hint: str = ""

    def __init__(self, sentence: str, *, hint: str = "") -> None:
        super().__init__(sentence)
        if hint:
            self.hint = hint
            # A traceback shows notes, so a programmer sees the hint too.
            self.add_note(f"hint: {hint}")

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.args, self.__dict__)


def is_temporary(number: int | None) -> bool:
    """Return whether reading the same file again later may succeed.

    This is true if the error came from the disk or a limit of the system, and not from the file.
    `number` is the `errno` of the OSError.
    """
    return number in (errno.EIO, errno.EMFILE, errno.ENFILE, errno.ENOMEM)


def reason_of(error: OSError) -> str:
    """Return the operating system's reason for a failure, in lower case for use in a sentence."""
    return (error.strerror or str(error)).lower()


def why(error: Exception) -> str:
    """Return the reason for an error, for a message such as `FILE: REASON`.

    For an OSError, the reason is the text of the operating system, without the error number and the
    file name. For any other error, the reason is the error's message.
    """
    if isinstance(error, OSError) and not isinstance(error, CortextError) and error.strerror:
        return reason_of(error)
    return str(error)


def file_and_reason(error: Exception) -> str:
    """Return `FILE: REASON` for an error that has a file name, and only the reason otherwise.

    The reason is the result of `why`. Use this function if the rest of the message does not name
    the file.
    """
    file = getattr(error, "filename", None)
    if isinstance(file, bytes):
        file = file.decode("utf-8", "surrogateescape")
    return f"{file}: {why(error)}" if isinstance(file, str) else why(error)


def _rebuild(kind: type[CortextError], args: tuple[Any, ...], attributes: dict[str, Any]) -> Any:
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(attributes)
    return error


class AmbiguousIdError(CortextError, LookupError):
    """Several sessions match the given text. If no text was given, several sessions are active."""

    def __init__(self, given: str, ids: Sequence[str]) -> None:
        self.given = given
        self.ids: list[str] = list(ids)
        what = f"match {given}" if given else "are active"
        super().__init__(
            f"{len(ids)} sessions {what}: {', '.join(ids[:10])}", hint="give more of the id"
        )


class InvalidIdError(CortextError, ValueError):
    """The given id is invalid, because it cannot be used safely as a file name."""

    def __init__(self, id: object) -> None:
        shown = repr(id)
        self.id = id
        super().__init__(
            f"not a valid id: {shown[:80] + '…' if len(shown) > 80 else shown}",
            hint="an id has 1 to 128 letters a to z, digits, '.', '_' or '-' and starts with a "
            "letter or digit",
        )


class InvalidTransitionError(CortextError, ValueError):
    """The status of a conversation cannot change from `old` to `new`.

    For example, the status "completed" never changes.
    """

    def __init__(self, old: str, new: str) -> None:
        self.old = old
        self.new = new
        super().__init__(f"a conversation cannot go from {old} to {new}")


class SessionStorageError(CortextError):
    """A store could not read or write a session. Data that was saved before is intact."""

    def __init__(
        self, sentence: str, *, path: str = "", errno: int | None = None, hint: str = ""
    ) -> None:
        self.path = path
        self.errno = errno
        super().__init__(sentence, hint=hint)


class SessionNotFoundError(SessionStorageError, LookupError):
    """The store has no session with the given id.

    `noun` is the word for the session in the message, such as "conversation".
    """

    def __init__(self, id: str, *, path: str = "", noun: str = "session") -> None:
        self.id = id
        super().__init__(f"{noun} not found: {id}", path=path)


class SessionCorruptedError(SessionStorageError, ValueError):
    """The file of a session is damaged and cannot be read completely. The file is not changed."""

    def __init__(self, path: str, reason: str, *, line: int | None = None, hint: str = "") -> None:
        self.line = line
        self.reason = reason
        where = path if line is None else f"{path}, line {line}"
        super().__init__(f"{where}: {reason}", path=path, hint=hint)


class SessionLockedError(SessionStorageError, TimeoutError):
    """Another process uses the session. `holder` describes the process.

    `waited` is the number of seconds that we waited for the lock; 0 if we did not wait.
    """

    def __init__(self, path: str, *, holder: str, waited: float) -> None:
        self.holder = holder
        self.waited = waited
        state = f"locked by {holder} (waited {waited:g} s)" if waited else f"open in {holder}"
        super().__init__(
            f"{path} is {state}",
            path=path,
            hint="try again when that process has finished, or end it",
        )


class SessionOwnerError(SessionStorageError, PermissionError):
    """The session does not belong to the given owner. Nothing was read or written.

    The error does not reveal the real owner.
    """

    def __init__(self, id: str) -> None:
        self.id = id
        super().__init__(
            f"session {id} belongs to another owner",
            hint="use another id, or pass the owner of this session",
        )


class CheckpointTypeError(SessionStorageError, TypeError):
    """A LangGraph checkpoint contains a type that is not allowed. Nothing was loaded or written.

    `type` is the name of this type. If `is_kind` is true, the checkpoint has an encoding that is
    not allowed, and `type` is the name of the encoding, such as "pickle".
    """

    def __init__(
        self, type: str, *, thread: str, checkpoint: str = "", is_kind: bool = False
    ) -> None:
        self.type = type
        self.thread = thread
        self.checkpoint = checkpoint
        # Another program may have changed the stored data, so control characters are escaped.
        shown, at = (repr(text[:200])[1:-1] for text in (type, checkpoint))
        where = f"thread {thread}" + (f", checkpoint {at}" if at else "")
        super().__init__(
            f"{where}: {'data of the kind' if is_kind else 'the type'} {shown} is not allowed",
            hint="cortext does not write such data; another program changed the checkpoint"
            if is_kind
            else "if the type is your own, allow it: CortextSaver(..., allowed_types=[...])",
        )


class NewerVersionError(SessionStorageError):
    """A later release of cortext wrote the file, and this release cannot read it."""

    def __init__(self, path: str, *, found: str, known: str) -> None:
        self.found = found
        self.known = known
        super().__init__(
            f"{path} has format version {found}, but this cortext reads only up to {known}",
            path=path,
            hint="upgrade cortext to read this file",
        )
