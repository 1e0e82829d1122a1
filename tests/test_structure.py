"""Rules of the source tree that no linter knows."""

import ast
from pathlib import Path

import cortext
from cortext.tools.registry import BUILT_IN

SOURCE = Path(cortext.__file__).parent


def test_only_tools_name_a_tool() -> None:
    """A module outside `tools/` asks the registry, so that a new tool needs no change there."""
    names = {tool.name for tool in BUILT_IN}
    found = [
        f"{path.relative_to(SOURCE)}:{node.lineno}: {node.value!r}"
        for path in sorted(SOURCE.rglob("*.py"))
        if path.relative_to(SOURCE).parts[0] != "tools"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and node.value in names
    ]
    assert found == []
