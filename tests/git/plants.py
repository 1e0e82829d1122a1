"""Programs planted in a repository: each leaves a mark if anybody runs it."""

import stat
from pathlib import Path

from tests.git.space import PLACE, Space

HOOKS = (
    "applypatch-msg", "pre-applypatch", "post-applypatch", "pre-commit", "pre-merge-commit",
    "prepare-commit-msg", "commit-msg", "post-commit", "pre-rebase", "post-checkout", "post-merge",
    "pre-push", "pre-receive", "update", "proc-receive", "post-receive", "post-update",
    "reference-transaction", "push-to-checkout", "pre-auto-gc", "post-rewrite",
    "sendemail-validate", "fsmonitor-watchman", "post-index-change",
)  # fmt: skip
CONFIGURED_HOOKS = ("post-index-change", "reference-transaction")
"""Events of what `record` does, for which git 2.54 also runs what `hook.NAME.command` says."""
PLUMBING = (
    "cat-file", "check-attr", "check-ignore", "commit-tree", "config", "hash-object", "ls-files",
    "log", "mktree", "rev-list", "rev-parse", "update-index", "update-ref",
)  # fmt: skip
PROGRAMS = {
    "core.fsmonitor": "fsmonitor",
    "core.pager": "pager",
    "core.editor": "editor",
    "core.sshCommand": "ssh",
    "core.askPass": "askpass",
    "core.alternateRefsCommand": "alternates",
    "core.gitProxy": "proxy",
    "sequence.editor": "sequence-editor",
    "credential.helper": "credential",
    "diff.external": "external-diff",
    "diff.d.textconv": "textconv",
    "diff.d.command": "diff-command",
    "filter.x.clean": "clean",
    "filter.x.smudge": "smudge",
    "filter.y.process": "process",
    "merge.m.driver": "merge-driver",
    "gpg.program": "gpg",
    "gpg.openpgp.program": "openpgp",
    "gpg.ssh.program": "gpg-ssh",
    "gpg.x509.program": "gpg-x509",
    "gpg.ssh.defaultKeyCommand": "gpg-key",
    "trailer.t.cmd": "trailer",
    "trailer.t.command": "trailer-command",
    "uploadpack.packObjectsHook": "pack-objects",
    "remote.origin.uploadpack": "uploadpack",
    "interactive.diffFilter": "diff-filter",
    "sendemail.smtpServer": "sendemail",
    "sendemail.sendmailCmd": "sendmail",
    "sendemail.ccCmd": "sendemail-cc",
    "sendemail.toCmd": "sendemail-to",
    "sendemail.headerCmd": "sendemail-header",
    "imap.tunnel": "imap",
    "remote.origin.receivepack": "receivepack",
    "gc.recentObjectsHook": "recent-objects",
    **{f"hook.on-{event}.command": f"configured-{event}" for event in CONFIGURED_HOOKS},
    "tar.t.command": "tar",
    "browser.b.cmd": "browser",
    "difftool.d.cmd": "difftool",
    "mergetool.m.cmd": "mergetool",
    "guitool.g.cmd": "guitool",
    "man.v.cmd": "man",
    "alias.a.command": "alias",
    "submodule.s.update": "submodule",
    **{f"pager.{name}": f"pager-{name}" for name in PLUMBING},
}
PLAIN = {
    "core.fsmonitorHookVersion": "2",
    "commit.gpgSign": "true",
    "tag.gpgSign": "true",
    "push.gpgSign": "true",
    "merge.verifySignatures": "true",
    "log.showSignature": "true",
    "gpg.ssh.allowedSignersFile": "/dev/null",
    **{f"hook.on-{event}.event": event for event in CONFIGURED_HOOKS},
    "user.signingKey": "x",
    "gc.auto": "1",
    "maintenance.auto": "true",
    "trailer.t.key": "T",
    "trailer.t.ifmissing": "add",
    "remote.origin.url": "ssh://nowhere.invalid/x",
    "protocol.allow": "always",
    "protocol.ssh.allow": "always",
    "protocol.ext.allow": "always",
}
SIGNATURES = {
    "openpgp": "PGP SIGNATURE",
    "gpg-x509": "SIGNED MESSAGE",
    "gpg-ssh": "SSH SIGNATURE",
}
"""What a signature begins with, by the program that verifies it."""
ATTRIBUTES = "* diff=d merge=m filter=x\n*.jsonl filter=y\n"


