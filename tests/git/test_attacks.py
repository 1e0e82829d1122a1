"""Nothing that a repository names is run: each plant is real, and fires for plain git."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cortext.git import commit_conversation as git_module
from cortext.git.commit_outcome import NotRecordedError
from cortext.git.committed_files import has_committed
from cortext.git.repository import find_repository
from tests.git.plants import HOOKS, PLAIN, PROGRAMS, SIGNATURES, Plants
from tests.git.space import HEAD, MARKDOWN, NAMES, RECORD, Space

_NAMES_A_PROGRAM = re.compile(
    r"(program|command|cmd|hook|helper|editor|pager|askpass|proxy|tunnel|clean|smudge|process"
    r"|textconv|external|driver|diffFilter|gpgSign|showSignature|verifySignatures)$|^pager\.",
    re.IGNORECASE,
)
_NAMES_NONE = {
    "advice.ignoredHook", "advice.waitingForEditor", "color.pager", "column.clean",
    "diff.<driver>.cachetextconv", "gitcvs.dbDriver", "http.proxy", "remote.<name>.proxy",
}  # fmt: skip
WHERE = ["config", "include", "includeIf", "worktree"]


@pytest.fixture
def plants(repository_space: Space, tmp_path: Path) -> Plants:
    return Plants(repository_space, tmp_path / "marks")


@pytest.mark.parametrize("mode", ["auto", "stage"])
@pytest.mark.parametrize("where", WHERE)
def test_record_runs_no_planted_program(plants: Plants, where: str, mode: str) -> None:
    """First commit, second commit, nothing to do, a deletion, all ignored."""
    space = plants.space
    space.record("auto", HEAD)
    plants.plant(where)
    outcomes = [space.record(mode).outcome]
    space.write(HEAD, "second\n")
    outcomes += [space.record(mode).outcome, space.record(mode).outcome]
    (space.folder / MARKDOWN).unlink()
    outcomes.append(space.record(mode).outcome)
    done = "committed" if mode == "auto" else "staged"
    assert outcomes == [done, done, "unchanged", done]
    (space.root / ".gitignore").write_text("other.md\n")
    space.write("other.md", "x")
    assert space.record(mode, "other.md").outcome == "ignored"
    assert plants.fired == set()


@pytest.mark.parametrize("where", WHERE)
def test_record_ignores_planted_filters_and_signing(plants: Plants, where: str) -> None:
    """A filter that is not required is passed over, and no signature is made."""
    plants.plant(where)
    space = plants.space
    assert space.record().outcome == "committed"
    assert [space.content(name) for name in NAMES] == [f"{name}, first\n" for name in NAMES]
    assert "gpgsig" not in space.git("cat-file", "-p", "HEAD")


@pytest.mark.parametrize("where", WHERE)
def test_plain_git_runs_planted_programs(plants: Plants, where: str) -> None:
    """The control: plain git runs them, so that the tests above could fail."""
    space = plants.space
    plants.plant(where)
    space.git("add", MARKDOWN, check=False, at=space.folder)
    assert {"fsmonitor", "clean", "post-index-change"} <= plants.fired
    space.git("add", ".session/messages.jsonl", check=False, at=space.folder)
    assert "process" in plants.fired
    for attributes in (".gitattributes", ".git/info/attributes"):
        (space.root / attributes).write_text("* diff=d\n")
    space.git("commit", "--no-gpg-sign", "--allow-empty", check=False)
    space.git("commit", "--no-gpg-sign", "--allow-empty", "-m", "x", check=False)
    fired = {"editor", "pre-commit", "prepare-commit-msg", "commit-msg", "post-commit"}
    assert fired | {"reference-transaction"} <= plants.fired
    space.git("commit", "--allow-empty", "-m", "x", check=False)
    assert plants.fired & {"gpg", "openpgp"}
    space.write(MARKDOWN, "second\n")
    space.git("diff", check=False)
    space.git("diff", "--no-ext-diff", "--textconv", "HEAD", check=False)
    space.git("fetch", check=False)
    assert plants.fired & {"external-diff", "diff-command"}
    assert {"textconv", "ssh"} <= plants.fired


def test_plants_cover_every_git_setting_that_names_program() -> None:
    """By what this machine's git says that it knows; a later git may know more."""
    told = subprocess.run(["git", "help", "-c"], capture_output=True, text=True, check=True)
    keys = {key for key in told.stdout.split() if _NAMES_A_PROGRAM.search(key)} - _NAMES_NONE
    planted = {_ends(key) for key in (*PROGRAMS, *PLAIN)}
    assert len(keys) > 25
    assert [key for key in sorted(keys) if _ends(key) not in planted] == []


