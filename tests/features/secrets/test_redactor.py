"""Looking at lines: the fast look finds what a look at each line alone finds."""

from cortext.features.secrets.redactor import decode_line, list_secrets, suspect_lines
from tests.features.secrets import harmless_lines
from tests.features.secrets.secret_corpus import labelled


def test_suspect_lines_include_every_line_with_secret() -> None:
    """Wherever a secret stands among lines without one, with letters of any length around."""
    quiet = [f"{line} ß 漢字 😀" for line in harmless_lines.made(1_200)]
    lines: list[str] = []
    for number, one in enumerate(labelled(1)):
        lines += [*quiet[number * 9 : number * 9 + 9], one.text.replace("\n", "\\n")]
    data = "\n".join(lines).encode()
    slow = [found for line in lines if (found := list_secrets(decode_line(line.encode())))]
    fast = [found for line in suspect_lines(data) if (found := list_secrets(decode_line(line)))]
    assert fast == slow
    assert len(slow) > 50
