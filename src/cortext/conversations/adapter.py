"""Old import path, kept because the documentation of 0.1.0 shows it.

The code is in `cortext.service.stores.adapter`.
"""

from __future__ import annotations

from cortext.service.stores.adapter import adapt_store

__all__ = ["adapt_store"]
