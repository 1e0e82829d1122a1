"""The catalog against the files, changed at random by several."""

import json
import shutil
import tempfile
from datetime import timedelta
from pathlib import Path

from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from cortext.catalog.catalog import Catalog
from cortext.stores import workspace_layout
from tests.catalog.spaces import HEAD, NOW, Space, truth


class Files(RuleBasedStateMachine):
    """People, git and programs change a workspace; two processes list it as it goes."""

    @initialize()
    def begin(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="cortext-catalog-"))
        self.space = Space(self.folder / "space")
        self.catalogs = [Catalog(str(self.folder / "catalog.sqlite3")) for _ in range(2)]
        self.heads: list[bytes] = [json.dumps(HEAD).encode()]

    def teardown(self) -> None:
        for catalog in self.catalogs:
            catalog.__exit__()
        shutil.rmtree(self.folder)

    def some(self, number: int) -> Path | None:
        found = sorted(
            f for f in self.space.root.rglob("*/") if workspace_layout.is_day(f.parent.name)
        )
        return found[number % len(found)] if found else None

    @rule(number=st.integers(1, 3), day=st.sampled_from(["2026-01-05", "2026-01-06"]))
    def add(self, number: int, day: str) -> None:
        if not (self.space.root / "conversations" / day / f"00{number}-plan-x").exists():
            self.space.add(f"00{number}-plan-x", "hello", day=day)

    @rule(number=st.integers(0, 5), what=st.sampled_from(["lines", "bad", "torn", "empty", "gone"]))
    def change_lines(self, number: int, what: str) -> None:
        folder = self.some(number)
        lines = folder / ".session/messages.jsonl" if folder else None
        if folder is None or lines is None or not lines.parent.exists():
            return
        if what == "lines":
            self.space.append(folder, "one", "two")
        elif what == "gone":
            lines.unlink(missing_ok=True)
        else:
            ends = {"bad": b"{x}\n", "torn": b'{"role": "us', "empty": b""}
            lines.write_bytes((lines.read_bytes() if lines.exists() else b"") + ends[what])

    @rule(number=st.integers(0, 5), minutes=st.integers(-500, 500), status=st.sampled_from(
        ["active", "paused", "completed", "odd"]))  # fmt: skip
    def change_head(self, number: int, minutes: int, status: str) -> None:
        folder = self.some(number)
        if folder is not None and (folder / ".session/session.json").exists():
            self.heads.append((folder / ".session/session.json").read_bytes())
            when = (NOW + timedelta(minutes=minutes)).isoformat()
            self.space.head(folder, last_active=when, status=status, tags=[status])

    @rule(number=st.integers(0, 5), which=st.integers(0, 9))
    def take_an_old_head(self, number: int, which: int) -> None:
        folder = self.some(number)
        if folder is not None and (folder / ".session").exists():
            head = folder / ".session/session.json"
            head.write_bytes(self.heads[which % len(self.heads)])

    @rule(number=st.integers(0, 5), what=st.sampled_from(["day", "folder", ".session", "head"]))
    def remove(self, number: int, what: str) -> None:
        folder = self.some(number)
        if folder is not None and what == "head":
            (folder / ".session/session.json").unlink(missing_ok=True)
        elif folder is not None:
            paths = {"day": folder.parent, "folder": folder, ".session": folder / ".session"}
            shutil.rmtree(paths[what], ignore_errors=True)

    @rule(number=st.integers(0, 5), name=st.sampled_from(["004-x", "005-x", "a b"]))
    def rename(self, number: int, name: str) -> None:
        folder = self.some(number)
        if folder is not None and not folder.with_name(name).exists():
            folder.rename(folder.with_name(name))

    @rule(number=st.integers(0, 5), shelf=st.sampled_from(["plan", "conversations/plan"]))
    def to_another_shelf(self, number: int, shelf: str) -> None:
        folder = self.some(number)
        if folder is not None:
            target = self.space.root / shelf / "2026-01-07" / f"{number}-moved"
            if not target.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                folder.rename(target)

    @rule(which=st.integers(0, 1), aged=st.booleans())
    def look(self, which: int, aged: bool) -> None:
        if aged:
            self.space.age()
        self.catalogs[which].list([str(self.space.root)])

    @invariant()
    def the_list_is_true(self) -> None:
        expected = truth(self.space.root)
        for catalog in self.catalogs:
            assert catalog.list([str(self.space.root)]) == expected


# Without shrinking: a failure costs seconds, not minutes, and its steps are few anyway.
Files.TestCase.settings = settings(
    max_examples=25, stateful_step_count=20, phases=[Phase.reuse, Phase.generate]
)
TestFiles = Files.TestCase
