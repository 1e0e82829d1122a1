"""Errors as a person sees them."""

import pytest

from cortext.cli.errors import report


def missing(name: str) -> ModuleNotFoundError:
    return ModuleNotFoundError(f"No module named {name!r}", name=name)


def test_missing_package_is_named_with_the_command_that_installs_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert report(missing("litestar.openapi")) == 1
    said = capsys.readouterr().err
    assert said.startswith("error: the package litestar is not installed")
    assert "install" in said.splitlines()[1]


@pytest.mark.parametrize("name", ["_sqlite3", "cortext.web"])
def test_missing_module_of_python_or_cortext_is_not_offered_from_an_index(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert report(missing(name)) == 1
    assert f"No module named {name!r}" in (said := capsys.readouterr().err)
    assert "install" not in said
