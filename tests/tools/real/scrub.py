"""Makes a recording fit to keep: no path of this machine in it, and no payload of a megabyte."""

import hashlib
import json
import re
from pathlib import Path
from typing import Any

from tests.tools.real.install import cache_folder

HOME, PROJECT = "/home/you", "/home/you/project"
LONG, KEPT = 200, 80
# Instructions and requests that a tool copies into its transcript, not what anybody said.
_PAYLOAD_TYPES = frozenset(
    ["attachment", "api-request-shape", "api-request-blob", "session_meta", "world_state"]
)


class Scrub:
    """Replaces the temp folder `root` of one recording by a person's usual paths."""

    def __init__(self, root: Path) -> None:
        project = str(root / "project")
        self._pairs = [
            (project, PROJECT),
            (str(root / "home"), HOME),
            (str(root / "tmp"), "/tmp"),
            (str(root / "run"), "/run/user/1000"),
            (slug(project), slug(PROJECT)),
            (slug(str(root / "home")), slug(HOME)),
            (_hash(project), _hash(PROJECT)),
            (str(cache_folder()), "/opt/tools"),
            (str(root), "/tmp/root"),
            # OpenCode shows paths relative to the top of the file system.
            (project[1:], PROJECT[1:]),
        ]

    def text(self, text: str) -> str:
        for old, new in self._pairs:
            text = text.replace(old, new)
        return text

    def lines(self, data: bytes) -> bytes:
        """JSON lines; only a line that had to be cut is written anew."""
        return b"".join(_cut(line) for line in self.text(data.decode()).encode().splitlines(True))


def slug(path: str) -> str:
    """A folder's name in Claude Code's store."""
    return re.sub(r"[^A-Za-z0-9]", "-", path)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _cut(line: bytes) -> bytes:
    if len(line) < 2 * LONG:
        return line
    record = json.loads(line)
    payload = record.get("payload")
    told = isinstance(payload, dict) and payload.get("role") == "developer"
    if record.get("type") not in _PAYLOAD_TYPES and not told:
        return line
    cut = json.dumps(_shorter(record), ensure_ascii=False, separators=(",", ":"))
    return cut.encode() + b"\n"


def _shorter(value: Any) -> Any:
    if isinstance(value, str) and len(value) > LONG:
        return f"{value[:KEPT]} [cut: {len(value) - KEPT} characters]"
    if isinstance(value, list):
        return [_shorter(item) for item in value]
    if isinstance(value, dict):
        return {key: _shorter(item) for key, item in value.items()}
    return value
