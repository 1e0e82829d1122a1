"""The how-to page is true."""

from tests.adapters.llm.scenes import model
from tests.adapters.pages import run_page


def test_how_to_page_code_runs() -> None:
    """Its blocks, one after the other, and what they define."""
    page = run_page("llm.md")
    assert page["answer"](model(), "ada", "1", "Where is it?") == "echo: Where is it?"
    assert '"echo: Where is it?"' in page["answer"](model(), "ada", "1", "recall")
    assert page["chats_of"]("ada") == ["ada/1: Where is it?"]
    assert page["chats_of"]("bob") == []
    assert page["ask"](model(), "bills", 'call pay {"bill": "7"}') == "May I pay 7?"
    assert page["approve"](model(), "bills") == "got 7 is paid"
    assert page["approve"](model(), "bills") == "Nothing waits."
