"""The check of types fails where it should, and says where."""

from typing import Any

import pytest

from scripts import typed


def symbol(name: str, *, known: bool = True, ambiguous: bool = False) -> dict[str, Any]:
    why = {"file": "src/cortext/x.py", "range": {"start": {"line": 6}}, "message": "Type unknown"}
    return {
        "name": name,
        "isTypeKnown": known,
        "isTypeAmbiguous": ambiguous,
        "diagnostics": [] if known and not ambiguous else [why],
    }


def judged(monkeypatch: pytest.MonkeyPatch, *others: dict[str, Any], adapters: str = "") -> int:
    """How the check of many good symbols and these ends."""
    many = [symbol(f"cortext.x.name{number}") for number in range(2000)]
    monkeypatch.setattr(typed, "verify", lambda: {"symbols": [*many, *others]})
    return typed.main(adapters.split())


def test_type_check_passes_when_all_symbols_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends well."""
    assert judged(monkeypatch) == 0


@pytest.mark.parametrize("wrong", [{"known": False}, {"ambiguous": True}])
def test_type_check_fails_for_unknown_or_ambiguous_symbol(
    wrong: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Unknown, or taken for this by one type checker and for that by another."""
    assert judged(monkeypatch, symbol("cortext.bad", **wrong)) == 1
    assert capsys.readouterr().out == "src/cortext/x.py:7: cortext.bad: Type unknown\n"


def test_type_check_fails_for_package_without_symbols(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pyright has no error for it, and no symbols."""
    monkeypatch.setattr(typed, "verify", lambda: {"symbols": []})
    assert typed.main([]) == 1
    assert typed.main(["llm"]) == 1


def test_type_check_counts_adapter_only_when_framework_is_installed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Elsewhere its bases are unknown to everybody; what adapters share always counts."""
    bad = symbol("cortext.adapters.langgraph.thread_log.Thread", known=False)
    shared = symbol("cortext.adapters.session_log.SessionLog", known=False)
    monkeypatch.setattr(typed, "is_there", lambda package: False)
    assert judged(monkeypatch, bad) == 0
    assert judged(monkeypatch, shared) == 1
    assert judged(monkeypatch, bad, adapters="langgraph") == 1
    monkeypatch.setattr(typed, "is_there", lambda package: package == "langgraph")
    assert judged(monkeypatch, bad) == 1
