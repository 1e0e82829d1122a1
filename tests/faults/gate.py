"""A gate that every call of a process passes by on its way into the kernel, and that we keep.

The child asks the kernel to hold its calls (seccomp, user notification); whoever keeps the gate
lets each go on, fail, or do less than it was asked for. All that it begins is held too, git and
SQLite as well as Python, and no compiler and no tracer is needed.
"""

import ctypes
import errno
import fcntl
import os
import platform
import select
import signal
import socket
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

# x86_64 and aarch64; None where an architecture has no such call.
_NUMBERS: dict[str, tuple[int | None, int | None]] = {
    "read": (0, 63),
    "pread64": (17, 67),
    "write": (1, 64),
    "pwrite64": (18, 68),
    "writev": (20, 66),
    "sendfile": (40, 71),
    "copy_file_range": (326, 285),
    "open": (2, None),
    "openat": (257, 56),
    "fsync": (74, 82),
    "fdatasync": (75, 83),
    "rename": (82, None),
    "renameat": (264, 38),
    "renameat2": (316, 276),
    "link": (86, None),
    "linkat": (265, 37),
    "symlink": (88, None),
    "symlinkat": (266, 36),
    "unlink": (87, None),
    "unlinkat": (263, 35),
    "rmdir": (84, None),
    "mkdir": (83, None),
    "mkdirat": (258, 34),
    "ftruncate": (77, 46),
    "flock": (73, 32),
}
_BY_PATH = {"open": 0, "rename": 1, "link": 1, "symlink": 1, "unlink": 0, "rmdir": 0, "mkdir": 0}
"""Where in its arguments a call has the name that it makes, changes or removes."""
_BY_FOLDER = {
    "openat": 0,
    "renameat": 2,
    "renameat2": 2,
    "linkat": 2,
    "symlinkat": 1,
    "unlinkat": 0,
    "mkdirat": 0,
}
"""The same for those that are given a folder and a name in it."""
_COLUMN = {"x86_64": 0, "aarch64": 1}.get(platform.machine())
_SECCOMP = {"x86_64": 317, "aarch64": 277}.get(platform.machine())
_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}.get(platform.machine())
CALLS: dict[int, str] = {
    number: name
    for name, column in _NUMBERS.items()
    if _COLUMN is not None and (number := column[_COLUMN]) is not None
}
_HOLD, _PASS = 0x7FC00000, 0x7FFF0000
_RECEIVE, _SEND = 0xC0502100, 0xC0182101
_HELD = struct.Struct("<QIIiIQ6Q")
_ANSWER = struct.Struct("<QqiI")
_GO_ON = 1
_HERE = -100
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC


class Held(NamedTuple):
    """A call that waits at the gate."""

    id: int
    pid: int
    name: str
    args: tuple[int, ...]

    @property
    def writes(self) -> bool:
        """Whether a file is opened to be written to."""
        return bool(self._flags & _WRITING)

    @property
    def is_folder(self) -> bool:
        """Whether a folder is opened."""
        return bool(self._flags & os.O_DIRECTORY)

    @property
    def _flags(self) -> int:
        at = {"open": 1, "openat": 2}.get(self.name)
        return 0 if at is None else self.args[at]

    def path(self) -> str:
        """The file that it is about; "" if it is gone."""
        try:
            if self.name in _BY_PATH:
                return self._absolute(_HERE, self.args[_BY_PATH[self.name]])
            if self.name in _BY_FOLDER:
                at = _BY_FOLDER[self.name]
                return self._absolute(ctypes.c_int(self.args[at]).value, self.args[at + 1])
            return os.readlink(f"/proc/{self.pid}/fd/{self.args[0]}")
        except OSError:
            return ""

    def bytes_at(self, address: int, size: int) -> bytes:
        with open(f"/proc/{self.pid}/mem", "rb", buffering=0) as memory:
            memory.seek(address)
            return memory.read(size)

    def _absolute(self, folder: int, address: int) -> str:
        # Up to the end of its page at first: the next one may not be there.
        name = self.bytes_at(address, 4096 - address % 4096)
        if b"\0" not in name:
            name += self.bytes_at(address + len(name), 4096)
        text = os.fsdecode(name.partition(b"\0")[0])
        if text.startswith("/"):
            return text
        base = "cwd" if folder == _HERE else f"fd/{folder}"
        return os.path.join(os.readlink(f"/proc/{self.pid}/{base}"), text)


class Verdict(NamedTuple):
    """What becomes of a call: it goes on, fails with `error`, or is said to be done."""

    error: int = 0
    value: int | None = None


GO_ON = Verdict()
Judge = Callable[[Held], Verdict | None]
"""None is no answer: for one that was killed, and must not go on in its last moment."""


def can_hold() -> str:
    """Why this kernel holds no calls; "" if it does."""
    if _COLUMN is None:
        return f"nobody wrote down the calls of {platform.machine()}"
    try:
        with open("/proc/sys/kernel/seccomp/actions_avail", encoding="ascii") as found:
            return "" if "user_notif" in found.read() else "it has no seccomp notifications"
    except OSError:
        return "it has no seccomp"


