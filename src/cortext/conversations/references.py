"""Import path that the documentation of 0.1.0 shows."""

from __future__ import annotations

from cortext.service.stores.ordinal_references import Reference

__all__ = ["Reference"]
