"""A campaign: a command, with one fault at one of its calls, and what must hold after that.

`python -m tests.faults.campaign FOLDER MOST SCENE...` runs up to MOST faults of each kind in each
scene, and prints a line of JSON for each; with `one` for MOST a single fault, with `careless` as
many as it takes to catch a careless writer. One process has all the imports done, lays the home
out, and is forked for every command.
"""

import gc
import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cortext.model.session import Session
from cortext.stores.store_registry import open_session_store
from tests.faults.cases import (
    BY_CODE,
    UNREAD,
    Case,
    age,
    badly_said,
    belongs_there,
    chosen,
    not_kept,
)
from tests.faults.forked_command import act_out, run_free, warm
from tests.faults.gate import run_held
from tests.faults.home import (
    CHAT,
    HELD,
    LOOSE,
    SECRET,
    Home,
    install_claude,
    keep_elsewhere,
    said,
    say_in_claude,
)
from tests.faults.kinds import KINDS, Fault, Judging
from tests.faults.more_scenes import MORE
from tests.faults.scenes import (
    BOUND,
    DEPLOY,
    EXPORT,
    GONE,
    NOTHING,
    OLD,
    REST,
    TALK,
    Said,
    Scene,
)
from tests.faults.scenes import (
    SCENES as _OFTEN,
)
from tests.faults.stored_texts import Kept, kept_in
from tests.faults.verbs import be_careless, be_careless_with_trash

ONE, CARELESS = "one", "careless"
SCENES = _OFTEN | MORE
_CARELESS = {"rename": (be_careless, "session.json"), "delete": (be_careless_with_trash, "/0")}
"""In which scene who is careless, and the ends of the names where that is to be seen."""
_SECONDS = 60.0
_LONG = 1500


