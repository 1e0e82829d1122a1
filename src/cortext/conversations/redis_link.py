"""The old import path of `ReplicationError`, which the documentation of 0.1.0 shows.

The code is now in `cortext.service.stores.redis.redis_client`.
"""

from __future__ import annotations

from cortext.service.stores.redis.redis_client import ReplicationError

__all__ = ["ReplicationError"]
