"""Record a conversation and be killed at one moment; end when every git that was begun has.

    python killed.py ROOT FOLDER NUMBER MOMENT FILE...

NUMBER counts the git processes of the recording; MOMENT is before, started, fed or after.
"""

import ctypes
import os
import signal
import sys
from subprocess import Popen

from cortext.git import run_git
from cortext.git.commit_conversation import record


def die() -> None:
    """With our whole process group, as a terminal or a supervisor would do it."""
    os.killpg(0, signal.SIGKILL)


def record_and_die(root: str, folder: str, number: int, moment: str, files: list[str]) -> None:
    calls = 0
    plain_run, communicate = run_git.Git.run, run_git._communicate

    def counted(self: run_git.Git, *args: str, **other: object) -> run_git.GitResult:
        nonlocal calls
        calls += 1
        if calls == number and moment == "before":
            die()
        result = plain_run(self, *args, **other)  # type: ignore[arg-type]
        if calls == number and moment == "after":
            die()
        return result

    def started(process: "Popen[bytes]", command: str, given: bytes | None) -> run_git.GitResult:
        if calls == number and moment in ("started", "fed"):
            if moment == "fed" and process.stdin is not None and given is not None:
                process.stdin.write(given)
                process.stdin.close()
            die()
        return communicate(process, command, given)

    run_git.Git.run, run_git._communicate = counted, started  # type: ignore[method-assign,assignment]
    record(root, folder, files, mode="auto", title="T", id="x", verb="stop")


def main() -> int:
    root, folder, number, moment, *files = sys.argv[1:]
    # Orphans become our children, so that we can wait for them.
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        record_and_die(root, folder, int(number), moment, files)
        os._exit(0)
    code = 0
    while True:
        try:
            pid, status = os.wait()
        except ChildProcessError:
            return code
        if pid == child:
            code = os.waitstatus_to_exitcode(status)


if __name__ == "__main__":
    print(main())
