"""What an adapter says where its framework is not installed."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from cortext.installation import install_command


@contextmanager
def needs(extra: str) -> Generator[None]:
    """Import a framework; without it, the ImportError names the extra that brings it."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("cortext"):
            raise
        raise ModuleNotFoundError(
            f"the package {error.name} is not installed; `{install_command(extra)}` installs it",
            name=error.name,
            path=error.path,
        ) from None