class Plants:
    """Everything that git can be told to run, planted in one repository."""

    def __init__(self, space: Space, marks: Path) -> None:
        self.space = space
        self.marks = marks
        self.programs = marks.parent / "programs"
        marks.mkdir()
        self.programs.mkdir()

    @property
    def fired(self) -> set[str]:
        return {path.name for path in self.marks.iterdir()}

    def clear(self) -> None:
        for path in self.marks.iterdir():
            path.unlink()

    def program(self, name: str, path: Path | None = None) -> str:
        """A program that leaves a mark; a filter also passes on what it reads."""
        path = path or self.programs / name
        path.parent.mkdir(parents=True, exist_ok=True)
        # git dies if a hook does not read what it is told; ssh would wait for more.
        reads = name in (*HOOKS, "clean", "smudge") or name.startswith("configured-")
        then = "cat" if reads else "exit 0"
        path.write_text(f"#!/bin/sh\n: > '{self.marks}/{name}'\n{then}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return str(path)

    def config(self) -> str:
        """All of it as a configuration file."""
        values = {key: self.program(name) for key, name in PROGRAMS.items()} | PLAIN
        values |= {f"alias.{name}": f"!{self.program(f'alias-{name}')}" for name in PLUMBING}
        lines: list[str] = []
        for key, value in values.items():
            section, _, name = key.rpartition(".")
            first, _, second = section.partition(".")
            lines.append(f'[{first} "{second}"]' if second else f"[{first}]")
            lines.append(f'\t{name} = "{value}"')
        return "\n".join(lines) + "\n"

    def plant(self, where: str) -> None:
        """`where` the configuration stands; hooks and attributes too."""
        git = self.space.root / ".git"
        own = git / "config"
        if where == "config":
            own.write_text(own.read_text() + self.config())
        elif where == "worktree":
            self.space.git("config", "extensions.worktreeConfig", "true")
            (git / "config.worktree").write_text(self.config())
        else:
            (self.space.root / "evil").write_text(self.config())
            here = f' "gitdir:{git.parent}/"' if where == "includeIf" else ""
            section = f"[{where}{here}]"
            own.write_text(f"{own.read_text()}{section}\n\tpath = ../evil\n")
        for hook in HOOKS:
            self.program(hook, git / "hooks" / hook)
        (self.space.root / ".gitattributes").write_text(ATTRIBUTES)
        (git / "info/attributes").write_text(ATTRIBUTES)

    def sign_head(self, program: str) -> None:
        """Give the last commit a signature that git verifies with one of the programs."""
        commit = self.space.git("cat-file", "commit", "HEAD")
        facts, _, message = commit.partition("\n\n")
        kind = SIGNATURES[program]
        signature = f"gpgsig -----BEGIN {kind}-----\n \n eA==\n -----END {kind}-----"
        signed = self.programs / "signed"
        signed.write_text(f"{facts}\n{signature}\n\n{message}")
        oid = self.space.git("hash-object", "-t", "commit", "-w", str(signed)).strip()
        self.space.git("update-ref", "HEAD", oid)

    def plant_hooks_path(self) -> None:
        for hook in HOOKS:
            self.program(hook, self.space.root / "hooks" / hook)
        self.space.git("config", "core.hooksPath", str(self.space.root / "hooks"))

    def plant_bare_repository(self) -> None:
        """The conversation's own folder looks like a repository that names programs."""
        self.space.git("init", "-q", "--bare", str(self.space.folder))
        (self.space.folder / "config").write_text(
            f"[core]\n\trepositoryformatversion = 0\n\tbare = false\n"
            f"\tworktree = {self.space.folder}\n{self.config()}"
        )

    def plant_missing_objects(self) -> None:
        """A partial clone whose tree would have to be fetched, by a program."""
        self.space.git("config", "extensions.partialClone", "origin")
        self.space.git("config", "remote.origin.promisor", "true")
        self.space.git("config", "remote.origin.url", f"ext::{self.program('fetched')}")
        oid = self.space.git("rev-parse", f"HEAD:{PLACE}").strip()
        (self.space.root / ".git/objects" / oid[:2] / oid[2:]).unlink()
