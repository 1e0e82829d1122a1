"""The shape of the source: rules of HOUSE.md that no linter checks.

Each rule lists its exceptions with a reason. An exception that no longer applies fails, too.
"""

import ast
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
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
    "archived_files.py": _PER_TOOL,
    "headless.py": _PER_TOOL,
    "launch.py": _PER_TOOL,
    "configured_servers.py": _PER_TOOL,
    "reader.py": _PER_TOOL,
    "records.py": _PER_TOOL,
    "settings.py": _PER_TOOL,
    "command_files.py": _PER_TOOL,
    "tool.py": _PER_TOOL,
    "usage.py": _PER_TOOL,
    "writer.py": _PER_TOOL,
    "document.py": _ARRANGEMENT,
    "folder.py": _ARRANGEMENT,
    "log.py": _ARRANGEMENT,
    "base.py": _OLD_PATH,
    "port.py": "the contract of session stores and that of conversation stores",
    "plugin.py": "our plug-in for the command llm, and our plug-in for OpenCode",
    "spawn_list.py": "the list of spawn sessions, and how it is printed",
}

_SERVER = "loads a web server or the MCP SDK, which the help of the command does not need"
_REPL = "loads the REPL, which lists and other tools do not need"
_READER = "a list in which nothing changed reads no session; the modules take 2 bare starts"
_STORE_URL = "only a URL of a store needs urllib, which takes a sixth of a bare start"
_PATTERNS = "rarely needed; compiling its patterns takes half a bare start"
_NO_SESSION = "a conversation without a tool session has nothing to capture; 2 bare starts"
_CAPTURE = "few lists capture or pause a conversation; the modules take 4 bare starts"
LAZY_IMPORTS = {
    ("adapters/llm/plugin.py", "cortext.adapters.llm.llm_commands"):
        "llm imports the plug-in at every start, also in programs without commands",
    ("cli/command_group.py", "cortext.cli.picker.picker_launch"): "loads textual",
    ("cli/picker/key_actions.py", "cortext.cli.picker.picker_operations"):
        "loads archive and exports",
    ("cli/picker/picker_launch.py", "cortext.cli.tool_reopening"): "only after a choice",
    ("cli/conversation_choice.py", "cortext.cli.views.search_output"): "loads the search",
    ("cli/commands/mcp.py", "cortext.mcp.http_transport"): _SERVER,
    ("cli/commands/mcp.py", "cortext.mcp.mcp_server"): _SERVER,
    ("cli/commands/resume.py", "cortext.cli.resume_actions"):
        "`resume --list` resumes nothing; the 80 modules take 2 bare starts",
    ("cli/commands/serve.py", "cortext.service.http.http_server"): _SERVER,
    ("cli/commands/spawn.py", "cortext.cli.spawn_actions"): _REPL,
    ("cli/commands/web.py", "cortext.web.web_server"): _SERVER,
    ("cli/tool_reopening.py", "cortext.cli.spawn_actions"): _REPL,
    ("cli/resume_actions.py", "cortext.cli.tool_reopening"):
        "`resume --list` and a briefing start no tool; its 30 modules take 2 bare starts",
    ("catalog/log_session_refresh.py", "cortext.catalog.log_row_reader"): _READER,
    ("catalog/documents/document_refresh.py", "cortext.catalog.documents.document_row_reader"):
        _READER,
    ("catalog/row_text_redaction.py", "cortext.model.secrets.detector"): _READER,
    ("catalog/tool_session_refresh.py", "cortext.catalog.tool_row_reader"): _READER,
    ("catalog/workspace_refresh.py", "cortext.catalog.conversation_row_reader"): _READER,
    ("cli/commands/list.py", "cortext.cli.views.session_store_list"):
        "only `list --store` needs stores; the modules take half a bare start",
    ("cli/store_option.py", "cortext.service.stores.store_url_checks"): _STORE_URL,
    ("cli/conversation_choice.py", "cortext.features.search.name_or_text_lookup"):
        "only a query that names nothing searches the text",
    ("cli/conversation_choice.py", "cortext.features.capture.current_conversation"): _CAPTURE,
    ("features/capture/capture_before_reading.py", "cortext.features.capture.bindings"):
        _NO_SESSION,
    ("features/capture/capture_before_reading.py", "cortext.features.capture.capture"): _NO_SESSION,
    ("features/capture/message_reconciliation.py", "cortext.model.secrets.detector"): _PATTERNS,
    ("tools/mcp_server_names.py", "cortext.formats.toml_edit"):
        "only one tool has TOML; loads tomllib",
    ("workspace/workspace.py", "cortext.model.extractive_summary"): _PATTERNS,
    ("workspace/workspace.py", "cortext.model.secrets.detector"): _PATTERNS,
    ("cli/error_output.py", "cortext.installation"):
        "only a missing package needs it; pathlib takes a quarter of a bare start",
    ("features/capture/hook_events.py", "cortext.features.manage.stop_conversation"):
        "only a closing phrase stops a conversation; git and the archive take a bare start",
    ("features/capture/hook_events.py", "cortext.features.recall.session_recall"):
        "only the start of a session recalls, and only if the user wants it; takes 2 bare starts",
    ("features/recall/session_recall.py", "cortext.model.secrets.detector"): _PATTERNS,
    ("features/resume/agent_briefing.py", "cortext.model.extractive_summary"): _PATTERNS,
    ("features/search/literal_search.py", "cortext.features.search.tool_output_scan"):
        "few searches scan; the readers of transcripts take 2 bare starts",
    ("features/search/index_refresh.py", "cortext.features.search.index_entries"):
        "only new texts are read; readers and redaction take 2 bare starts",
    ("features/listing/conversation_list.py", "cortext.features.capture.capture_before_reading"):
        _CAPTURE,
    ("features/listing/conversation_list.py", "cortext.features.manage.auto_pause"): _CAPTURE,
    ("features/listing/message_counts.py", "cortext.features.listing.session_of_row"): _READER,
    ("cli/main.py", "cortext.tools.registry"): "`cortext --help` loads no tool",
    ("cli/main.py", "cortext.tools.surrounding_session"): "`cortext --help` loads no tool",
}  # fmt: skip


