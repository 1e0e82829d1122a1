"""Hints about missing packages name a command that works for the way cortext was installed."""

import sys
from pathlib import Path

import pytest

from cortext import installation
from cortext.installation import install_command

REDIS = "'redis<9,>=8'"


@pytest.fixture
def prefix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    return tmp_path


def test_uv_tool_hint_repeats_source_and_packages(prefix: Path) -> None:
    (prefix / "uv-receipt.toml").write_text(
        '[tool]\nrequirements = [{ name = "cortext-sessions", directory = "/src/my clone" }, '
        '{ name = "psycopg", specifier = ">=3" }]\n',
        encoding="utf-8",
    )
    expected = f"uv tool install --with 'psycopg>=3' --with {REDIS} '/src/my clone'"
    assert install_command("redis") == expected


@pytest.mark.parametrize(
    ("recorded", "source"),
    [
        ('directory = "/src/clone", extras = ["redis"]', "'/src/clone[redis]'"),
        ('editable = "/src/clone"', "--editable /src/clone"),
        ('git = "https://host/cortext"', "'cortext-sessions @ git+https://host/cortext'"),
        (
            'git = "https://host/cortext?tag=v1#0dacfd66"',
            "'cortext-sessions @ git+https://host/cortext@v1'",
        ),
        (
            'git = "ssh://git@host/all?subdirectory=cortext&branch=main"',
            "'cortext-sessions @ git+ssh://git@host/all@main#subdirectory=cortext'",
        ),
        ('url = "https://host/c.whl"', "'cortext-sessions @ https://host/c.whl'"),
    ],
)
def test_uv_tool_hint_never_installs_cortext_from_index(
    recorded: str, source: str, prefix: Path
) -> None:
    (prefix / "uv-receipt.toml").write_text(
        f'[tool]\nrequirements = [{{ name = "cortext-sessions", {recorded} }}]\n', encoding="utf-8"
    )
    assert install_command("redis") == f"uv tool install --with {REDIS} {source}"


def test_uv_tool_hint_keeps_sources_of_added_packages(prefix: Path) -> None:
    (prefix / "uv-receipt.toml").write_text(
        '[tool]\nrequirements = [{ name = "cortext-sessions", directory = "/src" }, '
        '{ name = "a", editable = "/a" }, { name = "b", git = "https://host/b" }, '
        '{ name = "c", extras = ["x"], specifier = ">=1" }]\n',
        encoding="utf-8",
    )
    added = "--with-editable /a --with 'b @ git+https://host/b' --with 'c[x]>=1'"
    assert install_command("redis") == f"uv tool install {added} --with {REDIS} /src"


def test_pipx_hint_injects_package(prefix: Path) -> None:
    (prefix / "pipx_metadata.json").write_text("{}", encoding="utf-8")
    assert install_command("redis") == f"pipx inject cortext-sessions {REDIS}"


@pytest.mark.usefixtures("prefix")
@pytest.mark.parametrize(
    ("has_pip", "has_uv", "installer"),
    [
        (True, True, f"{sys.executable} -m pip install"),
        (False, True, f"uv pip install --python {sys.executable}"),
        (False, False, f"python3 -m pip --python {sys.executable} install"),
    ],
)
def test_virtual_environment_hint_uses_available_installer(
    has_pip: bool, has_uv: bool, installer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(installation, "find_spec", lambda _: object() if has_pip else None)
    monkeypatch.setattr(installation, "which", lambda _: "/bin/uv" if has_uv else None)
    assert install_command("redis") == f"{installer} {REDIS}"


@pytest.mark.parametrize(
    ("name", "package"),
    [
        ("postgres", "psycopg[binary]"),
        ("openai-agents", "openai-agents"),
        ("mcp", "mcp"),
        ("litestar", "litestar"),
        ("starlette", "starlette"),
    ],
)
def test_install_hint_names_requirements_of_extra_or_package(name: str, package: str) -> None:
    (last,) = install_command(name).split()[-1:]
    assert last.strip("'").startswith(package)
    assert "cortext-sessions" not in last