def run_held(act: Callable[[], int], judge: Judge, seconds: float) -> int | None:
    """Fork, let the child act behind the gate, and judge its calls until it and all that it began
    have ended: its exit code, minus the signal that ended it, or None if it took too long."""
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        _behind_the_gate(theirs, act)
    theirs.close()
    with ours:
        _, fds, _, _ = socket.recv_fds(ours, 1, 1)
    if not fds:
        os.waitpid(pid, 0)
        raise RuntimeError("the kernel let no gate be built")
    try:
        ended = _keep(fds[0], judge, seconds)
    finally:
        os.close(fds[0])
    if not ended:
        os.killpg(pid, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return code if ended else None


def shorter(held: Held) -> Verdict:
    """Do half of a write in its stead."""
    size = held.args[2]
    if held.name not in ("write", "pwrite64") or size < 2:
        return GO_ON
    data = held.bytes_at(held.args[1], size // 2)
    with _its_file(held) as fd:
        done = os.pwrite(fd, data, held.args[3]) if held.name == "pwrite64" else os.write(fd, data)
    return Verdict(value=done)


@contextmanager
def _its_file(held: Held) -> Iterator[int]:
    """The same open file as the caller has, with its place in it."""
    libc = ctypes.CDLL(None, use_errno=True)
    process = os.pidfd_open(_leader(held.pid))
    try:
        fd = libc.syscall(438, process, ctypes.c_int(held.args[0]), 0)  # pidfd_getfd
        if fd < 0:
            raise OSError(ctypes.get_errno(), "pidfd_getfd")
    finally:
        os.close(process)
    try:
        yield fd
    finally:
        os.close(fd)


def _leader(thread: int) -> int:
    with open(f"/proc/{thread}/status", encoding="ascii", errors="replace") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("Tgid:"))


def _behind_the_gate(theirs: socket.socket, act: Callable[[], int]) -> None:
    """Never returns."""
    code = 70
    try:
        os.setsid()
        listener = _build()
        socket.send_fds(theirs, [b"x"], [listener])
        os.close(listener)
        theirs.close()
        code = act()
    finally:
        os._exit(code)


def _build() -> int:
    """Hold this process's calls from now on; the other side of the gate."""
    program = _filter()
    kept = ctypes.create_string_buffer(program)
    # struct sock_fprog: how many instructions, and where they are.
    where = struct.pack("<HxxxxxxQ", len(program) // 8, ctypes.addressof(kept))
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS
    fd = libc.syscall(_SECCOMP, 1, 8, where)  # SET_MODE_FILTER, NEW_LISTENER
    if fd < 0:
        raise OSError(ctypes.get_errno(), "seccomp")
    return fd


def _filter() -> bytes:
    """Another architecture, other calls, and what is read from and said to people: pass."""
    code: list[tuple[int, int, int, int]] = [
        (0x20, 0, 0, 4),
        (0x15, 1, 0, _ARCH or 0),
        (0x06, 0, 0, _PASS),
        (0x20, 0, 0, 0),
    ]
    streams = [number for number, name in CALLS.items() if name in ("read", "write", "writev")]
    others = [number for number in CALLS if number not in streams]
    left = len(streams) + len(others)
    for number in streams:
        left -= 1
        code.append((0x15, left + 2, 0, number))
    for number in others:
        left -= 1
        code.append((0x15, left + 1, 0, number))
    code.append((0x06, 0, 0, _PASS))
    code.append((0x06, 0, 0, _HOLD))
    code += [(0x20, 0, 0, 16), (0x25, 0, 1, 2), (0x06, 0, 0, _HOLD), (0x06, 0, 0, _PASS)]
    return b"".join(struct.pack("<HBBI", *each) for each in code)


def _keep(fd: int, judge: Judge, seconds: float) -> bool:
    """Judge until nobody is left who could come; False if that takes too long."""
    deadline = time.monotonic() + seconds
    waiting = select.poll()
    waiting.register(fd, select.POLLIN)
    buffer = bytearray(_HELD.size)
    while (left := deadline - time.monotonic()) > 0:
        for _, event in waiting.poll(left * 1000):
            if event & select.POLLHUP:
                return True
            buffer[:] = bytes(_HELD.size)
            try:
                fcntl.ioctl(fd, _RECEIVE, buffer)
            except OSError as error:
                if error.errno in (errno.ENOENT, errno.EINTR):
                    continue
                raise
            id, pid, _, number, _, _, *args = _HELD.unpack(buffer)
            verdict = judge(Held(id, pid, CALLS[number], tuple(args)))
            if verdict is not None:
                _answer(fd, id, verdict)
    return False


def _answer(fd: int, id: int, verdict: Verdict) -> None:
    go_on = verdict.error == 0 and verdict.value is None
    answer = _ANSWER.pack(id, verdict.value or 0, -verdict.error, _GO_ON if go_on else 0)
    try:
        fcntl.ioctl(fd, _SEND, answer)
    except OSError as error:
        if error.errno != errno.ENOENT:  # it was killed meanwhile
            raise