def _ends(key: str) -> tuple[str, str]:
    """A key's section and name, without what stands between; every pager is one."""
    section, _, rest = key.lower().partition(".")
    return section, "" if section == "pager" else rest.rpartition(".")[2]


@pytest.mark.parametrize("program", SIGNATURES)
def test_record_verifies_no_signature(plants: Plants, program: str) -> None:
    """`git log` would, and runs what the repository names for it."""
    space = plants.space
    space.record("auto", HEAD)
    plants.sign_head(program)
    plants.plant("config")
    assert has_committed(str(space.folder), [str(space.folder / HEAD)])
    space.write(HEAD, "second\n")
    assert space.record().outcome == "committed"
    assert plants.fired == set()
    space.git("log", check=False)
    assert program in plants.fired


@pytest.mark.parametrize(
    "command",
    [["check-ignore", "x"], ["check-attr", "filter", "x"], ["ls-files"],
     ["update-index", "--cacheinfo", "100644,{blob},x", "--add"]],
)  # fmt: skip
def test_record_disables_fsmonitor_of_plumbing_commands(plants: Plants, command: list[str]) -> None:
    """Why it is switched off for each: what only reads an index runs `core.fsmonitor`."""
    space = plants.space
    blob = space.git("hash-object", "-w", "theirs.txt").strip()
    space.git("config", "core.fsmonitor", plants.program("fsmonitor"))
    space.git("status", check=False)
    plants.clear()
    space.git(*[part.format(blob=blob) for part in command], check=False)
    assert plants.fired == {"fsmonitor"}
    plants.clear()
    space.record()
    assert plants.fired == set()


@pytest.mark.parametrize("driver", ["x", "a=b", "a.b", "Ä", "", "-c", "x.clean"])
def test_record_runs_no_filter_of_other_files(plants: Plants, driver: str) -> None:
    """An entry as young as the index is compared by content, and so filtered; not by us."""
    space = plants.space
    (space.root / ".git/info/attributes").write_text(f"* filter={driver}\n")
    (space.root / ".git/config").write_text(
        f'[core]\n\trepositoryformatversion = 0\n[filter]\n\tclean = x\n[filter "{driver}"]\n'
        f"\tclean = {plants.program('clean')}\n"
    )
    index = space.root / ".git/index"
    young = (space.root / "theirs.txt").stat().st_mtime - 10
    os.utime(index, (young, young))
    assert space.record().outcome == "committed"
    assert plants.fired == set()
    os.utime(index, (young, young))
    blob = space.git("rev-parse", "HEAD:theirs.txt").strip()
    (space.root / "theirs.txt").write_text("two\n")
    space.git("update-index", "--add", "--cacheinfo", f"100644,{blob},other")
    space.git("add", "theirs.txt")
    assert plants.fired == {"clean"}


def test_record_ignores_core_hooks_path(plants: Plants) -> None:
    """`core.hooksPath` of the repository does not count; plain git runs what is there."""
    plants.plant_hooks_path()
    assert plants.space.record().outcome == "committed"
    assert plants.fired == set()
    plants.space.git("commit", "-q", "--allow-empty", "-m", "x")
    assert {"pre-commit", "commit-msg", "post-commit"} <= plants.fired <= {*HOOKS}


@pytest.mark.parametrize("name", ["x", "a=b", "a.b", "Ä"])
def test_configured_hooks_are_disabled(repository_space: Space, name: str) -> None:
    """git 2.54 runs them whatever `core.hooksPath` says; older ones show only the setting."""
    repository_space.git("config", f"hook.{name}.command", "false")
    found = find_repository(shutil.which("git") or "", str(repository_space.root))
    assert found.git.read("config", "--get", f"hook.{name}.enabled") == b"false\n"


def test_git_wrapper_refuses_porcelain_commands(repository_space: Space) -> None:
    """Such commands read settings that name programs, more with every version of git."""
    found = find_repository(shutil.which("git") or "", str(repository_space.root))
    with pytest.raises(ValueError, match="git log may run programs"):
        found.git.run("--literal-pathspecs", "log", "-1")


def test_record_refuses_folder_that_looks_like_bare_repository(plants: Plants) -> None:
    """The conversation's folder as a bare repository: refused; plain git believes it."""
    plants.plant_bare_repository()
    recorded = plants.space.record("commit")
    assert recorded.outcome in ("no-repository", "refused")
    assert recorded.note
    assert plants.fired == set()
    plants.space.git("status", check=False, at=plants.space.folder)
    assert "fsmonitor" in plants.fired