@cache
def modules() -> list[tuple[str, ast.Module]]:
    """Return the path and the syntax tree of each module of cortext."""
    return [
        (path.relative_to(SOURCE).as_posix(), ast.parse(path.read_text(encoding="utf-8")))
        for path in sorted(SOURCE.rglob("*.py"))
    ]


def test_only_tools_package_contains_tool_names() -> None:
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


def imports_in_functions(tree: ast.Module) -> Iterator[str]:
    """Yield the modules of cortext that functions of a module import."""
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    for function in (node for node in ast.walk(tree) if isinstance(node, functions)):
        for node in ast.walk(function):
            if isinstance(node, ast.Import):
                yield from (name.name for name in node.names if is_own(name.name))
            elif isinstance(node, ast.ImportFrom) and node.level:
                yield "." * node.level + (node.module or "")
            elif isinstance(node, ast.ImportFrom) and is_own(node.module or ""):
                yield from (imported_module(node.module or "", name.name) for name in node.names)


def is_own(module: str) -> bool:
    return module.partition(".")[0] == "cortext"


def imported_module(module: str, name: str) -> str:
    """Return `module.name` if that is a module, otherwise `module`."""
    place = SOURCE.joinpath(*module.split(".")[1:], name)
    is_module = place.is_dir() or place.with_suffix(".py").is_file()
    return f"{module}.{name}" if is_module else module


def test_imports_of_own_modules_are_at_top_or_listed() -> None:
    found = {(name, module) for name, tree in modules() for module in imports_in_functions(tree)}
    assert found == set(LAZY_IMPORTS)
