"""The built distribution: a clean installation without a network runs everything README shows."""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.request import HTTPCookieProcessor, build_opener, urlopen

import pytest

pytestmark = pytest.mark.long

ROOT = Path(__file__).parent.parent
WHEELS = ROOT / ".venv/wheels"
SHOWN = re.compile(r"`(cortext(?: [^`]*)?)`|^\$ (cortext.*)$", re.MULTILINE)
UNMENTIONED = ["cortext mcp", "cortext serve"]
"""README promises these after the installation, in words."""
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


class Installed(NamedTuple):
    """An installation of its own, and a home in which two AI tools were used."""

    bin: Path
    home: Path
    project: Path

    @property
    def environment(self) -> dict[str, str]:
        path = f"{self.bin}:{self.home / 'bin'}:/usr/bin:/bin"
        return {"PATH": path, "HOME": str(self.home), "LC_ALL": "C.UTF-8"}

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            cwd=self.project,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from the source distribution, which is built from the tree."""
    folder = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "hatchling", "build"]
    subprocess.run([*build, "-t", "sdist", "-d", folder], cwd=ROOT, check=True, timeout=100)
    (source,) = folder.glob("*.tar.gz")
    subprocess.run(["tar", "-xzf", source, "-C", folder], check=True, timeout=100)
    unpacked = folder / source.name.removesuffix(".tar.gz")
    subprocess.run([*build, "-t", "wheel", "-d", folder], cwd=unpacked, check=True, timeout=100)
    (wheel,) = folder.glob("*.whl")
    return wheel


@pytest.fixture
def offline(tmp_path: Path) -> dict[str, str]:
    """An environment in which installers find packages only in our folder of wheels."""
    if not WHEELS.is_dir():
        pytest.skip("the wheels are not downloaded; `make test` does that")
    return {
        "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
        "HOME": str(tmp_path / "home"),
        "LC_ALL": "C.UTF-8",
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_FIND_LINKS": str(WHEELS),
        "PIP_NO_INDEX": "1",
        "UV_FIND_LINKS": str(WHEELS),
        "UV_NO_CONFIG": "1",
        "UV_NO_INDEX": "1",
        "UV_OFFLINE": "1",
    }


def make_home(home: Path) -> Path:
    """Fill a home with the history of Claude Code and Codex, and stand-ins for both programs."""
    project = home / "demo"
    project.mkdir(parents=True)
    (home / "bin").mkdir()
    for tool in ("claude", "codex"):
        program = home / "bin" / tool
        program.write_text("#!/bin/sh\n", encoding="utf-8")
        program.chmod(0o755)
    histories = [sys.executable, ROOT / "docs/examples/histories.py"]
    env = {"HOME": str(home), "PATH": "/usr/bin:/bin"}
    subprocess.run(histories, cwd=project, env=env, check=True, timeout=100)
    return project


def install_into_venv(wheel: Path, venv: Path, offline: dict[str, str]) -> Path:
    """Install the wheel into a clean virtual environment; return its folder of programs."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True, timeout=100)
    pip = ["uv", "pip", "install", "--python", venv / "bin/python", wheel]
    subprocess.run(pip, env=offline, check=True, timeout=300)
    return venv / "bin"


def readme_commands() -> list[str]:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    found = [(inline or line).partition(" #")[0].strip() for inline, line in SHOWN.findall(text)]
    return [*dict.fromkeys([*found, *UNMENTIONED])]


@contextmanager
def serving(installed: Installed, *command: str) -> Iterator[str]:
    """The address that a server prints, while it runs."""
    process = subprocess.Popen(
        command,
        cwd=installed.project,
        env=installed.environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    with process:
        try:
            for line in process.stdout:
                if found := re.search(r"http://127\.0\.0\.1:\d+\S*", line):
                    yield found[0]
                    break
            else:
                raise AssertionError(f"{command} printed no address")
        finally:
            process.terminate()


def check_command(installed: Installed, command: str) -> None:
    match shlex.split(command):
        case ["cortext", "web", *_]:
            with (
                serving(installed, "cortext", "web", "--no-open", "--port", "0") as link,
                build_opener(HTTPCookieProcessor()).open(link, timeout=60) as page,
            ):
                assert b"Design the retry logic for uploads" in page.read()
        case ["cortext", "serve", *_]:
            with (
                serving(installed, "cortext", "serve", "--port", "0") as address,
                urlopen(f"{address.rstrip('/,')}/healthz", timeout=60) as page,
            ):
                assert page.status == 200
        case ["cortext", "mcp"]:
            done = subprocess.run(
                ["cortext", "mcp"],
                input=json.dumps(HELLO) + "\n",
                cwd=installed.project,
                env=installed.environment,
                capture_output=True,
                text=True,
                timeout=100,
                check=True,
            )
            assert json.loads(done.stdout)["result"]["serverInfo"]["name"] == "cortext"
        case ["cortext", "setup" | "uninstall" as verb, *rest]:
            check_exit(installed.run("cortext", verb, *rest, "--yes"))
        case ["cortext", "watch"]:
            check_exit(installed.run("cortext", "watch", "--once"))
        case ["cortext", "stop"]:
            check_exit(installed.run("cortext", "new", "brainstorm", "API design"))
            check_exit(installed.run("cortext", "stop"))
        case words:
            check_exit(installed.run(*words))


def check_exit(done: subprocess.CompletedProcess[str]) -> None:
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), (done.args, done.stderr)


def test_wheel_runs_every_command_in_readme(
    built: Path, offline: dict[str, str], tmp_path: Path
) -> None:
    bin = install_into_venv(built, tmp_path / "venv", offline)
    home = tmp_path / "person"
    installed = Installed(bin, home, make_home(home))
    commands = readme_commands()
    assert len(commands) > 8
    for command in commands:
        check_command(installed, command)


@pytest.mark.parametrize(
    ("install", "hint"),
    [
        (["uv", "tool", "install", "."], "uv tool install --with"),
        (["pipx", "install", "."], "pipx inject cortext-sessions"),
    ],
    ids=["uv", "pipx"],
)
def test_redis_hint_works_for_uv_and_pipx_installation(
    install: list[str], hint: str, offline: dict[str, str]
) -> None:
    """Install as README says, follow the hint of a command that needs the package redis."""
    subprocess.run(install, cwd=ROOT, env=offline, check=True, timeout=300)
    home = Path(offline["HOME"])
    with_script = {**offline, "PATH": f"{home / '.local/bin'}:{offline['PATH']}"}

    def list_redis() -> subprocess.CompletedProcess[str]:
        script = home / ".local/bin/cortext"
        command = [script, "list", "--store", "redis://127.0.0.1:1/0"]
        return subprocess.run(
            command, env=with_script, capture_output=True, text=True, timeout=100, check=False
        )

    before = list_redis()
    assert "error: sessions in Redis need the package redis" in before.stderr
    (followed,) = re.findall(r"^hint: .*`(.+)`$", before.stderr, re.MULTILINE)
    assert followed.startswith(hint)
    subprocess.run(shlex.split(followed), env=with_script, check=True, timeout=300)
    assert "need the package" not in list_redis().stderr
