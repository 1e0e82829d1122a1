"""Find out how cortext was installed, and build the command that installs more packages."""

from __future__ import annotations

import shlex
import sys
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from typing import Any
from urllib.parse import parse_qs, urlsplit

DISTRIBUTION = "cortext-sessions"


def install_command(name: str) -> str:
    """Return the shell command that installs a missing extra of cortext, or one missing package.

    `name` is the name of the extra or of the package. The command uses the program that installed
    cortext: uv, pipx or pip. It lists the packages of an extra one by one. `cortext-sessions[NAME]`
    would not work, because no package index has cortext under that name.
    """
    packages = _requirements(name)
    prefix = Path(sys.prefix)
    receipt = prefix / "uv-receipt.toml"
    if receipt.is_file():
        return _uv_tool_command(receipt, packages)
    if (prefix / "pipx_metadata.json").is_file():
        return shlex.join(["pipx", "inject", DISTRIBUTION, *packages])
    if find_spec("pip"):
        installer = [sys.executable, "-m", "pip", "install"]
    elif which("uv"):
        installer = ["uv", "pip", "install", "--python", sys.executable]
    else:
        installer = ["python3", "-m", "pip", "--python", sys.executable, "install"]
    return shlex.join([*installer, *packages])


def _requirements(name: str) -> list[str]:
    """Return the packages of the extra `name`, with the versions that cortext requires.

    If there is no such extra, `name` is a package, and the list has only this package.
    """
    from importlib.metadata import PackageNotFoundError, requires  # slow to import

    try:
        lines = requires(DISTRIBUTION) or []
    except PackageNotFoundError:
        return [name]
    of_extra: list[str] = []
    of_package: list[str] = []
    for line in lines:
        requirement, _, marker = line.partition(";")
        if f"extra == '{name}'" in marker.replace('"', "'"):
            of_extra.append(requirement.strip())
        elif _package_name(requirement) == name:
            of_package.append(requirement.strip())
    return of_extra or of_package or [name]


def _package_name(requirement: str) -> str:
    end = next((n for n, c in enumerate(requirement) if not (c.isalnum() or c in "-_.")), None)
    return requirement[:end].lower().replace("_", "-")


def _uv_tool_command(receipt: Path, packages: list[str]) -> str:
    """Return the `uv tool install` command that installs cortext again with more packages.

    `receipt` is the file in which uv recorded the installation. The command repeats the packages
    that were added earlier, because uv would otherwise remove them.
    """
    import tomllib

    source = [DISTRIBUTION]
    options: list[str] = []
    installed: list[dict[str, Any]] = tomllib.loads(receipt.read_text("utf-8"))["tool"][
        "requirements"
    ]
    for entry in installed:
        is_editable = "editable" in entry
        if entry["name"] == DISTRIBUTION:
            source = [*(["--editable"] if is_editable else []), _uv_requirement(entry)]
        else:
            options += ["--with-editable" if is_editable else "--with", _uv_requirement(entry)]
    options += [part for package in packages for part in ("--with", package)]
    return shlex.join(["uv", "tool", "install", *options, *source])


def _uv_requirement(entry: dict[str, Any]) -> str:
    """Return a requirement from uv's receipt in the form that uv accepts on the command line."""
    extras = f"[{','.join(entry['extras'])}]" if entry.get("extras") else ""
    for key in ("directory", "editable", "path"):
        if key in entry:
            return entry[key] + extras
    name = entry["name"] + extras
    if "git" in entry:
        return f"{name} @ {_git_url(entry['git'])}"
    if "url" in entry:
        return f"{name} @ {entry['url']}"
    return name + entry.get("specifier", "")


def _git_url(recorded: str) -> str:
    """Convert a git URL from uv's receipt (`https://host/repo?rev=REV#COMMIT`) to a pip URL."""
    url = urlsplit(recorded)
    query = parse_qs(url.query)
    revision = next((f"@{query[key][0]}" for key in ("rev", "tag", "branch") if key in query), "")
    folder = f"#subdirectory={query['subdirectory'][0]}" if "subdirectory" in query else ""
    return f"git+{url._replace(query='', fragment='').geturl()}{revision}{folder}"
