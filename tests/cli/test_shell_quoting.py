"""What `resume --print` prints can be pasted into any shell, and shown by any terminal."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortext.cli.shell_quoting import quoted
from cortext.cli.tool_reopening import command_line
from cortext.model.safe_text import clean
from cortext.tools.launch_plans import LaunchPlan

SHELLS = [shell for shell in ("sh", "bash", "dash", "zsh", "ksh") if shutil.which(shell)]
HOSTILE = [
    "a\x1b]0;title\x07b",
    "two\nlines",
    "\x1b[2J",
    "-rf\x1b",
    "100%s\x1b %d %%",
    "back\\slash\\033\x1b",
    'it\'s $(touch x) `touch x` "$HOME" !! !x\x1b',
    "\x9b31m \u202e \u200b \ufeff é 日本 🎉\x7f",
    "\udcff\udc80 not text",
    "tab\tand\rreturn",
    "\nends in a newline\n\n",
    "",
]


def unquoted(shell: str, words: str) -> bytes:
    done = subprocess.run(
        [shell, "-c", f"printf '%s\\0' {words}"], capture_output=True, check=True, timeout=60
    )
    return done.stdout


@pytest.mark.parametrize("shell", SHELLS)
def test_quoted_words_are_read_back_unchanged_by_every_shell(shell: str) -> None:
    """Byte for byte, and the first one as text of its own too."""
    words = " ".join(map(quoted, HOSTILE))
    expected = b"".join(os.fsencode(word) + b"\0" for word in HOSTILE)
    assert unquoted(shell, words) == expected


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])))
def test_quoted_word_contains_no_terminal_codes(word: str) -> None:
    """Nothing that moves the cursor; a newline only where the word ends in one."""
    shown = quoted(word)
    assert clean(shown) == shown
    assert shown.count("\n") == len(word) - len(word.rstrip("\n"))


@given(st.text(st.characters(categories=["Cs"], max_codepoint=0xDFFF)))
def test_quoted_replaces_lone_surrogates_with_question_marks(word: str) -> None:
    """What is neither text nor a byte stands as a question mark."""
    bare = "".join(c if "\udc80" <= c <= "\udcff" else "?" for c in word)
    assert unquoted("sh", quoted(word)) == os.fsencode(bare) + b"\0"


@pytest.mark.parametrize("name", ["esc\x1b[31m", "new\nline", "at the end\n", "\udcff", "plain"])
def test_command_line_is_printable_and_enters_hostile_folder(name: str, tmp_path: Path) -> None:
    """It is one line, it shows no code, and run by sh the tool starts where it should."""
    folder = tmp_path / name
    folder.mkdir()
    line = command_line(LaunchPlan("x", ("pwd", "-P"), str(folder), {"A": "b\x1bc"}))
    assert (line.isprintable(), clean(line)) == (True, line)
    done = subprocess.run(["sh", "-c", line], capture_output=True, check=True, timeout=60)
    assert done.stdout == os.fsencode(folder.resolve()) + b"\n"
