"""Runs a real AI tool where it can reach nobody's keys, history or network; refuses otherwise.

Each tool gets an environment that starts empty, a HOME and XDG folders inside a temp folder of
its own, a fake key, and a model API on 127.0.0.1. `check` asserts that before every start.
"""

import os
import pwd
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, ClassVar
from urllib.parse import urlsplit

from tests.tools.real.install import PACKAGES, Refused, installed

FAKE_KEY = "fake-key-of-a-test"
_HOMES = {
    "HOME": "home",
    "TMPDIR": "tmp",
    "XDG_CACHE_HOME": "home/.cache",
    "XDG_CONFIG_HOME": "home/.config",
    "XDG_DATA_HOME": "home/.local/share",
    "XDG_RUNTIME_DIR": "run",
    "XDG_STATE_HOME": "home/.local/state",
}
_FOLDER = re.compile(r"HOME$|^XDG_|^TMPDIR$|_CONFIG_DIR$")
_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL|AUTH", re.IGNORECASE)
_KEY = re.compile(r"\b(sk-|AIza|gh[pousr]_|xox[abpr]-|AKIA|eyJ[A-Za-z0-9_-]{10})")
_URL = re.compile(r"\b[a-z][a-z0-9+.-]*://[^\s\"']+", re.IGNORECASE)


@dataclass(frozen=True)
class Done:
    """How a run ended. `code` is -9 where it was ended by us, at its time limit."""

    code: int
    stdout: str
    stderr: str


def check(root: Path, environment: Mapping[str, str]) -> None:
    """Refused unless this environment keeps a tool inside `root` and on loopback."""
    real = root.resolve()
    temporary = Path(tempfile.gettempdir()).resolve()
    account = Path(pwd.getpwuid(os.getuid()).pw_dir).resolve()
    if temporary not in real.parents or real == account or real in account.parents:
        raise Refused(f"{root} is no temp folder of a test")
    for name in _HOMES:
        if name not in environment:
            raise Refused(f"{name} is not set: the tool would look for it by itself")
    for name, value in environment.items():
        if _FOLDER.search(name) and real not in Path(value).resolve().parents:
            raise Refused(f"{name} is {value}, outside the temp folder {root}")
        if _KEY.search(value) or (_SECRET.search(name) and value != FAKE_KEY):
            raise Refused(f"{name} may hold a real key")
        for url in _URL.findall(value):
            check_url(url)


def check_url(url: str) -> None:
    """Refused unless it is plain http on 127.0.0.1; a name might resolve to anything."""
    parts = urlsplit(url)
    if (parts.scheme, parts.hostname) != ("http", "127.0.0.1"):
        raise Refused(f"{url} is not on 127.0.0.1")


class Tool:
    """One AI tool in its own temp folder, as one person's machine would have it.

    `root` is a new folder inside the system's temp folder; `url` is the stub's. `project` is the
    folder in which conversations are had. Subclasses say what differs, tool by tool.
    """

    name: ClassVar[str]
    # The tool's own folder in HOME, and which files in it are conversations or lead to them.
    folder: ClassVar[str] = ""
    files: ClassVar[tuple[str, ...]] = ()

    def __init__(self, root: Path, url: str, *, version: str = "") -> None:
        check_url(url)
        self.root, self.url = root, url
        self.version = version or PACKAGES[self.name].versions[0]
        self.home, self.project = root / "home", root / "project"
        self.extra: dict[str, str] = {}
        for folder in (*_HOMES.values(), "project"):
            (root / folder).mkdir(mode=0o700, parents=True, exist_ok=True)

    @property
    def store(self) -> Path:
        return self.home / self.folder

    def kept(self) -> list[Path]:
        """The files of the store that hold conversations or lead to them, oldest first."""
        found = {path for pattern in self.files for path in self.store.glob(pattern)}
        return sorted(found, key=lambda path: (path.stat().st_mtime_ns, path.name))

    def transcripts(self) -> list[Path]:
        """The conversations themselves, where each is a file."""
        return [path for path in self.kept() if path.suffix == ".jsonl"]

    def environment(self) -> dict[str, str]:
        """All that the tool gets; nothing is inherited but the way to node."""
        node = shutil.which("node")
        folders = ["/usr/local/bin", "/usr/bin", "/bin"]
        return {
            "PATH": ":".join([str(Path(node).parent), *folders] if node else folders),
            "LANG": "C.UTF-8",
            "TZ": "UTC",
            # What ignores our settings and calls home is answered by the stub, and in its log.
            "HTTPS_PROXY": self.url,
            "NO_PROXY": "127.0.0.1",
            **{name: str(self.root / folder) for name, folder in _HOMES.items()},
            **self.settings(),
            **self.extra,
        }

    def run(
        self,
        prompt: str,
        *,
        resume: str = "",
        cwd: Path | None = None,
        timeout: float = 90,
        options: Sequence[str] = (),
    ) -> Done:
        """One headless turn, in a new session or in the one that `resume` names."""
        self.configure(cwd or self.project)
        arguments, given = self.turn(prompt, resume)
        return self.start([*arguments, *options], given=given, cwd=cwd, timeout=timeout)

    def start(
        self,
        arguments: Sequence[str],
        *,
        given: str = "",
        cwd: Path | None = None,
        timeout: float = 90,
    ) -> Done:
        """The program with these arguments. Its whole process group is ended with it."""
        environment = self.environment()
        check(self.root, environment)
        program = installed(self.name, self.version)
        # Files, not pipes: a pipe cuts OpenCode's output, and a left-over child would hold it.
        with (
            tempfile.TemporaryFile(dir=self.root) as stdin,
            tempfile.TemporaryFile(dir=self.root) as stdout,
            tempfile.TemporaryFile(dir=self.root) as stderr,
        ):
            stdin.write(given.encode())
            stdin.seek(0)
            process = subprocess.Popen(
                [program, *arguments],
                cwd=cwd or self.project,
                env=environment,
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                start_new_session=True,
            )
            try:
                process.wait(timeout)
            except subprocess.TimeoutExpired:
                pass
            finally:
                _end(process)
            return Done(process.returncode, _read(stdout), _read(stderr))

    def settings(self) -> dict[str, str]:
        """The tool's own variables."""
        raise NotImplementedError

    def configure(self, cwd: Path) -> None:
        """The configuration that a person would have written, where the tool needs one."""

    def turn(self, prompt: str, resume: str) -> tuple[list[str], str]:
        """The arguments of one headless turn, and what goes to its stdin."""
        raise NotImplementedError

    def sessions(self) -> list[str]:
        """The tool's own ids of the conversations in its store, oldest first."""
        raise NotImplementedError


def _end(process: "subprocess.Popen[bytes]") -> None:
    """What is left of a process group that we started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def _read(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode("utf-8", "replace")
