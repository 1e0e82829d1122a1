"""Which call a result belongs to."""

from cortext.adapters.call_matching import OpenCalls


def test_result_belongs_to_nearest_open_call() -> None:
    """The call of a process that died before has the same id and stays open."""
    calls: OpenCalls[str] = OpenCalls()
    calls.add("c1", 0, "killed")
    calls.add("c1", 4, "second")
    assert calls.answer("c1") == "second"
    assert calls.left() == {"killed"}
    assert calls.answer("c1") == "killed"
    assert (calls.answer("c1"), calls.answer("c2"), calls.left()) == (None, None, set())


def test_calls_of_one_message_are_answered_in_order() -> None:
    """As models that give no ids have them."""
    calls: OpenCalls[str] = OpenCalls()
    calls.add("", 0, "older")
    calls.add("", 1, "a")
    calls.add("", 1, "b")
    assert [calls.answer("") for _ in range(3)] == ["a", "b", "older"]
