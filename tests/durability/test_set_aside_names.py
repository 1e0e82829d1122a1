"""What was set aside of a file is found by its names, without a look at all others."""

import os
from pathlib import Path

import pytest

from cortext.durability.durable_files import all_set_aside, remove_set_aside, set_aside


def test_all_set_aside_finds_every_kind_and_number(tmp_path: Path) -> None:
    """Also behind numbers that a person removed; what only looks alike is not among them."""
    names = ["f.torn", "f.torn-2", "f.corrupt-4", "f.replaced", "f.replaced-30"]
    for name in [*names, "f", "f.torn-talk", "f.corrupt.json", "g.torn", "f.other"]:
        (tmp_path / name).write_bytes(b"x")
    assert all_set_aside(str(tmp_path / "f")) == [str(tmp_path / name) for name in sorted(names)]


def test_remove_set_aside_removes_every_file_set_aside_created(tmp_path: Path) -> None:
    """However often it happened."""
    path = str(tmp_path / "f")
    kept: list[str] = []
    for number in range(40):
        with open(path, "w", encoding="utf-8") as file:
            file.write(str(number))
        kept.append(set_aside(path, "corrupt"))
        os.unlink(path)
    assert all_set_aside(path) == sorted(kept)
    remove_set_aside(path)
    assert os.listdir(tmp_path) == []


def test_all_set_aside_does_not_list_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A delete among very many takes as long as one among few."""

    def refuse(*_: object) -> None:
        raise AssertionError("the folder was listed")

    monkeypatch.setattr(os, "listdir", refuse)
    monkeypatch.setattr(os, "scandir", refuse)
    assert all_set_aside(str(tmp_path / "f")) == []
