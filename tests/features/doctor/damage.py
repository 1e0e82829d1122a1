"""One session in each arrangement, and the ways in which it can be damaged."""

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from cortext import Session, SessionMessage
from cortext.features.doctor.check_conversations import check_conversation
from cortext.features.doctor.check_documents import check_document
from cortext.features.doctor.check_logs import check_log
from cortext.features.doctor.check_results import CheckResult
from cortext.formats.line_formats import with_checksums
from cortext.stores import workspace_layout
from cortext.stores.document import SessionStorage
from cortext.stores.folder import FolderStore
from cortext.stores.log import LogStore

BEGAN = datetime(2025, 11, 22, 9, tzinfo=UTC)
DAY = "2025-11-22"
TEXTS = (
    "why is it slow",
    "let me look 🙂",
    "it fetches twice",
    "then fetch once",
    "done",
    "thanks",
)
_STORES = {"document": SessionStorage, "log": LogStore, "workspace": FolderStore}


def messages() -> list[SessionMessage]:
    roles = ("user", "assistant")
    return [
        SessionMessage(roles[n % 2], text, BEGAN + timedelta(minutes=n), f"m{n + 1}")  # type: ignore[arg-type]
        for n, text in enumerate(TEXTS)
    ]


class Kept(NamedTuple):
    """A session that is kept in a folder of one kind."""

    kind: str
    root: Path
    id: str = "001-debug-slow"

    def open(self, *, checksums: bool = False) -> Any:
        store: Any = _STORES[self.kind](self.root)
        if checksums:
            store.format = with_checksums(store.format)
        return store

    def make(self, *, checksums: bool = False) -> "Kept":
        session = Session(
            self.id, title="Slow pages", kind="debug", status="paused",
            created_at=BEGAN, updated_at=BEGAN, working_dir="/x", messages=messages()[:2],
        )  # fmt: skip
        store = self.open(checksums=checksums)
        store.save(session)
        store.append(self.id, *messages()[2:])
        return self

    @property
    def head(self) -> Path:
        if self.kind == "workspace":
            return self.root / "conversations" / DAY / self.id / ".session/session.json"
        return self.root / f"{self.id}{'.jsonl' if self.kind == 'log' else '.json'}"

    @property
    def lines(self) -> Path:
        return self.head.with_name("messages.jsonl") if self.kind == "workspace" else self.head

    @property
    def first(self) -> int:
        """Which line has the first message, from 0."""
        return 0 if self.kind == "workspace" else 1

    def check(self) -> CheckResult:
        if self.kind == "workspace":
            place = workspace_layout.ConversationPath(f"{self.root}/conversations", DAY, self.id)
            return check_conversation(str(self.root), place)
        check = check_log if self.kind == "log" else check_document
        return check(str(self.root), self.id)

    def ids(self) -> list[str]:
        """Of the messages that can be read."""
        return [message.id for message in self.open().read(self.id).session.messages]

    def kept(self) -> list[bytes]:
        """What was set aside."""
        folder = self.head.parent
        return [
            p.read_bytes() for p in folder.iterdir() if ".corrupt" in p.name or ".torn" in p.name
        ]


def change_lines(kept: Kept, change: Callable[[list[bytes]], list[bytes]]) -> None:
    """Change the lines of the file that holds the messages."""
    path = kept.lines
    path.write_bytes(b"\n".join(change(path.read_bytes().split(b"\n"))))


def nul_line(kept: Kept) -> None:
    """What a file system leaves that lost a block."""
    at = kept.first + 3
    change_lines(kept, lambda lines: [*lines[:at], b"\0" * 64, *lines[at:]])


def nul_over(kept: Kept) -> None:
    """A block of NUL over the end of one message and the newline after it."""
    at = kept.first + 2

    def change(lines: list[bytes]) -> list[bytes]:
        both = lines[at][:-12] + b"\0" * 13 + lines[at + 1]
        return [*lines[:at], both, *lines[at + 2 :]]

    change_lines(kept, change)


def torn(kept: Kept) -> None:
    data = kept.lines.read_bytes()
    if kept.kind == "document":
        kept.lines.write_bytes(data[: data.index(b'"m6"') - 20])
    else:
        kept.lines.write_bytes(data + b'{"role":"user","content":"half of wh')


