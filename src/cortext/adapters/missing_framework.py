"""The error that an adapter raises if its framework is not installed."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager

from cortext.installation import install_command


@contextmanager
def needs(extra: str) -> Generator[None]:
    """Wrap the imports of a framework, and name the extra to install if a package is missing.

    Raises ModuleNotFoundError with the install command in its text. Other import errors pass
    unchanged.
    """
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
    """Return whether the package of this import error is not installed.

    Python also imports a folder of that name without `__init__.py`, as a module without a file.
    Such a folder counts as not installed.
    """
    if isinstance(error, ModuleNotFoundError):
        return True
    module = sys.modules.get(error.name or "")
    return module is not None and getattr(module, "__file__", None) is None
