"""The checks of the tables find what is wrong."""

from tests.tools.real.machine import missing, times_told

SAID = [("user", "one"), ("assistant", "two"), ("user", "three")]


def body(*said: tuple[str, str]) -> dict[str, object]:
    return {"messages": [{"role": role, "content": text} for role, text in said]}


def test_missing_names_texts_absent_out_of_order_or_of_wrong_role() -> None:
    """A text that is not there, in another order, or in another's mouth."""
    assert missing(SAID, body(*SAID)) == []
    assert missing(SAID, body(("user", "one"), ("assistant", "a call\n\ntwo"), SAID[2])) == []
    assert missing(SAID, body(*SAID[:2])) == ["three"]
    assert missing(SAID, body(SAID[2], *SAID[:2])) == ["three"]
    assert missing(SAID, body(("user", "one"), ("user", "two"), SAID[2])) == ["two", "three"]


def test_times_told_counts_repeated_texts() -> None:
    """But not where a title is told about it."""
    block = ("user", "[RESUMED CONVERSATION]\nSummary: one")
    assert times_told("one", body(*SAID, block)) == 1
    assert times_told("one", body(*SAID, *SAID)) == 2
    assert times_told("four", body(*SAID)) == 0
