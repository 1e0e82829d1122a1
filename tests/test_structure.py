"""The shape of the source: rules of HOUSE.md that no linter checks.

Each rule lists its exceptions with a reason. An exception that no longer applies fails, too.
"""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import cortext
from cortext.tools.registry import BUILT_IN

SOURCE = Path(cortext.__file__).parent
MOST_MODULES = 20

LARGE_PACKAGES = {
    "cli/commands": "one module for each command, named like the command",
}

_PER_TOOL = "each AI tool has one, with the same part of its support"
_ARRANGEMENT = "the codec in formats/ and the store in stores/ of the same arrangement"
_OLD_PATH = "conversations/ keeps the import paths that the documentation of 0.1.0 shows"
SHARED_FILE_NAMES = {
    "archive.py": _PER_TOOL,
    "commands.py": _PER_TOOL,
    "detection.py": _PER_TOOL,
    "headless.py": _PER_TOOL,
    "launch.py": _PER_TOOL,
    "mcp_servers.py": _PER_TOOL,
    "reader.py": _PER_TOOL,
    "records.py": _PER_TOOL,
    "settings.py": _PER_TOOL,
    "tool.py": _PER_TOOL,
    "writer.py": _PER_TOOL,
    "document.py": _ARRANGEMENT,
    "folder.py": _ARRANGEMENT,
    "log.py": _ARRANGEMENT,
    "adapter.py": _OLD_PATH,
    "base.py": _OLD_PATH,
    "port.py": "the contract of session stores and that of conversation stores",
    "plugin.py": "our plug-in for the command llm, and our plug-in for OpenCode",
    "conversation_files.py": "files of a conversation: /save in the REPL, and where secrets may be",
    "spawn_list.py": "the list of spawn sessions, and how it is printed",
    "scan.py": "scan for secrets, and scan the folders of tools",
}


def modules() -> Iterator[tuple[str, ast.Module]]:
    """Yield the path and the syntax tree of each module of cortext."""
    for path in sorted(SOURCE.rglob("*.py")):
        yield path.relative_to(SOURCE).as_posix(), ast.parse(path.read_text(encoding="utf-8"))


def test_only_tools_name_a_tool() -> None:
    """A module outside `tools/` asks the registry, so that a new tool needs no change there."""
    names = {tool.name for tool in BUILT_IN}
    found = [
        f"{name}:{node.lineno}: {node.value!r}"
        for name, tree in modules()
        if not name.startswith("tools/")
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and node.value in names
    ]
    assert found == []


def test_no_two_classes_share_a_name() -> None:
    homes: dict[str, list[str]] = defaultdict(list)
    for name, tree in modules():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                homes[node.name].append(name)
    assert {name: found for name, found in homes.items() if len(found) > 1} == {}


def test_file_name_occurs_once_or_is_listed() -> None:
    homes: dict[str, list[str]] = defaultdict(list)
    for name, _ in modules():
        folder, _, file = name.rpartition("/")
        if file != "__init__.py" and folder != "cli/commands":
            homes[file].append(name)
    assert {file for file, found in homes.items() if len(found) > 1} == set(SHARED_FILE_NAMES)


def test_package_has_at_most_twenty_modules() -> None:
    sizes: dict[str, int] = defaultdict(int)
    for name, _ in modules():
        folder, _, file = name.rpartition("/")
        sizes[folder] += file != "__init__.py"
    assert {folder for folder, size in sizes.items() if size > MOST_MODULES} == set(LARGE_PACKAGES)
