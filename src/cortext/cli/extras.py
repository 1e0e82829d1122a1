"""What some commands need that is not installed with the rest."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from cortext.errors import CortextError


@contextmanager
def needs(extra: str, what: str) -> Generator[None]:
    """While it is imported: say what to install if a package is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package == "cortext":
            raise
        raise CortextError(
            f"{what} needs a package that is not installed: {package}",
            hint=f"install it with `pip install 'cortext-sessions[{extra}]'`",
        ) from None
