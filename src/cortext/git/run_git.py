"""Run git so that no setting of a repository can start another program.

The configuration of a repository can name programs: monitors, hooks, filters, pagers, signers and
helpers. This module runs only git's plumbing commands (the low-level ones). They read few of these
settings, and those are overridden. Porcelain commands read more: `git log`, for example, can verify
signatures. `GIT_*` environment variables are removed, except those for the user's identity and
configuration.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from cortext.git.commit_outcome import GitFailed, one_line

if TYPE_CHECKING:
    from subprocess import Popen

TIMEOUT = 120.0
_GRACE = 5.0
_PLUMBING = frozenset(
    {
        "cat-file",
        "check-attr",
        "check-ignore",
        "commit-tree",
        "config",
        "hash-object",
        "ls-files",
        "mktree",
        "rev-list",
        "rev-parse",
        "update-index",
        "update-ref",
    }
)
_SETTINGS = {
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "core.alternateRefsCommand": "false",
    "core.askPass": "false",
    "core.editor": "false",
    "core.pager": "cat",
    "core.sshCommand": "false",
    "commit.gpgSign": "false",
    "credential.helper": "",
    "gc.auto": "0",
    "gpg.program": "false",
    "gpg.openpgp.program": "false",
    "gpg.ssh.defaultKeyCommand": "false",
    "gpg.ssh.program": "false",
    "gpg.x509.program": "false",
    "i18n.commitEncoding": "UTF-8",
    "log.showSignature": "false",
    "maintenance.auto": "false",
    "protocol.allow": "never",
    # A folder inside a work tree that looks like a bare repository may be an attack.
    "safe.bareRepository": "explicit",
    "tag.gpgSign": "false",
}
_ENVIRONMENT = {
    # Do not fetch objects that a partial clone lacks: a fetch can run any program.
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}
_KEPT = frozenset(
    {
        "GIT_AUTHOR_NAME",
        "GIT_AUTHOR_EMAIL",
        "GIT_COMMITTER_NAME",
        "GIT_COMMITTER_EMAIL",
        "GIT_CEILING_DIRECTORIES",
        "GIT_CONFIG_GLOBAL",
        "GIT_CONFIG_NOSYSTEM",
        "GIT_CONFIG_SYSTEM",
        "GIT_DISCOVERY_ACROSS_FILESYSTEM",
    }
)


class GitResult(NamedTuple):
    """The exit code, the output and the error output of a git command."""

    code: int
    out: bytes
    err: str


class Git:
    """The git program, run in one folder.

    With `git_dir`, commands use only that repository. `settings` override every configuration file.
    """

    def __init__(
        self,
        program: str,
        folder: str,
        *,
        git_dir: str = "",
        settings: Mapping[str, str] | None = None,
    ) -> None:
        self._program = program
        self._folder = folder
        self._own = _as_environment({**_SETTINGS, **(settings or {})})
        if git_dir:
            self._own |= {"GIT_DIR": git_dir, "GIT_WORK_TREE": folder}

    def run(self, *args: str, given: bytes | None = None, fds: Sequence[int] = ()) -> GitResult:
        """Run a git command and return its result.

        `given` is the input of the command, and `fds` are file descriptors that it inherits. Raises
        GitFailed if git cannot be started or exceeds the time-out. Raises ValueError for a command
        that is not in the list of safe commands.
        """
        import subprocess

        if _name(args) not in _PLUMBING:
            raise ValueError(f"git {_name(args)} may run programs that a repository names")
        try:
            # In a separate session, a signal to cortext does not kill git while it holds a lock.
            with subprocess.Popen(
                [self._program, "--no-pager", *args],
                stdin=subprocess.DEVNULL if given is None else subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=self._folder,
                env=_environment() | self._own,
                pass_fds=fds,
                start_new_session=True,
            ) as process:
                return _communicate(process, _name(args), given)
        except OSError as error:
            raise GitFailed(_name(args), str(error)) from error

    def read(self, *args: str, given: bytes | None = None, fds: Sequence[int] = ()) -> bytes:
        """Run a git command and return its output. Raises GitFailed if the command fails.

        The arguments are those of `run`.
        """
        result = self.run(*args, given=given, fds=fds)
        if result.code:
            raise GitFailed(_name(args), reason(result.err))
        return result.out


def find_git() -> str | None:
    """Return the path of the git program, found with PATH; None if git is not installed.

    Relative entries of PATH are ignored, because they could lead into a workspace.
    """
    for folder in os.get_exec_path():
        path = os.path.join(folder, "git")
        if os.path.isabs(folder) and os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    return None


def reason(err: str) -> str:
    """Return the line of git's error output that states the reason for a failure."""
    lines = [line for line in err.splitlines() if line.startswith(("fatal: ", "error: "))]
    said = (lines or err.splitlines() or [""])[-1]
    return one_line(said.removeprefix("fatal: ").removeprefix("error: "))


def _name(args: Sequence[str]) -> str:
    return next(arg for arg in args if not arg.startswith("-"))


def _environment() -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith("GIT_") or k in _KEPT}
    if "GEMINI_CLI" in kept:
        # Gemini CLI hides the user's git configuration, and so their name, from programs that
        # its agent starts. Settings that could run a program are overridden anyway.
        for name in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM"):
            kept.pop(name, None)
    return kept | _ENVIRONMENT


def _as_environment(settings: Mapping[str, str]) -> dict[str, str]:
    """Return settings as environment variables, because `-c` fails for names that contain `=`."""
    found = {"GIT_CONFIG_COUNT": str(len(settings))}
    for number, (key, value) in enumerate(settings.items()):
        found |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return found


def _communicate(process: Popen[bytes], command: str, given: bytes | None) -> GitResult:
    from subprocess import TimeoutExpired

    try:
        out, err = process.communicate(given, TIMEOUT)
    except TimeoutExpired:
        _end(process)
        raise GitFailed(command, f"it took longer than {TIMEOUT:g} s") from None
    except BaseException:
        _end(process)
        raise
    return GitResult(process.returncode, out, os.fsdecode(err))


def _end(process: Popen[bytes]) -> None:
    """Terminate git, so that it removes its locks. Kill git only if it does not end in time."""
    from subprocess import TimeoutExpired

    process.terminate()
    try:
        process.wait(_GRACE)
    except TimeoutExpired:
        process.kill()