def test_record_does_not_fetch_missing_objects(
    plants: Plants, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A partial clone would fetch by a program that its remote names; plain git does."""
    monkeypatch.setattr(git_module, "_RETRY_SECONDS", 0.0)
    space = plants.space
    head = space.record().commit
    plants.plant("config")
    plants.plant_missing_objects()
    space.write(HEAD, "second\n")
    assert space.record().outcome in ("busy", "failed")
    with pytest.raises(NotRecordedError):
        has_committed(str(space.folder), [str(space.folder / HEAD)])
    assert plants.fired == set()
    assert space.git("rev-parse", "HEAD").strip() == head
    space.git("cat-file", "-p", f"HEAD:{space.place}", check=False)
    assert "fetched" in plants.fired


def test_record_ignores_git_environment_variables(
    plants: Plants, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As inside a hook or a rebase of another repository."""
    other = Space(tmp_path / "other").begin()
    evil = plants.program("environment")
    hostile = {
        "GIT_DIR": str(other.root / ".git"),
        "GIT_WORK_TREE": str(other.root),
        "GIT_INDEX_FILE": str(other.root / ".git/index"),
        "GIT_OBJECT_DIRECTORY": str(other.root / ".git/objects"),
        "GIT_COMMON_DIR": str(other.root / ".git"),
        "GIT_NAMESPACE": "x",
        "GIT_PREFIX": "x/",
        "GIT_LITERAL_PATHSPECS": "1",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "core.fsmonitor",
        "GIT_CONFIG_VALUE_0": evil,
        "GIT_CONFIG_PARAMETERS": f"'core.fsmonitor={evil}'",
        "GIT_EXEC_PATH": str(tmp_path),
        "GIT_TEMPLATE_DIR": str(tmp_path),
        "GIT_TRACE": str(tmp_path / "trace"),
        "GIT_TRACE2_EVENT": str(tmp_path / "trace2"),
        "GIT_AUTHOR_DATE": "1999-01-01T00:00:00Z",
        "GIT_DEFAULT_HASH": "sha256",
        **dict.fromkeys(
            ["GIT_EDITOR", "GIT_PAGER", "GIT_SSH", "GIT_SSH_COMMAND", "GIT_ASKPASS",
             "GIT_PROXY_COMMAND", "GIT_EXTERNAL_DIFF", "GIT_SEQUENCE_EDITOR"], evil),
    }  # fmt: skip
    for name, value in hostile.items():
        monkeypatch.setenv(name, value)
    recorded = plants.space.record()
    for name in hostile:
        monkeypatch.delenv(name)
    assert recorded.outcome == "committed"
    assert plants.space.git("rev-parse", "HEAD").strip() == recorded.commit
    assert plants.space.git("log", "-1", "--format=%ad", "--date=format:%Y") != "1999\n"
    assert other.subject() == "theirs"
    assert plants.fired == set()
    assert [name for name in os.listdir(tmp_path) if name.startswith("trace")] == []


@pytest.mark.parametrize(
    "title",
    ["$(touch marks/x)", "`touch marks/x`", "; touch marks/x", "--amend", "-F/etc/passwd",
     "#comment", "%(trailers)", "a\n\nT: b", "\0", "\udcff", "x" * 10_000, "", "fixup! x"],
)  # fmt: skip
def test_hostile_title_is_plain_text_in_commit_subject(plants: Plants, title: str) -> None:
    """It is on one line after our own words, whatever it says; nothing of it runs."""
    space = plants.space
    assert space.record(title=title).outcome == "committed"
    said = space.git("log", "-1", "--format=%B").split("\n")
    assert said[0].startswith("Save session state: ")
    assert said[1:4] == ["", "Conversation: 001-brainstorm-api", "Saved by: cortext stop"]
    assert len(said[0]) <= 80
    assert plants.fired == set()


@pytest.mark.needs("strace", "to see every program that is run")
def test_record_starts_no_program_but_git(plants: Plants, tmp_path: Path) -> None:
    """Whatever else might be planted: no process of ours starts any program but git itself."""
    space = plants.space
    plants.plant("config")
    files = [str(space.folder / name) for name in NAMES]
    trace = tmp_path / "trace"
    done = subprocess.run(
        ["strace", "-f", "-qq", "-e", "trace=execve", "-o", str(trace),
         sys.executable, "-c", RECORD, str(space.root), str(space.folder), *files],
        input="go\n", capture_output=True, text=True,
    )  # fmt: skip
    assert done.stdout == "committed\n"
    runs = [line for line in trace.read_text().splitlines() if "execve(" in line]
    programs = {line.partition('execve("')[2].partition('"')[0] for line in runs[1:]}
    assert programs == {shutil.which("git")}
    assert len(runs) == 11
