"""What doctor makes of damaged sessions: it mends them, and nothing that could be read is lost."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from cortext.errors import CortextError
from cortext.features.doctor.check_results import UNFORESEEN
from cortext.features.doctor.repair import run_repairs
from cortext.features.doctor.salvage.damaged_text import repair_value_characters
from tests.features.doctor.damage import Kept
from tests.fuzz.files import PARTS
from tests.fuzz.target import Feed, Target

_ID = "s"


def _rescue(kind: str) -> Callable[[Path], Iterator[Feed]]:
    """The files of one session; of a conversation both, apart by `PARTS`."""

    def open(folder: Path) -> Iterator[Feed]:
        root = folder / "sessions"
        kept = Kept(kind, root, _ID if kind != "workspace" else "001-debug-slow")

        def feed(data: bytes) -> None:
            shutil.rmtree(root, ignore_errors=True)
            kept.head.parent.mkdir(parents=True)
            head, _, lines = data.partition(PARTS)
            kept.head.write_bytes(head)
            if kind == "workspace":
                kept.lines.write_bytes(lines)
            _mend(kept)

        yield feed

    return open


def _mend(kept: Kept) -> None:
    """Look, mend, look again: no message fewer, and nothing more to do. What cannot be mended is
    left as it is."""
    before, files = _read(kept), {path: path.read_bytes() for path in (kept.head, kept.lines)}
    found = kept.check()
    assert all(problem.text and problem.hint for problem in found.problems)
    if found.mend is None:
        return
    outcome = run_repairs([found.mend])
    for failed in outcome.failed:
        # It may see that it would lose something; but it is never taken by surprise.
        assert failed.hint != UNFORESEEN, failed.why
        assert files == {path: path.read_bytes() for path in files}, f"half mended: {failed.why}"
        return
    after = _read(kept)
    assert after is not None, "it cannot be read after it was mended"
    assert not before or before <= after, f"lost: {sorted(before - after)[:3]}"
    again = [problem.text for problem in kept.check().problems if problem.mend]
    assert not again, f"to be mended again: {again[:2]}"
    changed = [path for path, data in files.items() if path.read_bytes() != data]
    assert not changed or kept.kept() or _only_grew(files), "the original was not kept"


def _only_grew(files: dict[Path, bytes]) -> bool:
    return all(path.read_bytes().startswith(data) for path, data in files.items())


def _read(kept: Kept) -> set[str] | None:
    """The ids of the messages that can be read, with U+FFFD for half a character as mending has it;
    None if nothing can be."""
    try:
        return {*repair_value_characters(kept.ids())}
    except CortextError:
        return None


TARGETS = (
    Target("rescue-log", _rescue("log"), most=4 << 20, corpus="log"),
    Target("rescue-document", _rescue("document"), most=4 << 20, corpus="document"),
    Target("rescue-folder", _rescue("workspace"), most=4 << 20, corpus="folder"),
)
