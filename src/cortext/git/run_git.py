"""Run git so that no setting of a repository can start another program.

The configuration of a repository can name programs: monitors, hooks, filters, pagers, signers and
helpers. This module runs only git's low-level commands (plumbing). They read few of the settings
that name programs, and this module overrides these few settings. Git's commands for users
(porcelain) read more such settings. For example, `git log` can start a program to verify
signatures. `GIT_*` environment variables are removed, except the variables for the user's identity
and configuration.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from cortext.git.commit_outcome import GitFailedError, one_line

if TYPE_CHECKING:
    from subprocess import Popen

TIMEOUT = 120.0
_GRACE_SECONDS = 5.0
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
_ALLOWED_VARIABLES = frozenset(
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


class GitResult(msgspec.Struct, frozen=True):
    """The exit code, the output and the error output of a git command."""

    code: int
    out: bytes
    err: str


class Git:
    """Runs git commands in one folder.

    `program` is the path of git. `git_dir` is the repository to use; by default, git searches for
    it. `settings` override the settings in every configuration file.
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
        self._variables = _as_environment({**_SETTINGS, **(settings or {})})
        if git_dir:
            self._variables |= {"GIT_DIR": git_dir, "GIT_WORK_TREE": folder}

    def run(self, *args: str, given: bytes | None = None, fds: Sequence[int] = ()) -> GitResult:
        """Run a git command and return its result.

        `given` is the input of the command, and `fds` are file descriptors that git inherits. A
        command that fails raises no error: its result has the exit code. Raises GitFailedError if
        git cannot be started or exceeds the time-out. Raises ValueError for a command that is not
        in the list of safe commands.
        """
        import subprocess

        if _command_name(args) not in _PLUMBING:
            raise ValueError(
                f"git {_command_name(args)} may run programs that a repository configures"
            )
        try:
            # In a separate session, a signal to cortext does not kill git while it holds a lock.
            with subprocess.Popen(
                [self._program, "--no-pager", *args],
                stdin=subprocess.DEVNULL if given is None else subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=self._folder,
                env=_environment() | self._variables,
                pass_fds=fds,
                start_new_session=True,
            ) as process:
                return _communicate(process, _command_name(args), given)
        except OSError as error:
            raise GitFailedError(_command_name(args), str(error)) from error

    def read(self, *args: str, given: bytes | None = None, fds: Sequence[int] = ()) -> bytes:
        """Run a git command and return its output. Raises GitFailedError if the command fails.

        The arguments have the same meaning as in `run`.
        """
        result = self.run(*args, given=given, fds=fds)
        if result.code:
            raise GitFailedError(_command_name(args), reason(result.err))
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
    line = (lines or err.splitlines() or [""])[-1]
    return one_line(line.removeprefix("fatal: ").removeprefix("error: "))


def _command_name(args: Sequence[str]) -> str:
    return next(arg for arg in args if not arg.startswith("-"))


def _environment() -> dict[str, str]:
    variables = {
        k: v for k, v in os.environ.items() if not k.startswith("GIT_") or k in _ALLOWED_VARIABLES
    }
    if "GEMINI_CLI" in variables:
        # Gemini CLI hides the user's git configuration, and so their name, from programs that
        # its agent starts. Settings that could run a program are overridden anyway.
        for name in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM"):
            variables.pop(name, None)
    return variables | _ENVIRONMENT


def _as_environment(settings: Mapping[str, str]) -> dict[str, str]:
    """Return environment variables that pass settings to git.

    Git's option `-c NAME=VALUE` is not used, because it fails for names that contain `=`.
    """
    variables = {"GIT_CONFIG_COUNT": str(len(settings))}
    for number, (key, value) in enumerate(settings.items()):
        variables |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return variables


def _communicate(process: Popen[bytes], command: str, given: bytes | None) -> GitResult:
    from subprocess import TimeoutExpired

    try:
        out, err = process.communicate(given, TIMEOUT)
    except TimeoutExpired:
        _terminate(process)
        raise GitFailedError(command, f"no result within {TIMEOUT:g} s") from None
    except BaseException:
        _terminate(process)
        raise
    return GitResult(process.returncode, out, os.fsdecode(err))


def _terminate(process: Popen[bytes]) -> None:
    """Terminate git, so that it removes its locks. Kill git only if it does not end in time."""
    from subprocess import TimeoutExpired

    process.terminate()
    try:
        process.wait(_GRACE_SECONDS)
    except TimeoutExpired:
        process.kill()
