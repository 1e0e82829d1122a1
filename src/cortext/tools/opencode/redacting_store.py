"""A store that returns the rows of OpenCode sessions with secrets redacted, for the archive."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cortext.tools.archive_items import Change
from cortext.tools.opencode.storage import Origin, Raw

_AS_IS = "surrogatepass"


class RedactedOrigin:
    """A store that reads OpenCode sessions from the store `origin`, and redacts their content.

    `change` is the function that redacts bytes. The method `head` does not redact.
    """

    def __init__(self, origin: Origin, change: Change) -> None:
        self._origin, self._change = origin, change
        self.path: str = origin.path

    def row(self, id: str) -> dict[str, Any]:
        row = self._origin.row(id)
        return {name: self._field(value) for name, value in row.items()} | {"id": id}

    def _field(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._change(value.encode("utf-8", _AS_IS)).decode("utf-8", _AS_IS)
        return self._change(value) if isinstance(value, bytes) else value

    def head(self, id: str) -> dict[str, Any]:
        return self._origin.head(id)

    def messages(self, id: str, *, last: bool = False) -> Iterator[Raw]:
        for raw in self._origin.messages(id, last=last):
            yield raw._replace(data=self._change(raw.data))

    def timed_messages(self, id: str) -> Iterator[tuple[Raw, int | float | None]]:
        for raw, created in self._origin.timed_messages(id):
            yield raw._replace(data=self._change(raw.data)), created

    def parts(self, id: str, message: str) -> Iterator[Raw]:
        for raw in self._origin.parts(id, message):
            yield raw._replace(data=self._change(raw.data))

    def children(self, id: str) -> list[str]:
        return self._origin.children(id)
