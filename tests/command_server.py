"""Run `cortext` and `aur` without waiting for Python to start.

A server process loads the command line once and forks for every command. A test still has a real
process with its own environment, folder, streams and exit code; only the imports are shared. Tests
about starting up, encodings or Python itself start the installed script instead.
"""

import atexit
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

_FILE = os.path.abspath(__file__)
_lock = threading.Lock()
_server: "CommandServer | None" = None


def run_command(
    program: str, args: Sequence[str], cwd: Path, env: Mapping[str, str], timeout: float
) -> subprocess.CompletedProcess[str]:
    """Run `cortext` or `aur` as `subprocess.run` would, with an empty standard input."""
    global _server
    with _lock:
        if _server is None:
            _server = CommandServer()
            atexit.register(_server.close)
    return _server.run(program, args, cwd, env, timeout)


class CommandServer:
    """The process that has the command line loaded."""

    def __init__(self) -> None:
        self._folder = tempfile.mkdtemp(prefix="cortext-commands-")
        self._address = f"{self._folder}/socket"
        self._process = subprocess.Popen(
            [sys.executable, _FILE, self._address], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == b"ready\n"

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        os.unlink(self._address)
        os.rmdir(self._folder)

    def run(
        self, program: str, args: Sequence[str], cwd: Path, env: Mapping[str, str], timeout: float
    ) -> subprocess.CompletedProcess[str]:
        request = {
            "args": [program, *args],
            "cwd": str(cwd),
            "env": dict(env),
            "umask": _umask(),
        }
        with (
            tempfile.TemporaryFile() as out,
            tempfile.TemporaryFile() as err,
            socket.socket(socket.AF_UNIX) as connection,
            connection.makefile("rwb") as stream,
        ):
            connection.settimeout(timeout)
            connection.connect(self._address)
            socket.send_fds(connection, [b"fds"], [out.fileno(), err.fileno()])
            stream.write(json.dumps(request).encode() + b"\n")
            stream.flush()
            pid = int(stream.readline())
            try:
                code = int(stream.readline())
            except TimeoutError:
                os.kill(pid, signal.SIGKILL)
                raise subprocess.TimeoutExpired(request["args"], timeout) from None
            texts = [_read(file) for file in (out, err)]
        return subprocess.CompletedProcess(request["args"], code, *texts)


def _read(file: Any) -> str:
    file.seek(0)
    return file.read().decode("utf-8").replace("\r\n", "\n")


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def serve(address: str) -> None:
    """Fork for each request, until the process that started the server is gone."""
    _load()
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(address)
    listener.listen(64)
    reader, writer = socket.socketpair()
    writer.setblocking(False)
    signal.set_wakeup_fd(writer.fileno())
    signal.signal(signal.SIGCHLD, lambda *_: None)
    print("ready", flush=True)
    waiting: dict[int, socket.socket] = {}
    while True:
        ready, _, _ = select.select([listener, reader, sys.stdin], [], [])
        if sys.stdin in ready:
            return
        if reader in ready:
            reader.recv(4096)
            for pid, status in _ended(waiting):
                with waiting.pop(pid) as connection:
                    _send(connection, os.waitstatus_to_exitcode(status))
        if listener in ready:
            connection, _ = listener.accept()
            pid = os.fork()
            if pid == 0:
                for each in (listener, reader, writer, *waiting.values()):
                    each.close()
                _run_and_exit(connection)
            _send(connection, pid)
            waiting[pid] = connection


def _send(connection: socket.socket, number: int) -> None:
    try:
        connection.sendall(b"%d\n" % number)
    except OSError:
        pass  # the test has given up


def _ended(waiting: Mapping[int, object]) -> list[tuple[int, int]]:
    found = [os.waitpid(pid, os.WNOHANG) for pid in waiting]
    return [(pid, status) for pid, status in found if pid]


def _load() -> None:
    """Import what most commands import. Nothing here may open a file or start a thread."""
    import gc
    from importlib import import_module

    from cortext.cli.command_group import COMMAND_SUMMARIES

    for name in COMMAND_SUMMARIES:
        import_module(f"cortext.cli.commands.{'import_' if name == 'import' else name}")
    for name in PRELOADED:
        import_module(name)
    gc.collect()
    gc.freeze()


PRELOADED = (
    "cortext.features.listing.conversation_list",
    "cortext.features.search.search",
    "cortext.features.manage.stop_conversation",
    "cortext.features.archive.archive_sync",
    "cortext.features.capture.capture",
    "cortext.features.resume.resume_preparation",
    "cortext.features.doctor.doctor_report",
    "cortext.features.secrets.secret_scan",
    "cortext.cli.conversation_choice",
    "cortext.cli.views.search_output",
    "cortext.cli.views.list_view",
    "cortext.catalog.conversation_row_reader",
)


def _run_and_exit(connection: socket.socket) -> None:
    """Become the command: take over its streams, folder and environment, and run it."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    _, descriptors, _, _ = socket.recv_fds(connection, 3, 2)
    with connection.makefile("rb") as stream:
        request = json.loads(stream.readline())
    connection.close()
    null = os.open(os.devnull, os.O_RDONLY)
    for number, descriptor in enumerate((null, *descriptors)):
        os.dup2(descriptor, number)
    for descriptor in (null, *descriptors):
        os.close(descriptor)
    os.umask(request["umask"])
    os.environ.clear()
    os.environ.update(request["env"])
    os.chdir(request["cwd"])
    _become(request["args"])


def _become(args: list[str]) -> None:
    time.tzset()
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115  until the end
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115  until the end
    sys.stderr = open(2, "w", encoding="utf-8", closefd=False, errors="backslashreplace")  # noqa: SIM115  until the end
    sys.argv = [str(Path(sys.executable).with_name(args[0])), *args[1:]]
    sys.path[0] = str(Path(sys.executable).parent)
    from cortext.cli.main import aur_main, main

    code: Any = 1
    try:
        code = aur_main() if args[0] == "aur" else main()
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else int(error.code is not None)
    except BaseException:
        traceback.print_exc()
    # As the interpreter ends: other threads, then exit handlers, then the streams.
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            code = code or 120
    os._exit(code)


if __name__ == "__main__":
    serve(sys.argv[1])
