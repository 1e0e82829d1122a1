"""A test suite for session stores. Run it with pytest on your own store.

This is the whole test file of a new store:

    from cortext.testing import SessionStoreSuite
    from mine import MyStore

    class TestMyStore(SessionStoreSuite):
        def open(self, place: str) -> MyStore:
            return MyStore(place)

        def url(self, place: str) -> str:
            return f"python:mine:MyStore:{place}"

`place` is a path that does not exist yet. A second store object on the same place must see the same
sessions. If your store cannot do that, set `persistent = False` in the class. If other processes
cannot open your store, set `processes = False`. The suite then leaves out the tests that need this.
To see values in failed asserts, call `pytest.register_assert_rewrite("cortext.testing")` in your
`conftest.py`. This package imports neither pytest nor hypothesis.
"""

from __future__ import annotations

from cortext.testing.concurrency_tests import ConcurrencyTests
from cortext.testing.crash_tests import CrashTests
from cortext.testing.hostile_input_tests import HostileTests
from cortext.testing.sharing_tests import SharingTests
from cortext.testing.single_caller_tests import ContractTests
from cortext.testing.tool_call_tests import ToolCallTests

__all__ = ["SessionStoreSuite"]


class SessionStoreSuite(
    ContractTests, ToolCallTests, SharingTests, HostileTests, ConcurrencyTests, CrashTests
):
    """The whole test suite: a test for every promise of the `SessionStore` interface."""
