"""The documentation is true: its Python runs, and every command and public name is in it."""

import re
import sys
import tomllib
from pathlib import Path

import pytest

import cortext

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]
PYTHON = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
WITH_PYTHON = [page for page in PAGES if PYTHON.search(page.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("page", WITH_PYTHON, ids=lambda page: str(page.relative_to(ROOT)))
def test_python_blocks_of_page_run(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All blocks of a page, one after the other, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {"__name__": "__page__"}
    for block in PYTHON.findall(page.read_text(encoding="utf-8")):
        exec(compile(block, str(page), "exec"), namespace)


@pytest.mark.parametrize("page", WITH_PYTHON, ids=lambda page: str(page.relative_to(ROOT)))
def test_page_names_packages_that_its_python_imports(page: Path) -> None:
    """What its blocks import comes with cortext, with an extra that it names, or by its name."""
    text = page.read_text(encoding="utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted: list[str] = [*project["dependencies"]]
    for line in re.findall(r"pip install ([^\n`#]+)", text):
        extras = re.findall(r"\[([a-z,-]+)\]", line)
        for extra in ",".join(extras).split(",") if extras else ():
            wanted += project["optional-dependencies"][extra]
        wanted += [] if extras else line.split()
    installed = {re.split(r"[^\w-]", name)[0].replace("-", "_") for name in wanted}
    imported = {
        name.partition(".")[0]
        for block in PYTHON.findall(text)
        for name in re.findall(r"^ *(?:from|import) ([\w.]+)", block, re.MULTILINE)
    }
    assert sorted(imported - installed - sys.stdlib_module_names - {"cortext"}) == []


def test_tutorial_commands_print_documented_output() -> None:
    """Its commands, one after the other in an empty folder, print what it says."""
    from scripts import docs

    page = (ROOT / "docs/tutorial.md").read_text(encoding="utf-8")
    assert len(docs.CONSOLE.findall(page)) > 5
    assert docs.replay(page) == page


def test_reference_contains_every_public_name() -> None:
    """A name that nobody documents is a name that nobody finds."""
    text = "".join(page.read_text(encoding="utf-8") for page in ROOT.glob("docs/reference/*.md"))
    assert [
        name for name in cortext.__all__ if f"`{name}" not in text and f"## {name}" not in text
    ] == []


def test_reference_contains_every_command() -> None:
    """Each has a section with its help."""
    from cortext.cli.command_group import COMMAND_SUMMARIES

    text = (ROOT / "docs/reference/command-line.md").read_text(encoding="utf-8")
    assert [name for name in COMMAND_SUMMARIES if f"## cortext {name}\n" not in text] == []


def test_every_documentation_page_is_linked() -> None:
    """No page that only its author can find."""
    pages = {page.resolve() for page in ROOT.glob("docs/**/*.md")}
    linked = {
        (page.parent / target.partition("#")[0]).resolve()
        for page in [*ROOT.glob("*.md"), *pages]
        for target in re.findall(r"\]\(([^):]+)\)", page.read_text(encoding="utf-8"))
    }
    assert sorted(pages - linked) == []
