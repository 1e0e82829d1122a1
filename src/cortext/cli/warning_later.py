"""Seeing to warnings when the first one is near. A list that has nothing to read imports no
logging, and pays for none."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from logging import LogRecord
    from types import ModuleType


def clean_warnings() -> None:
    """From now on no warning has terminal codes, whoever imports `logging`, and when."""
    if "logging" in sys.modules:
        _configure()
    else:
        sys.meta_path.insert(0, _Logging())  # pyright: ignore[reportArgumentType]


def _configure() -> None:
    """Where nobody has said what becomes of warnings, Python has a last resort for them."""
    import logging

    if logging.lastResort is not None:
        logging.lastResort.setFormatter(_Formatter())  # pyright: ignore[reportArgumentType]


class _Formatter:
    def format(self, record: LogRecord) -> str:
        from cortext.cli.warned import CLEAN

        return CLEAN.format(record)


class _Logging:
    """Finds `logging` as Python does, once, and has it configured as soon as it is there."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != "logging":
            return None
        sys.meta_path.remove(self)  # pyright: ignore[reportArgumentType]
        from importlib.util import find_spec

        spec = find_spec(name)
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def execute_and_configure(module: ModuleType) -> None:
            execute(module)
            _configure()

        spec.loader.exec_module = execute_and_configure
        return spec
