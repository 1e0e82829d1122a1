"""Old import path, kept because the documentation of 0.1.0 shows it.

The code is in `cortext.service.stores.ordinal_references`.
"""

from __future__ import annotations

from cortext.service.stores.ordinal_references import Reference

__all__ = ["Reference"]
