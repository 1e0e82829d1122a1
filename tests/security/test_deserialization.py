"""Data that would be code elsewhere: pickles, tagged objects, constructors. Here it is text."""

import ast
import base64
import os
import pickle
from pathlib import Path
from typing import Any

import pytest

from cortext import Session, SessionMessage, open_session_store
from cortext.errors import CortextError
from tests.stores.files import KINDS, Place

SOURCE = Path(__file__).parents[2] / "src/cortext"
MODULES = {"pickle", "cPickle", "dill", "marshal", "shelve", "jsonpickle", "yaml", "joblib", "code"}
CALLS = {"eval", "exec", "compile", "loads_pickle", "literal_eval", "extractall", "execfile"}


class _Bomb:
    """Runs a command wherever it is unpickled."""

    def __init__(self, command: str) -> None:
        self.command = command

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, (self.command,)


def _payloads(command: str) -> dict[str, bytes]:
    """By the library that would run each."""
    pickled = pickle.dumps(_Bomb(command))
    text = base64.b64encode(pickled).decode()
    return {
        "pickle": pickled,
        "pickle, protocol 0": pickle.dumps(_Bomb(command), 0),
        "jsonpickle": b'{"py/reduce": [{"py/type": "os.system"}, {"py/tuple": ["%s"]}]}'
        % command.encode(),
        "jsonpickle repr": b'{"py/repr": "os/os.system(\'%s\')"}' % command.encode(),
        "yaml": b'!!python/object/apply:os.system ["%s"]' % command.encode(),
        "langchain": b'{"lc": 1, "type": "constructor", "id": ["os", "system"], "kwargs": {}}',
        "json class": b'{"__class__": "os.system", "__args__": ["%s"]}' % command.encode(),
        "node serialize": b'{"rce": "_$$ND_FUNC$$_function(){require(\'fs\')}()"}',
        "prototype": b'{"__proto__": {"admin": true}, "constructor": {"prototype": {}}}',
        "pickle in text": b'{"pending": {"__pickle__": "%s"}}' % text.encode(),
        "python": b"__import__('os').system('%s')" % command.encode(),
        "template": b"{{''.__class__.__mro__[1].__subclasses__()}}${7*7}",
    }


NAMES = list(_payloads(""))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", KINDS)
def test_store_never_executes_payload_in_session_file(kind: str, name: str, tmp_path: Path) -> None:
    """It is named as damaged, or read as values; nothing runs."""
    place, mark = Place(kind, tmp_path / "store"), tmp_path / "ran"
    place.root.mkdir()
    store = place.open()
    store.save(Session("s", messages=[SessionMessage("user", "x")]))
    head = next(place.root.rglob(place.head.name))
    head.write_bytes(_payloads(f"touch {mark}")[name])
    try:
        place.open().read("s")
    except CortextError:
        pass  # named as damaged
    assert not mark.exists()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", KINDS)
def test_payload_in_messages_is_stored_as_text_and_never_executed(
    kind: str, name: str, tmp_path: Path
) -> None:
    """As text and as data it comes back equal, and nothing runs."""
    mark = tmp_path / "ran"
    payload = _payloads(f"touch {mark}")[name].decode("latin-1")
    said = SessionMessage("user", payload, structured_data={"__reduce__": payload})
    session = Session("s", messages=[said], pending={"py/object": payload}, metadata={"x": payload})
    open_session_store(f"{kind}:{tmp_path / 'store'}").save(session)
    found = open_session_store(f"{kind}:{tmp_path / 'store'}").load("s")
    assert (found.messages, found.pending) == ([said], {"py/object": payload})
    assert not mark.exists()


def test_pickle_payload_executes_when_unpickled(tmp_path: Path) -> None:
    """Whoever unpickles it has it run: what is tried above would be seen."""
    mark = tmp_path / "ran"
    pickle.loads(_payloads(f"touch {mark}")["pickle"])
    assert mark.exists()


def _reached(path: Path) -> set[str]:
    """The modules that a file imports and the plain functions that it calls."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {name.name.partition(".")[0] for name in node.names} & MODULES
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            found |= {(node.module or "").partition(".")[0]} & MODULES
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            found |= {node.func.id} & CALLS
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            found |= {node.func.attr} & (CALLS - {"compile"})  # a pattern's is another
    return found


def test_source_imports_no_unpickling_or_evaluating_code() -> None:
    """No module of cortext imports what unpickles, or evaluates a text."""
    found = {str(path): reached for path in SOURCE.rglob("*.py") if (reached := _reached(path))}
    assert found == {}


def test_source_check_detects_unpickling_and_evaluating_code(tmp_path: Path) -> None:
    source = tmp_path / "x.py"
    source.write_text("import pickle\nfrom yaml import load\neval('1')\nx.literal_eval('')\n")
    assert _reached(source) == {"pickle", "yaml", "eval", "literal_eval"}
