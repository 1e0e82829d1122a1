"""Old import path, kept because the documentation of 0.1.0 shows it.

The code is in `cortext.service.stores.redis.redis_client`.
"""

from __future__ import annotations

from cortext.service.stores.redis.redis_client import ReplicationError

__all__ = ["ReplicationError"]
