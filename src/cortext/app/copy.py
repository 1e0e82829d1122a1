"""The old import path of `copy_sessions`, which the documentation of 0.1.0 shows.

The code is now in `cortext.features.transfer.copy_sessions`.
"""

from __future__ import annotations

from cortext.features.transfer.copy_sessions import copy_sessions

__all__ = ["copy_sessions"]
