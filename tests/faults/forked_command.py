"""Being a command: in a fork of a process that has all the imports done."""

import atexit
import errno
import io
import os
import sys
import threading
import traceback
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import cortext
from cortext.cli.main import aur_main, main
from tests.faults.home import Home
from tests.faults.scenes import Scene

_PROGRAMS = {"cortext": main, "aur": aur_main}


def warm() -> None:
    """All that a command may import, before anything is forked."""
    package = Path(cortext.__file__).parent
    for part in (
        "features",
        "cli",
        "durability",
        "catalog",
        "workspace",
        "stores",
        "git",
        "tools",
    ):
        for path in sorted((package / part).rglob("*.py")):
            name = path.relative_to(package.parent).with_suffix("").as_posix()
            if "picker" not in name:
                import_module(name.replace("/", ".").removesuffix(".__init__"))
    for name in (
        "service.stores.file_store",
        "service.stores.conversation_store_registry",
        "adapters.session_log",
    ):
        import_module(f"cortext.{name}")


def run_free(act: Callable[[], int]) -> int:
    """The exit code of what a fork does, with nobody in its way."""
    pid = os.fork()
    if pid == 0:
        code = 70
        try:
            code = act()
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def act_out(home: Home, scene: Scene, streams: list[Path]) -> int:
    """Be the command, from its first line to the end of its process; its exit code."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    for number, path in enumerate(streams):
        fd = os.open(path, flags if number else os.O_RDONLY, 0o600)
        os.dup2(fd, number)
        os.close(fd)
    sys.stdin = io.TextIOWrapper(os.fdopen(0, "rb"), encoding="utf-8")
    sys.stdout = io.TextIOWrapper(os.fdopen(1, "wb"), encoding="utf-8")
    sys.stderr = io.TextIOWrapper(os.fdopen(2, "wb"), encoding="utf-8", line_buffering=True)
    os.chdir(home.work)
    if scene.setting:
        os.environ[scene.setting[0]] = scene.setting[1]
    if scene.far:
        _keep_data_far(home)
    code = scene.act(home) if scene.act else _command(scene)
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    return code


def _keep_data_far(home: Home) -> None:
    """As between two file systems, nothing is renamed from one to the other."""
    rename, border = os.rename, f"{home.root}/data/"

    def near(source: str, target: str) -> None:
        if source.startswith(border) != target.startswith(border):
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), source)
        rename(source, target)

    os.rename = near  # type: ignore[assignment]


def _command(scene: Scene) -> int:
    sys.argv = [scene.program, *scene.words]
    try:
        return _PROGRAMS[scene.program]()
    except SystemExit as leaving:
        return leaving.code if isinstance(leaving.code, int) else 1
    except BaseException:
        traceback.print_exc()
        return 1
