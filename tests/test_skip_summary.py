import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
PYTEST = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]


def test_pytest_run_without_programs_lists_skipped_tests_with_reasons() -> None:
    """As on a machine where an ordinary user cannot install chromium."""
    env = {**os.environ, "PATH": str(Path(sys.executable).parent), "CI": ""}
    done = subprocess.run(
        [*PYTEST, "-m", "not slow", "tests/web/test_stored_markup.py"],
        cwd=ROOT,
        env=env,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    ending = done.stdout.partition("not run")[2]
    assert " tests: chromium is not installed; needed to open the pages\n" in ending
    assert "the real AI tools: `make test-all` runs them\n" in ending
    assert done.returncode == 0
