"""A workspace that was downloaded with its `.git`: no command runs a program that this names."""

from pathlib import Path

import pytest

from tests.command import begin, cortext, folder_of, git, ok
from tests.git.plants import SIGNATURES, Plants
from tests.git.space import Space

pytestmark = pytest.mark.usefixtures("git_identity")

# In parts: this file holds no secret.
TOKEN = "ghp_" + "R4nd0mAbCdEfGhIjKlMn" + "OpQrStUvWxYz1234"
COMMANDS = (
    ["list"],
    ["list", "--all"],
    ["show", "{leaky}"],
    ["search", "Hello"],
    ["export", "{leaky}"],
    ["import", "{exported}", "--as", "009-plan-imported"],
    ["resume", "--list"],
    ["resume", "{leaky}", "--context"],
    ["resume", "{leaky}"],
    ["rename", "{leaky}", "Another title"],
    ["tag", "{leaky}", "one"],
    ["fork", "{leaky}"],
    ["stats"],
    ["sync"],
    ["scan"],
    ["scan", "--all"],
    ["redact", "{leaky}", "--dry-run"],
    ["redact", "{leaky}", "--archive", "--yes"],
    ["doctor"],
    ["doctor", "--fix"],
    ["stop", "{leaky}"],
    ["done", "{leaky}"],
    ["delete", "{leaky}", "--yes"],
    ["restore", "{leaky}"],
    ["redact", "--all", "--yes"],
    ["upgrade"],
)


class Downloaded:
    """A repository with a signed commit of two conversations: one has a secret in it, and the
    other has lost a line that git still has."""

    def __init__(self, root: Path, marks: Path, program: str) -> None:
        root.mkdir()
        ok(root, "init")
        git(root, "init", "-q", "-b", "main")
        self.leaky = begin(root, "plan", "Deploy", "Hello.", f"Use {TOKEN} here.", "Thanks.")
        torn = begin(root, "plan", "Torn", "One.", "Two.", "Three.")
        git(root, "add", "-fA")
        git(root, "commit", "-q", "-m", "all of it")
        lines = folder_of(root, torn) / ".session/messages.jsonl"
        lines.write_bytes(lines.read_bytes()[:-20] + b"\n")
        space = Space(root, str(folder_of(root, self.leaky).relative_to(root)))
        self.root, self.plants = root, Plants(space, marks)
        self.plants.sign_head(program)
        self.plants.plant("config")


@pytest.fixture(params=SIGNATURES)
def downloaded(request: pytest.FixtureRequest, tmp_path: Path) -> Downloaded:
    return Downloaded(tmp_path / "work", tmp_path / "marks", request.param)


def test_redact_runs_no_signature_program_of_repository(downloaded: Downloaded) -> None:
    """It asks git whether the history has the secret, and the commit that has it is signed."""
    done = cortext(downloaded.root, "redact", downloaded.leaky, "--yes")
    assert downloaded.plants.fired == set()
    assert (done.returncode, "the git history still contains the secret" in done.stderr) == (
        0,
        True,
    ), done.stderr
    downloaded.plants.space.git("log", check=False)
    assert downloaded.plants.fired & {*SIGNATURES}


@pytest.mark.parametrize("downloaded", ["gpg-x509"], indirect=True)
def test_no_command_runs_program_named_by_repository(
    downloaded: Downloaded, tmp_path: Path
) -> None:
    """One after the other, with everything planted that git can be told to run."""
    exported = tmp_path / "exported.json"
    root = downloaded.root
    exported.write_text(ok(root, "export", downloaded.leaky, "--format", "json"))
    fired: dict[str, set[str]] = {}
    said: dict[str, str] = {}
    for words in COMMANDS:
        given = [word.format(leaky=downloaded.leaky, exported=exported) for word in words]
        done = cortext(root, *given)
        assert "Traceback" not in done.stderr, done.stderr
        said[" ".join(words)] = done.stdout + done.stderr
        if downloaded.plants.fired:
            fired[" ".join(words)] = downloaded.plants.fired
            downloaded.plants.clear()
    assert fired == {}
    # Each of the three that ask git came so far that it did.
    assert "the git history still contains the secret" in said["redact {leaky} --archive --yes"]
    assert "git has " in said["doctor"]
    assert "committed as " in said["stop {leaky}"]
