"""The old import path of `Reference`, which the documentation of 0.1.0 shows.

The code is now in `cortext.service.stores.ordinal_references`.
"""

from __future__ import annotations

from cortext.service.stores.ordinal_references import Reference

__all__ = ["Reference"]
