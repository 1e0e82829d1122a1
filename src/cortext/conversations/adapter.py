"""The old import path of `adapt_store`, which the documentation of 0.1.0 shows.

The code is now in `cortext.service.stores.custom_store_adapter`.
"""

from __future__ import annotations

from cortext.service.stores.custom_store_adapter import adapt_store

__all__ = ["adapt_store"]
