"""The reference of the Python API, made from the source.

    <!-- api: cortext.client -->
    ...
    <!-- end -->

stands on a page for every public name of a module: its signature, what its docstring says first
and which errors it names, and the same of its methods.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

from scripts import api_source as source
from scripts.api_source import Found, Member

PAGE = Path("docs/reference/python.md")
BLOCK = re.compile(
    r"(?P<open>^<!-- api: (?P<module>[\w.]+) -->\n).*?(?P<close>^<!-- end -->$)",
    re.DOTALL | re.MULTILINE,
)
CONVERSATIONS = {
    "cortext.service.stores.custom_store_adapter": ["adapt_store"],
    "cortext.service.stores.port": [
        "ConversationEntry",
        "ConversationSummary",
        "IdempotentConversationStore",
    ],
    "cortext.service.stores.base": ["Conversations"],
    "cortext.service.stores.conversation_events": ["Event", "Subscription"],
    "cortext.service.stores.file_store": ["FileConversationStore"],
    "cortext.service.stores.ordinal_references": ["Reference"],
    "cortext.service.stores.routing_summary": ["register_type"],
}
"""What a program meets of a package without an `__all__`, beside what `cortext` itself exports."""
_ERROR = re.compile(r"\b\w*Error\b")
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z`])")
_WIDE = 100
_STORES = ("cortext.service.stores.", "cortext.client.")
_PLAIN_BASES = {"ABC", "Exception", "NamedTuple", "Protocol", "Struct", "object"}


def modules() -> list[str]:
    """Those whose public names are a promise."""
    folder = source.SOURCE / "cortext" / "adapters"
    packages = sorted(path.parent.name for path in folder.glob("*/__init__.py"))
    adapters = [f"cortext.adapters.{name}" for name in packages]
    return ["cortext", "cortext.service.stores", "cortext.client", "cortext.asgi",
            "cortext.testing", *adapters]  # fmt: skip


def names_of(module: str) -> list[tuple[str, str]]:
    """The public names of a module, each with the module that it is found by."""
    if module == "cortext.service.stores":
        return [(home, name) for home, names in CONVERSATIONS.items() for name in names]
    return [(module, name) for name in source.exported(module)]


def write_in(page: str) -> str:
    """A page with its blocks made anew."""

    def made(block: re.Match[str]) -> str:
        return f"{block['open']}\n{render(block['module'])}\n{block['close']}"

    return BLOCK.sub(made, page)


def problems(page: str) -> list[str]:
    """What is wrong with the page: a module that is not on it, a name that says nothing."""
    there = {block["module"] for block in BLOCK.finditer(page)}
    found = [f"{PAGE}: no `<!-- api: {name} -->`" for name in modules() if name not in there]
    found += [f"{PAGE}: {name} has no public names" for name in sorted(there - {*modules()})]
    for module in modules():
        for home, name in names_of(module):
            where = source.find(home, name)
            if where is None:
                found.append(f"{home}.{name} is nowhere in the source")
            elif not source.doc_of(where).strip():
                found.append(f"{home}.{name} has no docstring")
    return found


def render(module: str) -> str:
    """The text of a block."""
    parts = [f"### {module}"]
    about = ast.get_docstring(source.tree_of(module)) or ""
    if module != "cortext" and about:
        parts.append(_said(about))
    for home, name in names_of(module):
        found = source.find(home, name)
        if found is not None:
            parts.append(_entry(home, name, found))
    return "\n\n".join(parts) + "\n"


def _entry(home: str, name: str, found: Found) -> str:
    kind = "class" if isinstance(found.node, ast.ClassDef) else "def"
    if isinstance(found.node, ast.Assign | ast.AnnAssign):
        code = ast.unparse(found.node)
    else:
        asynchronous = "async " if isinstance(found.node, ast.AsyncFunctionDef) else ""
        code = _folded(f"{asynchronous}{kind} {name}{source.signature(found)}")
    lines = [f"#### {name}", f"```py\n{code}\n```"]
    whence = f"from `{home}`" if home.startswith("cortext.service.stores.") else ""
    about = [_said(source.doc_of(found)), *_about(found)]
    lines.append(" ".join(filter(None, [*about, f"Import it {whence}." if whence else ""])))
    items = [*_attributes(found), *map(_item, _members(found))]
    if items:
        lines.append("\n".join(items))
    return "\n\n".join(lines)


def _about(found: Found) -> list[str]:
    """What a class is besides: its bases, and whether it is for a `with`."""
    if not isinstance(found.node, ast.ClassDef):
        return []
    bases = [f"`{name}`" for name in source.bases_of(found) if _is_told(name)]
    inherits = ", with all its methods" if any(map(source.members, _bases_on_page(found))) else ""
    withs = [
        word
        for name, word in (("__enter__", "`with`"), ("__aenter__", "`async with`"))
        if source.special(found, name)
    ]
    return [
        *([f"A subclass of {', '.join(bases)}{inherits}."] if bases else []),
        *([f"It can be used in {' and '.join(withs)}."] if withs else []),
    ]


def _is_told(base: str) -> bool:
    return base not in _PLAIN_BASES and not base.startswith("_")


def _attributes(found: Found) -> list[str]:
    if not isinstance(found.node, ast.ClassDef):
        return []
    given = set(re.findall(r"(\w+): ", source.signature(found)))
    items: list[str] = []
    for name, kind, doc in source.attributes(found):
        # What the constructor takes by the same name is in its signature already.
        if doc or name not in given:
            text = f"{name}: {kind}" if kind else name
            items.append(f"- `{text}`{f': {_said(doc)}' if doc else ''}")
    return items


def _members(found: Found) -> list[Member]:
    """What stands below a class: without what a base on the page says in the same words."""
    if not isinstance(found.node, ast.ClassDef):
        return []
    told = {
        (member.name, member.doc)
        for base in _bases_on_page(found)
        for member in source.members(base)
    }
    return [one for one in source.members(found) if (one.name, one.doc) not in told]


def _bases_on_page(found: Found) -> list[Found]:
    shown = [name for module in modules() for _, name in names_of(module)]
    bases = [name for name in source.bases_of(found) if name in shown]
    return [base for name in bases if (base := source.find(found.module, name))]


def _item(member: Member) -> str:
    node = member.node
    if source.is_kind(node, "property", "cached_property"):
        code = f"{member.name}: {source.type_text(node.returns)}"
    else:
        before = "async " if isinstance(node, ast.AsyncFunctionDef) else ""
        before += "classmethod " if source.is_kind(node, "classmethod") else ""
        before += "staticmethod " if source.is_kind(node, "staticmethod") else ""
        code = f"{before}{member.name}{source.signature(Found(member.owner.module, node))}"
    doc = _said(member.doc or _contract(member))
    theirs = [name for name in source.outside(member.owner) if _is_told(name)]
    if not doc and theirs:
        doc = f"As `{theirs[0]}` has it."
    return f"- `{code}`{f': {doc}' if doc else ''}"


def _contract(member: Member) -> str:
    """What the port says of a method of a conversation store, or of a client, which is one."""
    if not member.owner.module.startswith(_STORES):
        return ""
    port = source.find("cortext.service.stores.port", "ConversationStore")
    assert port is not None
    return next((one.doc for one in source.members(port) if one.name == member.name), "")


def _said(doc: str) -> str:
    """The first paragraph of a docstring, and what the others say of errors."""
    first, *others = [" ".join(part.split()) for part in doc.strip().split("\n\n")] or [""]
    errors = [
        sentence
        for part in others
        for sentence in _SENTENCE.split(part)
        if _ERROR.search(sentence) and "    " not in sentence
    ]
    return " ".join([first, *errors])


def _folded(code: str) -> str:
    """A long signature with a line for each parameter."""
    if len(code) <= _WIDE:
        return code
    begin, end = code.index("("), code.rindex(")" if ") -> " not in code else ") -> ")
    lines = "".join(f"    {part},\n" for part in _parts(code[begin + 1 : end]))
    return f"{code[: begin + 1]}\n{lines}{code[end:]}"


def _parts(text: str) -> list[str]:
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]
