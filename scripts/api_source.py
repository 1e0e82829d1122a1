"""What the source says of public names: where a name is defined, its signature, its docstring.

The source is read and never imported: an adapter is documented without its framework.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

SOURCE = Path(__file__).resolve().parent.parent / "src"
Function = ast.FunctionDef | ast.AsyncFunctionDef
Definition = Function | ast.ClassDef | ast.Assign | ast.AnnAssign
_VALUES = ("Struct", "NamedTuple")
"""Bases that make a constructor of the fields."""
_BLOCKS = (ast.If, ast.With, ast.Try)


class Found(NamedTuple):
    """A definition, and the module that it stands in."""

    module: str
    node: Definition


class Member(NamedTuple):
    """A method or a property of a class, its own or one of a base of ours."""

    name: str
    owner: Found
    node: Function
    doc: str


class Attribute(NamedTuple):
    """What is no method: its name, its type where that is said, and what is said of it."""

    name: str
    type: str
    doc: str


@cache
def tree_of(module: str) -> ast.Module:
    path = SOURCE.joinpath(*module.split("."))
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return ast.parse(file.read_text(encoding="utf-8"))


def exported(module: str) -> list[str]:
    """What `__all__` lists; nothing without one."""
    for node in tree_of(module).body:
        if isinstance(node, ast.Assign) and _targets(node) == ["__all__"]:
            return list(ast.literal_eval(node.value))
    return []


def find(module: str, name: str) -> Found | None:
    """Where a name of a module is defined; None if that is not in our source."""
    for node in _statements(tree_of(module).body):
        if isinstance(node, Function | ast.ClassDef) and node.name == name:
            return Found(module, node)
        if isinstance(node, ast.Assign | ast.AnnAssign) and name in _targets(node):
            meant = find(module, node.value.id) if isinstance(node.value, ast.Name) else None
            return meant or Found(module, node)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("cortext"):
            for alias in node.names:
                if (alias.asname or alias.name) == name and _is_module(node.module or ""):
                    return find(node.module or "", alias.name)
    return None


def doc_of(found: Found) -> str:
    """The docstring of a definition; of a constant the text below it."""
    if isinstance(found.node, ast.Assign | ast.AnnAssign):
        body = tree_of(found.module).body
        return _text_below(body, body.index(found.node)) if found.node in body else ""
    return ast.get_docstring(found.node) or ""


def lineage(found: Found) -> list[Found]:
    """A class and its bases, as far as they are ours, the nearest first."""
    if not isinstance(found.node, ast.ClassDef):
        return []
    bases = [find(found.module, name) for name in bases_of(found)]
    above = [one for base in bases if base for one in lineage(base)]
    return [found, *above]


def bases_of(found: Found) -> list[str]:
    """The names of the bases of a class, ours and others."""
    assert isinstance(found.node, ast.ClassDef)
    names = [base.value if isinstance(base, ast.Subscript) else base for base in found.node.bases]
    return [ast.unparse(name).rpartition(".")[2] for name in names]


def outside(found: Found) -> list[str]:
    """The bases of a class, and of its bases, that are not ours."""
    each = [(one, name) for one in lineage(found) for name in bases_of(one)]
    return [name for one, name in each if find(one.module, name) is None]


def members(found: Found) -> list[Member]:
    """The public methods and properties of a class, those of its bases of ours last. One without a
    docstring has that of the base."""
    made: dict[str, Member] = {}
    for owner in lineage(found):
        for name, node in _methods(owner):
            doc = ast.get_docstring(node) or ""
            known = made.get(name)
            if known is None:
                made[name] = Member(name, owner, node, doc)
            elif not known.doc:
                made[name] = known._replace(doc=doc)
    return list(made.values())


def special(found: Found, name: str) -> Member | None:
    """A method with two underscores, the class's own or a base's."""
    for owner in lineage(found):
        assert isinstance(owner.node, ast.ClassDef)
        for node in owner.node.body:
            if isinstance(node, Function) and node.name == name:
                return Member(name, owner, node, ast.get_docstring(node) or "")
    return None


def attributes(found: Found) -> list[Attribute]:
    """The public attributes of a class: its fields, and what its constructor sets."""
    made: dict[str, Attribute] = {}
    for owner in lineage(found):
        assert isinstance(owner.node, ast.ClassDef)
        body = owner.node.body
        for number, node in enumerate(body):
            if isinstance(node, ast.AnnAssign | ast.Assign) and not isinstance(
                node.value, ast.Name
            ):
                kind = type_text(node.annotation) if isinstance(node, ast.AnnAssign) else ""
                for name in _targets(node):
                    made.setdefault(name, Attribute(name, kind, _text_below(body, number)))
        for attribute in _set_in_constructor(owner.node):
            made.setdefault(attribute.name, attribute)
    return [one for one in made.values() if not one.name.startswith("_")]


def signature(found: Found) -> str:
    """What a call takes and gives: `(id: str, *, limit: int = 50) -> list[str]`; "" for a class
    whose constructor is not ours."""
    if isinstance(found.node, Function):
        return _call(found.module, found.node)
    init = special(found, "__init__")
    if any(name in _VALUES for name in outside(found)):
        return _fields(found)
    if init is None:
        return ""
    return _call(init.owner.module, init.node).removesuffix(" -> None")


def type_text(node: ast.expr | None) -> str:
    """A type as one writes it; one that stands in quotes without them."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    return ast.unparse(node) if node else ""


