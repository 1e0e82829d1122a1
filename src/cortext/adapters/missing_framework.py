"""What an adapter says where its framework is not installed."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager

from cortext.installation import install_command


@contextmanager
def needs(extra: str) -> Generator[None]:
    """Import a framework; without it, the ImportError names the extra that brings it."""
    try:
        yield
    except ImportError as error:
        if (error.name or "").startswith("cortext") or not _is_missing(error):
            raise
        raise ModuleNotFoundError(
            f"the package {error.name} is not installed; `{install_command(extra)}` installs it",
            name=error.name,
            path=error.path,
        ) from None


def _is_missing(error: ImportError) -> bool:
    """Return whether a package is not installed.

    A folder of the same name without `__init__.py` counts as a package to Python, but has no file.
    """
    if isinstance(error, ModuleNotFoundError):
        return True
    module = sys.modules.get(error.name or "")
    return module is not None and getattr(module, "__file__", None) is None
