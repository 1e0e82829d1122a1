"""A real `cortext web` over a home of its own, and a real Chromium that may ask nobody else."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator
from pathlib import Path
from typing import NamedTuple

import pytest
from playwright.sync_api import Browser, Dialog, Page, Request, sync_playwright

ARGS = [
    "--no-sandbox",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


class Site(NamedTuple):
    """A server that runs: the link that it printed, its address, and the folder that it serves."""

    link: str
    address: str
    folder: Path


class Visit:
    """A page, what went wrong in it, and whom it asked."""

    def __init__(self, page: Page, site: Site) -> None:
        self.page, self.site = page, site
        self.wrong: list[str] = []
        self.elsewhere: list[str] = []
        page.on("console", lambda said: self._wrong(said.type, said.text))
        page.on("pageerror", lambda error: self._wrong("error", str(error)))
        page.on("dialog", self._dialog)
        page.on("request", self._asked)

    def _dialog(self, dialog: Dialog) -> None:
        self.wrong.append("dialog")
        dialog.dismiss()

    def _wrong(self, kind: str, text: str) -> None:
        if kind in ("error", "warning"):
            self.wrong.append(text)

    def _asked(self, request: Request) -> None:
        if not request.url.startswith(f"{self.site.address}/"):
            self.elsewhere.append(request.url)

    def go(self, path: str) -> None:
        self.page.goto(f"{self.site.address}{path}", wait_until="load")

    def assert_calm(self) -> None:
        """No error in the console, and no request to anybody else."""
        assert self.wrong == []
        assert self.elsewhere == []


@pytest.fixture(scope="module")
def serving() -> Generator[Callable[[Path], Site]]:
    """Starts servers; each ends with the module."""
    started: list[subprocess.Popen[str]] = []

    def start(folder: Path) -> Site:
        environment = {**os.environ, **environment_of(folder)}
        command = [sys.executable, "-m", "cortext", "web", "--no-open", "--port", "0"]
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True
        )
        started.append(process)
        assert process.stdout is not None
        link = process.stdout.readline().strip()
        assert link.startswith("http://127.0.0.1:")
        return Site(link, link.partition("/?")[0], folder)

    yield start
    for process in started:
        process.terminate()
        process.wait(60)
        assert process.stdout is not None
        process.stdout.close()


def environment_of(folder: Path) -> dict[str, str]:
    """A home below a folder: nothing of this machine is seen."""
    names = ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "AURORA_HOME")
    found = {name: str(folder / name.lower()) for name in names}
    return {**found, "HOME": str(folder / "home"), "CI": "true"}


@pytest.fixture(scope="module")
def at_home() -> Generator[Path]:
    """A folder with an environment that this process has too while it fills it."""
    folder = Path(tempfile.mkdtemp(prefix="cortext-web-"))
    (folder / "home").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment_of(folder).items():
            if name != "CI":
                patch.setenv(name, value)
        yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def browser() -> Generator[Browser]:
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=ARGS, headless=True
        )
        yield found
        found.close()
