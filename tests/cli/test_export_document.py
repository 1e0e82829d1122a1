"""The markdown document of a conversation in exports, and its way back through an import."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.command import begin, cortext, folder_of, ok

FORMATS = ("md", "html", "json", "jsonl")
TEXT = "# A plan\n\nWe ship on Monday. --> <!-- \x1b[31m\u202e\n"
SECRET = "AKIAIOSFODNN7QRSTUVW"


@pytest.fixture
def planned(empty_workspace: Path) -> tuple[Path, str]:
    """A workspace with a conversation whose markdown a person wrote, and its id."""
    id = begin(empty_workspace, "plan", "A plan", "When do we ship?", "On Monday.")
    (folder_of(empty_workspace, id) / "plan.md").write_text(TEXT, encoding="utf-8")
    return empty_workspace, id


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    root = tmp_path / "elsewhere"
    (root / ".workspace").mkdir(parents=True)
    return root


def exported(planned: tuple[Path, str], *options: str, name: str = "it.json") -> Path:
    root, id = planned
    target = root.parent / name
    ok(root, "export", id, "-o", str(target), "--force", *options)
    return target


def document_of(root: Path, id: str) -> Path:
    return folder_of(root, id) / "plan.md"


@pytest.mark.parametrize("format", FORMATS)
def test_import_restores_markdown_document_from_every_format(
    format: str, planned: tuple[Path, str], elsewhere: Path
) -> None:
    file = exported(planned, name=f"it.{format}")
    for answer in ("imported", "already here"):
        done = cortext(elsewhere, "import", str(file))
        assert (done.stdout, done.stderr) == (f"{answer}: {planned[1]}\n", "")
        assert document_of(elsewhere, planned[1]).read_text(encoding="utf-8") == TEXT
    head = folder_of(elsewhere, planned[1]) / ".session/session.json"
    assert "markdown_document" not in head.read_text(encoding="utf-8")


def test_import_restores_document_that_is_not_utf_8(
    planned: tuple[Path, str], elsewhere: Path
) -> None:
    document_of(*planned).write_bytes(b"# caf\xe9\n")
    ok(elsewhere, "import", str(exported(planned)))
    assert document_of(elsewhere, planned[1]).read_bytes() == b"# caf\xe9\n"


def test_import_never_changes_existing_document(planned: tuple[Path, str], elsewhere: Path) -> None:
    file = exported(planned)
    ok(elsewhere, "import", str(file))
    document = document_of(elsewhere, planned[1])
    document.write_text("my notes\n", encoding="utf-8")
    done = cortext(elsewhere, "import", str(file))
    assert (done.returncode, done.stdout) == (0, f"already here: {planned[1]}\n")
    assert done.stderr == (
        f"warning: {document} has other text than the export, and did not change\n"
    )
    assert document.read_text(encoding="utf-8") == "my notes\n"


def test_document_survives_store_without_documents(
    planned: tuple[Path, str], elsewhere: Path
) -> None:
    store = f"document:{elsewhere.parent}/sessions"
    ok(elsewhere, "import", str(exported(planned)), "--store", store)
    again = elsewhere.parent / "again.md"
    ok(elsewhere, "export", planned[1], "--store", store, "-o", str(again))
    ok(elsewhere, "import", str(again))
    assert document_of(elsewhere, planned[1]).read_text(encoding="utf-8") == TEXT


def test_export_of_part_leaves_document_out_and_says_so(planned: tuple[Path, str]) -> None:
    done = cortext(planned[0], "export", planned[1], "--from", "2", "--format", "json")
    assert "Monday. -->" not in done.stdout
    assert done.stderr == "plan.md is not included, because this is only a part.\n"


def test_export_redacts_secrets_in_document(planned: tuple[Path, str]) -> None:
    document_of(*planned).write_text(f"aws_key = {SECRET}\n", encoding="utf-8")
    assert SECRET in exported(planned).read_text(encoding="utf-8")
    assert SECRET not in exported(planned, "--redact").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "value",
    [
        {"name": "../../escaped.md", "text": "x"},
        {"name": "/tmp/escaped.md", "text": "x"},
        {"name": ".hidden.md", "text": "x"},
        {"name": "plan.txt", "text": "x"},
        {"name": "plan.md", "text": 7},
        "plan.md",
    ],
)
def test_import_writes_no_file_for_document_with_bad_name_or_text(
    value: Any, planned: tuple[Path, str], elsewhere: Path
) -> None:
    file = exported(planned)
    data = json.loads(file.read_text(encoding="utf-8"))
    file.write_text(json.dumps({**data, "markdown_document": value}), encoding="utf-8")
    ok(elsewhere, "import", str(file))
    conversation = folder_of(elsewhere, planned[1])
    assert [path.name for path in conversation.iterdir()] == [".session"]
    assert not [*elsewhere.rglob("escaped.md")]
