"""Programs that act as AI tools for `cortext resume`."""

from pathlib import Path

import pytest

TOOL = """#!/bin/sh
printf '%s\\n' "$PWD" "$0" "$@" > "$CALLED"
exit 7
"""


def install(programs: Path, *names: str) -> None:
    for name in names:
        (programs / name).write_text(TOOL, encoding="utf-8")
        (programs / name).chmod(0o755)


needs_terminal = pytest.mark.needs("script", "to have a terminal")
