"""Run a program with pipes for its input and output, and end it together with its children."""

from __future__ import annotations

import math
import os
import re
import selectors
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import IO, cast

from cortext.tools.launch_plans import LaunchPlan
from cortext.tools.system_processes import Process, find_process

_GRACE_SECONDS = 1.0
"""Seconds between SIGTERM and SIGKILL, in which a program can exit."""
_POLL_SECONDS = 0.2
_FILE_POLL_SECONDS = 0.03
_BLOCK_SIZE = 1 << 16
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_MAX_STDERR = 4000  # only this many last bytes of stderr are stored


class Talk:
    """A running program whose stdin is written while its stdout is read.

    If `by_file` is true, the program writes its output to a file. Some programs lose the end of
    their output when they write to a pipe.
    """

    def __init__(self, plan: LaunchPlan, *, by_file: bool = False) -> None:
        """Start the program of the plan. Raises OSError if the program cannot be started."""
        self._file = tempfile.TemporaryFile() if by_file else None  # noqa: SIM115  closed by stop
        try:
            self._process = _start_program(plan, self._file)
        except OSError:
            if self._file:
                self._file.close()
            raise
        self._streams = [
            cast("IO[bytes]", stream)
            for stream in (
                self._process.stdin,
                self._file or self._process.stdout,
                self._process.stderr,
            )
        ]
        self._in, self._out, self._err = (stream.fileno() for stream in self._streams)
        self._to_write = bytearray()
        self._closes_input = False
        self._code: int | None = None
        self._stderr = bytearray()
        self._selector = selectors.DefaultSelector()
        os.set_blocking(self._in, False)
        for fd in (self._err,) if self._file else (self._out, self._err):
            os.set_blocking(fd, False)
            self._selector.register(fd, selectors.EVENT_READ)

    def write(self, data: bytes) -> None:
        """Queue data for the program's stdin.

        `read` writes the queued data while it waits for output.
        """
        if self._in < 0:
            return
        self._to_write += data
        if self._in not in self._selector.get_map():
            self._selector.register(self._in, selectors.EVENT_WRITE)

    def end_input(self) -> None:
        """Close the program's stdin as soon as all queued data is written."""
        self._closes_input = True
        if not self._to_write:
            self._close_input()

    def read(self, until: float = math.inf) -> Iterator[bytes]:
        """Yield the program's output as it arrives, until the output ends or `until` has passed.

        `until` is a time of the monotonic clock. Reading also stops when the program has exited,
        even if one of its children still has the output open.
        """
        if self._file:
            yield from self._read_file(until)
        while self._out in self._selector.get_map() and time.monotonic() < until:
            ended = self.exited()
            ready = self._handle_events(0 if ended else _POLL_SECONDS)
            if ended and not ready:
                return
            if self._out in ready and (data := self._read_some(self._out)):
                yield data

    def _read_file(self, until: float) -> Iterator[bytes]:
        offset = 0
        while time.monotonic() < until:
            ended = self.exited()
            while data := os.pread(self._out, _BLOCK_SIZE, offset):
                offset += len(data)
                yield data
            if ended:
                return
            self._handle_events(_FILE_POLL_SECONDS)

    def _handle_events(self, seconds: float) -> set[int]:
        """Wait up to `seconds` until the program's input, output or stderr is ready.

        Write queued data to the input, and read stderr. Return the file descriptors that are ready.
        """
        if not self._selector.get_map():
            time.sleep(seconds)  # an empty selector does not wait on every system
            return set()
        ready = {key.fd for key, _ in self._selector.select(seconds)}
        if self._in in ready:
            self._write_some()
        if self._err in ready:
            self._read_stderr()
        return ready

    def complaints(self) -> str:
        """Return the last bytes of the program's stderr as text, without colours."""
        return _COLOUR.sub("", self._stderr.decode("utf-8", "replace")).strip()

    def wait(
        self, until: float | None = None, hurried: Callable[[], bool] = lambda: False
    ) -> int | None:
        """Close the program's stdin, wait until the program exits, and return its exit code.

        Return None if the program does not exit in time. `until` is the deadline, as a time of the
        monotonic clock. The wait also ends early when the function `hurried` returns True.
        """
        self._close_input()
        pause = 0.001
        while not self.exited():
            late = until is not None and time.monotonic() > until
            if late or hurried():
                return None
            self._read_stderr()
            time.sleep(pause)
            pause = min(pause * 2, 0.05)
        self._read_stderr()
        return self._code

    def stop(self, hurried: Callable[[], bool] = lambda: False) -> None:
        """End the program and everything that it started.

        First send SIGTERM, and wait at most one second until the program exits. Then send SIGKILL
        to all processes that are left. If the function `hurried` returns True during the wait, send
        SIGKILL at once.
        """
        family: set[Process] = set()
        try:
            if not self.exited():
                family = _descendants(self._process.pid)
                self._signal(signal.SIGTERM)
                self.wait(time.monotonic() + _GRACE_SECONDS, hurried)
        finally:
            if not self.exited():
                family |= _descendants(self._process.pid)
            self._signal(signal.SIGKILL)
            for each in family:
                _kill(each)
            self._close()

    def exited(self) -> bool:
        """Return whether the program has exited.

        If possible, the exited process stays a zombie. No other process gets the id of a zombie, so
        a signal to the process group of the program is safe.
        """
        if self._code is None and hasattr(os, "waitid"):
            options = os.WEXITED | os.WNOWAIT | os.WNOHANG
            if found := os.waitid(os.P_PID, self._process.pid, options):
                by_itself = found.si_code == os.CLD_EXITED
                self._code = found.si_status if by_itself else -found.si_status
        elif self._code is None:
            self._code = self._process.poll()
        return self._code is not None

    def _signal(self, number: signal.Signals) -> None:
        try:
            os.killpg(self._process.pid, number)
        except (ProcessLookupError, PermissionError):
            return  # the group is empty, or macOS reports that only zombies are left in it

    def _write_some(self) -> None:
        try:
            written = os.write(self._in, self._to_write[:_BLOCK_SIZE])
        except BlockingIOError:
            return
        except BrokenPipeError:
            # The program may answer without reading all of its input.
            self._close_input()
            return
        del self._to_write[:written]
        if not self._to_write:
            self._selector.unregister(self._in)
            if self._closes_input:
                self._close_input()

    def _close_input(self) -> None:
        if self._in < 0:
            return
        if self._in in self._selector.get_map():
            self._selector.unregister(self._in)
        self._streams[0].close()
        self._to_write.clear()
        self._in = -1

    def _read_some(self, fd: int) -> bytes:
        try:
            data = os.read(fd, _BLOCK_SIZE)
        except BlockingIOError:
            return b""
        if not data:
            self._selector.unregister(fd)
        return data

    def _read_stderr(self) -> None:
        while self._err in self._selector.get_map():
            data = self._read_some(self._err)
            if not data:
                return
            self._stderr += data
            del self._stderr[:-_MAX_STDERR]

    def _close(self) -> None:
        self._close_input()
        self._selector.close()
        for stream in self._streams:
            stream.close()
        self._process.wait()


def _start_program(plan: LaunchPlan, out: IO[bytes] | None) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        plan.words,
        cwd=plan.cwd,
        env={**os.environ, **plan.environment},
        stdin=subprocess.PIPE,
        stdout=out or subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        # Ctrl+C in the terminal must not reach the program. Also, its whole group can be ended.
        start_new_session=True,
    )


def _descendants(pid: int) -> set[Process]:
    """Return all children of a process and their children, recursively.

    A signal to the process group does not reach all of them, because tools start commands in other
    process groups. Return an empty set on a system without `/proc`.
    """
    try:
        names = [name for name in os.listdir("/proc") if name.isdecimal()]
    except OSError:
        return set()
    processes = [process for name in names if (process := find_process(int(name)))]
    family: set[Process] = set()
    parents = {pid}
    while parents:
        children = {each for each in processes if each.parent in parents} - family
        family |= children
        parents = {each.pid for each in children}
    return family


def _kill(process: Process) -> None:
    now = find_process(process.pid)
    if now is None or now.started != process.started:
        return
    try:
        os.kill(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return  # the process has ended, or now belongs to another user
