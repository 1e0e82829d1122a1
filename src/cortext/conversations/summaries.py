"""The old import path of `register_type`, which the documentation of 0.1.0 shows.

The code is now in `cortext.service.stores.routing_summary`.
"""

from __future__ import annotations

from cortext.service.stores.routing_summary import register_type

__all__ = ["register_type"]
