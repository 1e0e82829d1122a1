"""What else is decoded: exports, what hooks are told, masked files, notes, items of frameworks."""

import io
import os
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from cortext import paths
from cortext.cli.commands.hook import command as hook_command
from cortext.features.archive.archive_copy_states import Memory
from cortext.features.secrets.redaction_record import ArchiveRedactions
from cortext.features.secrets.redactor import (
    Redactor,
    decode_line,
    list_secrets,
    redact_file_bytes,
    suspect_lines,
)
from cortext.features.transfer.import_exported_file import parse_export, save_imported
from cortext.formats import llm_package_messages, openai_items
from cortext.model import json_codec
from cortext.stores.folder import FolderStore
from tests.fuzz.target import Feed, Files, Target, attempt

# In parts: this file holds no secret.
TOKEN = b"ghp_" + b"R4nd0mAbCdEfGhIjKlMn" + b"OpQrStUvWxYz1234"


def _masking(folder: Path) -> Iterator[Feed]:
    """A token in a line of its own is masked whatever stands around it, and a log has as many lines
    as before."""
    mask = Redactor()

    def feed(data: bytes) -> None:
        data = data.replace(b"{token}", TOKEN, 50).replace(b"{kind}", b"PRIVATE", 50)
        for name in ("x.jsonl", "x.md"):
            at = len(data) // 2
            holding = data[:at] + b"\n" + TOKEN + b"\n" + data[at:]
            masked = redact_file_bytes(name, holding, mask)
            assert b"\n" + TOKEN + b"\n" not in masked, f"the token is still in {name}"
            if name == "x.jsonl":
                assert masked.count(b"\n") == holding.count(b"\n"), "lines are gone"
            # Nothing is left to be found: a second time it is as it was.
            assert redact_file_bytes(name, masked, mask) == masked, f"{name} changes again"
        for line in suspect_lines(data):
            list_secrets(decode_line(line))

    yield feed


def _export(folder: Path) -> Iterator[Feed]:
    """An exported file, imported into a workspace: all of it, or nothing and a sentence."""
    count = 0

    def feed(data: bytes) -> None:
        nonlocal count
        count += 1
        store = FolderStore(folder / f"w{count % 2}")

        def take() -> None:
            read = parse_export(data, "x.md")
            id = read.session.id
            fresh = not store.exists(id)
            save_imported(read.session, store)
            if fresh:
                found = [message.content for message in store.load(id).messages]
                assert found == [message.content for message in read.session.messages]
            store.delete(id)

        attempt(take)

    yield feed


def _hook(folder: Path) -> Iterator[Feed]:
    """Whatever a tool gives, the hook ends well, prints JSON or nothing, and logs what it was."""
    tools = (("claude", "Stop"), ("codex", "notify"), ("gemini", "AfterAgent"))
    log, before = Path(paths.log_file()), Path.cwd()
    os.chdir(folder)

    def feed(data: bytes) -> None:
        for tool in tools:
            log.unlink(missing_ok=True)
            given, out = sys.stdin, io.StringIO()
            sys.stdin = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8")
            try:
                with redirect_stdout(out):
                    hook_command.main([*tool], standalone_mode=False)
            finally:
                sys.stdin = given
            if told := out.getvalue():
                assert isinstance(json_codec.decode(told.encode()), dict)
            _logged(log)

    try:
        yield feed
    finally:
        os.chdir(before)
        log.unlink(missing_ok=True)


def _logged(log: Path) -> None:
    """A log of surprises is a finding: what is no call of a hook is refused in a sentence."""
    text = log.read_text("utf-8") if log.exists() else ""
    for surprise in ("TypeError", "KeyError", "AttributeError", "IndexError", "AssertionError"):
        assert surprise not in text, text[:600]


def _notes(folder: Path) -> Iterator[Feed]:
    """What is known of the archive's copies, and what is masked in them."""
    archive = Path(paths.archive())
    files = Files(archive / ".known/claude.json", archive / ".masked")

    def feed(data: bytes) -> None:
        with files.holding(data, data):
            attempt(lambda: Memory("claude"), lambda: _all(ArchiveRedactions("claude")))

    yield feed
    (archive / ".masked").unlink()
    (archive / ".known/claude.json").unlink()


def _all(masks: ArchiveRedactions) -> None:
    if mask := masks.of_all():
        redact_file_bytes("x.md", b"token " + TOKEN, mask)


def _items(folder: Path) -> Iterator[Feed]:
    """Items of openai-agents and messages of llm: each comes back as it was."""

    def feed(data: bytes) -> None:
        for line in data.split(b"\n"):
            try:
                item: Any = json_codec.decode(line)
            except ValueError:
                continue
            _there_and_back(item)

    yield feed


def _there_and_back(item: Any) -> None:
    try:
        one = openai_items.message_of(item)
        many = llm_package_messages.records_of(item, "r")
    except ValueError as error:
        if isinstance(item, dict) and "nested too deeply" not in str(error):
            raise
        return
    for record in (one, *many):
        json_codec.encode(record.to_dict())
    assert openai_items.items_of(one) == [item]
    assert llm_package_messages.items_of(many) == [item]


TARGETS = (
    Target("masking", _masking, most=4 << 20),
    Target("export", _export, most=4 << 20),
    Target("hook", _hook, most=4 << 20),
    Target("notes", _notes, most=2 << 20),
    Target("items", _items, most=2 << 20),
)
