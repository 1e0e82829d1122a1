"""The error that an adapter raises if its framework is not installed."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager

from cortext.installation import install_command


@contextmanager
def needs(extra: str) -> Generator[None]:
    """Return a context manager for the imports of a framework that may not be installed.

    If a package is missing, the context raises ModuleNotFoundError with the install command. Other
    import errors are raised unchanged. `extra` is the extra (optional dependency) of cortext that
    installs the framework.
    """
    try:
        yield
    except ImportError as error:
        if (error.name or "").startswith("cortext") or not _is_missing(error):
            raise
        raise ModuleNotFoundError(
            f"the package {error.name} is not installed; run `{install_command(extra)}`",
            name=error.name,
            path=error.path,
        ) from None


def _is_missing(error: ImportError) -> bool:
    """Return whether an import failed because the package is not installed.

    Python also imports a folder with the name of the package but without `__init__.py`. Such a
    folder counts as not installed.
    """
    if isinstance(error, ModuleNotFoundError):
        return True
    module = sys.modules.get(error.name or "")
    return module is not None and getattr(module, "__file__", None) is None
