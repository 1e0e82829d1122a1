"""Collect the sentences that users read, so that a reviewer can read them in one go.

`tests/texts/commands/NAME.txt` has the help of a command and the other messages in its module.
`tests/texts/PACKAGE.txt` has the messages of all other modules of a package, and
`tests/texts/web-templates.txt` has the words of the web pages. In a message, `{…}` stands for a
value that is filled in. With --check, nothing is written, and differences are an error.
"""

import ast
import difflib
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import click

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src/cortext"
TEXTS = ROOT / "tests/texts"
WIDTH = 80
# At least two words, one of them with three letters: names, formats and patterns have fewer.
SENTENCE = re.compile(r"[^\W\d_]{3,}.*\s.*[^\W\d_]", re.DOTALL)
# SQL, Lua, Python, patterns and markup.
CODE = re.compile(
    r"\b(SELECT|INSERT INTO|DELETE FROM|CREATE|WHERE|ORDER BY|PRAGMA|BEGIN|UNION|JOIN|SET|VALUES)\b"
    r"|redis\.call|\bimport \w+|^\w+\[.*\]$|\(\?[:=!P<]|\\[bdswW]|</?\w+[ >]"
)


def messages(path: Path) -> Iterator[str]:
    """Yield the sentences in the string literals of a module, in their order."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    documentation = {
        id(body[0].value)
        for node in ast.walk(tree)
        if isinstance(body := getattr(node, "body", None), list)
        and body
        and isinstance(body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            documentation.add(id(node.value))  # the docstring of an attribute
    literals = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr | ast.Constant) and id(node) not in documentation
    ]
    inner = {id(child) for node in literals for child in ast.walk(node) if child is not node}
    for node in sorted(literals, key=lambda node: (node.lineno, node.col_offset)):
        if id(node) not in inner:
            text = " ".join(_text(node).split())
            if SENTENCE.search(text) and not CODE.search(text):
                yield text


def _text(node: ast.expr) -> str:
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(value) for value in node.values)
    if isinstance(node, ast.FormattedValue):
        return "{…}"
    value = node.value if isinstance(node, ast.Constant) else None
    return value if isinstance(value, str) else ""


def command_texts() -> dict[str, str]:
    """Return the help and the messages of each command, by file name."""
    from cortext.cli.command_group import COMMAND_SUMMARIES
    from cortext.cli.command_group import cortext as cli

    found: dict[str, str] = {}
    context = click.Context(cli, info_name="cortext", max_content_width=WIDTH)
    for name in COMMAND_SUMMARIES:
        command = cli.get_command(context, name)
        assert command is not None
        pages = [*_help(command, context, name)]
        module = SOURCE / f"cli/commands/{'import_' if name == 'import' else name}.py"
        shown = " ".join("\n".join(pages).split())
        said = "\n".join(f"- {text}" for text in messages(module) if text not in shown)
        found[f"commands/{name}.txt"] = "\n\n".join([*pages, f"Messages\n{said}".rstrip()])
    return found


def _help(command: click.Command, parent: click.Context, name: str) -> Iterator[str]:
    context = click.Context(command, parent=parent, info_name=name, max_content_width=WIDTH)
    yield command.get_help(context)
    if isinstance(command, click.Group):
        for child in command.list_commands(context):
            found = command.get_command(context, child)
            assert found is not None
            yield from _help(found, context, child)


def package_texts() -> dict[str, str]:
    """Return the messages of all modules but the commands and the test suites, by file name."""
    found: dict[str, list[str]] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        if parts[:2] == ("cli", "commands") or parts[0] == "testing":
            continue
        said = [*messages(path)]
        if said:
            depth = 2 if parts[0] in ("features", "cli", "service") and len(parts) > 2 else 1
            package = "-".join(parts[:depth]) if len(parts) > 1 else "cortext"
            lines = "\n".join(f"- {text}" for text in said)
            found.setdefault(f"{package}.txt", []).append(f"{'/'.join(parts)}.py\n{lines}")
    return {name: "\n\n".join(modules) for name, modules in found.items()}


def template_texts() -> str:
    """Return the words of the templates of the web pages, without markup."""
    pages: list[str] = []
    for path in sorted((SOURCE / "web/templates").rglob("*.html")):
        page = path.read_text(encoding="utf-8")
        text = re.sub(r"{#.*?#}|{%.*?%}|<(script|style).*?</\1>", "\n", page, flags=re.DOTALL)
        text = re.sub(r"<[^>]*>", "\n", re.sub(r"{{.*?}}", "{…}", text, flags=re.DOTALL))
        lines = [" ".join(line.split()) for line in text.splitlines()]
        said = "\n".join(f"- {line}" for line in lines if SENTENCE.search(line))
        if said:
            pages.append(f"{path.relative_to(SOURCE).as_posix()}\n{said}")
    return "\n\n".join(pages)


def main(check: bool) -> int:
    wanted = command_texts() | package_texts() | {"web-templates.txt": template_texts()}
    code = 0
    for path in [*TEXTS.rglob("*.txt")]:
        if path.relative_to(TEXTS).as_posix() not in wanted:
            code = 1
            print(f"{path.relative_to(ROOT)} belongs to no command or package", file=sys.stderr)
            if not check:
                path.unlink()
    for name, text in wanted.items():
        path = TEXTS / name
        new = text.encode("utf-8", "backslashreplace").decode() + "\n"
        old = path.read_text(encoding="utf-8") if path.exists() else ""
        if new != old and check:
            code = 1
            lines = old.splitlines(keepends=True), new.splitlines(keepends=True)
            sys.stderr.writelines(
                difflib.unified_diff(*lines, f"tests/texts/{name}", "the program")
            )
        elif new != old:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(new, encoding="utf-8")
    if check and code:
        print("`make docs` writes these files again", file=sys.stderr)
    return code if check else 0


if __name__ == "__main__":
    sys.exit(main(check="--check" in sys.argv[1:]))
