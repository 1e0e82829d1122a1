"""The public names of cortext: a promise, so that a change of it is seen."""

import pickle
import traceback

import pytest

import cortext
from cortext import errors

VALUES = (
    "Conversation", "Message", "Session", "SessionMessage", "SessionSummary", "ToolInvocation",
)  # fmt: skip
SERVICES = (
    "ConversationStore", "MemoryConversationStore", "PostgresConversationStore",
    "RedisConversationStore", "SessionIndex", "SessionManager", "SessionStorage", "Workspace",
    "open_session_store", "open_store",
)  # fmt: skip
TREE = {
    "CortextError": (Exception,),
    "InvalidIdError": (errors.CortextError, ValueError),
    "InvalidTransitionError": (errors.CortextError,),
    "NewerVersionError": (errors.SessionStorageError,),
    "SessionCorruptedError": (errors.SessionStorageError, ValueError),
    "SessionLockedError": (errors.SessionStorageError, TimeoutError),
    "SessionNotFoundError": (errors.SessionStorageError, LookupError),
    "SessionStorageError": (errors.CortextError,),
}
ERRORS = [
    errors.CortextError("a sentence", hint="do this"),
    errors.InvalidIdError("../x"),
    errors.InvalidIdError("x" * 300),
    errors.InvalidTransitionError("completed", "paused"),
    errors.NewerVersionError("/p", found="9.0", known="1.0"),
    errors.SessionCorruptedError("/p", "not JSON", line=3, hint="recover it"),
    errors.SessionLockedError("/p", holder="process 1 (init)", waited=0.5),
    errors.SessionNotFoundError("some-id", path="/p"),
    errors.SessionStorageError("could not write /p", path="/p", errno=28, hint="free some space"),
]


def test_all_is_sorted_and_complete() -> None:
    """`__all__` is sorted and is the list of the design."""
    assert cortext.__all__ == sorted(cortext.__all__)
    assert set(cortext.__all__) == {*VALUES, *SERVICES, *TREE}


@pytest.mark.parametrize("name", cortext.__all__)
def test_every_public_name_resolves(name: str) -> None:
    """Each public name leads to a thing that has this name."""
    assert getattr(cortext, name).__name__ == name


def test_star_import_gives_every_public_name() -> None:
    """`from cortext import *` gives what `__all__` lists."""
    names: dict[str, object] = {}
    exec("from cortext import *", names)
    assert names.keys() - {"__builtins__"} == set(cortext.__all__)


def test_dir_shows_public_names_and_version() -> None:
    """dir() shows what can be used, before any of it was loaded."""
    assert dir(cortext) == sorted([*cortext.__all__, "__version__"])
    assert cortext.__version__


@pytest.mark.parametrize("name", ["SessionManger", "_private", "__wrapped__"])
def test_unknown_name_raises_attribute_error(name: str) -> None:
    """A misspelt name is an AttributeError that says it, and so an ImportError in an import."""
    with pytest.raises(AttributeError, match=name):
        getattr(cortext, name)
    assert not hasattr(cortext, name)
    with pytest.raises(ImportError, match=name):
        exec(f"from cortext import {name}")


@pytest.mark.parametrize("name", TREE)
def test_errors_inherit_from_expected_builtin_errors(name: str) -> None:
    """Errors have the bases that the design gives them."""
    for base in TREE[name]:
        assert issubclass(getattr(cortext, name), base)


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_errors_survive_pickling(error: errors.CortextError, protocol: int) -> None:
    """An error that crosses a process border keeps its type, sentence, facts and hint."""
    copy = pickle.loads(pickle.dumps(error, protocol))
    assert type(copy) is type(error)
    assert (str(copy), copy.args, copy.hint) == (str(error), error.args, error.hint)
    assert vars(copy) == vars(error)


def test_error_states_failure_path_line_and_hint() -> None:
    """The sentence is built from the facts, and the hint stands apart from it."""
    error = errors.SessionCorruptedError("/p", "not JSON", line=3, hint="recover it")
    assert (str(error), error.path, error.line, error.hint) == (
        "/p, line 3: not JSON", "/p", 3, "recover it",
    )  # fmt: skip


def test_traceback_ends_with_hint() -> None:
    """Also of an error that came from another process; one without a hint has no such line."""
    for error in (ERRORS[0], pickle.loads(pickle.dumps(ERRORS[0]))):
        assert traceback.format_exception(error)[-1] == "hint: do this\n"
    assert "hint" not in traceback.format_exception(errors.CortextError("a sentence"))[-1]
