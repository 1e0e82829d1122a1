"""The summary of a session: the fields that a list shows, without messages and tool calls."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from msgspec import Struct

from cortext.model import message_dicts
from cortext.model.json_values import as_utc, parse_time
from cortext.model.session import Session


class SessionSummary(Struct, frozen=True, kw_only=True):
    """The fields of a session that a list of sessions shows."""

    id: str
    title: str = ""
    created_at: datetime
    updated_at: datetime
    working_dir: str = ""
    model: str = ""
    message_count: int = 0
    total_tokens: int = 0
    tags: list[str] = []
    kind: str = ""
    status: str = "active"
    owner: str = ""
    summary: str = ""

    @classmethod
    def from_session(cls, session: Session) -> SessionSummary:
        return cls(
            id=session.id,
            title=session.title,
            created_at=as_utc(session.created_at),
            updated_at=as_utc(session.updated_at),
            working_dir=session.working_dir,
            model=session.model,
            message_count=session.message_count,
            total_tokens=session.total_tokens,
            tags=list(session.tags),
            kind=session.kind,
            status=session.status,
            owner=session.owner,
            summary=session.summary,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as a dict for JSON, with times as ISO 8601 text."""
        data = {name: getattr(self, name) for name in self.__struct_fields__}
        data["created_at"] = message_dicts.iso(self.created_at)
        data["updated_at"] = message_dicts.iso(self.updated_at)
        data["tags"] = list(self.tags)
        return data

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> SessionSummary:
        fields = {name: data[name] for name in cls.__struct_fields__ if name in data}
        for name in ("created_at", "updated_at"):
            fields[name] = parse_time(fields.get(name))
        return message_dicts.convert(fields, cls)
