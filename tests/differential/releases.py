"""Installations of released versions, built from their commits, beside the current tree."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
WHEELS = ROOT / ".venv/wheels"
RELEASES = {"0.1.0": "15032b4eaaa3dc98b020a88b6dd6d8098b725b4d"}
"""Each released version and the commit it was built from."""


def install_release(version: str, folder: Path) -> Path:
    """Build a wheel of a released commit and install it into a venv; return its programs.

    Needs no network: the packages it requires come from the wheels that `make test` downloads.
    """
    source = folder / "source"
    source.mkdir(parents=True)
    archive = subprocess.run(
        ["git", "archive", RELEASES[version]],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        check=True,
        timeout=100,
    )
    subprocess.run(["tar", "-x"], cwd=source, input=archive.stdout, check=True, timeout=100)
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder]
    _run(*build, cwd=source)
    (wheel,) = folder.glob("*.whl")
    venv = folder / "venv"
    _run(sys.executable, "-m", "venv", "--without-pip", venv)
    uv = Path(sys.executable).with_name("uv")
    offline = ["--offline", "--no-index", "--find-links", WHEELS]
    _run(uv, "pip", "install", *offline, "--python", venv / "bin/python", wheel)
    return venv / "bin"


def _run(*command: str | Path, cwd: Path | None = None) -> None:
    subprocess.run(
        command,
        cwd=cwd,
        env={**os.environ, "UV_NO_CONFIG": "1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        check=True,
        timeout=300,
    )
