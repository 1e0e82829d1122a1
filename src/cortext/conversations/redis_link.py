"""Import path that the documentation of 0.1.0 shows."""

from __future__ import annotations

from cortext.service.stores.redis.redis_client import ReplicationError

__all__ = ["ReplicationError"]
