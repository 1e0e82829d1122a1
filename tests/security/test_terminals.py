"""What is said in a conversation never reaches the terminal by what looks after it."""

import re
from pathlib import Path

import pytest

from cortext.features.errors_log import write_error
from tests.cli.list_terminal import ESCAPES
from tests.command import begin, cortext, folder_of, ok

# In parts: this file holds no secret.
TOKEN = "ghp_" + "R4nd0mAbCdEfGhIjKlMn" + "OpQrStUvWxYz1234"
_HOSTILE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069]")
COMMANDS = [
    ("doctor", "--verbose"), ("scan", "--all"), ("redact", "--all", "--dry-run"), ("sync",),
]  # fmt: skip


@pytest.fixture(scope="module")
def hostile_workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A conversation of hostile words with a secret, a damaged line of them, and a log of them."""
    folder = tmp_path_factory.mktemp("terminals")
    hostile = " ".join(ESCAPES).encode("utf-8", "replace").decode().replace("\x00", "")
    ok(folder, "init")
    id = begin(folder, "plan", "Paging", f"{hostile} it is {TOKEN}", hostile)
    with (folder_of(folder, id) / ".session/messages.jsonl").open("ab") as file:
        file.write(hostile.encode() + b"\n")
    write_error(hostile, ValueError(hostile))
    return folder


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words[0])
def test_no_command_prints_terminal_escapes_of_conversation(
    words: tuple[str, ...], hostile_workspace: Path
) -> None:
    """Neither what was said, nor what stands in a damaged line, nor what a log has."""
    done = cortext(hostile_workspace, *words)
    assert "Traceback" not in done.stderr
    assert _HOSTILE.findall(done.stdout + done.stderr) == []
    assert done.stdout + done.stderr