class Campaign:
    """One home, prepared once; every case gets a copy of it."""

    def __init__(self, folder: Path) -> None:
        self.home, self._prepared = Home(folder / "case"), Home(folder / "prepared")
        self._folder = folder
        environment = self.home.environment
        os.environ.clear()
        os.environ.update(environment)
        time.tzset()
        warm()
        self._lay_out()
        self.before = kept_in(self.home)
        self.home.root.rename(self._prepared.root)
        gc.freeze()

    def run(self, name: str, most: int) -> Iterator[Case]:
        """Faults of all kinds, spread over all calls of a scene."""
        scene = SCENES[name]
        counts, names = self._without_fault(name, scene)
        for fault in chosen(name, counts, most):
            yield self._case(name, scene, fault, names)

    def run_one(self, name: str, number: int) -> Iterator[Case]:
        """One fault in the middle of a scene; the kinds take turns, by the scene's number."""
        scene, kind = SCENES[name], list(KINDS)[number % len(KINDS)]
        counts, names = self._without_fault(name, scene)
        lasts = kind != "SIGKILL" and number >= len(KINDS)
        yield self._case(name, scene, Fault(kind, (counts[kind] + 1) // 2, lasts), names)

    def run_until_lost(self, name: str) -> Iterator[Case]:
        """Kills where a careless writer is careless, until one of them loses something."""
        be_so, where = _CARELESS[name]
        be_so()
        scene, judging = SCENES[name], Judging(str(self.home.root))
        self._fresh(scene)
        self.play(scene, judging)
        names = self.home.names()
        for at, path in enumerate(judging.changed, 1):
            if not path.endswith(where):
                continue
            yield (case := self._case(name, scene, Fault("SIGKILL", at, lasts=False), names))
            if case.violations:
                return

    def _without_fault(self, name: str, scene: Scene) -> tuple[dict[str, int], set[str]]:
        self._fresh(scene)
        before, judging = self.home.names(), Judging(str(self.home.root))
        told = self.play(scene, judging)
        wrong = [*badly_said(scene, told, killed=False), *scene.did(self.home, told)]
        wrong += [*scene.holds(self.home), *self._lost(kept_in(self.home), scene)]
        if told.code or wrong:
            raise RuntimeError(f"{name} fails without any fault: {wrong}, {told}")
        return judging.counts, before | self.home.names()

    def _fresh(self, scene: Scene) -> None:
        self.home.fresh(self._prepared)
        if scene.first:
            self._do(*scene.first)
        scene.prepare(self.home)

    def _case(self, name: str, scene: Scene, fault: Fault, names: set[str]) -> Case:
        self._fresh(scene)
        judging = Judging(str(self.home.root), fault)
        told = self.play(scene, judging)
        killed = fault.kind == "SIGKILL"
        found: list[str] = []
        try:
            found.extend(badly_said(scene, told, killed=killed))
            found.extend(self._after(scene, told, fault))
            found.extend(self._again(scene))
            found.extend(self._leftovers(scene, names))
        except Exception as error:  # whatever it is, it is a finding about this case
            found.append(f"{type(error).__name__}: {error}")
        found = [text if len(text) < _LONG else f"{text[:_LONG]}…" for text in found]
        return Case(name, fault, judging.where, judging.fired > 0, told.code, found)

    def _after(self, scene: Scene, told: Said, fault: Fault) -> Iterator[str]:
        """Nothing that was kept is lost; and what exits with 0 has done what it is for."""
        kept = kept_in(self.home)
        yield from (f"after it: {text}" for text in self._lost(kept, scene))
        yield from (f"after it: {text}" for text in scene.holds(self.home))
        yield from not_kept(scene, told, kept.texts)
        # A hook may not fail the tool, and on a disk that takes nothing it has nobody to tell: the
        # next event takes what was said.
        silent = not any(words in told.err for words in UNREAD)
        silent = silent or scene.words[0] in BY_CODE
        if told.code == 0 and silent and not (scene.words[0] == "hook" and fault.lasts):
            for missing in scene.did(self.home, told):
                yield f"exit 0, and {missing}; it said {told.out!r} {told.err!r}"

    def _lost(self, kept: Kept, scene: Scene) -> Iterator[str]:
        lost = kept.lost_of(self.before)
        if scene.words[0] == "doctor":
            # It is given something to mend.
            lost = (text for text in lost if REST not in text or text.startswith("lost"))
        if scene.loses:
            # What it is there to lose.
            lost = (text for text in lost if not text.startswith(f"lost: {scene.loses}"))
        return lost

    def _again(self, scene: Scene) -> Iterator[str]:
        """When the disk is well again, so is the command."""
        if scene.repeats or list(scene.did(self.home, NOTHING)):
            told = self.play(scene)
            missing = list(scene.did(self.home, told))
            if told.code or missing:
                yield f"again, it ends with {told.code}: {missing} {told.err.strip()}"
            lost = self._lost(kept_in(self.home), scene)
            yield from (f"after that: {text}" for text in lost)

    def _leftovers(self, scene: Scene, names: set[str]) -> Iterator[str]:
        """What is left over is what doctor takes away, and then nothing is wrong."""
        if not self.home.names() - names:
            return
        told = self.mend()
        if told.code:
            yield f"doctor ends with {told.code}: {told.out} {told.err}"
        if self._left(names):
            self._use_what_doctor_does_not_know()
        if left := self._left(names):
            yield f"still there: {left}"
        lost = self._lost(kept_in(self.home), scene)
        yield from (f"after doctor: {text}" for text in lost)

    def _left(self, names: set[str]) -> list[str]:
        """What no run without a fault has, and is neither kept nor kept of by design."""
        return sorted(name for name in self.home.names() - names if not belongs_there(name))

    def _use_what_doctor_does_not_know(self) -> None:
        """The folder of a service, and that of the settings: whoever writes there clears up."""
        self._do("config", "resume.budget", "6000")
        store: Any = open_session_store(self.home.stores["service"])
        store.save(Session("passing"))
        store.delete("passing")
        store.close()

    def mend(self) -> Said:
        """`doctor --fix`, some hours later; what hooks could not do was said before."""
        age(self.home.root)
        self.home.log.unlink(missing_ok=True)
        return self.play(Scene(("doctor", "--fix", "--yes"), lambda *_: iter(())))

    def play(self, scene: Scene, judging: Judging | None = None) -> Said:
        """The command, in a fork of this process; behind a gate, if that is to be judged."""
        streams = [self._folder / name for name in ("in", "out", "err")]
        streams[0].write_text(scene.stdin, encoding="utf-8")

        def act() -> int:
            return act_out(self.home, scene, streams)

        code = run_held(act, judging, _SECONDS) if judging else run_free(act)
        out, err = (path.read_text("utf-8", "replace") for path in streams[1:])
        if code is None:
            return Said(70, out, f"{err}\nTraceback: it did not end in {_SECONDS} seconds")
        return Said(code, out, err)

    def _lay_out(self) -> None:
        """With the commands themselves, as a person would."""
        self.home.work.mkdir(parents=True)
        install_claude(self.home)
        self._do("init")
        for words in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-q", "-m", "first")):
            os.spawnlp(os.P_WAIT, "git", "git", "-C", str(self.home.work), *words)
        for id in (TALK, REST, OLD, DEPLOY):
            self._begin(id)
        for words in (("stop", REST), ("done", OLD), ("export", REST, "--format", "json")):
            done = self._do(*words)
        (self.home.root / EXPORT).write_text(done.out, encoding="utf-8")
        say_in_claude(self.home, CHAT, 0, 1, 2, 3)
        say_in_claude(self.home, HELD, 0)
        say_in_claude(self.home, HELD, 1, text=f"it is {SECRET}")
        say_in_claude(self.home, HELD, 2)
        self._do("sync")
        self._do("import", CHAT)
        self._begin(GONE)
        self._do("delete", GONE, "--yes")
        keep_elsewhere(self.home)
        self._do("search", "said")
        say_in_claude(self.home, CHAT, 4, 5)
        say_in_claude(self.home, LOOSE, 0, 1, 2, 3)
        if not list(self.home.work.glob(f"conversations/*/{BOUND}")):
            names = [path.name for path in self.home.work.glob("conversations/*/*")]
            raise RuntimeError(f"the conversations have other names: {names}")

    def _begin(self, id: str) -> None:
        _, kind, topic = id.split("-")
        self._do("new", kind, topic)
        store: Any = open_session_store(self.home.stores["workspace"])
        messages = said(id, 0, 1, 2)
        if id == DEPLOY:
            messages += [type(messages[0])("user", f"Use {SECRET} for it.", id="secret")]
        store.append(id, *messages)
        store.close()

    def _do(self, *words: str) -> Said:
        done = self.play(Scene(words, lambda *_: iter(())))
        if done.code:
            raise RuntimeError(f"{' '.join(words)}: {done.err}")
        return done


def main(folder: str, most: str, *scenes: str) -> None:
    campaign = Campaign(Path(folder))
    for number, name in enumerate(scenes or SCENES):
        if most == ONE:
            cases = campaign.run_one(name, number)
        elif most == CARELESS:
            cases = campaign.run_until_lost(name)
        else:
            cases = campaign.run(name, int(most))
        for case in cases:
            told = {**case._asdict(), "fault": case.fault._asdict(), "outcome": case.outcome}
            print(json.dumps(told), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
