"""The power goes just when `aur spawn` has said that something is done: it is done."""

import json
import os
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.cli.repl.terminal import Terminal
from tests.command import run_aur
from tests.faults.mounts import SYSTEMS, cut_power, make_disk, mounted

pytestmark = [
    pytest.mark.long,
    pytest.mark.needs("mkfs.xfs", "for a disk to cut the power of"),
    pytest.mark.needs("xfs_io", "to cut the power"),
]
AGENT = Path(__file__).parents[1] / "cli/repl/agent.py"
AUR = str(Path(sys.executable).with_name("aur"))
TORN = b'{"type": "turn", "role": "us'
# Beside it, and not above it: who is killed is `aur`, not strace.
CARELESS = ("strace", "-D", "-f", "-o", os.devnull, "-e", "trace=fsync,fdatasync",
            "-e", "inject=fsync,fdatasync:retval=0")  # fmt: skip
"""A system that says of every sync that it was done, and does nothing."""
KEPT = ["kept", "you said: kept"]


class Person:
    """Whose home is on the disk that loses its power."""

    def __init__(self, root: Path) -> None:
        self._root, self.home = root, root / "disk"
        self.sessions = self.home / "aurora/spawn/sessions"
        self.under: tuple[str, ...] = ()
        self.env = {
            "AURORA_HOME": str(self.home / "aurora"),
            "XDG_DATA_HOME": str(self.home / "data"),
            "AURORA_SPAWN_TOOL": f"{sys.executable} {AGENT}",
            "AGENT_CALLED": str(root / "called"),
        }

    def aur(self, *arguments: str) -> Terminal:
        words = [*self.under, AUR, "spawn", *arguments]
        return Terminal(words, cwd=self._root, env=self.env)

    def did(self, *arguments: str) -> None:
        with self.aur(*arguments) as terminal:
            assert terminal.ends() == 0

    @contextmanager
    def talking(self, *arguments: str, said: tuple[str, ...] = ()) -> Generator[Terminal]:
        """At a prompt, after these were said: what came before it was acknowledged by it."""
        with self.aur(*arguments) as terminal:
            terminal.prompt()
            for text in said:
                terminal.line(text)
                terminal.prompt()
            yield terminal

    def listed(self) -> list[tuple[str, str]]:
        done = run_aur(self._root, "--list-sessions", "--json", env=self.env)
        assert (done.returncode, done.stderr) == (0, "")
        return sorted((row["session_id"], row["status"]) for row in json.loads(done.stdout))


def _said(path: Path) -> list[str]:
    return [line["content"] for line in _lines(path)[1:]]


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().split(b"\n")[:-1]]


@contextmanager
def _end(person: Person) -> Generator[None]:
    with person.talking("--resume", "one") as terminal:
        terminal.line("/exit")
        assert terminal.ends() == 0
        yield


@contextmanager
def _delete(person: Person) -> Generator[None]:
    person.did("--delete-session", "one")
    yield


@contextmanager
def _clean(person: Person) -> Generator[None]:
    person.did("--clean-sessions", "0")
    yield


@contextmanager
def _recover(person: Person) -> Generator[None]:
    with person.aur("--resume", "one") as terminal:
        terminal.until("[d]elete, [r]ecover, [q]uit")
        terminal.line("r")
        terminal.prompt()
        yield


def _as_it_was(path: Path) -> None:
    pass


def _cut_in_the_middle(path: Path) -> None:
    path.write_bytes(path.read_bytes() + TORN)


def _break(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"{broken}\n")


def _has_begun(person: Person) -> None:
    assert person.listed() == [("one", "interrupted"), ("two", "interrupted")]
    assert _said(person.sessions / "two.jsonl") == []


def _has_more(person: Person) -> None:
    assert person.listed() == [("one", "interrupted")]
    assert _said(person.sessions / "one.jsonl") == [*KEPT, "more", "you said: more"]


def _has_both(person: Person) -> None:
    _has_more(person)
    assert (person.sessions / "one.jsonl.torn").read_bytes() == TORN


def _has_a_title(person: Person) -> None:
    assert _lines(person.sessions / "one.jsonl")[0]["title"] == "Another"
    assert _said(person.sessions / "one.jsonl") == KEPT


def _has_a_fork(person: Person) -> None:
    assert [status for _, status in person.listed()] == ["interrupted"] * 2
    assert [_said(path) for path in person.sessions.glob("*.jsonl")] == [KEPT, KEPT]


def _has_ended(person: Person) -> None:
    assert person.listed() == [("one", "completed")]
    assert _said(person.sessions / "one.jsonl") == KEPT


def _is_in_the_trash(person: Person) -> None:
    assert person.listed() == []
    (thrown,) = person.home.glob("data/cortext/trash/*/0")
    assert _said(thrown) == KEPT


def _is_recovered(person: Person) -> None:
    assert person.listed() == [("one", "interrupted")]
    assert _said(person.sessions / "one.jsonl") == KEPT
    assert (person.sessions / "one.jsonl.corrupt").read_bytes().endswith(b"{broken}\n")


class Scene(NamedTuple):
    """`act` is what is done and acknowledged; `holds` looks at what is left of it."""

    act: Callable[[Person], Any]
    holds: Callable[[Person], None]
    prepare: Callable[[Path], None] = _as_it_was


def _typed(text: str) -> Callable[[Person], Any]:
    return lambda person: person.talking("--resume", "one", said=(text,))


SCENES = {
    "begin": Scene(lambda person: person.talking("-i", "--session", "two"), _has_begun),
    "exchange": Scene(_typed("more"), _has_more),
    "exchange after a torn one": Scene(_typed("more"), _has_both, _cut_in_the_middle),
    "title": Scene(_typed("/title Another"), _has_a_title),
    "fork": Scene(_typed("/fork"), _has_a_fork),
    "end": Scene(_end, _has_ended),
    "delete": Scene(_delete, _is_in_the_trash),
    "clean": Scene(_clean, _is_in_the_trash),
    "recover": Scene(_recover, _is_recovered, _break),
}


@contextmanager
def _cut(root: Path, system: str, scene: Scene, under: tuple[str, ...] = ()) -> Generator[Person]:
    """There was a session, something was done to it, and then the power went; it is back."""
    person = Person(root)
    mount = make_disk(root / "image", system)
    with mounted(person.home, *mount):
        with person.talking("-i", "--session", "one", said=("kept",)):
            pass
        scene.prepare(person.sessions / "one.jsonl")
    # Mounted anew: a file system that was there for a while syncs by itself now and then.
    with mounted(person.home, *mount):
        person.under = under
        with scene.act(person):
            cut_power(person.home)
    with mounted(person.home, *mount):
        yield person


@pytest.mark.parametrize("name", SCENES)
@pytest.mark.parametrize("system", SYSTEMS)
def test_acknowledged_spawn_action_survives_power_cut(
    system: str, name: str, tmp_path: Path
) -> None:
    """Nothing is synced after it that could have kept it by chance."""
    with _cut(tmp_path, system, SCENES[name]) as person:
        SCENES[name].holds(person)


@pytest.mark.slow
@pytest.mark.needs("strace", "for syncs that are lies")
@pytest.mark.parametrize("name", SCENES)
def test_power_cut_check_detects_spawn_action_without_sync(name: str, tmp_path: Path) -> None:
    """Without its syncs each of these is lost."""
    with (
        _cut(tmp_path, "xfs", SCENES[name], CARELESS) as person,
        pytest.raises((AssertionError, FileNotFoundError, ValueError)),
    ):
        SCENES[name].holds(person)