def is_kind(node: Function, *names: str) -> bool:
    """Whether a method has one of these decorators."""
    return any(ast.unparse(each).rpartition(".")[2] in names for each in node.decorator_list)


def _call(module: str, node: Function) -> str:
    given = node.args
    plain = [*given.posonlyargs, *given.args]
    defaults = [None] * (len(plain) - len(given.defaults)) + [*given.defaults]
    pairs = list(zip(plain, defaults, strict=True))
    if plain and plain[0].arg in ("self", "cls") and not is_kind(node, "staticmethod"):
        pairs = pairs[1:]
    parts = [_parameter(module, arg, default) for arg, default in pairs]
    if given.vararg:
        parts.append(f"*{_parameter(module, given.vararg, None)}")
    elif given.kwonlyargs:
        parts.append("*")
    named = zip(given.kwonlyargs, given.kw_defaults, strict=True)
    parts += [_parameter(module, arg, default) for arg, default in named]
    if given.kwarg and type_text(given.kwarg.annotation) != "Never":
        parts.append(f"**{_parameter(module, given.kwarg, None)}")
    back = type_text(node.returns)
    if is_kind(node, "contextmanager"):
        back = f"AbstractContextManager{back[back.index('[') :]}"
    return f"({', '.join(parts)}){f' -> {back}' if back else ''}"


def _fields(found: Found) -> str:
    parts: list[str] = []
    for owner in reversed(lineage(found)):
        assert isinstance(owner.node, ast.ClassDef)
        if any(each.arg == "kw_only" for each in owner.node.keywords):
            parts.append("*")
        for node in owner.node.body:
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                arg = ast.arg(node.target.id, node.annotation)
                parts.append(_parameter(owner.module, arg, node.value))
    return f"({', '.join(parts)})"


def _parameter(module: str, arg: ast.arg, default: ast.expr | None) -> str:
    kind = type_text(arg.annotation)
    text = f"{arg.arg}: {kind}" if kind else arg.arg
    if default is None:
        return text
    return f"{text}{' = ' if kind else '='}{_default(module, default)}"


def _default(module: str, node: ast.expr) -> str:
    """A value that a reader understands; a constant of ours by its value."""
    try:
        plain = ast.literal_eval(node)
    except ValueError:
        name = ast.unparse(node)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            module, name = _imported(module, node.value.id), node.attr
        found = find(module, name) if module and name.isidentifier() else None
        value = found.node.value if found and isinstance(found.node, ast.Assign) else None
        return _default(found.module, value) if found and isinstance(value, ast.Constant) else "…"
    return f'"{plain}"' if isinstance(plain, str) and plain.isprintable() else ast.unparse(node)


def _imported(module: str, name: str) -> str:
    """The module of ours that a module knows by a name; "" if it is none."""
    for node in _statements(tree_of(module).body):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("cortext"):
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                if (alias.asname or alias.name) == name and _is_module(whole):
                    return whole
    return ""


def _is_module(name: str) -> bool:
    path = SOURCE.joinpath(*name.split("."))
    return path.is_dir() or path.with_suffix(".py").is_file()


def _methods(found: Found) -> Iterator[tuple[str, Function]]:
    """The public ones by their names; a second name is one too."""
    assert isinstance(found.node, ast.ClassDef)
    known: dict[str, Function] = {}
    for node in found.node.body:
        if isinstance(node, Function) and not is_kind(node, "setter", "deleter", "overload"):
            known[node.name] = node
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Name):
            known |= {
                name: known[node.value.id] for name in _targets(node) if node.value.id in known
            }
    for name, node in known.items():
        if not name.startswith(("_", "test_")):
            yield name, node


def _set_in_constructor(node: ast.ClassDef) -> Iterator[Attribute]:
    init = [each for each in node.body if isinstance(each, Function) and each.name == "__init__"]
    for statement in _statements(init[0].body if init else []):
        kind = ""
        if isinstance(statement, ast.AnnAssign):
            targets, kind = [statement.target], type_text(statement.annotation)
        elif isinstance(statement, ast.Assign):
            targets = statement.targets
        else:
            continue
        for target in targets:
            each = target.elts if isinstance(target, ast.Tuple) else [target]
            for one in each:
                if isinstance(one, ast.Attribute) and ast.unparse(one.value) == "self":
                    yield Attribute(one.attr, kind, "")


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for node in body:
        yield node
        if isinstance(node, _BLOCKS):
            yield from _statements(node.body)


def _targets(node: ast.Assign | ast.AnnAssign) -> list[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return [target.id for target in targets if isinstance(target, ast.Name)]


def _text_below(body: list[ast.stmt], number: int) -> str:
    following = body[number + 1] if number + 1 < len(body) else None
    if isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant):
        value = following.value.value
        return inspect.cleandoc(value) if isinstance(value, str) else ""
    return ""
