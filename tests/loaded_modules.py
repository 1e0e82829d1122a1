"""The modules that a piece of code loads."""

import subprocess
import sys

PROGRAM = """
import sys
before = set(sys.modules)
{statement}
print(*sorted(set(sys.modules) - before))
"""


def loaded_by(statement: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-S", "-c", PROGRAM.format(statement=statement)],
        capture_output=True, text=True, check=False, timeout=60,
        env={"PYTHONPATH": ":".join(path for path in sys.path if path), "HOME": "/nonexistent",
             "XDG_DATA_HOME": "/nonexistent", "XDG_CACHE_HOME": "/nonexistent"},
    )  # fmt: skip
    assert (done.stderr, done.returncode) == ("", 0)
    return set(done.stdout.split())
