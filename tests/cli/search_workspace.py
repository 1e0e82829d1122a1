"""A workspace in which all four tools were used, and the search over it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from cortext import Session, SessionMessage, open_session_store
from tests.cli.show_terminal import STYLE, in_terminal
from tests.command import cortext, ok
from tests.homes import lay_out, move_project


class Place:
    """A workspace in which all four tools were used."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "space"
        (self.root / ".workspace").mkdir(parents=True)
        self.homes = lay_out(folder)
        move_project(self.homes, self.root)
        self.env: Mapping[str, str] = {
            **self.homes.environment,
            "XDG_CONFIG_HOME": str(folder / "config"),
            "XDG_CACHE_HOME": str(folder / "cache"),
            "AURORA_HOME": str(folder / "aurora"),
            "CI": "true",
        }

    def search(self, *args: str) -> str:
        return ok(self.root, "search", *args, env=self.env)

    def page(self, *args: str) -> str:
        """What a wide terminal shows, without styles."""
        shown = self.screen("search", *args, "--no-pager", columns=300)
        return STYLE.sub("", shown)

    def hits(self, *args: str) -> list[dict[str, Any]]:
        done = cortext(self.root, "search", "--json", *args, env=self.env)
        assert "Traceback" not in done.stderr
        found: list[dict[str, Any]] = json.loads(done.stdout)
        assert done.returncode == (0 if found else 1)
        return found

    def refused(self, code: int, *args: str) -> str:
        done = cortext(self.root, "search", *args, env=self.env)
        assert (done.returncode, "Traceback" in done.stderr) == (code, False), done.stderr
        return done.stderr

    def screen(self, *args: str, **more: Any) -> str:
        return in_terminal(self.root, *args, **{**self.env, **more})


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    made = Place(tmp_path)
    for name, value in made.env.items():
        monkeypatch.setenv(name, value)
    return made


def keep(place: Place, id: str, *messages: SessionMessage, **head: Any) -> None:
    session = Session(id, messages=list(messages), **{"title": id, "kind": "plan", **head})
    open_session_store(f"workspace:{place.root}").save(session)