def first_line(kept: Kept) -> None:
    """The head of a log and of a document, the first message of a folder."""
    change_lines(kept, lambda lines: [lines[0][: len(lines[0]) // 2] + b"#", *lines[1:]])


def no_head(kept: Kept) -> None:
    if kept.kind == "workspace":
        kept.head.unlink()
    else:
        change_lines(kept, lambda lines: lines[1:])


def no_messages(kept: Kept) -> None:
    if kept.kind == "workspace":
        kept.lines.unlink()
    else:
        head = kept.head.read_bytes().partition(b',"messages":[')[0]
        kept.head.write_bytes(head + b"}\n")


def two_heads(kept: Kept) -> None:
    """The second is the later one."""
    data = kept.head.read_bytes()
    if kept.kind == "log":
        first, rest = data.split(b"\n", 1)
        kept.head.write_bytes(first + b"\n" + newer(first) + b"\n" + rest)
    else:
        kept.head.write_bytes(data + newer(data) + b"\n")


def newer(data: bytes) -> bytes:
    head = json.loads(data)
    name = "last_active" if "last_active" in head else "updated_at"
    return json.dumps({**head, "title": "Slow pages, again", name: "2025-12-01T00:00:00Z"}).encode()


def open_call(kept: Kept) -> None:
    call = {"id": "c9", "name": "shell", "arguments": {"command": "make"}}
    when = BEGAN + timedelta(hours=1)
    kept.open().append(kept.id, SessionMessage("assistant", "", when, "m7", tool_calls=[call]))


def twice(kept: Kept) -> None:
    """The last two messages once more."""
    if kept.kind == "document":
        value = json.loads(kept.head.read_bytes())
        value["messages"] += value["messages"][-2:]
        kept.head.write_bytes(json.dumps(value).encode())
    else:
        data = kept.lines.read_bytes()
        kept.lines.write_bytes(data + b"".join(data.splitlines(keepends=True)[-2:]))


def half_emoji(kept: Kept) -> None:
    """Half of a pair, as JavaScript cuts it."""
    data = kept.lines.read_bytes()
    kept.lines.write_bytes(data.replace("🙂".encode(), b"\\ud83d"))


def cut_utf8(kept: Kept) -> None:
    data = kept.lines.read_bytes()
    kept.lines.write_bytes(data.replace("🙂".encode(), "🙂".encode()[:2]))


def from_the_future(kept: Kept) -> None:
    data = kept.head.read_bytes()
    kept.head.write_bytes(
        data.replace(b'"version":"1.0"', b'"version":"9.0"').replace(
            b'"version": "1.0"', b'"version": "9.0"'
        )
    )


def flipped_bit(kept: Kept) -> None:
    """Still valid JSON: an `s` is an `r` now."""
    data = kept.lines.read_bytes()
    assert b"it fetches twice" in data
    kept.lines.write_bytes(data.replace(b"it fetches twice", b"it fetcher twice"))


def pretty(kept: Kept) -> None:
    """What an editor makes of it that formats JSON."""
    change_values(kept, lambda values: b"\n".join(pretty_json(value) for value in values) + b"\n")


def as_list(kept: Kept) -> None:
    """A JSON list of records, indented."""
    change_values(kept, pretty_json)


def on_one_line(kept: Kept) -> None:
    """Records one after the other, without a newline between them."""
    change_values(kept, lambda values: b"".join(json.dumps(v).encode() for v in values) + b"\n")


def with_commas(kept: Kept) -> None:
    change_values(kept, lambda values: b",\n".join(json.dumps(v).encode() for v in values) + b",\n")


def change_values(kept: Kept, write: Callable[[list[Any]], bytes]) -> None:
    lines = kept.lines.read_bytes().split(b"\n")
    head = b"".join(line + b"\n" for line in lines[: kept.first])
    kept.lines.write_bytes(head + write([json.loads(line) for line in lines[kept.first :] if line]))


def pretty_json(value: Any) -> bytes:
    return json.dumps(value, indent=2, ensure_ascii=False).encode()


def utf16(kept: Kept) -> None:
    """What Windows' editors call Unicode."""
    kept.lines.write_bytes(kept.lines.read_bytes().decode().encode("utf-16"))


def utf16_and_more(kept: Kept) -> None:
    """Without a mark, and somebody appended to it since."""
    first, last = kept.lines.read_bytes().decode().rsplit("\n", 2)[:2]
    kept.lines.write_bytes(f"{first}\n".encode("utf-16-be") + f"{last}\n".encode())


def latin1(kept: Kept) -> None:
    text = kept.lines.read_bytes().decode().replace("🙂", "é").replace("twice", "déjà")
    kept.lines.write_bytes(text.encode("latin-1"))


def nothing_in_it(kept: Kept) -> None:
    kept.lines.write_bytes(b"")


def no_beginning(kept: Kept) -> None:
    """One field of the head is gone that it cannot be without."""
    data = kept.head.read_bytes()
    new = re.sub(rb'"created_at": ?"[^"]*",\s*', b"", data, count=1)
    assert new != data
    kept.head.write_bytes(new)


def one_field(kept: Kept) -> None:
    """A field of the head that is no JSON any more."""
    data = kept.head.read_bytes()
    new = re.sub(rb'"status": ?"[^"]*"', b'"status": pau', data, count=1)
    assert new != data
    kept.head.write_bytes(new)


def conflict(kept: Kept) -> None:
    """A merge that nobody finished: another title of the head, and another last message."""
    lines = kept.head.read_bytes().split(b"\n")
    at = next(n for n, line in enumerate(lines) if b"Slow pages" in line)
    theirs = lines[at].replace(b"Slow pages", b"Slow pages of theirs")
    kept.head.write_bytes(
        b"\n".join([*lines[:at], *sides([lines[at]], [theirs]), *lines[at + 1 :]])
    )
    lines = kept.lines.read_bytes().split(b"\n")
    at = next(n for n, line in enumerate(lines) if b'"m6"' in line)
    theirs = lines[at].replace(b'"m6"', b'"m7"').replace(b"thanks", b"no thanks")
    kept.lines.write_bytes(
        b"\n".join([*lines[:at], *sides([lines[at]], [theirs]), *lines[at + 1 :]])
    )


def sides(ours: list[bytes], theirs: list[bytes]) -> list[bytes]:
    return [b"<<<<<<< HEAD", *ours, b"=======", *theirs, b">>>>>>> laptop"]


Damage = Callable[[Kept], None]
DAMAGES: dict[Damage, tuple[str, ...]] = {
    nul_line: ("workspace", "log", "document"),
    nul_over: ("workspace", "log", "document"),
    torn: ("workspace", "log", "document"),
    first_line: ("workspace", "log", "document"),
    no_head: ("workspace", "log", "document"),
    no_messages: ("workspace", "document"),
    two_heads: ("workspace", "log", "document"),
    open_call: ("workspace", "log", "document"),
    twice: ("workspace", "log", "document"),
    half_emoji: ("workspace", "log", "document"),
    cut_utf8: ("workspace", "log", "document"),
    flipped_bit: ("workspace", "log"),
    pretty: ("workspace", "log"),
    as_list: ("workspace", "log"),
    on_one_line: ("workspace", "log"),
    with_commas: ("workspace", "log"),
    utf16: ("workspace", "log", "document"),
    utf16_and_more: ("workspace", "log"),
    latin1: ("workspace", "log", "document"),
    nothing_in_it: ("workspace", "document"),
    no_beginning: ("workspace", "log", "document"),
    one_field: ("workspace", "log", "document"),
    conflict: ("workspace", "log", "document"),
}
"""Each damage, and the kinds that can have it."""
LOST: dict[tuple[Damage, str], set[str]] = {
    (nul_over, "workspace"): {"m3"},
    (nul_over, "log"): {"m3"},
    (nul_over, "document"): {"m3"},
    (first_line, "workspace"): {"m1"},
    (no_messages, "workspace"): {"m1", "m2", "m3", "m4", "m5", "m6"},
    # What only the file had, and not its backup.
    (no_messages, "document"): {"m3", "m4", "m5", "m6"},
    (torn, "document"): {"m6"},
    (nothing_in_it, "workspace"): {"m1", "m2", "m3", "m4", "m5", "m6"},
    (nothing_in_it, "document"): {"m3", "m4", "m5", "m6"},
}
"""What nobody can read any more."""


class Told(NamedTuple):
    """What doctor says of a damage, and what `--fix` does about it."""

    says: str
    does: str = "was rewritten with"


TOLD: dict[Damage, Told] = {
    nul_line: Told("64 NUL bytes in place of data"),
    nul_over: Told("13 NUL bytes in place of data"),
    torn: Told("last line is incomplete|read completely", "ends with a complete|rewritten"),
    first_line: Told("not a readable message|cannot be read completely"),
    no_head: Told("is missing, but there are messages|cannot be read completely"),
    no_messages: Told("is missing, but the head counts 2 messages|messages are missing"),
    two_heads: Told("2 heads|a second head|2 documents"),
    open_call: Told(r"a tool call at the end \(shell\) has no", "records the missing tool results"),
    twice: Told("identical to earlier lines|2 messages occur twice"),
    half_emoji: Told("a character is incomplete"),
    cut_utf8: Told("a character is incomplete"),
    flipped_bit: Told("one bit of message 'm3' is wrong"),
    pretty: Told("6 messages are not on lines of their own"),
    as_list: Told("6 messages are not on lines of their own"),
    on_one_line: Told("6 messages are not on lines of their own"),
    with_commas: Told("6 messages are not on lines of their own"),
    utf16: Told("is encoded as UTF-16"),
    utf16_and_more: Told("is encoded as UTF-16"),
    latin1: Told("the text is Latin-1, not UTF-8"),
    nothing_in_it: Told("has no messages, but the head counts 2|file is empty; its backup has 2"),
    no_beginning: Told("cannot be read completely: created_at is missing"),
    one_field: Told("cannot be read completely: not JSON: expecting value"),
    conflict: Told("contains git conflict markers"),
}
"""The table of damages: with `DAMAGES` and `LOST`, all that `test_mending` goes over."""
