"""Everything that cortext raises on purpose.

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
        └── ReplicationError      (of service.stores.redis)

An error carries its facts as attributes, builds its own sentence from them, and
may carry a `hint`: what the person can do next.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class CortextError(Exception):
    """The base of all our errors."""

    hint: str = ""

    def __init__(self, sentence: str, *, hint: str = "") -> None:
        super().__init__(sentence)
        if hint:
            self.hint = hint
            # A traceback shows notes: a program's author reads the hint where it failed.
            self.add_note(f"hint: {hint}")

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.args, self.__dict__)


def reason_of(error: OSError) -> str:
    """Why the system did not do something, to stand in a sentence."""
    return (error.strerror or str(error)).lower()


def why(error: Exception) -> str:
    """Why something cannot be read, to stand behind its name: what the system says without its
    number, and a sentence of ours as it is."""
    if isinstance(error, OSError) and not isinstance(error, CortextError) and error.strerror:
        return reason_of(error)
    return str(error)


def where_and_why(error: Exception) -> str:
    """The same with the file that it is, where nothing else names that."""
    file = getattr(error, "filename", None)
    if isinstance(file, bytes):
        file = file.decode("utf-8", "surrogateescape")
    return f"{file}: {why(error)}" if isinstance(file, str) else why(error)


def _rebuild(kind: type[CortextError], args: tuple[Any, ...], facts: dict[str, Any]) -> Any:
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(facts)
    return error


class AmbiguousIdError(CortextError, LookupError):
    """Several sessions are meant by what was given; or, by nothing at all, several are active."""

    def __init__(self, given: str, ids: Sequence[str]) -> None:
        self.given = given
        self.ids: list[str] = list(ids)
        what = f"match {given}" if given else "are active"
        super().__init__(
            f"{len(ids)} sessions {what}: {', '.join(ids[:10])}", hint="name one by its whole id"
        )


class InvalidIdError(CortextError, ValueError):
    """An id that could not safely be a file name."""

    def __init__(self, id: object) -> None:
        shown = repr(id)
        self.id = id
        super().__init__(
            f"not a valid id: {shown[:80] + '…' if len(shown) > 80 else shown}",
            hint="an id has 1 to 128 letters a to z, digits, '.', '_' or '-' and starts with a "
            "letter or digit",
        )


class InvalidTransitionError(CortextError, ValueError):
    """A change of status that the lifecycle does not have."""

    def __init__(self, old: str, new: str) -> None:
        self.old = old
        self.new = new
        super().__init__(f"a conversation cannot go from {old} to {new}")


class SessionStorageError(CortextError):
    """A store could not do what it was asked; what it held before is intact."""

    def __init__(
        self, sentence: str, *, path: str = "", errno: int | None = None, hint: str = ""
    ) -> None:
        self.path = path
        self.errno = errno
        super().__init__(sentence, hint=hint)


class SessionNotFoundError(SessionStorageError, LookupError):
    """No session has this id."""

    def __init__(self, id: str, *, path: str = "") -> None:
        self.id = id
        super().__init__(f"session not found: {id}", path=path)


class SessionCorruptedError(SessionStorageError, ValueError):
    """A file that is there and cannot be read whole. It is never changed by reading it."""

    def __init__(self, path: str, reason: str, *, line: int | None = None, hint: str = "") -> None:
        self.line = line
        self.reason = reason
        where = path if line is None else f"{path}, line {line}"
        super().__init__(f"{where}: {reason}", path=path, hint=hint)


class SessionLockedError(SessionStorageError, TimeoutError):
    """Another writer held the session for longer than we were ready to wait."""

    def __init__(self, path: str, *, holder: str, waited: float) -> None:
        self.holder = holder
        self.waited = waited
        state = f"locked by {holder} (waited {waited:g} s)" if waited else f"open in {holder}"
        super().__init__(
            f"{path} is {state}",
            path=path,
            hint="try again when that process is done, or end it",
        )


class SessionOwnerError(SessionStorageError, PermissionError):
    """Someone named as the owner of a session who is not: nothing was read or written. It does not
    say who is."""

    def __init__(self, id: str) -> None:
        self.id = id
        super().__init__(
            f"session {id} belongs to another owner",
            hint="use another id, or name its owner",
        )


class CheckpointTypeError(SessionStorageError, TypeError):
    """A checkpoint holds a type that is not allowed. Nothing was constructed or written."""

    def __init__(
        self, type: str, *, thread: str, checkpoint: str = "", is_kind: bool = False
    ) -> None:
        self.type = type
        self.thread = thread
        self.checkpoint = checkpoint
        # Stored data, which anybody may have changed: nothing in it may act on a terminal.
        shown, at = (repr(text[:200])[1:-1] for text in (type, checkpoint))
        where = f"thread {thread}" + (f", checkpoint {at}" if at else "")
        super().__init__(
            f"{where}: {'data of the kind' if is_kind else 'the type'} {shown} is not allowed",
            hint="cortext does not write such data: another program changed the checkpoint"
            if is_kind
            else "if the type is your own, name it: CortextSaver(..., allowed_types=[...])",
        )


class NewerVersionError(SessionStorageError):
    """A file written by a later release than this one."""

    def __init__(self, path: str, *, found: str, known: str) -> None:
        self.found = found
        self.known = known
        super().__init__(
            f"{path} has format version {found}, and this cortext reads up to {known}",
            path=path,
            hint="upgrade cortext to open it",
        )
