"""Import path that the documentation of 0.1.0 shows."""

from __future__ import annotations

from cortext.service.stores.adapter import adapt_store

__all__ = ["adapt_store"]
