"""All that can be read of what was said, wherever cortext keeps it."""

import json
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from cortext.durability.gzip_members import read_packed
from cortext.durability.trash_folder import Trash
from cortext.stores.store_registry import open_session_store
from tests.faults.home import SECRET, Home

_MASKED = re.compile(r"\[(redacted|secret removed:) [^]]*\]")


class Kept(NamedTuple):
    """What was said by where it is kept, and what cannot be read."""

    texts: dict[str, list[str]]
    damages: list[str]

    def lost_of(self, before: "Kept") -> Iterator[str]:
        """What was kept before and is not kept now, there or elsewhere; and what is twice."""
        gone = {name: texts for name, texts in before.texts.items() if name not in self.texts}
        for name, texts in gone.items():
            # It went to the trash, or came back from it.
            if texts and texts not in self.texts.values():
                yield f"lost: {name}"
        for name, texts in before.texts.items():
            if name in self.texts and self.texts[name][: len(texts)] != texts:
                yield f"lost of {name}: {texts} became {self.texts[name]}"
        for name, texts in self.texts.items():
            # The archive has what the tools wrote, which may well say a thing twice.
            if not name.startswith("archive/") and len({*texts}) < len(texts):
                yield f"twice in {name}: {texts}"
        yield from self.damages


def kept_in(home: Home) -> Kept:
    """As fresh stores read it, with nothing in their memory."""
    kept = Kept({}, [])
    for kind, url in home.stores.items():
        _sessions(kept, url, f"{kind}/{{}}")
    for path in sorted(home.archive.rglob("*.jsonl.gz")):
        _copy(kept, path, f"archive/{path.name}")
    with tempfile.TemporaryDirectory(dir=home.root.parent) as folder:
        _thrown_away(kept, home.trash, Path(folder))
    return kept


def _sessions(kept: Kept, url: str, called: str) -> None:
    """All sessions of a store; `called` makes a name of an id."""
    store: Any = open_session_store(url)
    for id in store.list_session_ids():
        name = called.format(id)
        try:
            session, damages = store.read(id)
        except Exception as error:  # whatever it is, it is a finding
            kept.damages.append(f"{name}: {type(error).__name__}: {error}")
            continue
        kept.damages.extend(f"{name}: {damage}" for damage in damages)
        kept.texts[name] = [_plain(message.content) for message in session.messages]
    store.close()


def _copy(kept: Kept, path: Path, name: str) -> None:
    data = b"".join(read_packed(str(path), kept.damages.append))
    kept.texts[name] = _texts(kept, name, data)


def _thrown_away(kept: Kept, trash: Path, folder: Path) -> None:
    """What the trash lists and gives back: whatever else is in it is nobody's any more. It is given
    back by a copy of it, to another place: the trash itself stays as it is."""
    if not trash.exists():
        return
    copy = Trash(str(shutil.copytree(trash, folder / "trash", symlinks=True)))
    for entry in copy.list():
        # What doctor moved there was never said to be kept.
        if "temp files" in entry.label:
            continue
        places = [
            folder.joinpath(entry.id, str(number), *Path(origin).parts[-3:])
            for number, origin in enumerate(entry.origins)
        ]
        note = folder / "trash" / entry.id / "info.json"
        info = json.loads(note.read_text("utf-8")) | {"origins": [*map(str, places)]}
        note.write_text(json.dumps(info), encoding="utf-8")
        try:
            copy.restore(entry.id)
        except Exception as error:  # whatever it is, it is a finding
            kept.damages.append(f"trash/{entry.id}: {type(error).__name__}: {error}")
        for number, place in enumerate(places):
            _given_back(kept, place, f"trash/{entry.id}/{number}")


def _given_back(kept: Kept, path: Path, name: str) -> None:
    """A conversation, a session of `aur`, or a copy in the archive."""
    if path.is_dir():
        _sessions(kept, f"workspace:{path.parents[2]}", name)
    elif path.suffix == ".jsonl":
        _sessions(kept, f"log:{path.parent}", name)
    elif path.exists():
        _copy(kept, path, name)


def _texts(kept: Kept, name: str, data: bytes) -> list[str]:
    found: list[str] = []
    for line in filter(None, data.split(b"\n")):
        try:
            record = json.loads(line)
        except ValueError:
            kept.damages.append(f"{name}: a line that is no JSON: {line[:60]!r}")
            continue
        message = record.get("message", record)
        if "content" not in message:  # the head of a log
            continue
        content = message["content"]
        found.append(_plain(content if isinstance(content, str) else content[0]["text"]))
    return found


def _plain(text: str) -> str:
    """A masked secret is the same message."""
    return _MASKED.sub("SECRET", text.replace(SECRET, "SECRET"))
